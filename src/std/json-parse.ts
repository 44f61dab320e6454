import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  JsonScan,
  nestsDeeper,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  type JsonLimits,
} from './json-scan.ts';
import { decodeInSteps, encodeInSteps, LONG_TEXT } from './long-text.ts';
import { nextTurn } from './turns.ts';

/** JSON that somebody else wrote, as text and as a value. */
export interface JsonText {
  readonly text: string;
  readonly value: unknown;
  /** Where the outermost object has its members; known of a long text, which is not written again as a whole. */
  readonly members?: readonly JsonMember[];
}

interface JsonMember {
  readonly key: string;
  /** The first and the last position of its value, the last exclusive. */
  readonly from: number;
  readonly to: number;
}

/** The text has more in it than may be parsed. */
export class JsonBeyondLimit extends Error {
  readonly excess: keyof JsonLimits;

  constructor(excess: keyof JsonLimits, limits: JsonLimits) {
    super(`more than ${limits[excess]} ${EXCESS_NAMES[excess]}`);
    this.name = 'JsonBeyondLimit';
    this.excess = excess;
  }
}

const EXCESS_NAMES: Record<keyof JsonLimits, string> = {
  depth: 'levels',
  values: 'values',
  structure: 'objects, arrays and keys',
  keysOfObject: 'keys in one object',
  bytesOutsideStrings: 'bytes outside of strings',
  escapes: 'escapes in strings',
};

/**
 * Parses JSON within limits, and a long one in steps: neither many small values nor one long string keep other requests
 * waiting. One of ordinary size is there at once. Throws {@link JsonBeyondLimit}, or what the decoder and the
 * parser throw.
 */
export function parseJson(
  bytes: Uint8Array,
  limits: JsonLimits,
  decoding: 'lenient' | 'strict' = 'lenient',
): JsonText | Promise<JsonText> {
  if (bytes.byteLength > AT_ONCE_BYTES) return parseLong(bytes, limits, decoding);
  const isShort = hasRoomForDepthAlone(bytes.byteLength, limits);
  if (!isShort) refuseExcessIn(bytes, new JsonScan(limits), limits);
  const text = DECODERS[decoding].decode(bytes);
  return { text, value: isShort ? parseShort(text, limits) : JSON.parse(text) };
}

/** Up to this size, nobody waits for it. */
const AT_ONCE_BYTES = 65_536;

async function parseLong(
  bytes: Uint8Array,
  limits: JsonLimits,
  decoding: 'lenient' | 'strict',
): Promise<JsonText> {
  await refuseExcess(bytes, limits);
  const text =
    bytes.byteLength > LONG_TEXT
      ? await decodeInSteps(newDecoder(decoding), bytes)
      : DECODERS[decoding].decode(bytes);
  return text.length > STEP ? await new StepParser(text).parse() : { text, value: JSON.parse(text) };
}

/** The same for a text that was decoded already. */
export async function parseJsonText(text: string, limits: JsonLimits): Promise<unknown> {
  if (text.length <= STEP) return parseJsonAtOnce(text, limits);
  await refuseExcess(await encodeInSteps(text), limits);
  return (await new StepParser(text).parse()).value;
}

/** For a text of at most a megabyte that is parsed in the turn in which it arrived, such as one event of a stream. */
export function parseJsonAtOnce(text: string, limits: JsonLimits): unknown {
  if (hasRoomForDepthAlone(text.length, limits)) return parseShort(text, limits);
  const excess = new JsonScan(limits).add(Buffer.from(text));
  if (excess !== undefined) throw new JsonBeyondLimit(excess, limits);
  return JSON.parse(text);
}

/** The only excess that fits into a short text is too many levels: it has fewer values than bytes. */
function hasRoomForDepthAlone(length: number, { keysOfObject }: JsonLimits): boolean {
  return length <= keysOfObject;
}

