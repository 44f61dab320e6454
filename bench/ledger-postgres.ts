import { readdirSync, readFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { openPostgresLedger } from '../src/ledger/postgres/ledger.ts';
import type { AdmissionRequest } from '../src/ledger/port.ts';
import { systemClock } from '../src/std/clock.ts';
import { newRequestId, type TokenHash } from '../src/std/ids.ts';
import { MAX_BALANCE } from '../src/std/money.ts';
import { silentLog, stderrLog } from '../src/std/log.ts';
import { openStore } from '../src/store/store.ts';
import { startPostgres, type TestPostgres } from '../test/support/postgres.ts';
import { LEDGER_SQL } from '../src/ledger/postgres/functions.ts';

/**
 * Admissions per second on one hot account: several nodes (processes) on one Postgres, every request for the same
 * account, each worker sending its next request when it has its answer. With fsync. Without arguments the result is
 * written to ledger-postgres.md.
 *
 *   bun bench/ledger-postgres.ts [nodes=3] [workers per node=40] [seconds=5] [rounds=5]
 */
const numbers = process.argv
  .slice(2)
  .filter((word) => /^\d+$/.test(word))
  .map(Number);
const [NODES = 3, WORKERS = 40, SECONDS = 5, ROUNDS = 5] = numbers;
const WARM_UP_MS = 2_000;
/** How long it waits for a quiet machine. */
const QUIET_MS = 120_000;
const QUIET_PERCENT = 90;
const HASH = 'hot' as TokenHash;
const nodeUrl = process.env['BENCH_DATABASE_URL'];

interface NodeResult {
  readonly refused: number;
  readonly failed: number;
  readonly latenciesMs: readonly number[];
  readonly cpuSeconds: number;
}

type Figures = Awaited<ReturnType<typeof measure>>;

async function main(): Promise<void> {
  const rounds: Figures[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push(await measure());
    console.log(JSON.stringify(rounds.at(-1), undefined, 2));
  }
  if (numbers.length === 0) await Bun.write(join(import.meta.dir, 'ledger-postgres.md'), report(rounds));
}

/** A cluster of its own each time, so that no round inherits another's tables. */
async function measure() {
  const server = await startPostgres({ fsync: true });
  try {
    const url = await server.emptyDatabase();
    const version = await prepare(url);
    const idle = await untilQuiet();
    const start = Date.now() + 1_000;
    const serverCpu = setTimeoutFor(start + WARM_UP_MS, () => cpuSecondsOf(server));
    const results = await Promise.all(Array.from({ length: NODES }, () => runNode(url, start)));
    const serverSeconds = cpuSecondsOf(server) - (await serverCpu);
    const latencies = results.flatMap((result) => result.latenciesMs).sort((a, b) => a - b);
    const perAdmission = (seconds: number): number => round((seconds * 1e6) / latencies.length);
    return {
      version,
      admissionsPerSecond: Math.round(latencies.length / SECONDS),
      refused: results.reduce((sum, result) => sum + result.refused, 0),
      failed: results.reduce((sum, result) => sum + result.failed, 0),
      p50Ms: percentile(latencies, 50),
      p99Ms: percentile(latencies, 99),
      maxMs: percentile(latencies, 100),
      nodeCpuMicros: perAdmission(results.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)),
      serverCpuMicros: perAdmission(serverSeconds),
      idleBefore: idle,
      booksAreRight: await verify(url),
    };
  } finally {
    await server.stop();
  }
}

function report(rounds: readonly Figures[]): string {
  const rows = rounds.map((one) =>
    [
      one.admissionsPerSecond.toLocaleString('en'),
      one.p50Ms,
      one.p99Ms,
      one.maxMs,
      one.nodeCpuMicros,
      one.serverCpuMicros,
      one.refused + one.failed,
      one.booksAreRight ? 'yes' : 'NO',
      `${one.idleBefore} %`,
    ].join(' | '),
  );
  return `# The ledger alone on Postgres, one hot account

Written by \`bun bench/ledger-postgres.ts\`. Target: 30,000 admissions/s, p99 at most 10 ms.

${new Date().toISOString().slice(0, 10)} · ${cpus().length} cores ${process.arch} (${cpus()[0]?.model ?? 'unknown'}), Linux ${release()} · Bun ${Bun.version} · ${rounds[0]?.version}

${NODES} node processes × ${WORKERS} requests at a time, all of one account, nothing but admissions; ${SECONDS} s after ${WARM_UP_MS / 1_000} s to warm up, ${rounds.length} rounds. Nodes and
server share the cores. fsync is on, shared_buffers is 512 MB and max_wal_size 2 GB, everything else is the default. CPU is of all nodes and of the whole server, per admission. Before each round it waits up to ${QUIET_MS / 60_000} minutes for
a machine that has nothing else to do; what it found is the last column, and what comes after it is not known.

| admissions/s | p50 ms | p99 ms | max ms | node CPU µs | server CPU µs | not admitted | books right | cores idle before |
|---|---|---|---|---|---|---|---|---|
${rows.map((row) => `| ${row} |`).join('\n')}
`;
}

/** Other work on the machine would be measured as ours. Returns how much of the cores was idle in the last second. */
async function untilQuiet(): Promise<number> {
  const end = Date.now() + QUIET_MS;
  for (;;) {
    const before = cpuTimes();
    await Bun.sleep(1_000);
    const after = cpuTimes();
    const idle = Math.round(((after.idle - before.idle) * 100) / (after.all - before.all));
    if (idle >= QUIET_PERCENT || Date.now() > end) return idle;
  }
}

function cpuTimes(): { idle: number; all: number } {
  const times = cpus().map((cpu) => cpu.times);
  const idle = times.reduce((sum, one) => sum + one.idle, 0);
  return { idle, all: times.reduce((sum, one) => sum + one.user + one.nice + one.sys + one.irq, idle) };
}

async function setTimeoutFor<T>(atMs: number, read: () => T): Promise<T> {
  await Bun.sleep(Math.max(0, atMs - Date.now()));
  return read();
}

/** Of the server's processes, those that have ended included. */
function cpuSecondsOf({ folder }: TestPostgres): number {
  const parent = readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0];
  let ticks = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const fields = statOf(pid);
    if (pid !== parent && fields[1] !== parent) continue;
    const [own, ofEnded] = [fields.slice(11, 13), pid === parent ? fields.slice(13, 15) : []];
    for (const count of [...own, ...ofEnded]) ticks += Number(count);
  }
  return ticks / TICKS_PER_SECOND;
}

/** What follows the process's name in /proc/PID/stat. */
function statOf(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    // It ended between the listing and the look.
    return [];
  }
}

const TICKS_PER_SECOND = 100;

async function prepare(url: string): Promise<string> {
  const store = await openStore({
    dataDir: '',
    databaseUrl: url,
    log: stderrLog,
    clock: systemClock,
    ledgerSql: LEDGER_SQL,
  });
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
  await fillLog(client);
  await client.end();
  return rows[0]?.version ?? '';
}

/** A server that has run for a while writes its log into old files; a new one has to make each of them first. */
async function fillLog(client: Client): Promise<void> {
  await client.query(
    `CREATE TABLE filler AS SELECT repeat(md5(n::text), 30) AS text FROM generate_series(1, 500000) AS n`,
  );
  await client.query('DROP TABLE filler');
  await client.query('CHECKPOINT');
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

if (nodeUrl === undefined) await main();
else await beNode(nodeUrl, Number(process.env['BENCH_START']));
