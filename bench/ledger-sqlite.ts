/**
 * How many admissions a second the SQLite ledger takes, each settled afterwards, on the disk that holds the temporary
 * folder. Usage: bun bench/ledger-sqlite.ts [concurrency] [accounts] [seconds]
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteLedger } from '../src/ledger/sqlite/ledger.ts';
import type { AdmissionRequest, Settlement } from '../src/ledger/port.ts';
import { systemClock } from '../src/std/clock.ts';
import { newRequestId, type AccountId, type TokenHash } from '../src/std/ids.ts';
import { stderrLog } from '../src/std/log.ts';
import { MAX_BALANCE } from '../src/std/money.ts';
import { openStore } from '../src/store/store.ts';
import { LEDGER_SQL } from '../src/ledger/postgres/functions.ts';

const [concurrency = 200, accounts = 1, seconds = 5] = process.argv.slice(2).map(Number);
const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
const store = await openStore({ dataDir, log: stderrLog, clock: systemClock, ledgerSql: LEDGER_SQL });
if (store.backend.kind !== 'sqlite') throw new Error('this bench is for SQLite');
const ledger = new SqliteLedger({
  backend: store.backend,
  log: stderrLog,
  clock: systemClock,
  node: 'bench',
});

for (let number = 0; number < accounts; number++) {
  const id = `acc_${number}` as AccountId;
  await store.db
    .insertInto('account')
    .values({ id, email: `${number}@bench.invalid`, token_hash: `hash-${number}`, created_at: 0 })
    .execute();
  await ledger.post({ accountId: id, kind: 'credit', amount: MAX_BALANCE, cause: 'bench', actor: 'bench' });
}

const price = { kind: 'tokens', input: 250_000_000, cachedInput: 25_000_000, output: 2_000_000_000 } as const;
const settlement: Settlement = {
  usage: { input: 900, cached: 100, output: 300, reasoning: 0, images: 0 },
  source: 'upstream',
  outcome: 'completed',
  upstream: 'house',
  attempts: [{ upstream: 'house', result: 'served', durationMs: 12 }],
  firstByteMs: 5,
  durationMs: 12,
  finishReason: 'stop',
};
const admitMs: number[] = [];
const settleMs: number[] = [];
const end = performance.now() + seconds * 1000;
let peakWal = 0;
const watch = setInterval(() => {
  peakWal = Math.max(peakWal, statSync(join(dataDir, 'tollgate.db-wal')).size);
}, 50);

const cpuBefore = process.cpuUsage();
const mainBefore = process.threadCpuUsage();
const start = performance.now();
await Promise.all(Array.from({ length: concurrency }, (_, worker) => client(worker)));
const took = (performance.now() - start) / 1000;
const cpu = process.cpuUsage(cpuBefore);
const main = process.threadCpuUsage(mainBefore);
clearInterval(watch);

const count = admitMs.length;
const verifyStart = performance.now();
const { breaches, checked } = await ledger.verify();
console.log(
  JSON.stringify({
    concurrency,
    accounts,
    admissionsPerSecond: Math.round(count / took),
    admitP50Ms: percentile(admitMs, 0.5),
    admitP99Ms: percentile(admitMs, 0.99),
    settleP50Ms: percentile(settleMs, 0.5),
    settleP99Ms: percentile(settleMs, 0.99),
    cpuUsPerRequest: Math.round(((cpu.user + cpu.system) / count) * 10) / 10,
    mainThreadUsPerRequest: Math.round(((main.user + main.system) / count) * 10) / 10,
    peakWalMb: Math.round(peakWal / 1e6),
    requests: checked.requests,
    verifyMs: Math.round(performance.now() - verifyStart),
    breaches: breaches.length,
  }),
);
await ledger.close();
await store.close();
rmSync(dataDir, { recursive: true, force: true });

async function client(worker: number): Promise<void> {
  const template: Omit<AdmissionRequest, 'requestId'> = {
    caller: { kind: 'token', hash: `hash-${worker % accounts}` as TokenHash },
    rate: 'chat',
    endpoint: 'partner_chat',
    model: 'gpt-5-mini',
    price,
    ceiling: { kind: 'tokens', input: 1_000, output: 1_000, choices: 1 },
    stream: true,
    client: 'bench/1.0 (a user agent of a usual length, as clients send them)',
    limits: { chatPerMinute: 60_000_000, imagesPerMinute: 60, concurrent: 1_000_000 },
  };
  while (performance.now() < end) {
    const requestId = newRequestId(Date.now());
    const before = performance.now();
    const admission = await ledger.admit({ ...template, requestId });
    const admitted = performance.now();
    if (admission.kind === 'refused') throw new Error(admission.reason);
    await ledger.settle(requestId, settlement);
    admitMs.push(admitted - before);
    settleMs.push(performance.now() - admitted);
  }
}

function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 100) / 100;
}
