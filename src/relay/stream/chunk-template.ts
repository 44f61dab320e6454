import { isUtf8 } from 'node:buffer';
import { type ChatEncoder, generatedText, thoughtText } from '../../wire/openai/answer.ts';
import type { ChatChunk } from '../../wire/openai/chat.ts';

/**
 * What the chunks of a stream have in common: everything except a word or two. Learned from one chunk, it turns the
 * following ones into what the client gets by comparing and copying bytes, without parsing JSON.
 *
 * A slot holds the inside of a JSON string. Replacing it with another valid inside changes only that string, so what is
 * known about the first chunk (no finish reason, no usage, no error) is true for every chunk that matches.
 *
 * The chunks of all other streams come between two chunks of one stream, and a cache miss then costs more than all the
 * work here. So a template is one contiguous buffer: two lengths for each part of the text, then the parts themselves,
 * each as the backend writes it and as the client gets it.
 */
export class ChunkTemplate {
  readonly #bytes: Buffer;
  readonly #parts: number;
  /** The slot that holds the billed text. */
  readonly #billed: number;
  readonly #isThought: boolean;
  readonly #takesEscapes: boolean;

  private constructor(shape: Shape, printed: Printed) {
    this.#bytes = layOut(shape.parts, printed.parts);
    this.#parts = shape.parts.length;
    this.#billed = shape.billed;
    this.#isThought = shape.isThought;
    this.#takesEscapes = printed.takesEscapes;
  }

  /** `undefined` if this chunk has more than text in it, or cannot be a template for others. */
  static of(data: string, chunk: ChatChunk, encoder: ChatEncoder): ChunkTemplate | undefined {
    const shape = encoder.isUniform === true ? shapeOf(data, chunk) : undefined;
    const printed = shape && printWith(encoder, shape);
    return printed && new ChunkTemplate(shape, printed);
  }

