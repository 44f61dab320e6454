import type { ChatCall, ChatReply, RelayParts } from '../relay/call.ts';
import { relayChat } from '../relay/chat.ts';
import { paidAnswer, termHeaders } from '../http/respond.ts';

/** Runs a chat call and answers in OpenAI's shape. */
export async function answerChat(call: ChatCall, parts: RelayParts): Promise<Response> {
  const reply = await relayChat(call, parts);
  if (reply.kind === 'stream') return streamResponse(reply);
  return paidAnswer(reply.shown.text, reply.terms, reply.charged);
}

/** A stream as a response: nothing on the way may buffer or compress it. */
export function streamResponse(reply: Extract<ChatReply, { kind: 'stream' }>): Response {
  const headers = termHeaders(reply.terms);
  headers.set('content-type', 'text/event-stream; charset=utf-8');
  headers.set('x-accel-buffering', 'no');
  return new Response(reply.body, { headers });
}
