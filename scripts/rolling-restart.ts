/**
 * `bun scripts/rolling-restart.ts [requests] [proxy] [workers]`: restarts three nodes on one Postgres one after the other
 * under load, and prints how many requests failed: behind nginx with its defaults, behind nginx that keeps its connections
 * to the nodes, and behind HAProxy, each with one worker a node and with two, or behind what is named (`nginx`, or
 * `'nginx, defaults'`). A proxy that is not installed is left out and named. The figures are in docs/operate.md.
 */
import { catalogFor } from '../test/support/gateway.ts';
import { Traffic } from '../test/support/load-traffic.ts';
import { BackendProcess, eventually, NodeProcess } from '../test/support/node-process.ts';
import { Operator } from '../test/support/operator.ts';
import { testPostgres } from '../test/support/postgres.ts';
import { freePorts, PROXIES, type ProxyKind } from './rolling-restart/proxies.ts';

const NODES = 3;
const DEFAULT_REQUESTS = 2_000;
const CLIENTS = { whole: 12, streams: 6 };
/** A stream lasts longer than the pause, so that some run on when their node's listener is closed. */
const SCRIPT = { whole: { delayMs: 40 }, stream: { chunks: 60, everyMs: 120 } };

const wanted = Number(process.argv[2] ?? DEFAULT_REQUESTS);
const [, , , namedProxy = '', namedWorkers] = process.argv;
const workerCounts = namedWorkers === undefined ? [1, 2] : [Number(namedWorkers)];
const postgres = await testPostgres();
const backend = await BackendProcess.start();
let failedInAll = 0;
try {
  for (const kind of PROXIES.filter(({ name }) => name.startsWith(namedProxy))) {
    if (Bun.which(kind.command) === null) {
      console.log(`${kind.name}: not installed`);
      continue;
    }
    for (const workers of workerCounts) failedInAll += await restartAll(kind, workers);
  }
} finally {
  await backend.stop();
  await postgres.stop();
}
process.exit(failedInAll === 0 ? 0 : 1);

async function restartAll(kind: ProxyKind, workers: number): Promise<number> {
  const databaseUrl = await postgres.emptyDatabase();
  const ports = await freePorts(NODES + 1);
  const [proxyPort = 0, ...nodePorts] = ports;
  const nodes: NodeProcess[] = [];
  for (const port of nodePorts) {
    const env = {
      TOLLGATE_PORT: String(port),
      TOLLGATE_WORKERS: String(workers),
      TOLLGATE_DRAIN_SECONDS: '5',
    };
    const yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' });
    nodes.push(await NodeProcess.start({ yaml, databaseUrl, env }));
  }
  const proxy = await kind.start(proxyPort, nodePorts);
  const operator = await Operator.open(nodes[0]?.env ?? {});
  const { token } = await operator.account('1000');
  const traffic = new Traffic({ url: `http://127.0.0.1:${proxyPort}`, token, ...CLIENTS, script: SCRIPT });
  for (const node of nodes) {
    await answersReach(traffic, traffic.acknowledged.size + wanted / (NODES + 1));
    node.signal('SIGTERM');
    const code = await node.exited();
    if (code !== 0) console.log(`a node ended with ${code}`);
    await node.restart();
    await Bun.sleep(kind.noticeMs);
  }
  await answersReach(traffic, wanted);
  await traffic.stop();
  if (Object.keys(traffic.breaks).length > 0) console.log(traffic.breaks);
  const { answered = 0, ...failed } = traffic.ends;
  const failures = Object.values(failed).reduce((sum, count) => sum + count, 0);
  const { breaches } = await operator.verify();
  console.log(
    `${kind.name}, ${workers} worker${workers === 1 ? '' : 's'} a node: ${failures} failed of ${answered + failures}, ${breaches.length} breaches ${failures > 0 ? JSON.stringify(failed) : ''}`,
  );
  await operator.close();
  await proxy.stop();
  await Promise.all(nodes.map((node) => node.stop()));
  return failures + breaches.length;
}

async function answersReach(traffic: Traffic, count: number): Promise<void> {
  await eventually(`${count} answers`, () => traffic.acknowledged.size >= count, 300_000);
}
