import { readOneLineEntry, type OneLineEntry } from './one-line-entry.ts';

/** Stands for a run of entries in the text that the YAML parser gets. No catalog may contain it. */
export const FOLD = '\uE002';
const FEWEST_ENTRIES = 20;

/** Entries that follow each other in a list, each in one line. */
export interface FoldedRun {
  /** Of the first of them in the whole text, from 0. */
  readonly line: number;
  readonly lines: string[];
  readonly entries: OneLineEntry[];
}

export interface FoldedText {
  /** With each run as the entry `- FOLD number`. */
  readonly text: string;
  readonly runs: readonly FoldedRun[];
}

/**
 * A long catalog is nearly all models, one in a line: as long runs of them they need not go through the YAML parser.
 * `isKept` are those that must. `undefined`: there is nothing to fold.
 *
 * The text may have such lines inside of a longer value. Whoever parses it must find every run as an entry of a list, and
 * parse the whole text otherwise.
 */
export function foldEntries(text: string, isKept?: IsKept, fewest = FEWEST_ENTRIES): FoldedText | undefined {
  if (text.includes('\r') || text.includes(FOLD)) return undefined;
  const lines = text.split('\n');
  const folded: string[] = [];
  const runs: FoldedRun[] = [];
  for (let at = 0; at < lines.length;) {
    const run = runAt(lines, at, isKept);
    if (run.lines.length < fewest) {
      const end = at + Math.max(run.lines.length, 1);
      folded.push(...lines.slice(at, end));
      at = end;
      continue;
    }
    folded.push(`${indentOf(run.lines[0] ?? '')}- ${FOLD}${runs.length}`);
    runs.push(run);
    at += run.lines.length;
  }
  return runs.length === 0 ? undefined : { text: folded.join('\n'), runs };
}

type IsKept = (entry: OneLineEntry, line: number) => boolean;

function runAt(lines: readonly string[], line: number, isKept?: IsKept): FoldedRun {
  const run: FoldedRun = { line, lines: [], entries: [] };
  const start = `${indentOf(lines[line] ?? '')}- {`;
  for (let at = line; at < lines.length; at++) {
    const text = lines[at] ?? '';
    const entry = text.startsWith(start) ? readOneLineEntry(text) : undefined;
    if (!entry || isKept?.(entry, at)) break;
    run.lines.push(text);
    run.entries.push(entry);
  }
  return run;
}

function indentOf(line: string): string {
  return line.slice(0, line.length - line.trimStart().length);
}

/**
 * Several versions of a text, with the entries folded that all of them have in the same list and order. `undefined`: there
 * are none, or some are in another order.
 */
export function foldCommon(texts: readonly string[]): FoldedText[] | undefined {
  const listed = texts.map(listedEntries);
  const common = [...(listed[0]?.keys() ?? [])].filter((key) => listed.every((own) => own.get(key) === 1));
  const isCommon = new Set(common);
  const order = common.join('\n');
  if (listed.some((own) => [...own.keys()].filter((key) => isCommon.has(key)).join('\n') !== order))
    return undefined;
  const folded = texts.flatMap((text) => foldKeyed(text, isCommon) ?? []);
  return folded.length === texts.length ? folded : undefined;
}

function foldKeyed(text: string, keys: ReadonlySet<string>): FoldedText | undefined {
  const places = keysByLine(text);
  return foldEntries(text, (_, line) => !keys.has(places.get(line) ?? ''), 1);
}

/** How often each entry is in the text, by its list and line. */
function listedEntries(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const key of keysByLine(text).values()) found.set(key, (found.get(key) ?? 0) + 1);
  return found;
}

/** Of the lines that may be entries: the keys above it, and what is written. */
function keysByLine(text: string): Map<number, string> {
  const keys = new Map<number, string>();
  /** By how far they are from the margin. */
  const above: string[] = [];
  for (const [number, line] of text.split('\n').entries()) {
    const written = line.trim();
    if (written === '' || written.startsWith('#')) continue;
    const indent = line.length - line.trimStart().length;
    const isItem = written.startsWith('- ');
    // The entries of a list may stand right below its key.
    above.length = Math.min(above.length, isItem ? indent + 1 : indent);
    if (written.startsWith('- {')) keys.set(number, `${above.join('/')} ${written}`);
    else if (!isItem) above[indent] = written;
  }
  return keys;
}

/** The run that a value of the parsed text stands for. */
export function runOf(folded: FoldedText | undefined, value: unknown): FoldedRun | undefined {
  if (!folded || typeof value !== 'string' || !value.startsWith(FOLD)) return undefined;
  return folded.runs[Number(value.slice(FOLD.length))];
}

/** The line of the whole text, both from 0. */
export function wholeLine({ runs }: FoldedText, line: number): number {
  let folded = 0;
  for (const run of runs) {
    if (run.line - folded >= line) break;
    folded += run.lines.length - 1;
  }
  return line + folded;
}

/** The whole text again, from a document that was written with its runs folded; `undefined` if not each is there once. */
export function unfolded(text: string, { runs }: FoldedText): string | undefined {
  const found: string[] = [];
  const whole = text.replace(FOLDED_LINE, (_, indent: string, number: string) => {
    found.push(number);
    return (runs[Number(number)]?.lines ?? []).map((line) => indent + line.trimStart()).join('\n');
  });
  return found.length === runs.length && new Set(found).size === runs.length ? whole : undefined;
}

const FOLDED_LINE = new RegExp(`^( *)- ${FOLD}(\\d+)$`, 'gm');
