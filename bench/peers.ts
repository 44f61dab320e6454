/**
 * `npm run bench:peers`: Tollgate beside other gateways, each installed by the bench into a temporary folder, all on this
 * machine, in one run. One that cannot be installed or started here is left out, and the report says why.
 *
 *   --quick        one short round of everything, to see that it works
 *   --only NAME    only gateways whose name contains NAME (repeatable; the bare Bun forwarder always runs)
 *   --rounds N     how often each gateway gets its turn (default 4)
 *   --seconds S    how long each turn lasts (default 5)
 *
 * Results are written only by a whole run on a machine that is otherwise idle.
 */
import { parseArgs } from 'node:util';
import { CASES, MOST_ACCOUNTS } from './cases.ts';
import type { Contender, ContenderContext } from './contenders/contender.ts';
import { startBunForwarder } from './contenders/forwarders.ts';
import { PEER_NAMES, startBifrost, startLiteLlm, startPortkey } from './contenders/peers.ts';
import { startTollgate } from './contenders/tollgate.ts';
import { compareAll, Contenders } from './harness/comparison.ts';
import { openBenchEnvironment } from './harness/environment.ts';
import { loadLine, machineLine } from './harness/machine.ts';
import { writeSection } from './harness/results-file.ts';
import { findTools } from './harness/tools.ts';
import { shareOfOthers } from './harness/usage.ts';
import { errorLines, mainTable, NAMES, versionLine, type Measurements } from './speed-report.ts';

/** The slowest of them must be idle most of the time at this rate. */
const RATE_PER_SECOND = 10;
/** Few enough for the slowest to answer all of them within a turn. */
const CONNECTIONS = 16;
const MOST_SHARE_OF_OTHERS = 0.1;
const LOOK_MS = 5_000;

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
});
const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 4));
const seconds = Number(flags.seconds ?? (flags.quick ? 2 : 5));

const startedAt = new Date();
const environment = await openBenchEnvironment();
const tools = findTools();
const contenders = new Contenders();
try {
  await startAll({ tools, backend: environment.backend, folder: environment.folder });
  const others = await shareOfOthers(() => Bun.sleep(LOOK_MS));
  const plan = {
    cases: CASES.filter((one) => !one.needsAccounts),
    rounds,
    seconds,
    connections: CONNECTIONS,
    quick: flags.quick,
    delay: {
      ratePerSecond: RATE_PER_SECOND,
      rounds: Math.min(rounds, 3),
      seconds: flags.quick ? 3 : 20,
    },
  };
  report(await compareAll(contenders.all, plan, environment, tools.wrk), others);
} finally {
  await contenders.stop();
  await environment.close();
}
process.exit(0);

async function startAll(context: ContenderContext): Promise<void> {
  const starts: Readonly<Record<string, () => Promise<Contender>>> = {
    [NAMES.bun]: () => startBunForwarder(context),
    [NAMES.sqlite]: () => startTollgate({ ...context, name: NAMES.sqlite, accounts: MOST_ACCOUNTS }),
    [PEER_NAMES.bifrost]: () => startBifrost(context),
    [PEER_NAMES.portkey]: () => startPortkey(context),
    [PEER_NAMES.liteLlm]: () => startLiteLlm(context),
  };
  for (const [name, start] of Object.entries(starts)) {
    const isWanted = flags.only.length === 0 || flags.only.some((only) => name.includes(only));
    if (isWanted || name === NAMES.bun) await contenders.add(name, start);
  }
}

function report(all: Measurements, others: number): void {
  const isBusy = others > MOST_SHARE_OF_OTHERS;
  const took = Math.round((Date.now() - startedAt.getTime()) / 1000);
  const notes = [...tools.notes, ...contenders.notes, ...errorLines(all)];
  const text = `
## Other gateways

${startedAt.toISOString().slice(0, 10)} · ${machineLine()} · ${rounds} rounds of ${seconds} s for each cell, turn about, ${took} s in all
Load average after: ${loadLine()}; just before, others used ${Math.round(others * 100)} % of the cores.${isBusy ? ' **The machine was busy: these figures are not final.**' : ''}

CPU is user + system time of all processes of a gateway, in µs per request: **best · median · ratio of the best to the bare Bun forwarder's best in the same run.**
Memory is that of all its processes too. Requests/s are with ${CONNECTIONS} connections; nothing is pinned, load generator and mock backend share the cores. Added latency is that at a fixed
${RATE_PER_SECOND} requests/s, less that of the way without a gateway. The others forward, without a database or logs, and check one key at most; Tollgate also finds the account, holds the money and writes the receipt.

${mainTable(all)}

${all.cases.map(({ name, about }) => `- ${name}: ${about}`).join('\n')}
${notes.map((note) => `- note: ${note}`).join('\n')}

${versionLine(all)}
`;
  console.log(text);
  if (flags.quick || flags.only.length > 0) return;
  if (isBusy) console.log('The machine was busy: bench/results.md stays as it was.');
  else writeSection('peers', text);
}
