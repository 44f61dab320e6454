import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Node,
  type Scalar,
} from 'yaml';
import { amountOf, isCatalogMap, numberPlace } from './catalog-data.ts';
import { pathText, type Mistake, type Path, type PathMistake } from './mistakes.ts';

/**
 * A catalog's text as plain values. A whole number is a number; an amount is its decimal text, because 0.1 as a float is
 * not 0.1, and prices must be exact.
 */
export interface CatalogText {
  readonly value: unknown;
  /** Why it is no YAML; if there are any mistakes, `value` must not be used. */
  readonly mistakes: readonly Mistake[];
  /** Looks up the positions of errors, or of the nearest nodes around them. */
  placed(mistakes: readonly PathMistake[]): Mistake[];
}

/** A catalog of five thousand models with prices has about a million. */
export const MAX_YAML_CHARACTERS = 2_000_000;
const MAX_DEPTH = 16;
const MAX_NODES = 200_000;
/** Nested aliases can turn a small text into a huge tree. */
const MAX_ALIASES = 1000;

/**
 * Bun reads YAML thirty times as fast as the `yaml` package, and knows no positions. So the package reads what Bun might
 * take for something else, and what has a mistake.
 */
export function readYaml(text: string): CatalogText {
  const problem = unreadable(text);
  if (problem !== undefined) return failed([{ line: 1, column: 1, path: '', message: problem }]);
  const value = readFast(maskReferences(text));
  return value === undefined
    ? readWithPositions(text)
    : { value, mistakes: [], placed: (mistakes) => positionsOf(text, mistakes) };
}

function unreadable(text: string): string | undefined {
  if (text.length > MAX_YAML_CHARACTERS) return `is longer than ${MAX_YAML_CHARACTERS} characters`;
  return text.includes(OPEN) || text.includes(CLOSE)
    ? 'holds private-use characters; remove them'
    : undefined;
}

function failed(mistakes: readonly Mistake[]): CatalogText {
  return { value: undefined, mistakes, placed: () => [...mistakes] };
}

const OPEN = '\uE000';
const CLOSE = '\uE001';

/**
 * `{ api_key: ${NAME} }` should work without quotes, but braces end a plain scalar inside a flow map. They are replaced
 * one for one by two characters that do not, so that every position stays true.
 */
export function maskReferences(text: string): string {
  return text.replace(/\$\{([^{}\r\n]*)\}/g, `$$${OPEN}$1${CLOSE}`);
}

export function unmaskReferences(text: string): string {
  return text.replaceAll(OPEN, '{').replaceAll(CLOSE, '}');
}

/** `undefined`: it has a mistake, or something that must be left to the package. */
function readFast(text: string): unknown {
  if (AMBIGUOUS.test(text) || !text.isWellFormed()) return undefined;
  const keys = countKeys(text);
  try {
    const reader = new FastReader();
    const value = reader.plain(Bun.YAML.parse(text), []);
    // Of keys that are written twice Bun keeps the last.
    return reader.keys === keys && isCatalogMap(value) ? value : undefined;
  } catch {
    // What is wrong is said by the package, with its position.
    return undefined;
  }
}

/** Where a value or a key begins. */
const START = String.raw`(?:^ *|[:,[{] *|- +)`;
/** What the readers understand in different ways, or what Bun no longer shows as it was written. */
const AMBIGUOUS = new RegExp(
  [
    // Tabs, carriage returns and whatever is not printed.
    String.raw`[\0-\x09\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff]`,
    // Several documents, directives, merged maps, unusual escapes.
    String.raw`^(?:---|\.\.\.|%)|<<|\\[^"\\nrtbf/u]`,
    // Anchors, aliases, tags, texts of several lines, commas too many, keys that are more than a text.
    String.raw`${START}(?:[&*!|>,]|\?(?:\s|$)|:(?:\s|$))`,
    // Numbers that are not plain decimals: they are refused, or are the text as it is written.
    String.raw`${START}(?:[-+]?\.(?:\d|inf|nan)|\+\d|-0|-\d+\.|0[xo][\da-f]|-?\d+(?:\.\d*)?e[-+]?\d|\d+\.(?!\d)|\d+\.\d{10}|-?\d{16})`,
    // Keys that are not the text that is written.
    String.raw`${START}(?:\d+\.\d+|0\d+|~|null|true|false) *:`,
  ].join('|'),
  'im',
);

