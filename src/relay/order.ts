import { resolve, type Route, priceFor } from '../catalog/catalog.ts';
import type { Ceiling } from '../ledger/port.ts';
import type { Price } from '../ledger/price.ts';
import { Fault } from '../std/fault.ts';
import type { ChatRequest, ContentPart } from '../wire/openai/chat.ts';
import type { BodySize, Call, ChatCall, ImageCall, RelayParts } from './call.ts';

/** What the client asked for, found in the catalog, with its worst case and its price. */
export interface Order {
  readonly route: Route;
  readonly price: Price;
  readonly ceiling: Ceiling;
}

export interface ImageOrder extends Order {
  readonly size: string;
  readonly count: number;
}

/** When the client sets no cap. */
const DEFAULT_OUTPUT = 16_384;

export function readChatOrder(call: ChatCall, parts: RelayParts): Order {
  const catalog = parts.catalog();
  const route = resolve(catalog, call.selector);
  const ceiling: Ceiling = {
    kind: 'tokens',
    input: inputCeiling(call.request, call.size, route.model.contextTokens),
    output: outputCap(call, route.model.maxOutput),
    choices: call.request.n ?? 1,
  };
  return { route, ceiling, price: priceFor(route.model) };
}

export function readImageOrder(call: ImageCall, parts: RelayParts): ImageOrder {
  const route = resolve(parts.catalog(), call.selector);
  const size = imageSize(call, route);
  const count = call.request.n ?? 1;
  return {
    route,
    size,
    count,
    ceiling: { kind: 'images', images: count },
    price: priceFor(route.model, size),
  };
}

/** The request as the backend gets it: the cap that the hold covers is always in it, so that the bound is true. */
export function withCap(request: ChatRequest, output: number): ChatRequest {
  // `undefined` is not printed, and cheaper than leaving a field out of the copy.
  return request.max_completion_tokens === undefined
    ? { ...request, max_tokens: output }
    : { ...request, max_tokens: undefined, max_completion_tokens: output };
}

function outputCap(call: Call<ChatRequest>, maxOutput: number): number {
  const { max_completion_tokens: newer, max_tokens: older } = call.request;
  const asked = newer ?? older;
  if (asked === undefined) return Math.min(maxOutput, DEFAULT_OUTPUT);
  if (asked > maxOutput && call.cap === 'strict') {
    const param = newer === undefined ? 'max_tokens' : 'max_completion_tokens';
    throw new Fault('invalid_field', `${param} must be at most ${maxOutput} for this model.`, { param });
  }
  return Math.min(asked, maxOutput);
}

function imageSize(call: ImageCall, { model }: Route): string {
  const wanted = call.request.size;
  const size = wanted === undefined || wanted === 'auto' ? model.sizes[0] : wanted;
  if (size !== undefined && model.sizes.includes(size)) return size;
  throw new Fault('invalid_field', `size must be one of ${model.sizes.join(', ')}.`, { param: 'size' });
}

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
