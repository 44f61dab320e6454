import { cpus, loadavg, release, totalmem } from 'node:os';
import type { Case, Finding, Verdict } from './case.ts';
import { MARKS, type GatewayReport } from './run.ts';

/** Everything that a run found, as it is written for programs and read again for a table of several runs. */
export interface Found {
  readonly at: string;
  readonly machine: string;
  readonly bounds: readonly Pick<Case, 'id' | 'title' | 'bound'>[];
  readonly results: readonly GatewayResult[];
}

interface GatewayResult extends Omit<GatewayReport, 'rounds'> {
  readonly cases: readonly {
    readonly id: string;
    readonly verdict: Verdict | 'not run';
    readonly rounds: readonly { readonly verdict: Verdict; readonly figure: string }[];
  }[];
}

export function foundIn(reports: readonly GatewayReport[], cases: readonly Case[]): Found {
  return {
    at: new Date().toISOString(),
    machine: machineLine(),
    bounds: cases.map(({ id, title, bound }) => ({ id, title, bound })),
    results: reports.map(({ rounds, ...report }) => ({
      ...report,
      cases: cases.map(({ id }) => {
        const found = rounds.flatMap((round) => round.filter((one) => one.case.id === id));
        return {
          id,
          verdict: verdictOf(found),
          rounds: found.map(({ verdict, figure }) => ({ verdict, figure })),
        };
      }),
    })),
  };
}

/** Of all rounds: a bound that was broken once does not hold. */
function verdictOf(found: readonly Pick<Finding, 'verdict'>[]): Verdict | 'not run' {
  const worst = (['fails', 'holds', 'not offered'] as const).find((one) =>
    found.some(({ verdict }) => verdict === one),
  );
  return worst ?? 'not run';
}

/** One table for several runs, the gateways side by side, each with the rounds of all runs. */
export function markdown(runs: readonly Found[]): string {
  const results = Map.groupBy(
    runs.flatMap((run) => run.results.map((result) => ({ result, run }))),
    ({ result }) => result.name,
  )
    .values()
    .map(together)
    .toArray();
  const bounds = new Map(runs.flatMap((run) => run.bounds).map((one) => [one.id, one]));
  const head = ['case', 'bound', ...results.map(({ name }) => name)];
  const rows = [...bounds.values()].map(({ id, title, bound }) => [
    title,
    bound,
    ...results.map(({ cases }) => cellText(cases.find((one) => one.id === id))),
  ]);
  const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`);
  return [...lines, '', ...results.map(aboutOne)].join('\n');
}

interface RunResult {
  readonly result: GatewayResult;
  readonly run: Pick<Found, 'at' | 'machine'>;
}

interface GatewayResults extends GatewayResult {
  readonly runs: readonly RunResult['run'][];
}

function together(found: readonly RunResult[]): GatewayResults {
  const [first] = found;
  if (first === undefined) throw new Error('no run has found anything');
  const versions = new Set(found.map(({ result }) => result.gateway?.version));
  if (versions.size > 1) throw new Error(`these are several versions: ${[...versions].join(', ')}`);
  const ids = new Set(found.flatMap(({ result }) => result.cases.map(({ id }) => id)));
  return {
    ...first.result,
    runs: found.map(({ run }) => run),
    cases: [...ids].map((id) => {
      const rounds = found.flatMap(({ result }) => result.cases.find((one) => one.id === id)?.rounds ?? []);
      return { id, rounds, verdict: verdictOf(rounds) };
    }),
  };
}

function cellText(found: GatewayResult['cases'][number] | undefined): string {
  if (found === undefined || found.verdict === 'not run') return 'not run';
  if (found.verdict === 'not offered') return '–';
  const played = found.rounds.filter(({ verdict }) => verdict !== 'not played');
  const broken = played.filter(({ verdict }) => verdict === 'fails').length;
  const share =
    found.verdict === 'fails' && broken < played.length ? ` in ${broken} of ${played.length} rounds:` : '';
  return `${MARKS[found.verdict]}${share} ${[...new Set(played.map(({ figure }) => figure))].join(' / ')}`;
}

function aboutOne({ name, about, gateway, notRun, startMs, accountMs, runs }: GatewayResults): string {
  if (gateway === undefined) return `- **${name}** (${about}): not run. ${notRun ?? ''}`;
  const times = [
    ...(startMs === undefined ? [] : [`started and set up in ${(startMs / 1000).toFixed(1)} s`]),
    ...(accountMs === undefined ? [] : [`a customer with a balance in ${Math.round(accountMs)} ms`]),
  ];
  const shims = gateway.shims.map((shim) => ` **Not as documented:** ${shim}.`);
  return `- **${name}** (${about}): ${gateway.version}; ${gateway.settings.join('; ')}; ${times.join(', ')}.${shims.join('')} ${runs.map(({ at, machine }) => `${at.slice(0, 16)}, ${machine}`).join('; ')}.`;
}

export function machineLine(): string {
  const [first] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  const load = loadavg().map((one) => one.toFixed(1));
  return `${cpus().length} × ${first?.model ?? 'unknown'}, ${gigabytes} GB, ${process.platform} ${release()}, Bun ${Bun.version}, load average ${load.join(' ')}`;
}
