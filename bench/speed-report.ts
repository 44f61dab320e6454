import { CASES, SMALL_CHAT, STREAMED_CHAT, type Case } from './cases.ts';
import type { Contender } from './contenders/contender.ts';
import { PEER_NAMES } from './contenders/peers.ts';
import type { Delay, Sample } from './harness/measure.ts';
import { median } from './harness/statistics.ts';
import { table } from './harness/table.ts';

/** Everything that a run measured, by contender and then by case. */
export interface Measurements {
  readonly contenders: readonly Contender[];
  readonly cases: readonly Case[];
  readonly connections: number;
  readonly samples: ReadonlyMap<string, ReadonlyMap<string, readonly Sample[]>>;
  readonly delays: ReadonlyMap<string, readonly Delay[]>;
}

export const NAMES = {
  direct: 'straight to the backend',
  bun: 'bare Bun forwarder',
  node: 'bare Node + undici forwarder',
  sqlite: 'Tollgate, SQLite',
  postgres: 'Tollgate, Postgres',
  twoNodes: 'Tollgate, Postgres, two nodes',
} as const;

/** The one table: a row for each contender, a column for each figure. */
export function mainTable(all: Measurements): string {
  const head = [
    'gateway',
    ...all.cases.map(({ name, streamed }) => `${name}${streamed ? ', per chunk' : ''}`),
    `requests/s, ${all.connections} connections`,
    'added p50 / p99 ms',
    'RSS MB',
  ];
  const rows = all.contenders.map(({ name }) => [
    name,
    ...all.cases.map((one) => cpuCell(all, name, one)),
    throughputCell(samplesOf(all, name, SMALL_CHAT)),
    delayCell(all, name),
    rssCell(all, name),
  ]);
  return table(head, rows);
}

/** What the database beside a contender took, which its own column leaves out. */
export function databaseTable(all: Measurements): string | undefined {
  const cells = (name: string): string[] =>
    all.cases.map((one) => {
      const used = samplesOf(all, name, one).map(({ databaseUsPerUnit }) => databaseUsPerUnit);
      return used.length === 0 ? '–' : `${Math.min(...used).toFixed(1)} · ${median(used).toFixed(1)}`;
    });
  const rows = all.contenders
    .filter(({ databasePids }) => databasePids.length > 0)
    .map(({ name }) => [name].concat(cells(name)));
  return rows.length === 0
    ? undefined
    : table(['CPU of the Postgres server, µs', ...all.cases.map(({ name }) => name)], rows);
}

interface Target {
  readonly figure: string;
  readonly target: string;
  readonly measured: number | undefined;
  readonly most?: number;
  readonly least?: number;
  readonly unit: string;
}

/** The project's targets that this run can judge. */
export function targetTable(all: Measurements): string {
  const cpu = (name: string, one: Case): number | undefined => bestCpu(samplesOf(all, name, one));
  const own = cpu(NAMES.sqlite, SMALL_CHAT);
  const added = addedDelay(all, NAMES.sqlite);
  const targets: Target[] = [
    {
      figure: 'CPU per small chat, SQLite / bare Bun forwarder',
      target: '≤ 1.8×',
      measured: ratio(own, cpu(NAMES.bun, SMALL_CHAT)),
      most: 1.8,
      unit: '×',
    },
    {
      figure: 'CPU per small chat, SQLite / bare Node + undici forwarder',
      target: '< 1.0×',
      measured: ratio(own, cpu(NAMES.node, SMALL_CHAT)),
      most: 1,
      unit: '×',
    },
    {
      figure: "CPU per small chat, Portkey's gateway / Tollgate",
      target: '≥ 15×',
      measured: ratio(cpu(PEER_NAMES.portkey, SMALL_CHAT), own),
      least: 15,
      unit: '×',
    },
    {
      figure: 'CPU per streamed chunk, SQLite / bare Bun stream pipe',
      target: '≤ 1.5×',
      measured: ratio(cpu(NAMES.sqlite, STREAMED_CHAT), cpu(NAMES.bun, STREAMED_CHAT)),
      most: 1.5,
      unit: '×',
    },
    {
      figure: 'added latency p50 at 500 requests/s, SQLite',
      target: '≤ 2 ms',
      measured: added?.p50Ms,
      most: 2,
      unit: ' ms',
    },
    {
      figure: 'added latency p99 at 500 requests/s, SQLite',
      target: '≤ 10 ms',
      measured: added?.p99Ms,
      most: 10,
      unit: ' ms',
    },
    {
      figure: 'CPU per small chat of the gateway, Postgres / SQLite',
      target: '≤ 1.5×',
      measured: ratio(cpu(NAMES.postgres, SMALL_CHAT), own),
      most: 1.5,
      unit: '×',
    },
  ];
  return table(['figure', 'target', 'measured', 'met'], targets.map(targetRow));
}

