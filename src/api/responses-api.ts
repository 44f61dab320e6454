import type { ChatCall, RelayParts } from '../relay/call.ts';
import { relayChat } from '../relay/chat.ts';
import type { Clock } from '../std/clock.ts';
import type { ResponseContext } from '../wire/responses/answer.ts';
import { responsesRequestSchema, type ResponsesRequest } from '../wire/responses/request.ts';
import { chatToResponse, responsesEncoder } from '../wire/responses/stream.ts';
import { responsesToChat } from '../wire/responses/to-chat.ts';
import { streamResponse } from './chat-answer.ts';
import type { CallerAuth, Exchange } from '../http/caller.ts';
import { type JsonBody, parseBody, withoutNulls } from '../http/json-body.ts';
import { callOf } from './public-calls.ts';
import { paidAnswer } from '../http/respond.ts';
import { routeSelector } from './route-selector.ts';

/** A chat call that came as a Responses request and is answered as one. */
export interface ResponsesCall extends ChatCall {
  readonly responses: ResponsesRequest;
}

export function readResponses(
  exchange: Exchange,
  caller: ReturnType<CallerAuth['caller']>,
  body: JsonBody,
  callerAuth: CallerAuth,
): ResponsesCall {
  const asked = parseBody(responsesRequestSchema, withoutNulls(body.value));
  return {
    ...callOf(exchange, caller, body),
    selector: routeSelector(callerAuth, asked.model, 'chat_completion'),
    label: asked.model,
    request: responsesToChat(asked),
    cap: 'lowered',
    encoder: (labels) => responsesEncoder(contextOf(labels, asked, callerAuth.parts.clock)),
    responses: asked,
  };
}

export async function answerResponses(call: ResponsesCall, parts: RelayParts): Promise<Response> {
  const reply = await relayChat(call, parts);
  if (reply.kind === 'stream') return streamResponse(reply);
  const labels = { id: call.requestId, model: call.label };
  const response = chatToResponse(reply.shown.completion, contextOf(labels, call.responses, parts.clock));
  return paidAnswer(response, reply.terms, reply.charged);
}

function contextOf(
  labels: { id: string; model: string },
  request: ResponsesRequest,
  clock: Clock,
): ResponseContext {
  return { ...labels, created: Math.floor(clock.now() / 1000), request };
}
