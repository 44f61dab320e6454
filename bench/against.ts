/**
 * `npm run bench:against -- COMMIT`: this tree beside an older commit, both run in turn on this machine, so that what a
 * change costs is told as a ratio. Prints a Markdown table. A ratio above 1 means that this tree has more of it.
 *
 *   --rounds N     how often each gets its turn (default 10)
 *   --seconds S    how long each turn lasts (default 2)
 *   --only NAMES   only these parts, separated by commas (default: all)
 *
 * Parts: sqlite, postgres (small chats: CPU of gateway and server, bytes stored), streams (chunks on SQLite), delay (latency at a
 * fixed rate on Postgres), hot-account (the ledger alone on Postgres, three nodes).
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { figuresTable, type Figure, type Pair } from './against/figures.ts';
import {
  ACCOUNTS,
  chatFigures,
  delayFigures,
  streamFigures,
  type GatewayComparison,
} from './against/gateways.ts';
import { hotAccountFigures } from './against/hot-account.ts';
import { directContender } from './contenders/direct.ts';
import { checkOut, startRevision, type RevisionContender } from './contenders/revision.ts';
import { startBenchPostgres, type BenchPostgres } from './contenders/tollgate.ts';
import { openBenchEnvironment } from './harness/environment.ts';
import { loadLine, machineLine } from './harness/machine.ts';
import { findTools } from './harness/tools.ts';
import { UndisturbedRounds } from './harness/undisturbed.ts';

const PARTS = ['sqlite', 'streams', 'postgres', 'delay', 'hot-account'] as const;
type Part = (typeof PARTS)[number];

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string', default: PARTS.join(',') },
  },
});
const [revision] = positionals;
const chosen = new Set(flags.only.split(','));
const [rounds, seconds] = [Number(flags.rounds), Number(flags.seconds)];
if (revision === undefined || !(rounds >= 1) || !(seconds > 0) || ![...chosen].every(isPart)) {
  console.error(
    `Usage: npm run bench:against -- COMMIT [--rounds N] [--seconds S] [--only ${PARTS.join(',')}]`,
  );
  process.exit(2);
}

console.log(`${machineLine()}\n${loadLine()}`);
const environment = await openBenchEnvironment();
const direct = directContender('direct', environment);
const tools = { wrk: findTools().wrk, folder: environment.folder };
const roots = {
  before: checkOut(revision, environment.folder),
  after: resolve(import.meta.dir, '..'),
};
const figures: Figure[] = [];
const undisturbed = new UndisturbedRounds();
try {
  await onSqlite();
  await onPostgres();
  if (chosen.has('hot-account')) add(await hotAccountFigures(roots, rounds, seconds));
} finally {
  await environment.close();
}
console.log(`\nbefore: ${revision}; ${rounds} rounds of ${seconds} s in turn\n\n${figuresTable(figures)}`);
if (chosen.size > 1 || !chosen.has('hot-account')) console.log(`\n${undisturbed.summary()}`);
process.exit(0);

function isPart(name: string): name is Part {
  return (PARTS as readonly string[]).includes(name);
}

function add(more: readonly Figure[]): void {
  figures.push(...more);
  console.log(`\n${figuresTable(more)}`);
}

async function onSqlite(): Promise<void> {
  if (!chosen.has('sqlite') && !chosen.has('streams')) return;
  await withGateways(undefined, async (comparison) => {
    if (chosen.has('sqlite')) add(await chatFigures(comparison));
    if (chosen.has('streams')) add(await streamFigures(comparison));
  });
}

async function onPostgres(): Promise<void> {
  if (!chosen.has('postgres') && !chosen.has('delay')) return;
  const postgres = await startBenchPostgres();
  try {
    await withGateways(postgres, async (comparison) => {
      if (chosen.has('postgres')) add(await chatFigures(comparison));
      if (chosen.has('delay')) add(await delayFigures(comparison));
    });
  } finally {
    await postgres.stop();
  }
}

async function withGateways(
  postgres: BenchPostgres | undefined,
  use: (comparison: GatewayComparison) => Promise<void>,
): Promise<void> {
  const store = postgres ? 'Postgres' : 'SQLite';
  const started: RevisionContender[] = [];
  const start = async (which: keyof Pair<unknown>): Promise<RevisionContender> => {
    const gateway = await startRevision({
      name: `${which} ${store}`,
      root: roots[which],
      backend: environment.backend,
      folder: environment.folder,
      accounts: ACCOUNTS,
      databaseUrl: await postgres?.freshDatabase(),
      databasePids: postgres && [postgres.pid],
    });
    started.push(gateway);
    return gateway;
  };
  try {
    const gateways = { before: await start('before'), after: await start('after') };
    await use({ gateways, direct, store, tools, rounds, seconds, undisturbed });
  } finally {
    for (const gateway of started.toReversed()) await gateway.stop();
  }
}
