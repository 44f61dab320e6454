import { MAX_COUNT, NO_USAGE, type Usage } from '../ledger/price.ts';
import type { UsageSource } from '../ledger/port.ts';
import { countTokens } from '../std/tokens.ts';
import type {
  AssistantMessage,
  ChatChunk,
  ChatCompletion,
  ChatMessage,
  ChatRequest,
  ChatUsage,
} from '../wire/chat.ts';
import { deltaText } from '../wire/chat-stream.ts';
import type { Gauge } from '../wire/mould.ts';

export interface Measured {
  readonly usage: Usage;
  readonly source: UsageSource;
}

/**
 * Text is counted in blocks of this size and then forgotten, so that a long stream holds no more than one block. Where
 * they are cut depends on the text alone, and so does the count: not on chunks, nor on when somebody asked.
 */
const BLOCK = 8_192;
const FIRST_RAW_BYTES = 128;
const MOST_RAW_BYTES = 2_048;

/**
 * Watches one answer go by: the backend's own usage where it gives one, and the text delivered for the case that it
 * does not. Counting happens only when somebody asks or a block is full.
 */
export class Meter implements Gauge {
  /** What came after `#text`, as it stood in the JSON. */
  #raw: Uint8Array | undefined;
  #rawLength = 0;
  delivered = false;
  readonly #request: ChatRequest;
  #text = '';
  #counted = 0;
  /** What `#text` counts for; unknown while it grows. */
  #countedText: number | undefined;
  #reported: Usage | undefined;
  #input: number | undefined;
  finishReason: string | undefined;

  constructor(request: ChatRequest) {
    this.#request = request;
  }

  observe(chunk: ChatChunk): void {
    this.#reported = readUsage(chunk.usage) ?? this.#reported;
    for (const choice of chunk.choices ?? []) {
      if (choice.finish_reason) this.finishReason = choice.finish_reason;
      const text = deltaText(choice.delta);
      if (text !== '') this.#add(text);
    }
  }

  /** The inside of a JSON string. Most of them are never read: the backend counts itself. */
  observeRaw(bytes: Uint8Array, from: number, to: number): void {
    if (from === to) return;
    const length = this.#rawLength + to - from;
    const raw = length <= (this.#raw?.length ?? 0) ? this.#raw : this.#roomFor(length);
    if (!raw) return this.#add(insideOf(bytes.slice(from, to)));
    this.delivered = true;
    for (let at = from; at < to; at++) raw[this.#rawLength++] = bytes[at] ?? 0;
  }

  observeWhole(completion: ChatCompletion): Measured {
    this.#reported = readUsage(completion.usage);
    this.delivered = true;
    for (const choice of completion.choices) {
      if (choice.finish_reason) this.finishReason = choice.finish_reason;
      this.#text += messageText(choice.message);
    }
    return this.measure();
  }

  /** The backend's count when the answer is whole; ours when it is not, or when the backend gave none that can be true. */
  measure(): Measured {
    return this.#reported
      ? { usage: this.#reported, source: 'upstream' }
      : { usage: this.counted(), source: 'counted' };
  }

  /** What has been delivered so far by our own count. Nothing delivered costs nothing. */
  counted(): Usage {
    if (!this.delivered) return NO_USAGE;
    this.#takeRaw();
    this.#input ??= countInput(this.#request);
    this.#countedText ??= countTokens(this.#text);
    return { ...NO_USAGE, input: this.#input, output: this.#counted + this.#countedText };
  }

  #add(text: string): void {
    this.#takeRaw();
    this.delivered = true;
    this.#append(text);
  }

  #append(text: string): void {
    this.#text += text;
    this.#countedText = undefined;
    while (this.#text.length >= BLOCK) {
      this.#counted += countTokens(this.#text.slice(0, BLOCK));
      this.#text = this.#text.slice(BLOCK);
    }
  }

  #takeRaw(): void {
    if (!this.#raw || this.#rawLength === 0) return;
    const raw = this.#raw.subarray(0, this.#rawLength);
    this.#rawLength = 0;
    this.#append(insideOf(raw));
  }

  /** `undefined`: more than is worth keeping; what was kept is read then. */
  #roomFor(length: number): Uint8Array | undefined {
    if (length > MOST_RAW_BYTES) {
      this.#takeRaw();
      return undefined;
    }
    const larger = new Uint8Array(Math.max(FIRST_RAW_BYTES, 2 ** Math.ceil(Math.log2(length))));
    if (this.#raw) larger.set(this.#raw.subarray(0, this.#rawLength));
    return (this.#raw = larger);
  }
}

/** A mark at the beginning of a text is a character of it here. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function insideOf(raw: Uint8Array): string {
  const text = decoder.decode(raw);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

/**
 * A backend's usage, or `undefined` unless every number in it is a whole one in range: what is negative, infinite,
 * text or missing is not corrected but ignored, and our own count is used.
 */
export function readUsage(raw: unknown): Usage | undefined {
  if (typeof raw !== 'object' || raw === null) return undefined;
  const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } =
    raw as Record<string, unknown>;
  if (!isCount(prompt_tokens) || !isCount(completion_tokens)) return undefined;
  const cached = detail(prompt_tokens_details, 'cached_tokens');
  const reasoning = detail(completion_tokens_details, 'reasoning_tokens');
  return {
    ...NO_USAGE,
    input: prompt_tokens,
    cached: Math.min(cached, prompt_tokens),
    output: completion_tokens,
    reasoning: Math.min(reasoning, completion_tokens),
  };
}

/** Our count in the words of the wire, where the backend gave none; what the backend gave is passed on untouched. */
export function usageOf({ usage, source }: Measured): ChatUsage | undefined {
  if (source === 'upstream') return undefined;
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_COUNT;
}

function detail(details: unknown, key: string): number {
  if (typeof details !== 'object' || details === null) return 0;
  const value = (details as Record<string, unknown>)[key];
  return isCount(value) ? value : 0;
}

function messageText(message: AssistantMessage): string {
  let text = (message.content ?? '') + (message.reasoning_content ?? '') + (message.refusal ?? '');
  for (const call of message.tool_calls ?? []) text += call.function.name + call.function.arguments;
  return text;
}

const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_IMAGE = 800;

function countInput(request: ChatRequest): number {
  const tools = request.tools ? countTokens(JSON.stringify(request.tools)) : 0;
  return request.messages.reduce((sum, message) => sum + countMessage(message), tools);
}

function countMessage(message: ChatMessage): number {
  const calls = message.tool_calls ? countTokens(JSON.stringify(message.tool_calls)) : 0;
  if (!Array.isArray(message.content)) return TOKENS_PER_MESSAGE + calls + countTokens(message.content ?? '');
  const parts = message.content.reduce(
    (sum, part) =>
      sum +
      (part.type === 'text' ? countTokens(part.text) : part.type === 'image_url' ? TOKENS_PER_IMAGE : 0),
    0,
  );
  return TOKENS_PER_MESSAGE + calls + parts;
}
