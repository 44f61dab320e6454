import {
  isAlias,
  isMap,
  isScalar,
  isNode,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Pair,
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
    const reader = new ValueReader();
    const value = reader.value(Bun.YAML.parse(text), []);
    // Of keys that are written twice Bun keeps the last.
    const isSame = reader.keys === keys && reader.mistakes.length === 0;
    return isSame && isCatalogMap(value) ? value : undefined;
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

/** Makes plain values of what Bun or the package has read. Throws for what is too large, and for what Bun cannot tell. */
class ValueReader {
  keys = 0;
  readonly mistakes: (PathMistake & { readonly offset?: number | undefined })[] = [];
  readonly #document: Document.Parsed | undefined;
  #nodes = 0;
  #aliases = 0;

  constructor(document?: Document.Parsed) {
    this.#document = document;
  }

  value(read: unknown, path: Path): unknown {
    if (isAlias(read)) this.#aliases++;
    if (++this.#nodes > MAX_NODES || this.#aliases > MAX_ALIASES || path.length > MAX_DEPTH) {
      this.mistakes.push({ path, message: 'is nested too deeply or too large' });
      throw new RangeError('too large');
    }
    const node = resolved(read, this.#document);
    if (typeof node === 'string') return unmaskReferences(node);
    if (typeof node === 'number') return fastNumber(node, path);
    if (isScalar(node)) return scalarValue(node, path);
    if (typeof node !== 'object' || node === null) return node;
    const items = isSeq(node) ? node.items : node;
    if (Array.isArray(items)) return items.map((item, index) => this.value(item, [...path, index]));
    // Without a prototype, a key such as `__proto__` or `constructor` is an ordinary key.
    const plain: Record<string, unknown> = Object.create(null);
    for (const [written, item] of isMap(node) ? node.items.map(pairOf) : Object.entries(node)) {
      this.keys++;
      const key = keyText(written);
      if (key === undefined)
        this.mistakes.push({ path, message: 'has a key that is not plain text', offset: startOf(written) });
      else plain[key] = this.value(item, [...path, key]);
    }
    return plain;
  }
}

function resolved(node: unknown, document: Document.Parsed | undefined): unknown {
  return isAlias(node) && document ? (node.resolve(document) ?? null) : node;
}

function pairOf({ key, value }: Pair): [unknown, unknown] {
  return [key, value];
}

function keyText(key: unknown): string | undefined {
  const text = isScalar(key) ? (key.source ?? String(key.value)) : key;
  // So Bun calls a key that is a map or a list.
  return typeof text === 'string' && text !== '[object Object]' ? unmaskReferences(text) : undefined;
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
  const positionOf = (offset: number): Pick<Mistake, 'line' | 'column'> => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const placed = (mistakes: Readonly<ValueReader['mistakes']>): Mistake[] =>
    mistakes.map(({ path, atKey = false, offset = offsetOf(document, path, atKey), ...mistake }) => ({
      ...positionOf(offset),
      ...mistake,
      path: pathText(path),
    }));
  const errors = [...document.errors, ...document.warnings];
  if (errors.length > 0)
    return failed(
      errors.map(({ pos, message }) => ({
        ...positionOf(pos[0]),
        path: '',
        message: unmaskReferences(message),
      })),
    );
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null))
    return failed(
      placed([{ path: [], message: 'is empty; start from the example: tollgate catalog example' }]),
    );
  const reader = new ValueReader(document);
  let value: unknown;
  try {
    value = reader.value(document.contents, []);
  } catch (error) {
    if (reader.mistakes.length === 0) throw error;
  }
  return { value, mistakes: placed(reader.mistakes), placed };
}

/** Where a value or its key begins. What is missing has the place of the key of the map that it is missing in. */
function offsetOf(document: Document.Parsed, path: Path, atKey: boolean): number {
  let node: unknown = document.contents;
  let at = { key: 0, value: 0 };
  for (const part of path) {
    const parent = resolved(node, document);
    const pair = isMap(parent) ? parent.items.find(({ key }) => keyText(key) === part) : undefined;
    const item = isSeq(parent) && typeof part === 'number' ? parent.items[part] : pair?.value;
    const key = startOf(pair?.key) ?? startOf(item);
    if (key === undefined) return at.key;
    at = { key, value: startOf(item) ?? key };
    node = item;
  }
  return atKey ? at.key : at.value;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
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
