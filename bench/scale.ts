/**
 * Whether a request costs the same however large everything around it is. Writes a plot for each into bench/plots/.
 *
 *   --only NAME           streams, accounts, requests, verify, catalog or memory (repeatable)
 *   --most-streams N      5,000 unless told otherwise
 *   --most-accounts N     1,000,000
 *   --most-requests N     10,000,000; that many take five minutes and 7 GB of disk
 *   --most-models N       5,000
 *   --memory-requests N   1,000,000
 *   --quick               small maxima, to see that it works; results are not written
 */
import { parseArgs } from 'node:util';
import { startBunForwarder } from './contenders/forwarders.ts';
import { openBenchEnvironment } from './harness/environment.ts';
import { machineLine } from './harness/machine.ts';
import { writeSection } from './harness/results-file.ts';
import { findTools } from './harness/tools.ts';
import { publishCurve, type ScaleContext } from './scale/curve.ts';
import { memoryOver } from './scale/memory.ts';
import { accountsCurve, catalogCurve, requestsCurve } from './scale/stored.ts';
import { streamsCurve } from './scale/streams.ts';
import { verifyTimes } from './scale/verify.ts';

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    quick: { type: 'boolean', default: false },
    'most-streams': { type: 'string' },
    'most-accounts': { type: 'string' },
    'most-requests': { type: 'string' },
    'most-models': { type: 'string' },
    'memory-requests': { type: 'string' },
  },
});

const PARTS = {
  streams: async (ground: ScaleContext) => {
    const { curve, bytesPerStream, streams } = await streamsCurve(ground, most('most-streams', 5_000, 1_000));
    const each = `Memory of one open stream at ${streams.toLocaleString('en')} of them: ${(bytesPerStream / 1024).toFixed(1)} KB.`;
    return `${publishCurve(curve, 'chunk')}\n${each}\n`;
  },
  accounts: async (ground: ScaleContext) =>
    publishCurve(await accountsCurve(ground, most('most-accounts', 1_000_000, 10_000))),
  requests: async (ground: ScaleContext) =>
    publishCurve(await requestsCurve(ground, most('most-requests', 10_000_000, 50_000))),
  verify: (ground: ScaleContext) => verifyTimes(ground, most('most-requests', 10_000_000, 50_000)),
  catalog: async (ground: ScaleContext) =>
    publishCurve(await catalogCurve(ground, most('most-models', 5_000, 500))),
  memory: (ground: ScaleContext) => memoryOver(ground, most('memory-requests', 1_000_000, 30_000)),
};

const field = await openBenchEnvironment();
const { wrk } = findTools();
const forwarder = await startBunForwarder(field);
const NAMES = ['streams', 'accounts', 'requests', 'verify', 'catalog', 'memory'] as const;
const TITLE = `## Scale

${new Date().toISOString().slice(0, 10)} · ${machineLine()}. Best of three turns, each beside the bare forwarder.`;
try {
  const { backend, folder } = field;
  for (const name of NAMES) {
    const run = PARTS[name];
    if (flags.only.length > 0 && !flags.only.includes(name)) continue;
    console.log(`── ${name}`);
    const section = await run({ backend, folder, forwarder, tools: { wrk, folder } });
    console.log(section);
    if (!flags.quick) writeSection(`scale-${name}`, `${TITLE}\n\n${section}`);
  }
} finally {
  await forwarder.stop();
  await field.close();
}
process.exit(0);

function most(flag: Exclude<keyof typeof flags, 'only' | 'quick'>, usual: number, quick: number): number {
  return Number(flags[flag] ?? (flags.quick ? quick : usual));
}
