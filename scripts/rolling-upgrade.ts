/**
 * Three nodes of an older commit on one Postgres that waits for its disk, behind HAProxy and under load, are replaced one
 * after the other by this tree. Prints how many requests failed, how long each step of the schema took, how long the old
 * nodes took for a request meanwhile, and whether the books are whole. Needs HAProxy and git. The figures are in
 * docs/operate.md.
 *
 *   bun scripts/rolling-upgrade.ts [--from COMMIT] [--receipts N] [--requests N] [--beside-a-dump] [--pause]
 */
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { catalogFor } from '../test/support/gateway.ts';
import { Traffic } from '../test/support/load-traffic.ts';
import { BackendProcess, eventually, NodeProcess } from '../test/support/node-process.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { freePorts, startOrderedHaproxy } from './rolling-restart/proxies.ts';
import { checkOut } from './rolling-upgrade/old-version.ts';
import { seedReceipts } from './rolling-upgrade/seed-receipts.ts';

const { values: flags } = parseArgs({
  options: {
    /** The default knows the first 16 steps of the schema. */
    from: { type: 'string', default: 'c8cb2d17' },
    /** Receipts that the old database has before the load begins. */
    receipts: { type: 'string', default: '0' },
    /** Under load, at least so many. */
    requests: { type: 'string', default: '2000' },
    /** A backup has every table when the schema is to change. */
    'beside-a-dump': { type: 'boolean', default: false },
    /** Waits for a line of input between the receipts and the load, so that other work can end meanwhile. */
    pause: { type: 'boolean', default: false },
  },
});

const NODES = 3;
const CLIENTS = { whole: 8, streams: 4, imageJobs: 2 };
const SCRIPT = { whole: { delayMs: 40 }, stream: { chunks: 40, everyMs: 100 } };
/** Before each replacement, and after the last. */
const SHARE = Number(flags.requests) / (NODES + 1);
const DUMP_MS = 10_000;
/** A pg_dump refuses a server that is newer than itself, so both are of Debian's package, where that is installed. */
const DEBIAN = '/usr/lib/postgresql/15/bin';
const pgDump = flags['beside-a-dump'] && existsSync(join(DEBIAN, 'initdb')) ? join(DEBIAN, 'pg_dump') : null;
/** No request of an old node may take longer while the schema changes, its 40 ms at the backend included. */
const LONGEST_MS = 2_000;
const ROOT = join(import.meta.dir, '..');

const old = checkOut(flags.from);
const postgres = await startPostgres({ fsync: true, ...(pgDump === null ? {} : { programs: DEBIAN }) });
const backend = await BackendProcess.start();
let succeeded = false;
try {
  succeeded = await upgradeAll(await postgres.emptyDatabase());
} finally {
  await backend.stop();
  await postgres.stop();
  rmSync(old, { recursive: true, force: true });
}
process.exit(succeeded ? 0 : 1);

async function upgradeAll(databaseUrl: string): Promise<boolean> {
  const [proxyPort = 0, ...nodePorts] = await freePorts(NODES + 1);
  const token = await prepare(databaseUrl);
  const oldNodes: NodeProcess[] = [];
  for (const port of nodePorts) oldNodes.push(await startNode(databaseUrl, port, old));
  const proxy = await startOrderedHaproxy(proxyPort, nodePorts);
  const answers: Wait[] = [];
  const traffic = new Traffic({
    url: `http://127.0.0.1:${proxyPort}`,
    token,
    ...CLIENTS,
    script: SCRIPT,
    onAnswer: (answer) => answers.push(answer),
  });
  const newNodes: NewNode[] = [];
  for (const [index, node] of oldNodes.entries()) {
    await answersReach(traffic, traffic.acknowledged.size + SHARE);
    // Versions from before the pause on SIGTERM refuse requests from the signal on, so the proxy is told first.
    await proxy.order(`set server tollgate/node${index} state drain`);
    const isFree = async (): Promise<boolean> => (await proxyCount(proxy, 'scur', index)) === 0;
    await eventually('the node has no requests', isFree, 120_000);
    await endInOrder(node);
    newNodes.push(await startNewNode(databaseUrl, nodePorts[index] ?? 0, index === 0));
    await proxy.order(`set server tollgate/node${index} state ready`);
  }
  await answersReach(traffic, traffic.acknowledged.size + SHARE);
  await traffic.stop();
  const retried = (await proxyCount(proxy, 'wretr')) + (await proxyCount(proxy, 'wredis'));
  await proxy.stop();
  const [first] = newNodes;
  if (!first) throw new Error('there is no node');
  const succeeded = await report({ traffic, retried, first, answers });
  await Promise.all(newNodes.map(({ node }) => node.stop()));
  return succeeded;
}

