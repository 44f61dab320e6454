import type { ChatMessage, ContentPart } from './chat.ts';

/** The input of a request: its texts, and usual numbers of tokens for everything else. */
export interface CountableInput {
  readonly texts: readonly string[];
  readonly tokens: number;
}

/** Clients count to decide when to shorten a conversation; nothing is charged by it. */
export function countableInput(messages: readonly ChatMessage[], tools: readonly unknown[]): CountableInput {
  const texts: string[] = [];
  let tokens = TOKENS_PER_ANSWER;
  for (const message of messages) tokens += TOKENS_PER_MESSAGE + messageTokens(message, texts);
  for (const tool of tools) {
    tokens += TOKENS_PER_TOOL;
    texts.push(JSON.stringify(tool));
  }
  return { texts, tokens };
}

/** Tokens that the templates of chat models add around an answer, a message, a tool. */
const TOKENS_PER_ANSWER = 3;
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_TOOL = 8;
/** An image scaled to the largest size that models accept; a document of a few pages. */
const TOKENS_PER_IMAGE = 1_600;
const TOKENS_PER_FILE = 3_000;

/** The tokens beside the texts; the texts are added to `texts`. */
function messageTokens(message: ChatMessage, texts: string[]): number {
  let tokens = 0;
  for (const call of message.tool_calls ?? []) {
    texts.push(call.function?.name ?? '', call.function?.arguments ?? '');
    tokens += TOKENS_PER_MESSAGE;
  }
  if (typeof message.content === 'string') texts.push(message.content);
  else for (const part of message.content ?? []) tokens += partTokens(part, texts);
  return tokens;
}

function partTokens(part: ContentPart, texts: string[]): number {
  switch (part.type) {
    case 'text':
      texts.push(part.text);
      return 0;
    case 'refusal':
      texts.push(part.refusal);
      return 0;
    case 'image_url':
      return TOKENS_PER_IMAGE;
    case 'input_audio':
    case 'file':
      return TOKENS_PER_FILE;
  }
}
