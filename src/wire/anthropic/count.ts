import { messagesToChatMessages } from './messages.ts';
import type { CountTokensRequest } from './request.ts';
import type { ChatMessage, ContentPart } from '../openai/chat.ts';

/**
 * An estimate of a request's input tokens: text by `count`, and usual numbers for everything else. Clients use it to
 * decide when to shorten a conversation; nothing is charged by it.
 */
export function countTokensOf(request: CountTokensRequest, count: (text: string) => number): number {
  let total = TOKENS_PER_ANSWER;
  for (const message of messagesToChatMessages(request))
    total += TOKENS_PER_MESSAGE + messageTokens(message, count);
  for (const tool of request.tools ?? []) total += TOKENS_PER_TOOL + count(JSON.stringify(tool));
  return total;
}

/** What the templates of chat models put around an answer, a message, a tool. */
const TOKENS_PER_ANSWER = 3;
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_TOOL = 8;
/** An image scaled to the largest size that models accept; a document of a few pages. */
const TOKENS_PER_IMAGE = 1_600;
const TOKENS_PER_FILE = 3_000;

function messageTokens(message: ChatMessage, count: (text: string) => number): number {
  let total = 0;
  for (const call of message.tool_calls ?? []) {
    total += count(call.function?.name ?? '') + count(call.function?.arguments ?? '') + TOKENS_PER_MESSAGE;
  }
  if (typeof message.content === 'string') return total + count(message.content);
  for (const part of message.content ?? []) total += partTokens(part, count);
  return total;
}

function partTokens(part: ContentPart, count: (text: string) => number): number {
  switch (part.type) {
    case 'text':
      return count(part.text);
    case 'refusal':
      return count(part.refusal);
    case 'image_url':
      return TOKENS_PER_IMAGE;
    case 'input_audio':
    case 'file':
      return TOKENS_PER_FILE;
  }
}
