import { tokenFirst } from '../relay/admission.ts';
import type { ChatCall, OwnRequest } from '../relay/call.ts';
import { relayChat } from '../relay/chat.ts';
import { countTokens } from '../std/tokens.ts';
import { chatToMessages, messagesErrorBody } from '../wire/anthropic/answer.ts';
import { countTokensOf } from '../wire/anthropic/count.ts';
import { countTokensRequestSchema, messagesRequestSchema } from '../wire/anthropic/request.ts';
import { messagesEncoder } from '../wire/anthropic/stream.ts';
import { withoutThread } from '../wire/anthropic/thread.ts';
import { messagesToChat } from '../wire/anthropic/to-chat.ts';
import { streamResponse } from './chat-answer.ts';
import type { Edge, Exchange } from '../http/caller.ts';
import { readJson } from '../http/json-body.ts';
import { parseBody, withoutNulls } from '../http/parse-body.ts';
import { callOf, under } from './public-calls.ts';
import { json, paidAnswer } from '../http/respond.ts';
import type { Replays } from '../http/idempotency/idempotency.ts';
import type { Route } from '../http/router.ts';
import { wantedOf } from './route-selector.ts';

/** Anthropic's paths. Errors are worded in that dialect too, because its clients read nothing else. */
export function messagesApi(edge: Edge, replays: Replays): Route[] {
  const faults = messagesErrorBody;
  return [
    { method: 'POST', path: '/v1/messages', faults, handle: (exchange) => messages(exchange, edge, replays) },
    {
      method: 'POST',
      path: '/v1/messages/count_tokens',
      faults,
      handle: (exchange) => count(exchange, edge),
    },
    // A client that only wants to know whether somebody is there.
    { method: 'GET', path: '/api/hello', handle: async ({ requestId }) => json({ ok: true }, requestId) },
  ];
}

async function messages(exchange: Exchange, edge: Edge, replays: Replays): Promise<Response> {
  const caller = edge.caller(exchange);
  const { call, body } = await tokenFirst({ caller, rate: 'chat' }, edge.parts, async () => {
    const body = await readJson(exchange.request);
    const own = withoutThread(body.value);
    const asked = parseBody(messagesRequestSchema, withoutNulls(own));
    const call: ChatCall = {
      ...callOf(exchange, caller, body),
      wanted: wantedOf(edge, asked.model, 'chat_completion'),
      label: asked.model,
      request: messagesToChat(asked),
      cap: 'lowered',
      encoder: (labels) => messagesEncoder(labels, countTokensOf(asked, countTokens)),
      own: ownRequest(exchange.request.headers, own),
    };
    return { call, body };
  });
  return await replays.once(exchange, { caller, text: body.text }, (signal) =>
    answer(under(call, signal), edge),
  );
}

async function answer(call: ChatCall, edge: Edge): Promise<Response> {
  const reply = await relayChat(call, edge.parts);
  if (reply.kind === 'stream') return streamResponse(reply);
  const { shown } = reply;
  if (shown.untouched) return paidAnswer(shown.text, reply.terms, reply.charged);
  const message = chatToMessages(shown.completion, { id: call.requestId, model: call.label });
  return paidAnswer(message, reply.terms, reply.charged);
}

/** The request as it came, with the two headers that say which edition of the dialect it is. */
function ownRequest(headers: Headers, body: Record<string, unknown>): OwnRequest {
  return {
    body,
    version: headers.get('anthropic-version') ?? undefined,
    beta: headers.get('anthropic-beta') ?? undefined,
  };
}

/** Free of charge: clients ask before they send, to know when a conversation grows too long. */
async function count(exchange: Exchange, edge: Edge): Promise<Response> {
  await edge.standing(edge.caller(exchange));
  const { value } = await readJson(exchange.request);
  const request = parseBody(countTokensRequestSchema, withoutNulls(value));
  return json({ input_tokens: countTokensOf(request, countTokens) }, exchange.requestId);
}
