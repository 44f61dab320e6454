import type { RateState } from '../ledger/port.ts';
import { RefusedRequest } from '../relay/admission.ts';
import type { Terms } from '../relay/call.ts';
import { asFault, type Fault } from '../std/fault.ts';
import type { Log } from '../std/log.ts';
import { formatUsd, type NanoUsd } from '../std/money.ts';
import { faultBody } from '../wire/faults.ts';

export type HeaderMap = Record<string, string>;

/** How a dialect words an error. The public one is the spec's. */
export type FaultShape = (fault: Fault, requestId: string) => unknown;

/** On every answer of the public routes. */
export function baseHeaders(requestId: string): HeaderMap {
  return {
    'x-request-id': requestId,
    'request-id': requestId,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': '*',
  };
}

export function json(value: unknown, requestId: string, more: HeaderMap = {}, status = 200): Response {
  const headers = { ...baseHeaders(requestId), 'content-type': 'application/json', ...more };
  return new Response(typeof value === 'string' ? value : JSON.stringify(value), { status, headers });
}

/** The one place where a fault becomes a response. What is ours to mend is logged; a client's mistake is not news. */
export function faultResponse(
  thrown: unknown,
  requestId: string,
  log: Log,
  shape: FaultShape = faultBody,
): Response {
  const fault = asFault(thrown);
  if (fault.status >= 500) {
    log.error('request failed', {
      request: requestId,
      code: fault.code,
      detail: fault.detail,
      cause: fault.cause,
    });
  }
  const rate = fault instanceof RefusedRequest && fault.rate ? rateHeaders(fault.rate) : {};
  const headers = { ...rate, ...retryHeaders(fault), ...(fault.code === 'request_too_large' ? HANG_UP : {}) };
  return json(shape(fault, requestId), requestId, headers, fault.status);
}

/** The rest of what is too large is not wanted: left open, the connection would take it to the last byte. */
const HANG_UP: HeaderMap = { connection: 'close' };

/**
 * Some clients try these again unless they are told: the Claude Agent SDK a 401, for minutes. A 400, 404 or 405 needs no
 * word: the SDKs of OpenAI and Anthropic try only 408, 409, 429 and 5xx again.
 */
const POINTLESS_TO_RETRY: ReadonlySet<number> = new Set([401, 402]);

/**
 * `Retry-After` in whole seconds, never less than the truth; the finer header for the SDKs that read it. A 402 is told
 * apart from a 429 by what waiting would change: clients must not retry an empty balance.
 */
function retryHeaders(fault: Fault): HeaderMap {
  const { retryAfterMs } = fault;
  if (retryAfterMs === undefined)
    return POINTLESS_TO_RETRY.has(fault.status) ? { 'x-should-retry': 'false' } : {};
  const waitMs = Math.max(1, Math.ceil(retryAfterMs));
  return { 'retry-after': String(Math.ceil(waitMs / 1000)), 'retry-after-ms': String(waitMs) };
}

/** OpenAI's names for its clients, the IETF draft's for everybody else. */
export function rateHeaders(rate: RateState): HeaderMap {
  return {
    'x-ratelimit-limit-requests': String(rate.limit),
    'x-ratelimit-remaining-requests': String(rate.remaining),
    'x-ratelimit-reset-requests': duration(rate.resetMs),
    'ratelimit-policy': policyText(rate),
    ratelimit: rateText(rate),
  };
}

/** An answer in JSON that was admitted and may have cost something. Text is taken as JSON already. */
export function paidAnswer(value: unknown, terms: Terms, charged?: NanoUsd): Response {
  return new Response(typeof value === 'string' ? value : JSON.stringify(value), {
    headers: termHeaders(terms, charged),
  });
}

/** What is the same in every answer. Copying a finished set of headers costs a tenth of making one. */
const COMMON = new Headers({ ...baseHeaders(''), 'content-type': 'application/json' });

export function termHeaders(terms: Terms, charged?: NanoUsd): Headers {
  const { requestId, rate } = terms;
  const headers = new Headers(COMMON);
  headers.set('x-request-id', requestId);
  headers.set('request-id', requestId);
  headers.set('x-ratelimit-limit-requests', String(rate.limit));
  headers.set('x-ratelimit-remaining-requests', String(rate.remaining));
  headers.set('x-ratelimit-reset-requests', duration(rate.resetMs));
  headers.set('ratelimit-policy', policyText(rate));
  headers.set('ratelimit', rateText(rate));
  headers.set('x-tollgate-endpoint', terms.endpoint);
  headers.set('x-tollgate-held', formatUsd(terms.held));
  if (charged !== undefined) headers.set('x-tollgate-cost', formatUsd(charged));
  if (terms.loweredCap !== undefined) headers.set('x-tollgate-max-tokens', String(terms.loweredCap));
  return headers;
}

function policyText({ limit }: RateState): string {
  return `"requests";q=${limit};w=60`;
}

function rateText({ remaining, resetMs }: RateState): string {
  return `"requests";r=${remaining};t=${Math.ceil(resetMs / 1000)}`;
}

/** OpenAI's durations: 12ms, 1.5s, 6m0s. */
function duration(ms: number): string {
  if (ms < 1000) return `${ms}ms`;
  if (ms < 60_000) return `${ms / 1000}s`;
  return `${Math.floor(ms / 60_000)}m${Math.round((ms % 60_000) / 1000)}s`;
}
