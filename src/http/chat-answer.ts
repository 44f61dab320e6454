import type { ChatCall, ChatReply, RelayParts } from '../relay/call.ts';
import { relayChat } from '../relay/relay.ts';
import { baseHeaders, json, termHeaders } from './respond.ts';

/** Runs a chat call and answers in OpenAI's shape. */
export async function answerChat(call: ChatCall, parts: RelayParts): Promise<Response> {
  const reply = await relayChat(call, parts);
  if (reply.kind === 'stream') return streamResponse(reply);
  return json(reply.text, call.requestId, termHeaders(reply.terms, reply.charged));
}

/** A stream as a response: nothing on the way may buffer or compress it. */
export function streamResponse(reply: Extract<ChatReply, { kind: 'stream' }>): Response {
  const headers = {
    ...baseHeaders(reply.terms.requestId),
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
    ...termHeaders(reply.terms),
  };
  return new Response(reply.body, { headers });
}
