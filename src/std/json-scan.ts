/**
 * Limits of what JSON text may make the parser do. Parsing takes as long as the text demands, and twenty megabytes of
 * `{}` take seconds; these limits keep it below fifty milliseconds. The largest requests that make sense, three
 * hundred thousand token numbers to embed or some hundred tools with their schemas, are within them.
 */
export const JSON_LIMITS = {
  depth: 64,
  /** The values of all arrays and objects together. */
  values: 500_000,
  /** Objects, arrays and keys cost the parser far more than other values. */
  structure: 60_000,
  keysOfObject: 10_000,
} as const;

/** One event of a stream is parsed in the turn in which it arrives, between those of other streams. */
export const EVENT_LIMITS: JsonLimits = {
  ...JSON_LIMITS,
  values: 100_000,
  structure: 20_000,
  escapes: 500_000,
};

export interface JsonLimits extends Readonly<Record<keyof typeof JSON_LIMITS, number>> {
  /** Bytes that are not in strings, which code walks through one by one. */
  readonly bytesOutsideStrings?: number;
  /** Backslashes: a string without them is copied, one of many is decoded sign by sign. */
  readonly escapes?: number;
}

/** Finds out piece by piece, without parsing, whether JSON text keeps to the limits. Whether it is JSON is for the parser. */
export class JsonScan {
  readonly #limits: JsonLimits;
  /** Keys of the objects that are open, by depth. */
  readonly #keys: Uint32Array;
  #isInString = false;
  /** The first byte of the next piece is escaped by the last one of this. */
  #isEscaped = false;
  #depth = 0;
  #values = 1;
  #structure = 0;
  /** How much of what was scanned are numbers, punctuation, white space and strings with escaped quotes. */
  bytesOutsideStrings = 0;

  constructor(limits: JsonLimits = JSON_LIMITS) {
    this.#limits = limits;
    this.#keys = new Uint32Array(limits.depth + 1);
  }

  /** The limit that the text exceeds with this piece, if any. */
  add(piece: Uint8Array): JsonExcess | undefined {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    let at = this.#isEscaped ? 1 : 0;
    while (at < bytes.length) {
      if (this.#isInString) {
        at = this.#endOfString(bytes, at);
        if (at >= bytes.length) break;
        this.#isInString = false;
      } else {
        this.bytesOutsideStrings++;
        const excess = this.#take(bytes[at] ?? 0);
        if (excess !== undefined) return excess;
      }
      at++;
    }
    this.#isEscaped = at > bytes.length;
    return undefined;
  }

  #take(byte: number): JsonExcess | undefined {
    const limits = this.#limits;
    switch (byte) {
      case QUOTE:
        this.#isInString = true;
        return undefined;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++this.#depth > limits.depth) return 'depth';
        this.#keys[this.#depth] = 0;
        return ++this.#structure > limits.structure ? 'structure' : undefined;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (this.#depth > 0) this.#depth--;
        return undefined;
      case COMMA:
        return ++this.#values > limits.values ? 'values' : undefined;
      case COLON:
        if (++this.#structure > limits.structure) return 'structure';
        return countKey(this.#keys, this.#depth) > limits.keysOfObject ? 'keysOfObject' : undefined;
      default:
        return undefined;
    }
  }

  /**
   * The position of the closing quote; behind the piece, if it is in a later one: one further where an escape is cut. The
   * native search makes ten megabytes of base64 cost nothing; from the first escaped quote on, byte by byte is faster than
   * as many searches.
   */
  #endOfString(bytes: Buffer, from: number): number {
    const found = bytes.indexOf(QUOTE, from);
    if (found === -1) return bytes.length + (backslashesBefore(bytes, bytes.length, from) % 2);
    if (found === from || bytes[found - 1] !== BACKSLASH) return found;
    let at = from;
    while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
    this.bytesOutsideStrings += at - from;
    return at;
  }
}

function backslashesBefore(bytes: Buffer, end: number, from: number): number {
  let at = end;
  while (at > from && bytes[at - 1] === BACKSLASH) at--;
  return end - at;
}

/** Whether arrays and objects are nested deeper than this many levels. */
export function nestsDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const one of value) if (nestsDeeper(one, levels - 1)) return true;
    return false;
  }
  for (const key in value) if (nestsDeeper(value[key as keyof typeof value], levels - 1)) return true;
  return false;
}

function countKey(keys: Uint32Array, depth: number): number {
  const count = (keys[depth] ?? 0) + 1;
  keys[depth] = count;
  return count;
}

type JsonExcess = keyof typeof JSON_LIMITS;

/** Character codes for code that walks through JSON text without parsing it. */
export const QUOTE = 0x22;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const BACKSLASH = 0x5c;

/** The position of the closing quote, or the end of the text where there is none (the parser will report that). */
export function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}
