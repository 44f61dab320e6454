/**
 * `npm run bench:against -- COMMIT`: this tree beside an older commit, both run in turn on this machine, so that what a
 * change costs is told as a ratio. A ratio above 1 means that this tree uses more.
 *
 *   --rounds N     how often each gets its turn (default 10)
 *   --seconds S    how long each turn lasts (default 2)
 *   --postgres     both on Postgres, a database each
 *   --only NAME    only cases whose name contains NAME (default: small chat and streamed chat)
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CASES, SMALL_CHAT, STREAMED_CHAT, type Case } from './cases.ts';
import type { Contender } from './contenders/contender.ts';
import { checkOut, startRevision } from './contenders/revision.ts';
import { startBenchPostgres, type BenchPostgres } from './contenders/tollgate.ts';
import { openBenchEnvironment } from './harness/environment.ts';
import { loadLine, machineLine } from './harness/machine.ts';
import { saturate, warmUp, type LoadTools, type Sample } from './harness/measure.ts';
import { median, percentile } from './harness/statistics.ts';
import { findTools } from './harness/tools.ts';

const ACCOUNTS = 16;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '2' },
    postgres: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});
const [revision] = positionals;
if (revision === undefined) {
  console.error(
    'Usage: npm run bench:against -- COMMIT [--rounds N] [--seconds S] [--postgres] [--only NAME]',
  );
  process.exit(2);
}

console.log(`${machineLine()}\n${loadLine()}`);
const environment = await openBenchEnvironment();
const tools: LoadTools = { wrk: findTools().wrk, folder: environment.folder };
let postgres: BenchPostgres | undefined;
const contenders: Contender[] = [];
try {
  if (flags.postgres) postgres = await startBenchPostgres();
  const before = await start(`before ${revision}`, checkOut(revision, environment.folder));
  const after = await start('after', resolve(import.meta.dir, '..'));
  for (const one of CASES.filter(isChosen)) await compare(one, before, after);
} finally {
  for (const contender of contenders.toReversed()) await contender.stop();
  await postgres?.stop();
  await environment.close();
}
process.exit(0);

async function start(name: string, root: string): Promise<Contender> {
  const contender = await startRevision({
    name,
    root,
    backend: environment.backend,
    folder: environment.folder,
    accounts: ACCOUNTS,
    databaseUrl: await postgres?.freshDatabase(),
    databasePids: postgres && [postgres.pid],
  });
  contenders.push(contender);
  return contender;
}

function isChosen(one: Case): boolean {
  return flags.only === undefined
    ? one === SMALL_CHAT || one === STREAMED_CHAT
    : one.name.includes(flags.only);
}

async function compare(one: Case, before: Contender, after: Contender): Promise<void> {
  for (const contender of [before, after]) await warmUp(one, contender, tools);
  const pairs: { readonly before: Sample; readonly after: Sample }[] = [];
  for (let round = 0; round < Number(flags.rounds); round++) {
    // Each goes first in half of the rounds: a machine that gets warmer or busier must not favour one of them.
    const order = round % 2 === 0 ? [before, after] : [after, before];
    const samples = new Map<Contender, Sample>();
    for (const contender of order)
      samples.set(contender, await saturate(one, contender, Number(flags.seconds), tools));
    pairs.push({ before: sampleOf(samples, before), after: sampleOf(samples, after) });
  }
  console.log(`\n${one.name}: ${pairs.length} rounds, median of the ratios (lowest – highest)`);
  report('CPU of the gateway', pairs, ({ cpuUsPerUnit }) => cpuUsPerUnit, 'µs');
  if (flags.postgres) report('CPU of Postgres', pairs, ({ databaseUsPerUnit }) => databaseUsPerUnit, 'µs');
  report('throughput', pairs, ({ unitsPerSecond }) => unitsPerSecond, '/s');
  const errors = pairs.reduce((sum, pair) => sum + pair.before.errors + pair.after.errors, 0);
  if (errors > 0)
    console.log(`  ${errors} requests failed: ${pairs.at(-1)?.after.complaint ?? 'no reason known'}`);
}

function sampleOf(samples: ReadonlyMap<Contender, Sample>, contender: Contender): Sample {
  const sample = samples.get(contender);
  if (!sample) throw new Error(`${contender.name} was not measured`);
  return sample;
}

function report(
  what: string,
  pairs: readonly { readonly before: Sample; readonly after: Sample }[],
  read: (sample: Sample) => number,
  unit: string,
): void {
  const ratios = pairs.map(({ before, after }) => read(after) / read(before));
  const [before, after] = [
    median(pairs.map((pair) => read(pair.before))),
    median(pairs.map((pair) => read(pair.after))),
  ];
  const range = `${percentile(ratios, 0).toFixed(2)} – ${percentile(ratios, 1).toFixed(2)}`;
  console.log(
    `  ${what.padEnd(20)} ${median(ratios).toFixed(3)}  (${range})   ${before.toFixed(1)} → ${after.toFixed(1)} ${unit}`,
  );
}
