import type { Caller } from '../ledger/port.ts';
import type { Call, ChatCall, ImageCall } from '../relay/call.ts';
import { Fault } from '../std/fault.ts';
import { openAiEncoder } from '../wire/chat-stream.ts';
import { chatRequestSchema, type ChatRequest } from '../wire/chat.ts';
import { imageRequestSchema, type ImageRequest } from '../wire/images.ts';
import type { Exchange } from './edge.ts';
import type { JsonBody } from './json.ts';
import { parseBody, withoutNulls } from './parse.ts';

/** What every inference call says about itself, before it is known what it asks for. */
export type CallBase = Pick<Call<unknown>, 'requestId' | 'caller' | 'client' | 'signal' | 'size'>;

const CLIENT_CHARACTERS = 200;

export function callOf(exchange: Exchange, caller: Caller, body: Pick<JsonBody, 'size'>): CallBase {
  const client = (exchange.request.headers.get('user-agent') ?? '').slice(0, CLIENT_CHARACTERS);
  return { requestId: exchange.requestId, caller, client, signal: exchange.signal, size: body.size };
}

/** A chat body of the public API, checked. */
export function publicChatCall(base: CallBase, value: Record<string, unknown>): ChatCall {
  const { selector, rest } = selectorOf(withoutNulls(value));
  const request = parseBody(chatRequestSchema, rest) as ChatRequest;
  const { code, model } = splitModel(selector, request.model);
  return {
    ...base,
    wanted: { code, model, type: 'chat_completion' },
    label: model,
    request,
    cap: 'strict',
    encoder: (labels) => openAiEncoder(labels, request.stream_options?.include_usage === true),
  };
}

/** An image body of the public API, checked. */
export function publicImageCall(base: CallBase, value: Record<string, unknown>): ImageCall {
  const { selector, rest } = selectorOf(withoutNulls(value));
  const request = parseBody(imageRequestSchema, rest) as ImageRequest;
  const { code, model } = splitModel(selector, request.model);
  return { ...base, wanted: { code, model, type: 'image_generation' }, label: model, request, cap: 'strict' };
}

/** `endpoint` and `endpoint_code` are two names of one field. */
function selectorOf(body: Record<string, unknown>): {
  selector: string | undefined;
  rest: Record<string, unknown>;
} {
  const { endpoint, endpoint_code: code, ...rest } = body;
  for (const [param, value] of Object.entries({ endpoint, endpoint_code: code })) {
    if (value !== undefined && (typeof value !== 'string' || value === '')) {
      throw new Fault('invalid_field', `${param} must be an endpoint code.`, { param });
    }
  }
  if (endpoint !== undefined && code !== undefined && endpoint !== code) {
    throw new Fault('invalid_field', 'endpoint and endpoint_code name different endpoints.', {
      param: 'endpoint_code',
    });
  }
  return { selector: (endpoint ?? code) as string | undefined, rest };
}

/** Without a selector the model may carry it: `code/model`. */
function splitModel(selector: string | undefined, model: string): { code: string; model: string } {
  if (selector !== undefined) return { code: selector, model };
  const slash = model.indexOf('/');
  if (slash > 0) return { code: model.slice(0, slash), model: model.slice(slash + 1) };
  throw new Fault('missing_field', 'endpoint is required.', { param: 'endpoint' });
}
