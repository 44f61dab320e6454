import type { Caller } from '../ledger/port.ts';
import type { Call, ChatCall, ImageCall } from '../relay/call.ts';
import { Fault } from '../std/fault.ts';
import { openAiEncoder } from '../wire/openai/answer.ts';
import { chatRequestSchema, type ChatRequest } from '../wire/openai/chat.ts';
import { imageRequestSchema, type ImageRequest } from '../wire/openai/images.ts';
import type { Exchange } from '../http/caller.ts';
import { type JsonBody, parseBody, withoutNulls } from '../http/json-body.ts';

/** What every inference call says about itself, before it is known what it asks for. */
export type CallBase = Pick<Call<unknown>, 'requestId' | 'caller' | 'client' | 'signal' | 'size'>;

const CLIENT_CHARACTERS = 200;

export function callOf(exchange: Exchange, caller: Caller, body: Pick<JsonBody, 'size'>): CallBase {
  const client = (exchange.request.headers.get('user-agent') ?? '').slice(0, CLIENT_CHARACTERS);
  return { requestId: exchange.requestId, caller, client, signal: exchange.signal, size: body.size };
}

/** The same call, ended by another signal than its client's leaving, if one is given. */
export function withSignal<C extends CallBase>(call: C, signal: AbortSignal | undefined): C {
  return signal ? { ...call, signal } : call;
}

/** A chat body of the public API, checked. */
export function publicChatCall(base: CallBase, value: Record<string, unknown>): ChatCall {
  const body = withoutNulls(value);
  const selector = takeSelector(body);
  const request = parseBody(chatRequestSchema, body) as ChatRequest;
  const { code, model } = splitModel(selector, request.model);
  return {
    requestId: base.requestId,
    caller: base.caller,
    client: base.client,
    signal: base.signal,
    size: base.size,
    selector: { code, model, type: 'chat_completion' },
    label: model,
    request,
    cap: 'strict',
    encoder: (labels) => openAiEncoder(labels, request.stream_options?.include_usage === true),
  };
}

/** An image body of the public API, checked. */
export function publicImageCall(base: CallBase, value: Record<string, unknown>): ImageCall {
  const body = withoutNulls(value);
  const selector = takeSelector(body);
  const request = parseBody(imageRequestSchema, body) as ImageRequest;
  const { code, model } = splitModel(selector, request.model);
  return {
    ...base,
    selector: { code, model, type: 'image_generation' },
    label: model,
    request,
    cap: 'strict',
  };
}

/**
 * `endpoint` and `endpoint_code` are two names of one field. It is blanked in the body, which is ours alone: what is
 * `undefined` is not sent on.
 */
function takeSelector(body: Record<string, unknown>): string | undefined {
  const { endpoint, endpoint_code: code } = body;
  if (endpoint !== undefined) requireCode(endpoint, 'endpoint');
  if (code !== undefined) requireCode(code, 'endpoint_code');
  if (endpoint !== undefined && code !== undefined && endpoint !== code) {
    throw new Fault('invalid_field', 'endpoint and endpoint_code name different endpoints.', {
      param: 'endpoint_code',
    });
  }
  if (endpoint !== undefined) body['endpoint'] = undefined;
  if (code !== undefined) body['endpoint_code'] = undefined;
  return (endpoint ?? code) as string | undefined;
}

function requireCode(value: unknown, param: string): void {
  if (typeof value === 'string' && value !== '') return;
  throw new Fault('invalid_field', `${param} must be an endpoint code.`, { param });
}

/** Without a selector the model may carry it: `code/model`. */
function splitModel(selector: string | undefined, model: string): { code: string; model: string } {
  if (selector !== undefined) return { code: selector, model };
  const slash = model.indexOf('/');
  if (slash > 0) return { code: model.slice(0, slash), model: model.slice(slash + 1) };
  throw new Fault('missing_field', 'endpoint is required.', { param: 'endpoint' });
}