function parseShort(text: string, limits: JsonLimits): unknown {
  const value: unknown = JSON.parse(text);
  const hasRoomForBrackets = text.length > 2 * limits.depth;
  if (hasRoomForBrackets && nestsDeeper(value, limits.depth)) throw new JsonBeyondLimit('depth', limits);
  return value;
}

function newDecoder(decoding: 'lenient' | 'strict'): TextDecoder {
  return new TextDecoder('utf-8', { fatal: decoding === 'strict' });
}

const DECODERS = { lenient: newDecoder('lenient'), strict: newDecoder('strict') };

/** Throws {@link JsonBeyondLimit} if the text exceeds a limit. */
export async function refuseExcess(bytes: Uint8Array, limits: JsonLimits): Promise<void> {
  const { escapes = Infinity } = limits;
  const scan = new JsonScan(limits);
  for (let from = 0; from < bytes.length; from += STEP) {
    if (from > 0) await nextTurn();
    refuseExcessIn(bytes.subarray(from, from + STEP), scan, limits);
  }
  if (bytes.length > escapes && (await hasMoreEscapes(bytes, escapes)))
    throw new JsonBeyondLimit('escapes', limits);
}

function refuseExcessIn(piece: Uint8Array, scan: JsonScan, limits: JsonLimits): void {
  const excess = scan.add(piece);
  if (excess !== undefined) throw new JsonBeyondLimit(excess, limits);
  if (scan.bytesOutsideStrings > (limits.bytesOutsideStrings ?? Infinity))
    throw new JsonBeyondLimit('bytesOutsideStrings', limits);
}

const BACKSLASHES_PER_TURN = 100_000;

async function hasMoreEscapes(bytes: Uint8Array, most: number): Promise<boolean> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let found = 0;
  for (let at = buffer.indexOf(BACKSLASH); at !== -1; at = buffer.indexOf(BACKSLASH, at + 1)) {
    if (++found > most) return true;
    if (found % BACKSLASHES_PER_TURN === 0) await nextTurn();
  }
  return false;
}

/** The same object with other values of some members. A long text keeps the rest of what it says as it is. */
export function withMembers(
  { text, value, members }: JsonText,
  changed: Readonly<Record<string, unknown>>,
): string {
  if (!members) return JSON.stringify({ ...(value as object), ...changed });
  const texts = new Map(members.map(({ key, from, to }) => [key, text.slice(from, to)]));
  for (const [key, given] of Object.entries(changed))
    if (given === undefined) texts.delete(key);
    else texts.set(key, JSON.stringify(given));
  return `{${[...texts].map(([key, json]) => `${JSON.stringify(key)}:${json}`).join()}}`;
}

/** What is parsed in one turn; the slowest text of this length takes some ten milliseconds. */
const STEP = 262_144;
const LONGEST_RUN = 4 * STEP;

/** An array or object that is open at the place that was reached. */
interface OpenContainer {
  readonly isArray: boolean;
  /** Where its bracket is. */
  readonly start: number;
  /** Where its key begins in the object around it. */
  readonly keyStart: number;
  /** Where the part begins that was not parsed yet. */
  from: number;
  /** What comes before `from`. */
  after: 'start' | 'comma' | 'value';
  /** Its values so far, once it proved too long to be parsed at once. */
  built: unknown[] | Record<string, unknown> | undefined;
}

/**
 * Parses a text piece by piece, with a turn for others after each. Only arrays, objects and strings that are longer than
 * a step are taken apart; everything in them goes through `JSON.parse`, which decides what is JSON.
 */
class StepParser {
  readonly #text: string;
  readonly #open: OpenContainer[] = [];
  readonly #members: JsonMember[] = [];
  #at = 0;
  /** Where the last string began. */
  #stringStart = -1;
  /** Where the key and the value of the outermost object's member under way begin; -1: not yet. */
  #memberKeyStart = -1;
  #memberFrom = -1;

  constructor(text: string) {
    this.#text = text;
    // The text itself is the only value of an array that nobody wrote.
    this.#begin(-1, true).built = [];
  }

