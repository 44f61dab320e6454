import { cpus } from 'node:os';
import { Client } from 'pg';
import { openPostgresLedger } from '../src/ledger/postgres.ts';
import type { AdmissionRequest } from '../src/ledger/port.ts';
import { systemClock } from '../src/std/clock.ts';
import { newRequestId, type TokenHash } from '../src/std/ids.ts';
import { MAX_BALANCE } from '../src/std/money.ts';
import { silentLog, stderrLog } from '../src/std/log.ts';
import { openStore } from '../src/store/store.ts';
import { startPostgres } from '../test/support/postgres.ts';

/**
 * Admissions per second on one hot account: several nodes (processes) on one Postgres, every request for the same
 * account, each worker sending its next request when it has its answer. Durable: fsync is on, commits wait for it.
 *
 *   bun bench/ledger-postgres.ts [nodes=3] [workers per node=64] [seconds=8]
 */
const [NODES = 3, WORKERS = 64, SECONDS = 8] = process.argv
  .slice(2)
  .filter((word) => /^\d+$/.test(word))
  .map(Number);
const WARM_UP_MS = Number(process.env['BENCH_WARM'] ?? 3_000);
const HASH = 'hot' as TokenHash;
const nodeUrl = process.env['BENCH_DATABASE_URL'];

interface NodeResult {
  readonly refused: number;
  readonly failed: number;
  readonly latenciesMs: readonly number[];
  readonly cpuSeconds: number;
}

async function measure(): Promise<void> {
  const server = await startPostgres({ fsync: true });
  try {
    const url = await server.freshDatabase();
    const version = await prepare(url);
    const start = Date.now() + 1_000;
    const results = await Promise.all(Array.from({ length: NODES }, () => runNode(url, start)));
    const latencies = results.flatMap((result) => result.latenciesMs).sort((a, b) => a - b);
    const report = {
      date: new Date().toISOString().slice(0, 10),
      machine: `${cpus().length} cores ${process.arch}`,
      versions: `Bun ${Bun.version}, ${version}`,
      nodes: NODES,
      workersPerNode: WORKERS,
      admissionsPerSecond: Math.round(latencies.length / SECONDS),
      refused: results.reduce((sum, result) => sum + result.refused, 0),
      failed: results.reduce((sum, result) => sum + result.failed, 0),
      p50Ms: percentile(latencies, 50),
      p99Ms: percentile(latencies, 99),
      maxMs: percentile(latencies, 100),
      nodeCpuMicrosPerAdmission: round(
        (results.reduce((sum, r) => sum + r.cpuSeconds, 0) * 1e6) / latencies.length,
      ),
      booksAreRight: await verify(url),
    };
    console.log(JSON.stringify(report, undefined, 2));
  } finally {
    await server.stop();
  }
}

async function prepare(url: string): Promise<string> {
  const store = await openStore({ dataDir: '', databaseUrl: url, log: stderrLog, clock: systemClock });
  await store.db
    .insertInto('account')
    .values({
      id: 'acc_hot',
      email: 'hot@example.com',
      token_hash: HASH,
      created_at: 1,
      chat_per_minute: 1e12,
      concurrent: 1e9,
    })
    .execute();
  const ledger = openPostgresLedger({ url }, { node: 'bench', log: stderrLog });
  await ledger.post({
    accountId: 'acc_hot' as never,
    kind: 'credit',
    amount: MAX_BALANCE,
    cause: 'bench',
    actor: 'bench',
  });
  await ledger.close();
  await store.close();
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query<{ version: string }>(
    `SELECT 'PostgreSQL ' || current_setting('server_version') AS version`,
  );
  await client.end();
  return rows[0]?.version ?? '';
}

async function runNode(url: string, start: number): Promise<NodeResult> {
  const child = Bun.spawn([process.execPath, import.meta.path, ...process.argv.slice(2)], {
    env: { ...process.env, BENCH_DATABASE_URL: url, BENCH_START: String(start) },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  // A node prints this one object.
  return JSON.parse(await new Response(child.stdout).text()) as NodeResult;
}

async function beNode(url: string, start: number): Promise<void> {
  const ledger = openPostgresLedger({ url }, { node: `bench-${process.pid}`, log: silentLog });
  const [from, until] = [start + WARM_UP_MS, start + WARM_UP_MS + SECONDS * 1_000];
  const latenciesMs: number[] = [];
  let [refused, failed] = [0, 0];
  let cpu = process.cpuUsage();
  setTimeout(() => (cpu = process.cpuUsage()), from - Date.now());
  const work = async (): Promise<void> => {
    while (Date.now() < until) {
      const began = performance.now();
      const kind = await ledger.admit(chatRequest()).then(
        (admission) => admission.kind,
        () => 'failed',
      );
      if (Date.now() < from || Date.now() >= until) continue;
      if (kind === 'admitted') latenciesMs.push(round(performance.now() - began));
      else if (kind === 'refused') refused++;
      else failed++;
    }
  };
  await Bun.sleep(Math.max(0, start - Date.now()));
  await Promise.all(Array.from({ length: WORKERS }, work));
  const { user, system } = process.cpuUsage(cpu);
  await ledger.close();
  const result: NodeResult = { refused, failed, latenciesMs, cpuSeconds: (user + system) / 1e6 };
  await Bun.write(Bun.stdout, JSON.stringify(result));
}

const PRICE = { kind: 'tokens', input: 250_000_000, cachedInput: 25_000_000, output: 2_000_000_000 } as const;
const LIMITS = { chatPerMinute: 600, imagesPerMinute: 60, concurrent: 50 };

function chatRequest(): AdmissionRequest {
  return {
    requestId: newRequestId(Date.now()),
    caller: { kind: 'token', hash: HASH },
    rate: 'chat',
    endpoint: 'svc_chat',
    model: 'house-echo',
    price: PRICE,
    ceiling: { kind: 'tokens', input: 800, output: 1_024, choices: 1 },
    stream: false,
    client: 'OpenAI/JS 7.53.0',
    limits: LIMITS,
  };
}

async function verify(url: string): Promise<boolean> {
  const ledger = openPostgresLedger({ url }, { node: 'bench', log: stderrLog });
  const { breaches } = await ledger.verify();
  await ledger.close();
  return breaches.length === 0;
}

function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

if (nodeUrl === undefined) await measure();
else await beNode(nodeUrl, Number(process.env['BENCH_START']));
