import { NO_USAGE, type Usage } from '../../ledger/price.ts';
import { countTokens } from '../../std/tokens.ts';
import type { ChatChunk, ChatCompletion, ChatMessage, ChatRequest } from '../../wire/openai/chat.ts';
import { generatedText } from '../../wire/openai/answer.ts';
import type { TextMeter } from './chunk-template.ts';
import { readUsage, type MeteredUsage } from './reported-usage.ts';

/**
 * Text is counted in blocks of this size and then dropped, so that a long stream keeps at most one block. The blocks
 * depend only on the text, and so does the count: not on the chunks, nor on when it was asked for.
 */
const BLOCK_CHARACTERS = 8_192;
/** Longer than any finish reason in use. */
const MAX_REASON_LENGTH = 64;
const FIRST_RAW_BYTES = 128;
const MAX_RAW_BYTES = 2_048;

/**
 * Observes the answer of a backend that accepted the request: the usage that the backend reports, and the text, in case
 * it reports none. Text is counted only on demand or when a block is full.
 */
export class Meter implements TextMeter {
  /** What came after `#text`, as raw JSON. */
  #raw: Uint8Array | undefined;
  #rawLength = 0;
  /** Text came after the last usage that was reported. */
  #hasNewText = false;
  #hasText = false;
  readonly #request: ChatRequest;
  #text = '';
  #counted = 0;
  /** The tokens of `#text`; unknown while it grows. */
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

  /** The inside of a JSON string. Most are never decoded, because the backend reports its usage. */
  observeRaw(bytes: Uint8Array, from: number, to: number): void {
    if (from === to) return;
    const length = this.#rawLength + to - from;
    const raw = length <= (this.#raw?.length ?? 0) ? this.#raw : this.#rawBufferFor(length);
    if (!raw) return this.#add(decodeJsonText(bytes.slice(from, to)));
    this.#hasNewText = true;
    for (let at = from; at < to; at++) raw[this.#rawLength++] = bytes[at] ?? 0;
  }

  observeWhole(completion: ChatCompletion): MeteredUsage {
    for (const choice of completion.choices) {
      this.#noteFinish(choice.finish_reason);
      // Counted only if the backend reported no usage, so not block by block.
      this.#text += generatedText(choice.message);
    }
    this.#hasNewText = this.#text !== '';
    this.#noteUsage(completion.usage);
    return this.measure();
  }

  /**
   * Reported usage counts, whichever side ended the answer. A number that cannot be true is replaced by our own count:
   * no input, or an output that was reported before the last text or is zero although there is text.
   */
  measure(): MeteredUsage {
    const reported = this.#reported;
    if (!reported) return { usage: this.counted(), source: 'counted' };
    const isOutputTrue = !this.#hasNewText && (reported.output > 0 || !this.#hasText);
    if (isOutputTrue && reported.input > 0) return { usage: reported, source: 'upstream' };
    const input = reported.input > 0 ? reported.input : this.#countedInput();
    const output = isOutputTrue ? reported.output : Math.max(reported.output, this.#countedOutput());
    return { usage: { ...reported, input, output }, source: 'mixed' };
  }

  /** Our own count of the input and of the output so far. */
  counted(): Usage {
    return { ...NO_USAGE, input: this.#countedInput(), output: this.#countedOutput() };
  }

  #countedInput(): number {
    return (this.#input ??= countInput(this.#request));
  }

  #countedOutput(): number {
    this.#decodeRaw();
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
    this.#decodeRaw();
    this.#hasNewText = true;
    this.#append(text);
  }

  #append(text: string): void {
    this.#text += text;
    this.#countedText = undefined;
    while (this.#text.length >= BLOCK_CHARACTERS) {
      this.#counted += countTokens(this.#text.slice(0, BLOCK_CHARACTERS));
      this.#text = this.#text.slice(BLOCK_CHARACTERS);
    }
  }

  #decodeRaw(): void {
    if (!this.#raw || this.#rawLength === 0) return;
    const raw = this.#raw.subarray(0, this.#rawLength);
    this.#rawLength = 0;
    this.#append(decodeJsonText(raw));
  }

  /** `undefined` if that is more than is kept; what was kept has been decoded then. */
  #rawBufferFor(length: number): Uint8Array | undefined {
    if (length > MAX_RAW_BYTES) {
      this.#decodeRaw();
      return undefined;
    }
    const larger = new Uint8Array(Math.max(FIRST_RAW_BYTES, 2 ** Math.ceil(Math.log2(length))));
    if (this.#raw) larger.set(this.#raw.subarray(0, this.#rawLength));
    return (this.#raw = larger);
  }
}

/** A byte order mark at the start of a text is part of it. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function decodeJsonText(raw: Uint8Array): string {
  const text = decoder.decode(raw);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
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
