import type { UpstreamConfig } from '../../catalog/catalog.ts';
import { isEncoded } from '../../std/json-answer.ts';
import { encodeInSteps, LONG_TEXT } from '../../std/long-text.ts';
import { nextTurn } from '../../std/turns.ts';
import { withTrace, type TraceContext } from '../../std/trace.ts';
import { connectionFailure, UpstreamFailure } from '../port.ts';
import { boundedBody, type BodyShape } from './body-bounds.ts';
import { refuseEncoded } from '../response.ts';
import { parseObject } from './json.ts';
import type { ProviderLimits, Provider } from './provider.ts';

/**
 * The only access of a provider's package to the network, made for each call. It never follows a redirect (the key
 * would be sent along), keeps the body under the cap, and limits the size of answers and the number of requests.
 */
export function makeTransport(provider: Provider, call: TransportCall): typeof fetch {
  let requests = 0;
  const send = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    if (++requests > MAX_REQUESTS)
      throw new UpstreamFailure('protocol', `more than ${MAX_REQUESTS} requests for one call`);
    const url = input instanceof Request ? input.url : String(input);
    const prepared = await prepare(provider, call, url, init);
    const response = await fetchUpstream(
      url,
      { ...prepared, redirect: 'manual', decompress: false, timeout: false, signal: call.signal },
      call.signal,
    );
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      throw new UpstreamFailure(
        'protocol',
        `the backend redirects (${response.status}); redirects are not followed`,
      );
    }
    if (response.status < 400) await refuseEncoded(response);
    return await boundedResponse(response, provider, call.signal);
  };
  return Object.assign(send, { preconnect: fetch.preconnect });
}

interface TransportCall {
  readonly config: UpstreamConfig;
  readonly limits: ProviderLimits;
  readonly signal: AbortSignal;
  readonly trace?: TraceContext | undefined;
  readonly now: () => number;
}

/** Backends that cap a single response may need continuations for one answer; an endless chain of them is a failure. */
const MAX_REQUESTS = 8;

async function prepare(
  provider: Provider,
  call: TransportCall,
  url: string,
  init: RequestInit,
): Promise<RequestInit> {
  // A compressed stream would be held back until a block is full.
  const given = call.trace ? withTrace(new Headers(init.headers), call.trace) : new Headers(init.headers);
  const headers = { 'accept-encoding': 'identity', ...Object.fromEntries(given) };
  const fitted =
    typeof init.body === 'string' && provider.fit
      ? await fitText(provider, init.body, call.limits)
      : init.body;
  const sent = isLong(fitted) ? await encodeInSteps(fitted) : (fitted ?? null);
  if (!provider.authorize) return { ...init, headers, body: sent };
  const body = typeof fitted === 'string' ? fitted : '';
  const signed = await provider.authorize(
    { method: init.method ?? 'GET', url, headers, body },
    call.config,
    new Date(call.now()),
  );
  return { ...init, headers: { ...headers, ...signed }, body: sent };
}

/** Making a long text, parsing it and making it again are three steps. */
async function fitText(provider: Provider, body: string, limits: ProviderLimits): Promise<string> {
  if (isLong(body)) await nextTurn();
  const parsed = parseObject(body);
  if (isLong(body)) await nextTurn();
  return parsed && provider.fit ? JSON.stringify(provider.fit(parsed, limits)) : body;
}

function isLong(body: unknown): body is string {
  return typeof body === 'string' && body.length > LONG_TEXT;
}

async function fetchUpstream(url: string, init: BunFetchRequestInit, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    signal.throwIfAborted();
    throw connectionFailure(error, new URL(url).host);
  }
}

async function boundedResponse(
  response: Response,
  provider: Provider,
  signal: AbortSignal,
): Promise<Response> {
  const { status, statusText, headers } = response;
  const shape = shapeOf(response, provider);
  if (isEncoded(response)) {
    // Its status tells enough of an error.
    void response.body?.cancel();
    return new Response(null, { status, statusText });
  }
  const body = await boundedBody(response, shape, signal).catch((failure: unknown) => {
    signal.throwIfAborted();
    if (shape === 'error') return null;
    throw failure;
  });
  return new Response(body, { status, statusText, headers });
}

function shapeOf({ status, headers }: Response, provider: Provider): BodyShape {
  if (status >= 400) return 'error';
  const type = headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) return 'lines';
  return provider.framed && !type.startsWith('application/json') ? 'frames' : 'whole';
}
