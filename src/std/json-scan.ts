/**
 * Limits of what JSON text may make the parser do. Parsing takes as long as the text demands, and twenty megabytes of
 * `{}` take seconds; these limits keep it below fifty milliseconds. The largest requests that make sense, three
 * hundred thousand token numbers to embed or some hundred tools with their schemas, are within them.
 */
export const JSON_LIMITS = {
  depth: 64,
  /** Of arrays and objects together. */
  values: 500_000,
  /** Objects, arrays and keys cost the parser far more than other values. */
  structure: 60_000,
  keysOfObject: 10_000,
} as const;

const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Finds out in steps, without parsing, whether JSON text keeps to the limits. Whether it is JSON is for the parser. */
export class JsonScan {
  readonly #bytes: Buffer;
  /** Keys of the objects that are open, by depth; not counted in a text that has no room for too many. */
  readonly #keys: Uint32Array | undefined;
  #at = 0;
  #depth = 0;
  #values = 1;
  #structure = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.byteLength > JSON_LIMITS.keysOfObject) this.#keys = new Uint32Array(JSON_LIMITS.depth + 1);
  }

  /** What the text exceeds, `done` at its end, or `more` after about this many bytes. */
  run(maxBytes = Infinity): 'done' | 'more' | JsonExcess {
    const bytes = this.#bytes;
    const end = Math.min(bytes.length, this.#at + maxBytes);
    while (this.#at < end) {
      const excess = this.#take(bytes[this.#at] ?? 0);
      if (excess !== undefined) return excess;
      this.#at++;
    }
    return this.#at >= bytes.length ? 'done' : 'more';
  }

  #take(byte: number): JsonExcess | undefined {
    switch (byte) {
      case QUOTE:
        this.#at = this.#endOfString();
        return undefined;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++this.#depth > JSON_LIMITS.depth) return 'depth';
        if (this.#keys) this.#keys[this.#depth] = 0;
        return ++this.#structure > JSON_LIMITS.structure ? 'structure' : undefined;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (this.#depth > 0) this.#depth--;
        return undefined;
      case COMMA:
        return ++this.#values > JSON_LIMITS.values ? 'values' : undefined;
      case COLON:
        if (++this.#structure > JSON_LIMITS.structure) return 'structure';
        return this.#keys && countKey(this.#keys, this.#depth) > JSON_LIMITS.keysOfObject
          ? 'keysOfObject'
          : undefined;
      default:
        return undefined;
    }
  }

  /**
   * The position of the closing quote, or the end of the text. The native search makes ten megabytes of base64 cost
   * nothing; from the first escaped quote on, byte by byte is faster than as many searches.
   */
  #endOfString(): number {
    const bytes = this.#bytes;
    const found = bytes.indexOf(QUOTE, this.#at + 1);
    if (found === -1) return bytes.length;
    if (bytes[found - 1] !== BACKSLASH) return found;
    let at = this.#at + 1;
    while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
    return at;
  }
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

export type JsonExcess = keyof typeof JSON_LIMITS;

/** Character codes for code that walks through JSON text without parsing it. */
export const QUOTE = 0x22;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;

/** The position of the closing quote, or the end of the text where there is none (the parser will report that). */
export function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}