function ratio(above: number | undefined, below: number | undefined): number | undefined {
  return above === undefined || below === undefined ? undefined : above / below;
}

export function errorLines(all: Measurements): string[] {
  return all.contenders.flatMap(({ name }) =>
    CASES.flatMap((one) => {
      const samples = samplesOf(all, name, one);
      const errors = samples.reduce((sum, sample) => sum + sample.errors, 0);
      const why = samples.find(({ complaint }) => complaint !== undefined)?.complaint;
      return errors === 0 ? [] : [`${name}, ${one.name}: ${errors} failed (${why ?? 'no reason given'}).`];
    }),
  );
}

export function versionLine({ contenders }: Measurements): string {
  return `Versions: ${[...new Set(contenders.map(({ version }) => version))].join('; ')}.`;
}

function targetRow({ figure, target, measured, most, least, unit }: Target): string[] {
  if (measured === undefined || Number.isNaN(measured)) return [figure, target, 'not measured', '–'];
  const met = (most === undefined || measured <= most) && (least === undefined || measured >= least);
  return [figure, target, `${measured.toFixed(2)}${unit}`, met ? 'yes' : 'NO'];
}

function cpuCell(all: Measurements, name: string, one: Case): string {
  const samples = samplesOf(all, name, one);
  const best = bestCpu(samples);
  if (best === undefined) return '–';
  // Cases that differ only by account have no forwarder of their own: it is small chat to one.
  const base = bestCpu(samplesOf(all, NAMES.bun, one)) ?? bestCpu(samplesOf(all, NAMES.bun, SMALL_CHAT));
  const ratio = base === undefined ? '' : ` · ${(best / base).toFixed(2)}×`;
  return `${best.toFixed(1)} · ${median(samples.map(({ cpuUsPerUnit }) => cpuUsPerUnit)).toFixed(1)}${ratio}`;
}

function throughputCell(samples: readonly Sample[]): string {
  if (samples.length === 0) return '–';
  const rates = samples.map(({ unitsPerSecond }) => unitsPerSecond);
  return `${whole(Math.max(...rates))} · ${whole(median(rates))}`;
}

function delayCell(all: Measurements, name: string): string {
  const added = addedDelay(all, name);
  return added === undefined ? '–' : `${added.p50Ms.toFixed(2)} / ${added.p99Ms.toFixed(2)}`;
}

/** Medians over the rounds, less those of the way without a gateway. */
function addedDelay(all: Measurements, name: string): Delay | undefined {
  const own = all.delays.get(name) ?? [];
  const direct = all.delays.get(NAMES.direct) ?? [];
  if (own.length === 0 || direct.length === 0) return undefined;
  const difference = (key: 'p50Ms' | 'p99Ms'): number =>
    median(own.map((one) => one[key])) - median(direct.map((one) => one[key]));
  return { p50Ms: difference('p50Ms'), p99Ms: difference('p99Ms'), errors: 0 };
}

function rssCell(all: Measurements, name: string): string {
  const most = Math.max(
    ...all.cases.flatMap((one) => samplesOf(all, name, one).map(({ rssBytes }) => rssBytes)),
  );
  return Number.isFinite(most) ? (most / 2 ** 20).toFixed(0) : '–';
}

function samplesOf({ samples }: Measurements, name: string, one: Case): readonly Sample[] {
  return samples.get(name)?.get(one.name) ?? [];
}

function bestCpu(samples: readonly Sample[]): number | undefined {
  const used = samples.map(({ cpuUsPerUnit }) => cpuUsPerUnit).filter(Number.isFinite);
  return used.length === 0 ? undefined : Math.min(...used);
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}
