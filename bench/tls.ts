/**
 * What it costs to serve HTTPS: by Tollgate itself, and by an nginx in front of it, each beside plain HTTP in the same run.
 * The load comes from our own generator; what counts is the processor time of the servers.
 * Usage: bun bench/tls.ts [--rounds 7] [--seconds 3]
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SMALL_CHAT, STREAMED_CHAT, type Case } from './cases.ts';
import type { Contender } from './contenders/contender.ts';
import { launchNginx } from './contenders/nginx.ts';
import { startTollgate } from './contenders/tollgate.ts';
import { openBenchEnvironment } from './harness/environment.ts';
import { loadLine, machineLine } from './harness/machine.ts';
import { saturate, untilIdle, warmUp, type Sample } from './harness/measure.ts';
import { median } from './harness/statistics.ts';
import { table } from './harness/table.ts';
import { findTools } from './harness/tools.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, seconds: { type: 'string', default: '3' } },
});
const environment = await openBenchEnvironment();
const { folder, backend } = environment;
const load = { wrk: undefined, folder, connections: 32 };

const plain = await startTollgate({ name: 'plain', backend, folder, accounts: 8 });
const own = await startTollgate({ name: 'own TLS', backend, folder, accounts: 8, tls: true });
const contenders: Contender[] = [plain, own];
const { nginx } = findTools();
if (nginx !== undefined) contenders.push(await behindNginx(nginx));

const cases: [name: string, one: Case, headers: Readonly<Record<string, string>>][] = [
  ['small chat, connections kept', SMALL_CHAT, {}],
  ['small chat, a connection for each', SMALL_CHAT, { connection: 'close' }],
  ['streamed chat, a chunk', STREAMED_CHAT, {}],
];
const rows: string[][] = [];
for (const [name, one, headers] of cases) {
  const all = contenders.map((contender) => ({
    ...contender,
    headers: contender.headers.map((own) => ({ ...own, ...headers })),
  }));
  const samples = await measure(one, all);
  const cpuUs = (contender: Contender): number =>
    median((samples.get(contender.name) ?? []).map(({ cpuUsPerUnit }) => cpuUsPerUnit));
  for (const contender of all) {
    const [first] = all;
    const ratio = first ? cpuUs(contender) / cpuUs(first) : Number.NaN;
    const failed = (samples.get(contender.name) ?? []).reduce((sum, { errors }) => sum + errors, 0);
    rows.push([name, contender.name, cpuUs(contender).toFixed(0), ratio.toFixed(2), String(failed)]);
  }
}
console.log(`${machineLine()}\n${loadLine()}\n`);
console.log(table(['', 'served by', 'processor µs each', 'against plain', 'failed'], rows));
for (const contender of contenders.toReversed()) await contender.stop();
await environment.close();
process.exit(0);

/** Turn about, each round beginning with another one. */
async function measure(one: Case, all: readonly Contender[]): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>(all.map(({ name }) => [name, []]));
  for (const contender of all) await warmUp(one, contender, load);
  for (let round = 0; round < Number(values.rounds); round++)
    for (let index = 0; index < all.length; index++) {
      const contender = all[(index + round) % all.length]!;
      samples.get(contender.name)?.push(await saturate(one, contender, Number(values.seconds), load));
      await untilIdle(contender);
    }
  return samples;
}

/** A plain Tollgate of its own behind nginx, which has the same certificate; both count. */
async function behindNginx(program: string): Promise<Contender> {
  const behind = await startTollgate({ name: 'nginx', backend, folder, accounts: 8 });
  const [url = ''] = behind.urls;
  const tls = { cert: join(own.dataFolder, 'tls-cert.pem'), key: join(own.dataFolder, 'tls-key.pem') };
  const { pid, port, stop } = await launchNginx(program, { folder, backend: url, tls });
  return {
    ...behind,
    name: 'nginx in front',
    pids: [...behind.pids, pid],
    urls: [url.replace(/^http:\/\/[^/]+/, `https://127.0.0.1:${port}`)],
    stop: async () => {
      await stop();
      await behind.stop();
    },
  };
}
