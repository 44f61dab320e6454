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

/** The whole of docs/faults.md. Nothing in it is written by hand. */
export function faultsPage(findings: readonly Finding[], date: string, machine: string): string {
  const count = (outcome: Finding['outcome']): number =>
    findings.filter((finding) => finding.outcome === outcome).length;
  const parts = [
    '# What can go wrong, and what happens then',
    '`npm run faults` runs these scenarios and writes this page; nothing in it is written by hand. Each is checked by tests over real sockets and real stores, or by a run of its own, and the books are verified afterwards. `test/faults/catalogue.yaml` says which.',
    `${date}, ${machine}: ${count('passed')} passed, ${count('failed')} failed, ${count('not run')} not run or not in full.`,
    ...Object.entries(GROUPS).map(([letter, title]) => group(letter, title, findings, date)),
  ];
  return `${parts.join('\n\n')}\n`;
}

function group(letter: string, title: string, findings: readonly Finding[], date: string): string {
  const rows = findings
    .filter(({ scenario }) => scenario.id.startsWith(letter))
    .map(({ scenario, outcome, told }) => {
      const result = [outcome, told].filter((text) => text !== '').join(': ');
      const cells = [scenario.id, scenario.what, scenario.criterion, cut(result), date, scenario.left ?? ''];
      return `| ${cells.map(cell).join(' | ')} |`;
    });
  return [
    `## ${title}\n`,
    '| | scenario | what must hold | result | date | not checked, and why |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function cut(text: string): string {
  return text.length > MAX_TOLD ? `${text.slice(0, MAX_TOLD)}…` : text;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
}