  async parse(): Promise<JsonText> {
    const text = this.#text;
    while (this.#at < text.length) {
      const end = Math.min(text.length, this.#at + STEP);
      let isParsed = false;
      while (this.#at < end && !isParsed)
        isParsed = text.charCodeAt(this.#at) === QUOTE ? await this.#takeString() : this.#take();
      await nextTurn();
    }
    const root = this.#innermost();
    if (this.#open.length > 1) throw new SyntaxError('The text ends too early');
    this.#parseRun(root, text.length, 'close');
    const values = root.built as unknown[];
    if (values.length !== 1) throw new SyntaxError('The text is not one value');
    return { text, value: values[0], members: this.#members };
  }

  #innermost(): OpenContainer {
    const last = this.#open.at(-1);
    if (!last) throw new SyntaxError('A bracket closes nothing');
    return last;
  }

  #begin(start: number, isArray: boolean): OpenContainer {
    const keyStart = this.#stringStart;
    const container: OpenContainer = {
      isArray,
      start,
      keyStart,
      from: start + 1,
      after: 'start',
      built: undefined,
    };
    this.#open.push(container);
    return container;
  }

  /** True if something was parsed, which is enough for one turn. */
  #take(): boolean {
    const at = this.#at++;
    switch (this.#text.charCodeAt(at)) {
      case OPEN_BRACE:
        this.#begin(at, false);
        return false;
      case OPEN_BRACKET:
        this.#begin(at, true);
        return false;
      case CLOSE_BRACE:
        return this.#close(at, false);
      case CLOSE_BRACKET:
        return this.#close(at, true);
      case COLON:
        if (this.#open.length === 2 && this.#memberFrom === -1) this.#memberFrom = at + 1;
        return false;
      case COMMA:
        return this.#takeComma(at);
      default:
        return false;
    }
  }

  #takeComma(at: number): boolean {
    this.#endMember(at);
    const container = this.#innermost();
    if (at - container.from < STEP) return false;
    this.#build();
    this.#parseRun(container, at, 'comma');
    container.from = at + 1;
    container.after = 'comma';
    return true;
  }

  #close(at: number, isArray: boolean): boolean {
    this.#endMember(at);
    const container = this.#innermost();
    this.#open.pop();
    const around = this.#innermost();
    if (container.isArray !== isArray) throw new SyntaxError('A bracket closes another kind');
    if (!container.built) return false;
    this.#parseRun(container, at, 'close');
    around.from = at + 1;
    around.after = 'value';
    return true;
  }

  /** A text that is no object has no members, and its values are not read as such. */
  #endMember(to: number): void {
    if (this.#open.length !== 2 || this.#memberFrom === -1) return;
    const from = this.#memberFrom;
    this.#memberFrom = -1;
    const keyStart = this.#memberKeyStart;
    this.#members.push({ key: keyOf(this.#text.slice(keyStart, from)), from, to });
  }

  /** From the opening quote to behind the closing one. True if it was so long that it was parsed. */
  async #takeString(): Promise<boolean> {
    const text = this.#text;
    const start = this.#at;
    const keyStart = this.#stringStart;
    const end = await endOfStringInSteps(text, start);
    this.#stringStart = start;
    this.#at = end + 1;
    if (this.#open.length === 2 && this.#memberFrom === -1) this.#memberKeyStart = start;
    const isKey = /^\s*:/.test(text.slice(end + 1, end + 100));
    if (end - start < STEP || isKey) return false;
    const container = this.#build();
    this.#put(container, { start, keyStart }, await stringInSteps(text, start + 1, end));
    container.from = end + 1;
    container.after = 'value';
    return true;
  }

  /** From here on the open containers are built value by value, each of them a value of the one around it. */
  #build(): OpenContainer {
    for (const [index, container] of this.#open.entries()) {
      const around = this.#open[index - 1];
      if (container.built || !around) continue;
      container.built = container.isArray ? [] : {};
      this.#put(around, container, container.built);
    }
    return this.#innermost();
  }

