/**
 * `npm run bench`: Tollgate beside what one would use instead, all on this machine, in one run.
 *
 *   --quick        one short round of everything, to see that it works
 *   --only NAME    only contenders and cases whose name contains NAME (repeatable; the bare Bun forwarder always runs)
 *   --rounds N     how often each contender gets its turn (default 4)
 *   --seconds S    how long each turn lasts (default 2)
 *   --write        write bench/results.md although only a part was run
 */
import { parseArgs } from 'node:util';
import { CASES, MOST_ACCOUNTS, SMALL_CHAT, STREAMED_CHAT, type Case } from './cases.ts';
import type { Contender, ContenderContext } from './contenders/contender.ts';
import { startBunForwarder, startNodeForwarder, startPortkey } from './contenders/forwarders.ts';
import { startNginx } from './contenders/nginx.ts';
import { startBenchPostgres, startTollgate, type BenchPostgres } from './contenders/tollgate.ts';
import { openBenchEnvironment, type BenchEnvironment } from './harness/environment.ts';
import { delayAt, saturate, warmUp, type Delay, type LoadTools, type Sample } from './harness/measure.ts';
import { loadLine, machineLine } from './harness/machine.ts';
import { writeSection } from './harness/results-file.ts';
import { findTools } from './harness/tools.ts';
import {
  databaseTable,
  errorLines,
  mainTable,
  NAMES,
  targetTable,
  type Measurements,
} from './speed-report.ts';

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
const notes = [...tools.notes];
let postgres: BenchPostgres | undefined;
const contenders: Contender[] = [];
try {
  await startAll({ tools, backend: field.backend, folder: field.folder });
  const measured = await measureAll(field);
  report(measured);
} finally {
  for (const contender of contenders.toReversed()) await contender.stop();
  await postgres?.stop();
  await field.close();
}
process.exit(0);

async function startAll(ground: ContenderContext): Promise<void> {
  const tollgate = { backend: ground.backend, folder: ground.folder, accounts: MOST_ACCOUNTS };
  await enter(NAMES.bun, () => startBunForwarder(ground), true);
  await enter('nginx proxy_pass', () => startNginx(ground));
  await enter(NAMES.node, () => startNodeForwarder(ground));
  await enter(NAMES.portkey, () => startPortkey(ground));
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

/** One that cannot start is left out, and the report says so. */
async function enter(
  name: string,
  start: () => Promise<Contender | undefined>,
  always = false,
): Promise<void> {
  if (!always && !wantedContender(name)) return;
  try {
    const contender = await start();
    if (contender) contenders.push(contender);
  } catch (error) {
    notes.push(`${name} did not start and is left out: ${String(error).split('\n')[0]}`);
    console.error(`${name}: ${String(error)}`);
  }
}

async function measureAll({ backend, backendPid, folder }: BenchEnvironment): Promise<Measurements> {
  const loadTools: LoadTools = { wrk: tools.wrk, folder };
  const cases = CASES.filter(wantedCase);
  const samples = new Map<string, Map<string, Sample[]>>();
  for (const contender of contenders) {
    samples.set(contender.name, new Map());
    // Whole answers and streams take different ways through a gateway.
    for (const one of cases.filter((each) => each === SMALL_CHAT || each === STREAMED_CHAT)) {
      if (flags.quick) await saturate(one, contender, 1, loadTools);
      else await warmUp(one, contender, loadTools);
    }
  }
  for (const one of cases) {
    await inTurns(
      contenders.filter((contender) => !one.needsAccounts || contender.headers.length > 1),
      rounds,
      async (contender) => {
        const sample = await saturate(one, contender, seconds, loadTools);
        const ofCase = samples.get(contender.name);
        ofCase?.set(one.name, [...(ofCase.get(one.name) ?? []), sample]);
        console.log(
          `${one.name.padEnd(16)} ${contender.name.padEnd(30)} ${sample.cpuUsPerUnit.toFixed(1)} µs, ${Math.round(sample.unitsPerSecond)}/s`,
        );
      },
    );
  }
  const delays = new Map<string, Delay[]>();
  const direct = {
    name: NAMES.direct,
    version: '',
    pids: [backendPid],
    databasePids: [],
    urls: [`${backend}/chat/completions`],
    headers: [{}],
    stop: async () => undefined,
  };
  await inTurns([direct, ...contenders], delayRounds, async (contender) => {
    const delay = await delayAt(RATE_PER_SECOND, SMALL_CHAT, contender, delaySeconds);
    delays.set(contender.name, [...(delays.get(contender.name) ?? []), delay]);
    console.log(
      `${'latency'.padEnd(16)} ${contender.name.padEnd(30)} p50 ${delay.p50Ms.toFixed(2)} ms, p99 ${delay.p99Ms.toFixed(2)} ms, ${delay.errors} failed`,
    );
  });
  return { contenders, cases, samples, delays };
}

/** Turn about, each round beginning with another one, so that no contender has the quiet moments for itself. */
async function inTurns(
  all: readonly Contender[],
  count: number,
  turn: (contender: Contender) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < count; round++) {
    for (let index = 0; index < all.length; index++) await turn(all[(index + round) % all.length]!);
  }
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
${[...notes, ...failed].map((note) => `- note: ${note}`).join('\n')}

Versions: ${all.contenders
    .map(({ version }) => version)
    .filter((one, index, list) => list.indexOf(one) === index)
    .join('; ')}.
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