  /**
   * Translates the whole events that `bytes` starts with at `from`, as long as they match, and returns where it
   * stopped.
   */
  translate(bytes: Uint8Array, from: number, into: OutputBuffer, meter: TextMeter): number {
    let at = from;
    for (;;) {
      const end = this.#match(bytes, at);
      if (end === NO_FIT) return at;
      this.#fill(bytes, into);
      meter.observeRaw(bytes, slotBegins[this.#billed] ?? 0, slotEnds[this.#billed] ?? 0, this.#isThought);
      at = end;
    }
  }

  /** Where the event at `from` ends, if it is whole and differs only in the slots. */
  #match(bytes: Uint8Array, from: number): number {
    let at = afterField(bytes, from);
    let part = this.#parts * LENGTHS_BYTES;
    for (let index = 0; index < this.#parts; index++) {
      if (index > 0) {
        slotBegins[index - 1] = at;
        at = endOfString(bytes, at, this.#takesEscapes);
        slotEnds[index - 1] = at;
      }
      const length = this.#length(index, 0);
      at = this.#afterPart(bytes, at, part, part + length);
      if (at === NO_FIT) return NO_FIT;
      part += length + this.#length(index, 1);
    }
    return afterBlankLine(bytes, at);
  }

  #fill(bytes: Uint8Array, into: OutputBuffer): void {
    let part = this.#parts * LENGTHS_BYTES;
    for (let index = 0; index < this.#parts; index++) {
      if (index > 0) into.add(bytes, slotBegins[index - 1] ?? 0, slotEnds[index - 1] ?? 0);
      part += this.#length(index, 0);
      const end = part + this.#length(index, 1);
      into.copy(this.#bytes, part, end);
      part = end;
    }
  }

  /** The length of a part as the backend writes it (0), or as the client gets it (1). */
  #length(index: number, side: 0 | 1): number {
    const at = index * LENGTHS_BYTES + side * 2;
    return (this.#bytes[at] ?? 0) | ((this.#bytes[at + 1] ?? 0) << 8);
  }

  #afterPart(bytes: Uint8Array, at: number, part: number, partEnd: number): number {
    const end = at + partEnd - part;
    if (at === NO_FIT || end > bytes.length) return NO_FIT;
    if (end - at > SHORT) return this.#bytes.compare(bytes, at, end, part, partEnd) === 0 ? end : NO_FIT;
    for (let index = at; index < end; index++) if (bytes[index] !== this.#bytes[part++]) return NO_FIT;
    return end;
  }
}

/** Where the slots of the current event begin and end. Shared by all streams: each uses them only within one call. */
const slotBegins: number[] = [];
const slotEnds: number[] = [];
const LENGTHS_BYTES = 4;
/** The longest chunk that may become a template, so that each length fits into two bytes. */
const MAX_CHARACTERS = 8_192;

function layOut(received: readonly string[], sent: readonly string[]): Buffer {
  const texts = received.flatMap((part, index) => [Buffer.from(part), Buffer.from(sent[index] ?? '')]);
  const lengths = Buffer.alloc(texts.length * 2);
  texts.forEach((text, index) => lengths.writeUInt16LE(text.length, index * 2));
  return Buffer.concat([lengths, ...texts]);
}

/**
 * Translates the ordinary chunks of one stream byte by byte, once it has learned from parsed chunks what they look
 * like. A delivery knows nothing else about templates.
 */
export class ChunkTemplates {
  readonly #encoder: ChatEncoder;
  #template: ChunkTemplate | undefined;
  #idle = 0;

  constructor(encoder: ChatEncoder) {
    this.#encoder = encoder;
  }

  get isReady(): boolean {
    return this.#template !== undefined;
  }

  learn(data: string, chunk: ChatChunk): void {
    if (this.#idle >= MAX_IDLE_TEMPLATES) return;
    const template = ChunkTemplate.of(data, chunk, this.#encoder);
    if (!template) return;
    this.#template = template;
    this.#idle++;
  }

  /**
   * Translates the whole events that `bytes` starts with at `from`, as long as they match, and returns where it
   * stopped.
   */
  translate(bytes: Uint8Array, from: number, meter: TextMeter): number {
    if (!this.#template) return from;
    const stop = this.#template.translate(bytes, from, outputBuffer, meter);
    if (stop > from) this.#idle = 0;
    return stop;
  }

  /** The result of the last `translate`, valid until the next one; `undefined` if there is none. */
  take(): Uint8Array | undefined {
    return outputBuffer.take();
  }
}

/** After this many templates that matched no other chunk, the rest of the stream is parsed. */
const MAX_IDLE_TEMPLATES = 8;

/** Counts the billed text, which it gets as the raw inside of a JSON string. */
export interface TextMeter {
  observeRaw(bytes: Uint8Array, from: number, to: number, isThought: boolean): void;
}

/** Collects translated events. It is emptied before another stream uses it, so all streams share one. */
export class OutputBuffer {
  #bytes = Buffer.alloc(FIRST_BUFFER_BYTES);
  /** A view for each length used before: creating one costs more than everything else here. */
  #views: Uint8Array[] = [];
  #length = 0;

  /** For short pieces, where a loop is faster than a call. */
  add(from: Uint8Array, begin: number, end: number): void {
    this.#makeRoom(end - begin);
    let length = this.#length;
    for (let at = begin; at < end; at++) this.#bytes[length++] = from[at] ?? 0;
    this.#length = length;
  }

  copy(from: Buffer, begin: number, end: number): void {
    if (end - begin <= SHORT) return this.add(from, begin, end);
    this.#makeRoom(end - begin);
    from.copy(this.#bytes, this.#length, begin, end);
    this.#length += end - begin;
  }

  /** What was collected, valid until something is added; `undefined` if nothing was. */
  take(): Uint8Array | undefined {
    const length = this.#length;
    if (length === 0) return undefined;
    this.#length = 0;
    if (length >= MAX_VIEWS) return this.#bytes.subarray(0, length);
    return (this.#views[length] ??= this.#bytes.subarray(0, length));
  }

  /** Bounded by the size of one read, times what our names add to an event. */
  #makeRoom(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const bytes = Buffer.alloc(needed * 2);
    bytes.set(this.#bytes);
    this.#bytes = bytes;
    this.#views = [];
  }
}

const FIRST_BUFFER_BYTES = 32_768;
const MAX_VIEWS = 1_024;
const outputBuffer = new OutputBuffer();
/** Up to this length a loop is faster than a call. */
const SHORT = 48;
const NO_FIT = -1;

/** The text of an ordinary chunk around its slots. */
interface Shape {
  readonly parts: readonly string[];
  readonly billed: number;
  /** The billed text is what the model thinks. */
  readonly isThought: boolean;
  /** The chunk with a marker in each slot. */
  readonly marked: string;
  readonly parsed: ChatChunk;
}

/**
 * Strings that may differ in the next chunk: the text, and the padding that some backends add against traffic analysis.
 */
const SLOTS =
  /("(?:content|reasoning_content|reasoning|refusal|arguments|obfuscation|p)"\s*:\s*")((?:[^"\\]|\\.)+)"/g;
const MAX_SLOTS = 4;

/** The same strings, escaped and not: they show whether an encoder prints its input as written or decoded. */
const ESCAPED_MARKS = Array.from({ length: MAX_SLOTS }, (_, slot) => `\\u004dark ${slot}.`);
const MARKS = Array.from({ length: MAX_SLOTS }, (_, slot) => `Mark ${slot}.`);

function shapeOf(data: string, chunk: ChatChunk): Shape | undefined {
  const [choice, another] = chunk.choices ?? [];
  if (!choice || another || choice.finish_reason != null || chunk.usage != null) return undefined;
  // Data of several lines spans several `data:` fields.
  if (data.length > MAX_CHARACTERS || data.includes('\n')) return undefined;
  const parts: string[] = [];
  let after = 0;
  for (const { index, 1: key = '', 2: inside = '' } of data.matchAll(SLOTS)) {
    parts.push(data.slice(after, index + key.length));
    after = index + key.length + inside.length;
  }
  const slots = parts.length;
  if (slots === 0 || slots > MAX_SLOTS) return undefined;
  parts.push(data.slice(after));
  const marked = parts.map((part, slot) => part + (slot < slots ? ESCAPED_MARKS[slot] : '')).join('');
  // Proves that the slots are what they seem, however unusually the JSON is written.
  const parsed = JSON.parse(marked) as ChatChunk;
  const delta = parsed.choices[0]?.delta;
  const billed = MARKS.indexOf(generatedText(delta));
  const isThought = thoughtText(delta) !== '';
  return billed === -1 || billed >= slots ? undefined : { parts, billed, isThought, marked, parsed };
}

interface Printed {
  readonly parts: readonly string[];
  readonly takesEscapes: boolean;
}

function printWith(encoder: ChatEncoder, { parts, marked, parsed }: Shape): Printed | undefined {
  const text = encoder.chunk(marked, parsed);
  const slots = parts.length - 1;
  const verbatim = splitAt(ESCAPED_MARKS.slice(0, slots), text);
  if (verbatim) return { parts: verbatim, takesEscapes: true };
  const decoded = splitAt(MARKS.slice(0, slots), text);
  return decoded && { parts: decoded, takesEscapes: false };
}

/** The text around the markers, if each is there once and in order. */
function splitAt(marks: readonly string[], text: string): readonly string[] | undefined {
  const parts: string[] = [];
  let rest = text;
  for (const mark of marks) {
    const [before, after, more] = rest.split(mark);
    if (before === undefined || after === undefined || more !== undefined) return undefined;
    parts.push(before);
    rest = after;
  }
  return [...parts, rest];
}

const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_NON_ASCII = 0x80;
const FIELD = Buffer.from('data:');
/** After a backslash. `\u` escapes are rare enough to be parsed as JSON. */
const ESCAPES = new Set(Buffer.from('"\\/bfnrt'));

function afterField(bytes: Uint8Array, from: number): number {
  let at = from;
  for (let index = 0; index < FIELD.length; index++) if (bytes[at++] !== FIELD[index]) return NO_FIT;
  return bytes[at] === SPACE ? at + 1 : at;
}

function afterBlankLine(bytes: Uint8Array, at: number): number {
  if (bytes[at] === LINE_FEED && bytes[at + 1] === LINE_FEED) return at + 2;
  const isCrLf = bytes[at] === RETURN && bytes[at + 1] === LINE_FEED;
  return isCrLf && bytes[at + 2] === RETURN && bytes[at + 3] === LINE_FEED ? at + 4 : NO_FIT;
}

/** The position of the string's closing quote, if there is one and everything before it is valid. */
function endOfString(bytes: Uint8Array, from: number, takesEscapes: boolean): number {
  if (from === NO_FIT) return NO_FIT;
  let isAscii = true;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) return isAscii || isUtf8(bytes.subarray(from, at)) ? at : NO_FIT;
    if (byte < SPACE) return NO_FIT;
    if (byte >= FIRST_NON_ASCII) isAscii = false;
    else if (byte === BACKSLASH && !(takesEscapes && ESCAPES.has(bytes[++at] ?? 0))) return NO_FIT;
  }
  return NO_FIT;
}