interface NewNode {
  readonly node: NodeProcess;
  readonly start: Wait;
}

/** The first one changes the schema. */
async function startNewNode(databaseUrl: string, port: number, isFirst: boolean): Promise<NewNode> {
  const endDump = isFirst && flags['beside-a-dump'] ? await beginDump(databaseUrl) : undefined;
  const askedAt = performance.now();
  const starting = startNode(databaseUrl, port, ROOT);
  await endDump?.();
  const node = await starting;
  return { node, start: { askedAt, answeredAt: performance.now() } };
}

async function endInOrder(node: NodeProcess): Promise<void> {
  node.signal('SIGTERM');
  const code = await node.exited();
  if (code !== 0) console.log(`a node of ${flags.from} ended with ${code}`);
  await node.stop();
}

/** The old schema with its receipts, and an account for the load; returns its token. */
async function prepare(databaseUrl: string): Promise<string> {
  const first = await startNode(databaseUrl, 0, old);
  const email = 'a@example.com';
  const made = await first.cli('account', 'create', email, '--balance', '1000', '--json');
  const wide = ['--chat', '1000000', '--images', '1000000', '--concurrent', '1000'];
  await first.cli('account', 'limit', email, ...wide);
  await endInOrder(first);
  const receipts = Number(flags.receipts);
  if (receipts > 0) {
    const startedAt = performance.now();
    await seedReceipts(databaseUrl, receipts);
    console.log(`${receipts.toLocaleString('en')} receipts made in ${secondsSince(startedAt)} s`);
  }
  if (flags.pause) await lineOfInput('ready for the load: press Enter');
  return (JSON.parse(made.output) as { token: string }).token;
}

async function startNode(databaseUrl: string, port: number, root: string): Promise<NodeProcess> {
  const yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' });
  // Versions that do not know the key pass every field on.
  const knowsKey = readFileSync(join(root, 'schema/tollgate.schema.json'), 'utf8').includes('pass_fields');
  return await NodeProcess.start({
    yaml: knowsKey ? yaml : yaml.replaceAll(', pass_fields: [script]', ''),
    databaseUrl,
    root,
    env: { TOLLGATE_PORT: String(port) },
  });
}

/** Resolves when the backup has every table; what is returned waits for its end. */
async function beginDump(databaseUrl: string): Promise<() => Promise<void>> {
  return pgDump === null ? await holdTables(databaseUrl) : await dumpWith(pgDump, databaseUrl);
}

/** As pg_dump does: one snapshot, and a lock on every table. */
async function holdTables(databaseUrl: string): Promise<() => Promise<void>> {
  console.log('beside a transaction that holds what pg_dump holds');
  const dump = new Client({ connectionString: databaseUrl, application_name: 'pg_dump' });
  await dump.connect();
  await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const { rows } = await dump.query<{ name: string }>(
    `SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = current_schema()`,
  );
  await dump.query(`LOCK TABLE ${rows.map(({ name }) => name).join(', ')} IN ACCESS SHARE MODE`);
  return async () => {
    await Bun.sleep(DUMP_MS);
    await dump.query('COMMIT');
    await dump.end();
  };
}

