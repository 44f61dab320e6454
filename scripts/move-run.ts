/**
 * `bun scripts/move-run.ts [requests] [--killed]`: seeds a data folder with so many receipts (1,000,000), moves it to a
 * Postgres that waits for the disk, and prints what `tollgate move` prints, how long it took and how much memory it had.
 * With `--killed` the first attempt is killed when half of the receipts are there, and the second one finishes it. The
 * figures are in docs/operate.md.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Subprocess } from 'bun';
import { Client } from 'pg';
import { LEDGER_SQL } from '../src/ledger/postgres/functions.ts';
import { systemClock } from '../src/std/clock.ts';
import { stderrLog } from '../src/std/log.ts';
import { openStore } from '../src/store/store.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { seed } from './seed.ts';

const MEMORY_LOOK_MS = 100;
const COUNT_PAUSE_MS = 500;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { killed: { type: 'boolean', default: false } },
});
const requests = Number(positionals[0] ?? '1000000');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-move-'));
const postgres = await startPostgres({ fsync: true });
try {
  const store = await openStore({
    dataDir: folder,
    log: stderrLog,
    clock: systemClock,
    ledgerSql: LEDGER_SQL,
  });
  const { seconds } = await seed(store, { requests, accounts: 200, days: 90, now: Date.now() });
  await store.close();
  console.log(`${requests} receipts of 200 accounts and 90 days, made in ${seconds.toFixed(1)} s`);
  const to = await postgres.emptyDatabase();
  if (flags.killed) await move(to, (child) => killHalfway(child, to));
  process.exitCode = await move(to);
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function move(to: string, disturb?: (child: Subprocess) => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, '../src/main/main.ts'), 'move', '--to', to],
    {
      cwd: folder,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: folder,
        TOLLGATE_DATA: folder,
        TOLLGATE_ENV_FILE: '/dev/null',
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  let mostMegabytes = 0;
  const look = setInterval(() => {
    mostMegabytes = Math.max(mostMegabytes, peakMegabytes(child.pid));
  }, MEMORY_LOOK_MS);
  await disturb?.(child);
  const code = await child.exited;
  clearInterval(look);
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(`${seconds.toFixed(1)} s in all, ${mostMegabytes} MB at most, exit code ${code}`);
  return code;
}

async function killHalfway(child: Subprocess, to: string): Promise<void> {
  const client = new Client(to);
  await client.connect();
  const receipts = async (): Promise<number> => {
    const { rows } = await client.query<{ count: number }>('SELECT COUNT(*)::int AS count FROM receipt');
    return rows[0]?.count ?? 0;
  };
  // The table is made first.
  while ((await receipts().catch(() => 0)) < requests / 2) {
    if (child.exitCode !== null) throw new Error('the move ended before it could be killed');
    await Bun.sleep(COUNT_PAUSE_MS);
  }
  child.kill('SIGKILL');
  await child.exited;
  console.log(`killed when ${await receipts()} receipts were there`);
  await client.end();
}

/** 0 once the process is gone. */
function peakMegabytes(pid: number): number {
  try {
    const [, kilobytes = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kilobytes) / 1024);
  } catch {
    return 0;
  }
}
