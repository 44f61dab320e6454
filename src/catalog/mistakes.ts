import { StartupError } from '../std/startup-error.ts';

/** An error in a catalog and its position: lines and columns count from 1, and are 0 in what has no lines. */
export interface Mistake {
  readonly line: number;
  readonly column: number;
  /** E.g. `lists.partner_models[0].input`; empty for the file as a whole. */
  readonly path: string;
  /** What is wrong and what to do. Never contains a secret. */
  readonly message: string;
  readonly missingKey?: MissingKey | undefined;
}

/** A key that would mend a mistake if it were stored. */
interface MissingKey {
  readonly name: string;
  /** The server that it would be sent to. */
  readonly origin: string;
}

/** A catalog that cannot be used, with all its errors: one line each, `file:line:column key.path: what`. */
export class CatalogError extends StartupError {
  readonly mistakes: readonly Mistake[];

  constructor(fileName: string, mistakes: readonly Mistake[]) {
    super(listOf(fileName, mistakes).join('\n'));
    this.name = 'CatalogError';
    this.mistakes = mistakes;
  }
}

export type Path = readonly PropertyKey[];

/** An error in the parsed content, before its position in the text is looked up. */
export interface PathMistake {
  readonly path: Path;
  readonly message: string;
  /** The key itself is wrong rather than its value. */
  readonly atKey?: boolean;
  readonly missingKey?: MissingKey | undefined;
}

/** `['lists', 'a', 0, 'input']` → `lists.a[0].input` */
export function pathText(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}

/** A file of another kind can have thousands of errors; the first ones are enough. */
const MAX_LISTED = 50;

function listOf(fileName: string, mistakes: readonly Mistake[]): string[] {
  const lines = mistakes.slice(0, MAX_LISTED).map(({ line, column, path, message }) => {
    const place = line === 0 ? fileName : `${fileName}:${line}:${column}`;
    return `${place} ${path === '' ? '' : `${path}: `}${message}`;
  });
  const more = mistakes.length - lines.length;
  return more > 0 ? [...lines, `… and ${more} more`] : lines;
}

/** Why a catalog cannot be changed as asked, or an import not be previewed, for the operator. */
export class ImportError extends Error {}
