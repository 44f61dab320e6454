import { MAX_COUNT, NO_USAGE, type Usage } from '../../ledger/price.ts';
import type { UsageSource } from '../../ledger/port.ts';
import { countTokens } from '../../std/tokens.ts';
import type {
  ChatChunk,
  ChatCompletion,
  ChatMessage,
  ChatRequest,
  ChatUsage,
} from '../../wire/openai/chat.ts';
import { generatedText } from '../../wire/openai/answer.ts';
import type { TextMeter } from './chunk-template.ts';

export interface Measured {
  readonly usage: Usage;
  readonly source: UsageSource;
}

/**
 * Text is counted in blocks of this size and then forgotten, so that a long stream holds no more than one block. Where
 * they are cut depends on the text alone, and so does the count: not on chunks, nor on when somebody asked.
 */
const BLOCK = 8_192;
/** Longer than any that a backend has. */
const MAX_REASON_LENGTH = 64;
const FIRST_RAW_BYTES = 128;
const MOST_RAW_BYTES = 2_048;

/**
 * Watches the answer of a backend that accepted the request: the backend's own usage where it gives one, and the text
 * that came for the case that it does not. Counting happens only when somebody asks or a block is full.
 */
export class Meter implements TextMeter {
  /** What came after `#text`, as it stood in the JSON. */
  #raw: Uint8Array | undefined;
  #rawLength = 0;
  /** Text came after the last usage that was reported. */
  #hasNewText = false;
  #hasText = false;
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
    for (const choice of chunk.choices ?? []) {
      this.#noteFinish(choice?.finish_reason);
      const text = generatedText(choice?.delta);
      if (text !== '') this.#add(text);
    }
    if (chunk.usage != null) this.#noteUsage(chunk.usage);
  }

  /** The inside of a JSON string. Most of them are never read: the backend counts itself. */
  observeRaw(bytes: Uint8Array, from: number, to: number): void {
    if (from === to) return;
    const length = this.#rawLength + to - from;
    const raw = length <= (this.#raw?.length ?? 0) ? this.#raw : this.#roomFor(length);
    if (!raw) return this.#add(insideOf(bytes.slice(from, to)));
    this.#hasNewText = true;
    for (let at = from; at < to; at++) raw[this.#rawLength++] = bytes[at] ?? 0;
  }

  observeWhole(completion: ChatCompletion): Measured {
    for (const choice of completion.choices) {
      this.#noteFinish(choice.finish_reason);
      // Counted only where the backend did not: a whole answer needs no block by block.
      this.#text += generatedText(choice.message);
    }
    this.#hasNewText = this.#text !== '';
    this.#noteUsage(completion.usage);
    return this.measure();
  }

  /**
   * What the backend reported counts, whoever ended the answer. Where a number of it cannot be true, ours stands in its
   * place: no input, or an output that is older than the last text or zero although there is text.
   */
  measure(): Measured {
    const reported = this.#reported;
    if (!reported) return { usage: this.counted(), source: 'counted' };
    const isOutputTrue = !this.#hasNewText && (reported.output > 0 || !this.#hasText);
    if (isOutputTrue && reported.input > 0) return { usage: reported, source: 'upstream' };
    const input = reported.input > 0 ? reported.input : this.#countedInput();
    const output = isOutputTrue ? reported.output : Math.max(reported.output, this.#countedOutput());
    return { usage: { ...reported, input, output }, source: 'mixed' };
  }

  /** By our own count: the input, and the output that came so far. */
  counted(): Usage {
    return { ...NO_USAGE, input: this.#countedInput(), output: this.#countedOutput() };
  }

  #countedInput(): number {
    return (this.#input ??= countInput(this.#request));
  }

  #countedOutput(): number {
    this.#takeRaw();
    return this.#counted + (this.#countedText ??= countTokens(this.#text));
  }

  #noteFinish(reason: unknown): void {
    if (typeof reason === 'string' && reason !== '') this.finishReason = reason.slice(0, MAX_REASON_LENGTH);
  }

  #noteUsage(raw: unknown): void {
    const usage = readUsage(raw);
    if (!usage) return;
    this.#reported = usage;
    this.#hasText ||= this.#hasNewText;
    this.#hasNewText = false;
  }

  #add(text: string): void {
    this.#takeRaw();
    this.#hasNewText = true;
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

/** What is charged in the words of the wire, where the backend did not tell it itself. */
export function usageOf({ usage, source }: Measured): ChatUsage | undefined {
  if (source === 'upstream') return undefined;
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    ...(usage.cached > 0 && { prompt_tokens_details: { cached_tokens: usage.cached } }),
    ...(usage.reasoning > 0 && { completion_tokens_details: { reasoning_tokens: usage.reasoning } }),
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
