import { cpus, loadavg, release, totalmem } from 'node:os';
import type { Case, Finding } from './case.ts';
import { MARKS, type GatewayReport } from './run.ts';

/** The verdicts of all rounds in one cell: they agree, or the cell says that they vary. */
interface Cell {
  readonly verdict: Finding['verdict'] | 'varies' | 'not run';
  readonly figures: readonly string[];
}

function cellOf({ rounds }: GatewayReport, wanted: Case): Cell {
  const found = rounds.flatMap((round) => round.filter(({ case: { id } }) => id === wanted.id));
  const [first] = found;
  if (first === undefined) return { verdict: 'not run', figures: [] };
  const figures = [...new Set(found.map(({ figure }) => figure))];
  const agree = found.every(({ verdict }) => verdict === first.verdict);
  return { verdict: agree ? first.verdict : 'varies', figures };
}

export function markdown(reports: readonly GatewayReport[], cases: readonly Case[]): string {
  const head = ['case', 'bound', ...reports.map(({ name }) => name)];
  const rows = cases.map((one) => [
    one.title,
    one.bound,
    ...reports.map((report) => cellText(cellOf(report, one))),
  ]);
  const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`);
  return [...lines, '', ...reports.map(aboutOne)].join('\n');
}

function cellText({ verdict, figures }: Cell): string {
  if (verdict === 'not run') return 'not run';
  const mark = verdict === 'varies' ? '± varies' : MARKS[verdict];
  return `${mark} ${figures.join(' / ')}`;
}

function aboutOne({ name, about, gateway, notRun, startMs, accountMs }: GatewayReport): string {
  if (gateway === undefined) return `- **${name}** (${about}): not run. ${notRun ?? ''}`;
  const times = [
    ...(startMs === undefined ? [] : [`started and set up in ${(startMs / 1000).toFixed(1)} s`]),
    ...(accountMs === undefined ? [] : [`a customer with a balance in ${Math.round(accountMs)} ms`]),
  ];
  const shims = gateway.shims.map((shim) => ` **Not as documented:** ${shim}`);
  return `- **${name}** (${about}): ${gateway.version}; ${gateway.settings.join('; ')}; ${times.join(', ')}.${shims.join('')}`;
}

export function json(reports: readonly GatewayReport[], cases: readonly Case[]): string {
  const results = reports.map(({ rounds, ...report }) => ({
    ...report,
    cases: cases.map((one) => {
      const { verdict } = cellOf({ ...report, rounds }, one);
      const figures = rounds.flatMap((round) => round.filter((found) => found.case.id === one.id));
      return { id: one.id, verdict, rounds: figures.map(({ verdict, figure }) => ({ verdict, figure })) };
    }),
  }));
  const bounds = cases.map(({ id, title, bound }) => ({ id, title, bound }));
  return `${JSON.stringify({ at: new Date().toISOString(), machine: machineLine(), bounds, results }, undefined, 2)}\n`;
}

export function machineLine(): string {
  const [first] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${first?.model ?? 'unknown'}, ${gigabytes} GB, ${process.platform} ${release()}, Bun ${Bun.version}, load average ${loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')}`;
}
