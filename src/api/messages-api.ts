import { preferTokenError } from '../relay/admission.ts';
import type { ChatCall, NativeRequest } from '../relay/call.ts';
import { relayChat } from '../relay/chat.ts';
import { countTokens } from '../std/tokens.ts';
import { chatToMessages, messagesErrorBody } from '../wire/anthropic/answer.ts';
import { countTokensOf } from '../wire/anthropic/count.ts';
import { countTokensRequestSchema, messagesRequestSchema } from '../wire/anthropic/request.ts';
import { messagesEncoder } from '../wire/anthropic/stream.ts';
import { withoutThread } from '../wire/anthropic/thread.ts';
import { messagesToChat } from '../wire/anthropic/to-chat.ts';
import { streamResponse } from './chat-answer.ts';
import type { CallerAuth, Exchange } from '../http/caller.ts';
import { readJson, parseBody, withoutNulls } from '../http/json-body.ts';
import { callOf, withSignal } from './public-calls.ts';
import { json, paidAnswer } from '../http/respond.ts';
import type { Idempotency } from '../http/idempotency/idempotency.ts';
import type { HttpRoute } from '../http/router.ts';
import { routeSelector } from './route-selector.ts';

/** Anthropic's paths. Errors are worded in that dialect too, because its clients read nothing else. */
export function messagesApi(callerAuth: CallerAuth, idempotency: Idempotency): HttpRoute[] {
  const faults = messagesErrorBody;
  return [
    {
      method: 'POST',
      path: '/v1/messages',
      faults,
      handle: (exchange) => messages(exchange, callerAuth, idempotency),
    },
    {
      method: 'POST',
      path: '/v1/messages/count_tokens',
      faults,
      handle: (exchange) => count(exchange, callerAuth),
    },
    // A client that only wants to know whether somebody is there.
    { method: 'GET', path: '/api/hello', handle: async ({ requestId }) => json({ ok: true }, requestId) },
  ];
}

async function messages(
  exchange: Exchange,
  callerAuth: CallerAuth,
  idempotency: Idempotency,
): Promise<Response> {
  const caller = callerAuth.caller(exchange);
  const { call, body } = await preferTokenError({ caller, rate: 'chat' }, callerAuth.parts, async () => {
    const body = await readJson(exchange.request);
    const own = withoutThread(body.value);
    const asked = parseBody(messagesRequestSchema, withoutNulls(own));
    const call: ChatCall = {
      ...callOf(exchange, caller, body),
      selector: routeSelector(callerAuth, asked.model, 'chat_completion'),
      label: asked.model,
      request: messagesToChat(asked),
      cap: 'lowered',
      encoder: (labels) => messagesEncoder(labels, countTokensOf(asked, countTokens)),
      nativeRequest: nativeRequestOf(exchange.request.headers, own),
    };
    return { call, body };
  });
  return await idempotency.once(exchange, { caller, text: body.text }, (signal) =>
    answer(withSignal(call, signal), callerAuth),
  );
}

async function answer(call: ChatCall, callerAuth: CallerAuth): Promise<Response> {
  const reply = await relayChat(call, callerAuth.parts);
  if (reply.kind === 'stream') return streamResponse(reply);
  const { shown } = reply;
  if (shown.passThrough) return paidAnswer(shown.text, reply.terms, reply.charged);
  const message = chatToMessages(shown.completion, { id: call.requestId, model: call.label });
  return paidAnswer(message, reply.terms, reply.charged);
}

/** The request as it came, with the two headers that say which edition of the dialect it is. */
function nativeRequestOf(headers: Headers, body: Record<string, unknown>): NativeRequest {
  return {
    body,
    version: headers.get('anthropic-version') ?? undefined,
    beta: headers.get('anthropic-beta') ?? undefined,
  };
}

/** Free of charge: clients ask before they send, to know when a conversation grows too long. */
async function count(exchange: Exchange, callerAuth: CallerAuth): Promise<Response> {
  await callerAuth.account(callerAuth.caller(exchange));
  const { value } = await readJson(exchange.request);
  const request = parseBody(countTokensRequestSchema, withoutNulls(value));
  return json({ input_tokens: countTokensOf(request, countTokens) }, exchange.requestId);
}
