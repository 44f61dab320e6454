import { readFileSync, writeFileSync } from 'node:fs';
import { FEATURES, type Feature, type Verdict } from './facts.ts';
import { ROSTER, type RosterEntry } from './roster.ts';

export interface ClientRow {
  readonly entry: RosterEntry;
  readonly version: string | undefined;
  /** Why it could not be run at all. */
  readonly notRun?: string;
  readonly verdicts: ReadonlyMap<Feature, Verdict>;
}

const HEADINGS: Readonly<Record<Feature, string>> = {
  chat: 'chat',
  stream: 'stream',
  tools: 'tools, two turns',
  structured: 'structured output',
  picture: 'picture in',
  image: 'image',
  embedding: 'embedding',
  state: 'stored responses',
  '401': '401',
  '402': '402',
  '429': '429',
};

const BEGIN = '<!-- clients: written by npm run clients -->';
const END = '<!-- clients: end -->';

const HEAD = ['client', 'version', 'run on', ...FEATURES.map((feature) => HEADINGS[feature])];

export function clientLine(row: ClientRow, date: string): string {
  return lineOf(cellsOf(row, date));
}

function lineOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function nameOf({ packages, language }: RosterEntry): string {
  return `${packages[0]} (${language})`;
}

function cellsOf({ entry, version, notRun, verdicts }: ClientRow, date: string): string[] {
  const name = nameOf(entry);
  if (notRun !== undefined) return [name, `not run: ${notRun}`, date, ...FEATURES.map(() => '')];
  return [name, version ?? '?', date, ...FEATURES.map((feature) => cellOf(verdicts.get(feature)))];
}

function cellOf(verdict: Verdict | undefined): string {
  switch (verdict?.kind) {
    case 'works':
      return verdict.note ?? '✓';
    case 'absent':
      return '–';
    case 'fails':
    case undefined:
      return '✗';
  }
}

/** Replaces the line of a client that was run; those of the others stay as they are. */
export function writeLine(file: string, line: string): void {
  const text = readFileSync(file, 'utf8');
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${file} has no place for the table`);
  const start = begin + BEGIN.length;
  const lines = [...text.slice(start, end).split('\n'), line];
  const byName = new Map(lines.map((one) => [firstCell(one), one]));
  const known = ROSTER.flatMap((entry) => byName.get(nameOf(entry)) ?? []);
  const table = [lineOf(HEAD), `|${HEAD.map(() => '---|').join('')}`, ...known].join('\n');
  writeFileSync(file, `${text.slice(0, start)}\n${table}\n${text.slice(end)}`);
}

function firstCell(line: string): string {
  return line.split('|')[1]?.trim() ?? '';
}
