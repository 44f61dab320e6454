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
} from 'yaml';
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
 * A catalog of five thousand models with prices has about a million. Reading a text of this length takes a few seconds, in
 * which the server does nothing else, so there is a limit.
 */
export const MAX_YAML_CHARACTERS = 2_000_000;
const MAX_DEPTH = 16;
const MAX_NODES = 200_000;
/** Nested aliases can turn a small text into a huge tree. */
const MAX_ALIASES = 1000;

export function readYaml(text: string): YamlSource {
  const lines = new LineCounter();
  const reader = new Reader(lines);
  const problem = unreadable(text);
  if (problem !== undefined) return reader.failed([{ line: 1, column: 1, path: '', message: problem }]);
  const document = parseDocument(maskReferences(text), { lineCounter: lines, prettyErrors: false });
  const syntax = [...document.errors, ...document.warnings].map((error) => {
    const { line, col } = lines.linePos(error.pos[0]);
    return { line, column: col, path: '', message: unmaskReferences(error.message) };
  });
  return syntax.length > 0 ? reader.failed(syntax) : reader.read(document);
}

const OPEN = '\uE000';
const CLOSE = '\uE001';

function unreadable(text: string): string | undefined {
  if (text.length > MAX_YAML_CHARACTERS) return `is longer than ${MAX_YAML_CHARACTERS} characters`;
  if (text.includes(OPEN) || text.includes(CLOSE)) return 'holds private-use characters; remove them';
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

class Reader {
  readonly #lines: LineCounter;
  readonly #offsets = new Map<string, { key: number; value: number }>();
  readonly #mistakes: Mistake[] = [];
  #nodes = 0;
  #aliases = 0;

  constructor(lines: LineCounter) {
    this.#lines = lines;
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
    if (isSeq(node)) {
      return node.items.map((item, index) => {
        const child = [...path, index];
        // Parsed sequences contain nodes; the library's type also covers documents built by hand.
        const entry = item as Node | null;
        this.#note(child, startOf(entry), startOf(entry));
        return this.#plain(entry, child, document);
      });
    }
    return isScalar(node) ? scalarValue(node) : this.#refuse(path, 'is not a plain value');
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
    const { line, col } = this.#lines.linePos(offset ?? this.#offsetOf(path, false));
    this.#mistakes.push({ line, column: col, path: pathText(path), message });
    return undefined;
  }

  #isTooLarge(): boolean {
    return this.#nodes > MAX_NODES || this.#aliases > MAX_ALIASES;
  }

  #place({ path, message, atKey, missingKey }: PathMistake): Mistake {
    const { line, col } = this.#lines.linePos(this.#offsetOf(path, atKey === true));
    const at = { line: Math.max(line, 1), column: Math.max(col, 1), path: pathText(path) };
    return { ...at, message, ...(missingKey && { missingKey }) };
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
