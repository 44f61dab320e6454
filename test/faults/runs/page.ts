import type { Scenario } from './catalogue.ts';
import type { Finding } from './judge.ts';

const GROUPS: Readonly<Record<string, string>> = {
  A: 'Money under concurrency',
  B: 'Crashes and durability',
  C: 'Streams',
  D: 'Hostile input',
  E: 'Tokens and access',
  F: 'Limits',
  G: 'Dependencies and overload',
  H: 'The console',
  I: 'The long run and the supply chain',
  X: 'An attack',
};
const MAX_TOLD = 300;

interface Known {
  readonly catalogue: readonly Scenario[];
  /** Of those that were run now. */
  readonly findings: readonly Finding[];
  /** The page as it was: the rows of the others stay, with their dates. */
  readonly before: string;
}

/** The whole of docs/faults.md. Nothing in it is written by hand. */
export function faultsPage({ catalogue, findings, before }: Known, date: string, machine: string): string {
  const found = new Map(findings.map((finding) => [finding.scenario.id, finding]));
  const known = new Map(before.split('\n').map((line) => [/^\| (\w+) \|/.exec(line)?.[1], line]));
  const rows = catalogue.map((scenario) => {
    const finding = found.get(scenario.id);
    if (finding) return row(scenario, resultOf(finding), date);
    // Cells as they were written.
    const [, , , result = 'not run', since = date] = known.get(scenario.id)?.split(/(?<!\\) \| /) ?? [];
    return row(scenario, result, since);
  });
  const count = (outcome: Finding['outcome']): number =>
    rows.filter((line) => line.includes(` | ${outcome}`)).length;
  const parts = [
    '# What can go wrong, and what happens then',
    '`npm run faults` runs these scenarios and writes this page; nothing in it is written by hand. Each is checked by tests over real sockets and real stores, or by a run of its own, and the books are verified afterwards. `test/faults/catalogue.yaml` says which.',
    `${date}, ${machine}: ${count('passed')} passed, ${count('failed')} failed, ${count('not run')} not run or not in full. Each has the day on which it was last run.`,
    ...Object.entries(GROUPS).map(([letter, title]) => group(letter, title, rows)),
  ];
  return `${parts.join('\n\n')}\n`;
}

function group(letter: string, title: string, rows: readonly string[]): string {
  return [
    `## ${title}\n`,
    '| | scenario | what must hold | result | date | not checked, and why |',
    '|---|---|---|---|---|---|',
    ...rows.filter((line) => line.startsWith(`| ${letter}`)),
  ].join('\n');
}

function resultOf({ outcome, told }: Finding): string {
  return cell(cut([outcome, told].filter((text) => text !== '').join(': ')));
}

function row({ id, what, criterion, left = '' }: Scenario, result: string, date: string): string {
  return `| ${[id, cell(what), cell(criterion), result, date, cell(left)].join(' | ')} |`;
}

function cut(text: string): string {
  return text.length > MAX_TOLD ? `${text.slice(0, MAX_TOLD)}…` : text;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
}
