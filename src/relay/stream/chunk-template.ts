import { isUtf8 } from 'node:buffer';
import { type ChatEncoder, generatedText } from '../../wire/openai/answer.ts';
import type { ChatChunk } from '../../wire/openai/chat.ts';

/**
 * What the chunks of a stream have in common: all of their text but a word or two. Learned from one chunk, it turns the
 * next ones into what the client gets by comparing and copying bytes, without reading any JSON.
 *
 * A slot holds the inside of a JSON string. With another valid inside, JSON is the same value but for that string; so
 * what was found out about the chunk that was learned from (no finish, no usage, no error) holds for all that fit.
 *
 * Between two chunks of a stream come those of all the others, and what is not in the processor's cache by then costs
 * more than any of the work here. So all of a template lies in one row of bytes: for each part of the text two
 * lengths, and then the parts themselves, each as the backend writes it and as the client gets it.
 */
export class ChunkTemplate {
  readonly #bytes: Buffer;
  readonly #parts: number;
  /** Which slot holds the text that is paid for. */
  readonly #billed: number;
  readonly #takesEscapes: boolean;
  readonly #head: string;
  readonly #tail: string;

  private constructor(shape: Shape, printed: Printed) {
    this.#head = shape.parts[0] ?? '';
    this.#tail = shape.parts.at(-1) ?? '';
    this.#bytes = laidOut(shape.parts, printed.parts);
    this.#parts = shape.parts.length;
    this.#billed = shape.billed;
    this.#takesEscapes = printed.takesEscapes;
  }

  /** `undefined` where this chunk is not an ordinary one, or cannot stand for others. */
  static of(data: string, chunk: ChatChunk, encoder: ChatEncoder): ChunkTemplate | undefined {
    const shape = encoder.isUniform === true ? shapeOf(data, chunk) : undefined;
    const printed = shape && printedBy(encoder, shape);
    return printed && new ChunkTemplate(shape, printed);
  }

