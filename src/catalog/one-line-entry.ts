/**
 * An entry of a list that is written in one line: `- { model: gpt-5-mini, input: 0.25, inputs: { image: { max_tokens: 800 } } }`.
 * A catalog of thousands of models has thousands of them, for which a YAML parser takes seconds. Only what every reader of
 * YAML takes for the same is read here: short numbers, `true` and `false`, quoted text without escapes, and plain words.
 */
export interface OneLineEntry {
  /** As the whole file is read: a decimal as its text, and maps without a prototype. */
  readonly value: Record<string, unknown>;
  /** Values, maps and lists in it, itself included. */
  readonly nodes: number;
  /** Where the values of the outermost map stand in the line. */
  readonly places: ReadonlyMap<string, { readonly start: number; readonly end: number }>;
  /** Where its last brace stands. */
  readonly end: number;
}

const START = /^ *- (?=\{.*\}$)/;

/** `undefined`: this must be left to the YAML parser. */
export function readOneLineEntry(line: string): OneLineEntry | undefined {
  const start = START.exec(line)?.[0].length;
  if (start === undefined) return undefined;
  const reader = new EntryReader(line, start);
  const value = reader.map(1);
  return value && reader.at === line.length
    ? { value, nodes: reader.nodes, places: reader.places, end: line.length - 1 }
    : undefined;
}

const MAX_DEPTH = 4;
const KEY = /[A-Za-z_]\w*: /y;
const PLAIN = /[A-Za-z0-9][\w./()-]*(?: [A-Za-z0-9(][\w./()-]*)*(?=,| *[\]}])/y;
/** No escapes, and nothing that is not printed. */
const QUOTED = /"([\x20\x21\x23-\x5b\x5d-\x7e\xa1-\u167f]*)"(?=,| *[\]}])/y;
const OPENING = /[{[] */y;
const NEXT = /, +/y;
const MAP_END = / *\}/y;
const LIST_END = / *\]/y;
const INTEGER = /^(?:0|[1-9]\d{0,14})$/;
const DECIMAL = /^\d{1,15}\.\d{1,15}$/;
/** As imports write texts: they begin with a letter. */
const WORD = /^[A-Za-z]/;
/** Some readers of YAML take these for something else than text. */
const OTHER_VALUES = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
const NOTHING = Symbol('left to the YAML parser');

class EntryReader {
  readonly #line: string;
  readonly places = new Map<string, { readonly start: number; readonly end: number }>();
  at: number;
  nodes = 0;

  constructor(line: string, at: number) {
    this.#line = line;
    this.at = at;
  }

  map(depth: number): Record<string, unknown> | undefined {
    this.nodes++;
    const map: Record<string, unknown> = Object.create(null);
    this.#match(OPENING);
    for (;;) {
      const key = this.#match(KEY)?.slice(0, -': '.length);
      if (key === undefined || key in map) return undefined;
      const start = this.at;
      const value = this.#value(depth);
      if (value === NOTHING) return undefined;
      map[key] = value;
      if (depth === 1) this.places.set(key, { start, end: this.at });
      if (this.#match(MAP_END) !== undefined) return map;
      if (this.#match(NEXT) === undefined) return undefined;
    }
  }

  #list(depth: number): unknown[] | undefined {
    this.nodes++;
    const list: unknown[] = [];
    this.#match(OPENING);
    for (;;) {
      const value = this.#value(depth);
      if (value === NOTHING) return undefined;
      list.push(value);
      if (this.#match(LIST_END) !== undefined) return list;
      if (this.#match(NEXT) === undefined) return undefined;
    }
  }

  #value(depth: number): unknown {
    if (this.#line[this.at] === '{') return (depth < MAX_DEPTH ? this.map(depth + 1) : undefined) ?? NOTHING;
    if (this.#line[this.at] === '[')
      return (depth < MAX_DEPTH ? this.#list(depth + 1) : undefined) ?? NOTHING;
    this.nodes++;
    const quoted = this.#match(QUOTED);
    return quoted === undefined ? plainValue(this.#match(PLAIN)) : quoted.slice(1, -1);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#line)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }
}

function plainValue(text: string | undefined): unknown {
  if (text === undefined) return NOTHING;
  if (text === 'true' || text === 'false') return text === 'true';
  if (INTEGER.test(text)) return Number(text);
  if (DECIMAL.test(text)) return text;
  return WORD.test(text) && !OTHER_VALUES.test(text) ? text : NOTHING;
}