const QUOTE_START = String.raw`(?<=^[ -]*|: +|["']: *|[,[{] *)`;
const KEYS = new RegExp(
  [
    String.raw`${QUOTE_START}(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*')( *:)?`,
    String.raw`${QUOTE_START}(["'])`,
    String.raw`(?<=^|\s)#.*`,
    String.raw`(:)(?=[\s,[\]{}]|$)`,
  ].join('|'),
  'gm',
);

/** How many keys are written; `undefined` if that cannot be told, because a text in quotes has several lines. */
function countKeys(text: string): number | undefined {
  let count = 0;
  for (const [, afterQuotes, unclosed, colon] of text.matchAll(KEYS)) {
    if (unclosed !== undefined) return undefined;
    if (afterQuotes !== undefined || colon !== undefined) count++;
  }
  return count;
}

class FastReader {
  keys = 0;
  #nodes = 0;

  /** Throws for what must be left to the package. `path` is the caller's again when this returns. */
  plain(value: unknown, path: (string | number)[]): unknown {
    if (++this.#nodes > MAX_NODES || path.length > MAX_DEPTH) throw new RangeError('too large');
    if (typeof value === 'string') return unmaskReferences(value);
    if (typeof value === 'number') return fastNumber(value, path);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value))
      return (value as unknown[]).map((item, index) => this.#child(item, index, path));
    // Without a prototype, a key such as `__proto__` or `constructor` is an ordinary key.
    const plain: Record<string, unknown> = Object.create(null);
    for (const [masked, item] of Object.entries(value)) {
      this.keys++;
      const key = unmaskReferences(masked);
      // So Bun calls a key that is a map or a list.
      if (key === '[object Object]') throw new TypeError('no plain key');
      plain[key] = this.#child(item, key, path);
    }
    return plain;
  }

  #child(value: unknown, key: string | number, path: (string | number)[]): unknown {
    path.push(key);
    const plain = this.plain(value, path);
    path.pop();
    return plain;
  }
}

/** Below it a float has nine decimals to spare, and `toFixed` gives back the decimal that was written. */
const MAX_EXACT = 4_000_000;

function fastNumber(value: number, path: Path): unknown {
  const place = numberPlace(path);
  if (place === 'text') throw new TypeError('the package has it as it is written');
  // Refused wherever it is, as the text that is written.
  if (value < 0) return String(value);
  if (Number.isInteger(value) || place === 'number') return value;
  if (place !== 'amount' || value > MAX_EXACT) throw new RangeError('not exact');
  return amountOf(value.toFixed(9));
}

/** A model in one line. */
const ONE_LINE_ITEM = /^ *- \{.*\}$/;

/**
 * Positions in a text that is YAML. The package takes seconds for thousands of models, so it gets a text in which models
 * that are in one line each are zeros: all lines, and the numbers of all entries, stay. The lines with mistakes are read
 * by themselves.
 */
