/**
 * `npm run bench`: Tollgate beside what one would use instead, all on this machine, in one run.
 *
 *   --quick        one short round of everything, to see that it works
 *   --only NAME    only contenders and cases whose name contains NAME (repeatable; the bare Bun forwarder always runs)
 *   --rounds N     how often each contender gets its turn (default 4)
 *   --seconds S    how long each turn lasts (default 2)
 *   --write        write bench/results.md although only a part was run
 *
 * `npm run bench -- alloc`: what a request leaves to the garbage collector instead; see bench/alloc.ts.
 */
import { parseArgs } from 'node:util';
import { CASES, CONNECTIONS, MOST_ACCOUNTS, type Case } from './cases.ts';
import type { Contender, ContenderContext } from './contenders/contender.ts';
import { startBunForwarder, startNodeForwarder } from './contenders/forwarders.ts';
import { startNginx } from './contenders/nginx.ts';
import { PEER_NAMES, startPortkey } from './contenders/peers.ts';
import { startBenchPostgres, startTollgate, type BenchPostgres } from './contenders/tollgate.ts';
import { compareAll, Contenders } from './harness/comparison.ts';
import { openBenchEnvironment } from './harness/environment.ts';
import { loadLine, machineLine } from './harness/machine.ts';
import { writeSection } from './harness/results-file.ts';
import { findTools } from './harness/tools.ts';
import {
  databaseTable,
  errorLines,
  mainTable,
  NAMES,
  targetTable,
  versionLine,
  type Measurements,
} from './speed-report.ts';

if (process.argv[2] === 'alloc') await import('./alloc.ts');

const RATE_PER_SECOND = 500;

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 4));
const seconds = Number(flags.seconds ?? (flags.quick ? 1 : 2));
const delayRounds = Math.min(rounds, 3);
const delaySeconds = flags.quick ? 2 : 4;

const startedAt = new Date();
const loadBefore = loadLine();
const field = await openBenchEnvironment();
const tools = findTools();
let postgres: BenchPostgres | undefined;
const contenders = new Contenders();
try {
  await startAll({ tools, backend: field.backend, folder: field.folder });
  const plan = {
    cases: CASES.filter(wantedCase),
    rounds,
    seconds,
    connections: CONNECTIONS,
    quick: flags.quick,
    delay: { ratePerSecond: RATE_PER_SECOND, rounds: delayRounds, seconds: delaySeconds },
  };
  report(await compareAll(contenders.all, plan, field, tools.wrk));
} finally {
  await contenders.stop();
  await postgres?.stop();
  await field.close();
}
process.exit(0);

async function startAll(ground: ContenderContext): Promise<void> {
  const tollgate = { backend: ground.backend, folder: ground.folder, accounts: MOST_ACCOUNTS };
  await enter(NAMES.bun, () => startBunForwarder(ground), true);
  await enter('nginx proxy_pass', () => startNginx(ground));
  await enter(NAMES.node, () => startNodeForwarder(ground));
  await enter(PEER_NAMES.portkey, () => startPortkey(ground));
  await enter(NAMES.sqlite, () => startTollgate({ ...tollgate, name: NAMES.sqlite }));
  for (const [name, nodes] of [
    [NAMES.postgres, 1],
    [NAMES.twoNodes, 2],
  ] as const) {
    await enter(name, async () => {
      postgres ??= await startBenchPostgres();
      const database = { databaseUrl: await postgres.freshDatabase(), databasePids: [postgres.pid] };
      return await startTollgate({ ...tollgate, ...database, name, nodes });
    });
  }
}

async function enter(
  name: string,
  start: () => Promise<Contender | undefined>,
  always = false,
): Promise<void> {
  if (always || wantedContender(name)) await contenders.add(name, start);
}

function report(all: Measurements): void {
  const took = Math.round((Date.now() - startedAt.getTime()) / 1000);
  const database = databaseTable(all);
  const failed = errorLines(all);
  const text = `
## Speed

${startedAt.toISOString().slice(0, 10)} · ${machineLine()} · ${rounds} rounds of ${seconds} s for each cell, turn about, ${took} s in all
Load average before: ${loadBefore}; after: ${loadLine()}. Nothing is pinned: load generator, mock backend, database and gateway share the cores, so
requests/s say how much is left over by the others, and CPU per request is the figure to compare.

CPU is user + system time of the gateway's processes, in µs per request: **best · median · ratio of the best to the bare Bun forwarder's best in the same run.**
Load: ${tools.wrk === undefined ? 'our own generator' : 'wrk'} for whole answers, our own generator for streams and for the latency at a fixed ${RATE_PER_SECOND} requests/s (less that of the way without a gateway).

${mainTable(all)}
${database === undefined ? '' : `\n${database}\n`}
${targetTable(all)}

${all.cases.map(({ name, about }) => `- ${name}: ${about}`).join('\n')}
${[...tools.notes, ...contenders.notes, ...failed].map((note) => `- note: ${note}`).join('\n')}

${versionLine(all)}
`;
  console.log(text);
  if (flags.write || (flags.only.length === 0 && !flags.quick)) writeSection('speed', text);
}

function wantedContender(name: string): boolean {
  const names = flags.only.filter((only) => !CASES.some((one) => one.name.includes(only)));
  return names.length === 0 || names.some((only) => name.includes(only));
}

function wantedCase({ name }: Case): boolean {
  const names = flags.only.filter((only) => CASES.some((one) => one.name.includes(only)));
  return names.length === 0 || names.some((only) => name.includes(only));
}