  /** Adds a value that was not parsed together with its neighbours, after those before it. */
  #put(container: OpenContainer, { start, keyStart }: PlaceOfValue, value: unknown): void {
    if (!container.isArray && keyStart < container.from) throw new SyntaxError('A value has no key');
    this.#parseRun(container, container.isArray ? start : keyStart, 'value');
    if (Array.isArray(container.built)) container.built.push(value);
    else if (container.built) setMember(container.built, keyOf(this.#text.slice(keyStart, start)), value);
  }

  /** Parses what was not parsed yet of a container, up to a comma, a value or its closing bracket. */
  #parseRun(container: OpenContainer, to: number, ending: 'comma' | 'value' | 'close'): void {
    // Only a number, a key or white space can be so long: what is between commas was parsed before.
    if (to - container.from > LONGEST_RUN) throw new SyntaxError('A number or white space is too long');
    let run = this.#text.slice(container.from, to);
    const isBlank = run.trim() === '';
    if (isBlank && container.after === 'value' && ending !== 'value') return;
    if (isBlank && container.after !== 'value' && ending === 'value') return;
    if (isBlank && container.after === 'start' && ending === 'close') return;
    if (container.after === 'value') run = withoutComma(run, /^\s*,/);
    if (container.after === 'value' && ending === 'value' && run.trim() === '') return;
    if (ending === 'value') run = withoutComma(run, /,\s*$/);
    if (run.trim() === '') throw new SyntaxError('A comma separates nothing');
    if (Array.isArray(container.built))
      for (const value of JSON.parse(`[${run}]`) as unknown[]) container.built.push(value);
    else if (container.built)
      for (const [key, value] of Object.entries(JSON.parse(`{${run}}`) as object))
        setMember(container.built, key, value);
  }
}

interface PlaceOfValue {
  readonly start: number;
  readonly keyStart: number;
}

/** The key in a text such as `"key" :`. */
function keyOf(text: string): string {
  const [key] = Object.keys(JSON.parse(`{${text}0}`) as object);
  if (key === undefined) throw new SyntaxError('A value has no key');
  return key;
}

/** `__proto__` is a key like any other, as for `JSON.parse`. */
function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

function withoutComma(run: string, comma: RegExp): string {
  const rest = run.replace(comma, '');
  if (rest.length === run.length) throw new SyntaxError('A comma is missing');
  return rest;
}

/** The position of the closing quote. A search finds it, unless a quote is escaped: then character by character. */
async function endOfStringInSteps(text: string, start: number): Promise<number> {
  let at = text.indexOf('"', start + 1);
  if (at !== -1 && text.charCodeAt(at - 1) === BACKSLASH) {
    for (at = start + 1; at < text.length && text.charCodeAt(at) !== QUOTE; await nextTurn())
      for (const end = at + LONG_TEXT; at < end && at < text.length && text.charCodeAt(at) !== QUOTE;)
        at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  }
  if (at === -1 || at >= text.length) throw new SyntaxError('A string has no end');
  return at;
}

/** The value of a string between its quotes. Escapes make a long one slow to parse. */
async function stringInSteps(text: string, start: number, end: number): Promise<string> {
  let value = '';
  for (let from = start; from < end;) {
    const to = from + LONG_TEXT >= end ? end : betweenEscapes(text, from + LONG_TEXT);
    value += JSON.parse(`"${text.slice(from, to)}"`) as string;
    from = to;
    await nextTurn();
  }
  return value;
}

/** This position, or that of the escape sequence which it would cut. */
function betweenEscapes(text: string, position: number): number {
  for (let at = position - 1; at > position - 6; at--)
    if (text.charCodeAt(at) === BACKSLASH && isEscapeAt(text, at)) {
      const length = text.charAt(at + 1) === 'u' ? 6 : 2;
      return at + length > position ? at : position;
    }
  return position;
}

/** Whether this backslash begins an escape: one that is escaped itself does not. */
function isEscapeAt(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === BACKSLASH) before--;
  return (at - before) % 2 === 0;
}
