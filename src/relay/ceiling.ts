import { Fault } from '../std/fault.ts';
import type { ChatRequest, ContentPart } from '../wire/openai/chat.ts';
import type { BodySize } from './call.ts';

/**
 * An upper bound of the input tokens, taken from the size of the body rather than from its text: two characters a token,
 * every further byte of a non-ASCII character a token of its own, and a flat number for each attachment, whose base64
 * is no text. No tokenizer comes out higher on ordinary text, and reading the size costs nothing.
 */
export function inputCeiling(request: ChatRequest, size: BodySize, contextTokens: number): number {
  const attached = attachments(request);
  const text = Math.ceil((size.characters - attached.characters) / CHARACTERS_PER_TOKEN);
  const bound = text + (size.bytes - size.characters) + attached.tokens;
  // Ordinary text has four characters a token: half the bound beyond the window cannot fit into it.
  if ((bound - attached.tokens) / 2 > contextTokens) {
    throw new Fault(
      'context_length_exceeded',
      `The messages do not fit into the model's ${contextTokens} tokens.`,
      {
        param: 'messages',
      },
    );
  }
  return Math.min(bound, contextTokens);
}

const CHARACTERS_PER_TOKEN = 2;
const IMAGE_TOKENS = 4_000;
const BASE64_PER_AUDIO_TOKEN = 100;
const BASE64_PER_FILE_TOKEN = 8;

interface Attached {
  characters: number;
  tokens: number;
}

function attachments(request: ChatRequest): Attached {
  const total: Attached = { characters: 0, tokens: 0 };
  for (const { content } of request.messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content) {
      const one = attachment(part);
      total.characters += one.characters;
      total.tokens += one.tokens;
    }
  }
  return total;
}

function attachment(part: ContentPart): Attached {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { characters: 0, tokens: 0 };
    case 'image_url': {
      const { url } = part.image_url;
      return { characters: url.startsWith('data:') ? url.length : 0, tokens: IMAGE_TOKENS };
    }
    case 'input_audio':
      return encoded(part.input_audio.data, BASE64_PER_AUDIO_TOKEN);
    case 'file':
      return encoded(part.file.file_data, BASE64_PER_FILE_TOKEN);
  }
}

function encoded(data: unknown, charactersPerToken: number): Attached {
  const characters = typeof data === 'string' ? data.length : 0;
  return { characters, tokens: Math.ceil(characters / charactersPerToken) };
}