/** What it writes is thrown away, so that the script has nothing to read. */
async function dumpWith(program: string, databaseUrl: string): Promise<() => Promise<void>> {
  const child = Bun.spawn([program, '--dbname', databaseUrl, '--file', '/dev/null'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const startedAt = performance.now();
  const client = new Client(databaseUrl);
  await client.connect();
  const readsRows = async (): Promise<boolean> => {
    const { rowCount } = await client.query(
      `SELECT FROM pg_stat_activity WHERE application_name = 'pg_dump' AND query LIKE 'COPY %'`,
    );
    return rowCount === 1;
  };
  await eventually('pg_dump has the tables and reads them', readsRows, 60_000);
  await client.end();
  return async () => {
    const code = await child.exited;
    console.log(`beside ${program}: it ended with ${code} after ${secondsSince(startedAt)} s`);
  };
}

/** From when to when a request waited for the head of its answer, or a node for being ready. */
interface Wait {
  readonly askedAt: number;
  readonly answeredAt: number;
}

interface Upgrade {
  readonly traffic: Traffic;
  readonly retried: number;
  /** While it started, only old nodes served. */
  readonly first: NewNode;
  readonly answers: readonly Wait[];
}

async function report({ traffic, retried, first, answers }: Upgrade): Promise<boolean> {
  if (Object.keys(traffic.breaks).length > 0) console.log(traffic.breaks);
  const { answered = 0, ...failures } = traffic.ends;
  const failed = Object.values(failures).reduce((sum, one) => sum + one, 0);
  console.log(
    `from ${flags.from}: ${answered + failed} requests sent, ${failed} failed, ${retried} tried again by the proxy ${failed > 0 ? JSON.stringify(failures) : ''}`,
  );
  const { node, start } = first;
  for (const line of node.log
    .split('\n')
    .filter((one) => /schema_step_done|schema_change_waits|index_built/.test(one)))
    console.log(line);
  const meanwhile = answers.filter(
    ({ askedAt, answeredAt }) => askedAt < start.answeredAt && answeredAt > start.askedAt,
  );
  const before = answers.filter(({ answeredAt }) => answeredAt <= start.askedAt);
  const longest = longestOf(meanwhile);
  console.log(
    `first new node ready after ${((start.answeredAt - start.askedAt) / 1000).toFixed(1)} s; meanwhile old nodes answered ${meanwhile.length} requests, the longest after ${longest.toFixed(0)} ms; before that ${before.length}, the longest after ${longestOf(before).toFixed(0)} ms`,
  );
  const startedAt = performance.now();
  const { code, output } = await node.cli('verify', '--full', '--json');
  console.log(`verify --full: ${output.trim()} in ${secondsSince(startedAt)} s`);
  return failed === 0 && code === 0 && longest <= LONGEST_MS;
}

async function lineOfInput(question: string): Promise<void> {
  console.log(question);
  process.stdin.ref();
  await once(process.stdin, 'data');
  process.stdin.pause();
}

function longestOf(waits: readonly Wait[]): number {
  return waits.reduce((longest, { askedAt, answeredAt }) => Math.max(longest, answeredAt - askedAt), 0);
}

function secondsSince(startedAt: number): string {
  return ((performance.now() - startedAt) / 1000).toFixed(1);
}

interface Orders {
  order(text: string): Promise<string>;
}

/** A column of HAProxy's table of figures, of one of its servers or of all. */
async function proxyCount(proxy: Orders, column: string, index?: number): Promise<number> {
  const [head = '', ...rows] = (await proxy.order('show stat')).split('\n');
  const place = head.replace(/^# /, '').split(',').indexOf(column);
  const name = index === undefined ? 'BACKEND' : `node${index}`;
  const row = rows.find((line) => line.startsWith(`tollgate,${name},`));
  return Number(row?.split(',')[place] ?? Number.NaN);
}

async function answersReach(traffic: Traffic, count: number): Promise<void> {
  await eventually(`${count} answers`, () => traffic.acknowledged.size >= count, 300_000);
}
