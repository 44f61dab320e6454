/**
 * `bun scripts/rolling-upgrade.ts [commit] [requests]`: three nodes of an older commit on one Postgres, behind HAProxy
 * and under load, are replaced one after the other by this tree. Prints how many requests failed and whether the books
 * are whole. Needs HAProxy and git. The figures are in docs/operate.md.
 */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogFor } from '../test/support/gateway.ts';
import { Traffic } from '../test/support/load-traffic.ts';
import { BackendProcess, eventually, NodeProcess } from '../test/support/node-process.ts';
import { Operator } from '../test/support/operator.ts';
import { testPostgres } from '../test/support/postgres.ts';
import { freePorts, startOrderedHaproxy } from './rolling-restart/proxies.ts';

/** The last one in which holds and receipts were first separate tables. */
const OLD_COMMIT = '0776cd0';
const NODES = 3;
const DEFAULT_REQUESTS = 2_000;
const CLIENTS = { whole: 8, streams: 4 };
const SCRIPT = { whole: { delayMs: 40 }, stream: { chunks: 40, everyMs: 100 } };
const ROOT = join(import.meta.dir, '..');

const [commit = OLD_COMMIT, requests = String(DEFAULT_REQUESTS)] = process.argv.slice(2);
const old = checkOut(commit);
const postgres = await testPostgres();
const backend = await BackendProcess.start();
let failures = 1;
try {
  failures = await upgradeAll(Number(requests));
} finally {
  await backend.stop();
  await postgres.stop();
  rmSync(old, { recursive: true, force: true });
}
process.exit(failures === 0 ? 0 : 1);

/** The files of that commit, with the packages of this one: their versions are the same. */
function checkOut(revision: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-old-'));
  const script = 'git -C "$1" archive "$2" | tar -x -C "$3"';
  const { exitCode } = Bun.spawnSync(['sh', '-c', script, 'sh', ROOT, revision, folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (exitCode !== 0) throw new Error(`${revision} could not be read`);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

async function upgradeAll(wanted: number): Promise<number> {
  const databaseUrl = await postgres.emptyDatabase();
  const yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' });
  const [proxyPort = 0, ...nodePorts] = await freePorts(NODES + 1);
  // The old version passes every field on, and does not know the key.
  const oldYaml = yaml.replaceAll(', pass_fields: [script]', '');
  const startNode = (port: number, root: string): Promise<NodeProcess> =>
    NodeProcess.start({
      yaml: root === old ? oldYaml : yaml,
      databaseUrl,
      root,
      env: { TOLLGATE_PORT: String(port) },
    });
  const nodes: NodeProcess[] = [];
  for (const port of nodePorts) nodes.push(await startNode(port, old));
  const made = await nodes[0]?.cli('account', 'create', 'a@example.com', '--balance', '1000', '--json');
  const { token } = JSON.parse(made?.output ?? '{}') as { token: string };
  await nodes[0]?.cli('account', 'limit', 'a@example.com', '--chat', '1000000', '--concurrent', '1000');
  const proxy = await startOrderedHaproxy(proxyPort, nodePorts);
  const traffic = new Traffic({ url: `http://127.0.0.1:${proxyPort}`, token, ...CLIENTS, script: SCRIPT });
  for (const [index, port] of nodePorts.entries()) {
    await answersReach(traffic, traffic.acknowledged.size + wanted / (NODES + 1));
    // The old version refused requests from the signal on, so the proxy is told first.
    await proxy.order(`set server tollgate/node${index} state drain`);
    await eventually('the node has no requests', async () => (await sessionsOf(proxy, index)) === 0, 120_000);
    nodes[index]?.signal('SIGTERM');
    const code = await nodes[index]?.exited();
    if (code !== 0) console.log(`a node of ${commit} ended with ${code}`);
    await nodes[index]?.stop();
    nodes[index] = await startNode(port, ROOT);
    await proxy.order(`set server tollgate/node${index} state ready`);
  }
  await answersReach(traffic, traffic.acknowledged.size + wanted / (NODES + 1));
  await traffic.stop();
  return await report(traffic, nodes[0]?.env ?? {}, async () => {
    await proxy.stop();
    await Promise.all(nodes.map((node) => node.stop()));
  });
}

async function report(
  traffic: Traffic,
  env: Readonly<Record<string, string>>,
  stop: () => Promise<void>,
): Promise<number> {
  const { answered = 0, ...failed } = traffic.ends;
  const count = Object.values(failed).reduce((sum, one) => sum + one, 0);
  const operator = await Operator.open(env);
  await operator.settled();
  const { breaches, checked } = await operator.services.ledger.ledger.verify({ full: true });
  console.log(
    `from ${commit}: ${count} failed of ${answered + count}, ${breaches.length} breaches in ${checked.requests} requests ${count > 0 ? JSON.stringify(failed) : ''}`,
  );
  await operator.close();
  await stop();
  return count + breaches.length;
}

/** Requests that a server of the proxy has at this moment: the fifth field of `show stat`. */
async function sessionsOf(proxy: { order(text: string): Promise<string> }, index: number): Promise<number> {
  const row = (await proxy.order('show stat'))
    .split('\n')
    .find((line) => line.startsWith(`tollgate,node${index},`));
  return Number(row?.split(',')[4] ?? Number.NaN);
}

async function answersReach(traffic: Traffic, count: number): Promise<void> {
  await eventually(`${count} answers`, () => traffic.acknowledged.size >= count, 300_000);
}