function positionsOf(text: string, mistakes: readonly PathMistake[]): Mistake[] {
  if (mistakes.length === 0) return [];
  const lines = text.split('\n');
  const outline = readWithPositions(
    lines.map((line) => (ONE_LINE_ITEM.test(line) ? line.replace(/\{.*/, '0') : line)).join('\n'),
  );
  if (outline.mistakes.length > 0) return readWithPositions(text).placed(mistakes);
  return outline.placed(mistakes).map((placed, index) => {
    const line = lines[placed.line - 1] ?? '';
    const { path, ...mistake } = mistakes[index] ?? { path: [], message: '' };
    const inLine = path.slice(path.findIndex((part) => typeof part === 'number') + 1);
    if (!ONE_LINE_ITEM.test(line) || inLine.length === path.length) return placed;
    const [found = placed] = readWithPositions(line).placed([{ ...mistake, path: [0, ...inLine] }]);
    return { ...placed, column: found.column };
  });
}

function readWithPositions(text: string): CatalogText {
  const lines = new LineCounter();
  const document = parseDocument(maskReferences(text), { lineCounter: lines, prettyErrors: false });
  const syntax = [...document.errors, ...document.warnings].map((error) => {
    const { line, col } = lines.linePos(error.pos[0]);
    return { line, column: col, path: '', message: unmaskReferences(error.message) };
  });
  return syntax.length > 0 ? failed(syntax) : new PositionReader(lines, document).read();
}

class PositionReader {
  readonly #lines: LineCounter;
  readonly #document: Document.Parsed;
  readonly #offsets = new Map<string, { key: number; value: number }>();
  readonly #mistakes: Mistake[] = [];
  #nodes = 0;
  #aliases = 0;

  constructor(lines: LineCounter, document: Document.Parsed) {
    this.#lines = lines;
    this.#document = document;
  }

  read(): CatalogText {
    const { contents } = this.#document;
    if (contents === null || (isScalar(contents) && contents.value === null)) {
      const message = 'is empty; start from the example: tollgate catalog example';
      return failed([{ line: 1, column: 1, path: '', message }]);
    }
    const value = this.#plain(contents, []);
    return {
      value,
      mistakes: this.#mistakes,
      placed: (mistakes) => mistakes.map((mistake) => this.#place(mistake)),
    };
  }

  #plain(node: Node | null, path: Path): unknown {
    this.#nodes += 1;
    if (isAlias(node)) this.#aliases += 1;
    if (path.length > MAX_DEPTH || this.#isTooLarge())
      return this.#refuse(path, 'is nested too deeply or too large');
    if (node === null) return null;
    if (isAlias(node)) return this.#plain(node.resolve(this.#document) ?? null, path);
    if (isMap(node)) return this.#map(node.items, path);
    // Parsed sequences contain nodes; the library's type also covers documents built by hand.
    if (isSeq(node))
      return node.items.map((item, index) => this.#item(item as Node | null, [...path, index]));
    return isScalar(node) ? scalarValue(node, path) : this.#refuse(path, 'is not a plain value');
  }

  #item(node: Node | null, path: Path): unknown {
    this.#note(path, startOf(node), startOf(node));
    return this.#plain(node, path);
  }

  #map(pairs: readonly { key: unknown; value: unknown }[], path: Path): Record<string, unknown> {
    const plain: Record<string, unknown> = Object.create(null);
    for (const pair of pairs) {
      const keyNode = pair.key as Node | null;
      const value = pair.value as Node | null;
      const key = isScalar(keyNode) ? unmaskReferences(keyNode.source ?? String(keyNode.value)) : undefined;
      if (key === undefined) {
        this.#refuse(path, 'has a key that is not plain text', startOf(keyNode));
        continue;
      }
      const child = [...path, key];
      this.#note(child, startOf(keyNode) ?? 0, startOf(value) ?? startOf(keyNode));
      plain[key] = this.#plain(value, child);
    }
    return plain;
  }

  #note(path: Path, key: number | undefined, value: number | undefined): void {
    this.#offsets.set(JSON.stringify(path), { key: key ?? 0, value: value ?? key ?? 0 });
  }

  #refuse(path: Path, message: string, offset?: number): undefined {
    if (this.#mistakes.length > 0 && this.#isTooLarge()) return undefined;
    const at = this.#position(offset ?? this.#offsetOf(path, false));
    this.#mistakes.push({ ...at, path: pathText(path), message });
    return undefined;
  }

  #isTooLarge(): boolean {
    return this.#nodes > MAX_NODES || this.#aliases > MAX_ALIASES;
  }

  #place({ path, message, atKey, missingKey }: PathMistake): Mistake {
    const at = this.#position(this.#offsetOf(path, atKey === true));
    return { ...at, path: pathText(path), message, ...(missingKey && { missingKey }) };
  }

  #position(offset: number): Pick<Mistake, 'line' | 'column'> {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  #offsetOf(path: Path, atKey: boolean): number {
    for (let length = path.length; length > 0; length--) {
      const found = this.#offsets.get(JSON.stringify(path.slice(0, length)));
      // If something is missing inside a map, its position is the map's own key.
      if (found) return atKey || length < path.length ? found.key : found.value;
    }
    return 0;
  }
}

function startOf(node: Node | null): number | undefined {
  return node?.range?.[0];
}

function scalarValue(node: Scalar, path: Path): unknown {
  if (typeof node.value === 'string') return unmaskReferences(node.value);
  if (typeof node.value !== 'number') return node.value;
  const text = node.source ?? String(node.value);
  if (/^\d+$/.test(text) && Number.isSafeInteger(node.value)) return node.value;
  const place = numberPlace(path);
  if (place === 'amount') return amountOf(text);
  return place === 'number' && /^\d+\.\d+$/.test(text) ? node.value : text;
}
