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
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { FOLD, foldEntries, runOf, wholeLine, type FoldedRun, type FoldedText } from './folded-text.ts';
import { pathText, type Mistake, type Path, type PathMistake } from './mistakes.ts';

/**
 * A YAML text as plain values, with the position of every key. Numbers are passed on as plain integers or as their
 * source text: 0.1 as a float is not 0.1, and prices must be exact.
 */
export interface YamlSource {
  readonly value: unknown;
  /** Syntax errors; if there are any, `value` must not be used. */
  readonly mistakes: readonly Mistake[];
  /** Looks up the position of an error, or of the nearest enclosing node. */
  place(mistake: PathMistake): Mistake;
}

/**
 * A catalog of five thousand models with prices has about a million. Where its models are not in one line each, reading
 * such a text takes a few seconds, in which the server does nothing else, so there is a limit.
 */
export const MAX_YAML_CHARACTERS = 2_000_000;
const MAX_DEPTH = 16;
const MAX_NODES = 200_000;
/** Nested aliases can turn a small text into a huge tree. */
const MAX_ALIASES = 1000;

export function readYaml(text: string): YamlSource {
  const problem = unreadable(text);
  if (problem !== undefined)
    return new Reader(new LineCounter()).failed([{ line: 1, column: 1, path: '', message: problem }]);
  const folded = text.length > LONG_TEXT ? foldEntries(text) : undefined;
  return (folded && readFolded(folded)) ?? readWhole(text);
}

const LONG_TEXT = 20_000;

function readWhole(text: string): YamlSource {
  const lines = new LineCounter();
  const reader = new Reader(lines);
  const document = parseDocument(maskReferences(text), { lineCounter: lines, prettyErrors: false });
  const syntax = [...document.errors, ...document.warnings].map((error) => {
    const { line, col } = lines.linePos(error.pos[0]);
    return { line, column: col, path: '', message: unmaskReferences(error.message) };
  });
  return syntax.length > 0 ? reader.failed(syntax) : reader.read(document);
}

/** `undefined`: it has mistakes, or lines that only look like entries, and must be read as a whole. */
function readFolded(folded: FoldedText): YamlSource | undefined {
  const lines = new LineCounter();
  const document = parseDocument(maskReferences(folded.text), { lineCounter: lines, prettyErrors: false });
  if (document.errors.length + document.warnings.length > 0) return undefined;
  const reader = new Reader(lines, folded);
  const source = reader.read(document);
  return source.mistakes.length === 0 && reader.hasUnfoldedAll ? source : undefined;
}

const OPEN = '\uE000';
const CLOSE = '\uE001';

function unreadable(text: string): string | undefined {
  if (text.length > MAX_YAML_CHARACTERS) return `is longer than ${MAX_YAML_CHARACTERS} characters`;
  if ([OPEN, CLOSE, FOLD].some((character) => text.includes(character)))
    return 'holds private-use characters; remove them';
  return undefined;
}

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

interface Position {
  readonly line: number;
  readonly column: number;
}

interface UnfoldedRun {
  /** Where its list is. */
  readonly list: string;
  /** The place of its first entry there. */
  readonly first: number;
  readonly run: FoldedRun;
}

class Reader {
  readonly #lines: LineCounter;
  readonly #offsets = new Map<string, { key: number; value: number }>();
  readonly #folded: FoldedText | undefined;
  readonly #unfolded: UnfoldedRun[] = [];
  readonly #mistakes: Mistake[] = [];
  #nodes = 0;
  #aliases = 0;

  constructor(lines: LineCounter, folded?: FoldedText) {
    this.#lines = lines;
    this.#folded = folded;
  }

  /** Each run was an entry of a list, once. */
  get hasUnfoldedAll(): boolean {
    return this.#unfolded.length === this.#folded?.runs.length;
  }

  read(document: Document.Parsed): YamlSource {
    if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) {
      return this.failed([
        {
          line: 1,
          column: 1,
          path: '',
          message: 'is empty; start from the example: tollgate catalog example',
        },
      ]);
    }
    const value = this.#plain(document.contents, [], document);
    return { value, mistakes: this.#mistakes, place: (mistake) => this.#place(mistake) };
  }