  /** Whether a template made of this data would be much the same. */
  isOf(data: string): boolean {
    return data.startsWith(this.#head) && data.endsWith(this.#tail);
  }

  /** Translates the whole events that `bytes` begin with at `from`, as far as they match, and returns where it stopped. */
  translate(bytes: Uint8Array, from: number, into: OutputBuffer, meter: TextMeter): number {
    let at = from;
    for (;;) {
      const end = this.#fit(bytes, at);
      if (end === NO_FIT) return at;
      this.#fill(bytes, into);
      meter.observeRaw(bytes, slotBegins[this.#billed] ?? 0, slotEnds[this.#billed] ?? 0);
      at = end;
    }
  }

  /** Where the event at `from` ends, if it is whole and nothing but the slots is different. */
  #fit(bytes: Uint8Array, from: number): number {
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

  /** Of a part as the backend writes it (0), or as the client gets it (1). */
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

/** Where the slots of the event under way begin and end: of whichever stream has its turn. */
const slotBegins: number[] = [];
const slotEnds: number[] = [];
const LENGTHS_BYTES = 4;
/** Characters of a chunk that may stand for others, so that lengths fit into their two bytes whatever is written in it. */
const MOST_CHARACTERS = 8_192;

function laidOut(theirs: readonly string[], ours: readonly string[]): Buffer {
  const texts = theirs.flatMap((part, index) => [Buffer.from(part), Buffer.from(ours[index] ?? '')]);
  const lengths = Buffer.alloc(texts.length * 2);
  texts.forEach((text, index) => lengths.writeUInt16LE(text.length, index * 2));
  return Buffer.concat([lengths, ...texts]);
}

/**
 * Translates the ordinary chunks of one stream byte by byte, once it has learned from parsed ones what they look like.
 * It is the only thing that a delivery knows of templates.
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

  /** Takes the whole events that `bytes` begin with at `from`, as far as they fit, and says where it stopped. */
  translate(bytes: Uint8Array, from: number, meter: TextMeter): number {
    if (!this.#template) return from;
    const stop = this.#template.translate(bytes, from, outputBuffer, meter);
    if (stop > from) this.#idle = 0;
    return stop;
  }

  /** The result of the last `translate`, to be used before the next one; `undefined` if there is none. */
  take(): Uint8Array | undefined {
    return outputBuffer.take();
  }
}

/** After this many templates that fitted no other chunk, the stream is parsed to its end. */
const MAX_IDLE_TEMPLATES = 8;

/** Counts the billed text, which it gets as it stands in the JSON. */
export interface TextMeter {
  observeRaw(bytes: Uint8Array, from: number, to: number): void;
}

/** Collects translated events. It is emptied before another stream uses it, so one serves them all. */
export class OutputBuffer {
  #bytes = Buffer.alloc(FIRST_BUFFER_BYTES);
  /** Views of each length that was needed before: making one anew costs more than all the rest. */
  #views: Uint8Array[] = [];
  #length = 0;

  /** For short pieces: a loop beats a call. */
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

  /** What was collected, to be used before anything is added; `undefined` if nothing was. */
  take(): Uint8Array | undefined {
    const length = this.#length;
    if (length === 0) return undefined;
    this.#length = 0;
    if (length >= MOST_VIEWS) return this.#bytes.subarray(0, length);
    return (this.#views[length] ??= this.#bytes.subarray(0, length));
  }

  /** Bounded by what a stream is read in at once, times what names of ours add to an event. */
  #makeRoom(more: number): void {
    const least = this.#length + more;
    if (least <= this.#bytes.length) return;
    const bytes = Buffer.alloc(least * 2);
    bytes.set(this.#bytes);
    this.#bytes = bytes;
    this.#views = [];
  }
}

const FIRST_BUFFER_BYTES = 32_768;
const MOST_VIEWS = 1_024;
const outputBuffer = new OutputBuffer();
/** Up to here a loop beats a call. */
const SHORT = 48;
const NO_FIT = -1;

/** The text of an ordinary chunk around its slots. */
interface Shape {
  readonly parts: readonly string[];
  readonly billed: number;
  /** The chunk with a mark of ours in each slot. */
  readonly marked: string;
  readonly parsed: ChatChunk;
}

/** Strings of a chunk that may be different in the next: what is said, and the padding some backends add against listeners. */
const SLOTS =
  /("(?:content|reasoning_content|reasoning|refusal|arguments|obfuscation|p)"\s*:\s*")((?:[^"\\]|\\.)+)"/g;
const MOST_SLOTS = 4;

/** The same strings escaped and not: they tell whether an encoder prints what it was given, or what it means. */
const ESCAPED_MARKS = Array.from({ length: MOST_SLOTS }, (_, slot) => `\\u004dark ${slot}.`);
const MARKS = Array.from({ length: MOST_SLOTS }, (_, slot) => `Mark ${slot}.`);

function shapeOf(data: string, chunk: ChatChunk): Shape | undefined {
  const [choice, another] = chunk.choices ?? [];
  if (!choice || another || choice.finish_reason != null || chunk.usage != null) return undefined;
  // Data of several lines does not come in one piece.
  if (data.length > MOST_CHARACTERS || data.includes('\n')) return undefined;
  const parts: string[] = [];
  let after = 0;
  for (const { index, 1: key = '', 2: inside = '' } of data.matchAll(SLOTS)) {
    parts.push(data.slice(after, index + key.length));
    after = index + key.length + inside.length;
  }
  const slots = parts.length;
  if (slots === 0 || slots > MOST_SLOTS) return undefined;
  parts.push(data.slice(after));
  const marked = parts.map((part, slot) => part + (slot < slots ? ESCAPED_MARKS[slot] : '')).join('');
  // The proof that the slots are what they seem, however strangely the text is written.
  const parsed = JSON.parse(marked) as ChatChunk;
  const text = generatedText(parsed.choices[0]?.delta);
  const billed = MARKS.indexOf(text);
  return billed === -1 || billed >= slots ? undefined : { parts, billed, marked, parsed };
}

interface Printed {
  readonly parts: readonly string[];
  readonly takesEscapes: boolean;
}

function printedBy(encoder: ChatEncoder, { parts, marked, parsed }: Shape): Printed | undefined {
  const text = encoder.chunk(marked, parsed);
  const slots = parts.length - 1;
  const verbatim = cutAt(ESCAPED_MARKS.slice(0, slots), text);
  if (verbatim) return { parts: verbatim, takesEscapes: true };
  const anew = cutAt(MARKS.slice(0, slots), text);
  return anew && { parts: anew, takesEscapes: false };
}

/** The text around the marks, if each is there once and in its order. */
function cutAt(marks: readonly string[], text: string): readonly string[] | undefined {
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
/** After a backslash. Numbered characters are rare enough to be read as JSON. */
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

/** Where the string's closing quote is, if it comes and everything before it is valid. */
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