  failed(mistakes: readonly Mistake[]): YamlSource {
    return { value: undefined, mistakes, place: (mistake) => this.#place(mistake) };
  }

  #plain(node: Node | null, path: Path, document: Document): unknown {
    this.#nodes += 1;
    if (isAlias(node)) this.#aliases += 1;
    if (path.length > MAX_DEPTH || this.#isTooLarge())
      return this.#refuse(path, 'is nested too deeply or too large');
    if (node === null) return null;
    if (isAlias(node)) return this.#plain(node.resolve(document) ?? null, path, document);
    if (isMap(node)) return this.#map(node, path, document);
    if (isSeq(node)) return this.#list(node, path, document);
    return isScalar(node) ? scalarValue(node) : this.#refuse(path, 'is not a plain value');
  }

  #list(node: YAMLSeq, path: Path, document: Document): unknown[] {
    const values: unknown[] = [];
    for (const item of node.items) {
      // Parsed sequences contain nodes; the library's type also covers documents built by hand.
      const entry = item as Node | null;
      const run = runOf(this.#folded, isScalar(entry) ? entry.value : undefined);
      if (run) {
        this.#unfold(run, path, values);
        continue;
      }
      const child = [...path, values.length];
      this.#note(child, startOf(entry), startOf(entry));
      values.push(this.#plain(entry, child, document));
    }
    return values;
  }

  #unfold(run: FoldedRun, path: Path, values: unknown[]): void {
    this.#unfolded.push({ list: JSON.stringify(path), first: values.length, run });
    for (const { value, nodes } of run.entries) {
      this.#nodes += nodes;
      values.push(value);
    }
    if (this.#isTooLarge()) this.#refuse(path, 'is nested too deeply or too large');
  }

  #map(node: YAMLMap, path: Path, document: Document): Record<string, unknown> {
    // Without a prototype, a key such as `__proto__` or `constructor` is an ordinary key.
    const plain: Record<string, unknown> = Object.create(null);
    for (const pair of node.items) {
      const keyNode = pair.key as Node | null;
      const value = pair.value as Node | null;
      const key = isScalar(keyNode) ? unmaskReferences(keyNode.source ?? String(keyNode.value)) : undefined;
      if (key === undefined) {
        this.#refuse(path, 'has a key that is not plain text', startOf(keyNode));
        continue;
      }
      const child = [...path, key];
      this.#note(child, startOf(keyNode) ?? 0, startOf(value) ?? startOf(keyNode));
      plain[key] = this.#plain(value, child, document);
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

  #place(mistake: PathMistake): Mistake {
    const { path, message, atKey, missingKey } = mistake;
    const at = this.#placeInRun(mistake) ?? this.#position(this.#offsetOf(path, atKey === true));
    return { ...at, path: pathText(path), message, ...(missingKey && { missingKey }) };
  }

  #position(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset);
    const before = Math.max(line, 1) - 1;
    return {
      line: (this.#folded ? wholeLine(this.#folded, before) : before) + 1,
      column: Math.max(col, 1),
    };
  }

  /** The one entry is read again, as YAML. */
  #placeInRun(mistake: PathMistake): Position | undefined {
    for (const { list, first, run } of this.#unfolded)
      for (const [depth, key] of mistake.path.entries()) {
        const index = typeof key === 'number' ? key - first : -1;
        const line = run.lines[index];
        if (line === undefined || JSON.stringify(mistake.path.slice(0, depth)) !== list) continue;
        const { column } = readWhole(line).place({ ...mistake, path: [0, ...mistake.path.slice(depth + 1)] });
        return { line: run.line + index + 1, column };
      }
    return undefined;
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

function scalarValue(node: Scalar): unknown {
  if (typeof node.value === 'string') return unmaskReferences(node.value);
  if (typeof node.value !== 'number') return node.value;
  const text = node.source ?? String(node.value);
  return /^\d+$/.test(text) && Number.isSafeInteger(node.value) ? node.value : text;
}
