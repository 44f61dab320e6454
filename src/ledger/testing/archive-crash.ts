import { expect } from 'bun:test';
import { join } from 'node:path';
import { seed } from '../../../scripts/seed.ts';
import { systemClock } from '../../std/clock.ts';
import { silentLog } from '../../std/log.ts';
import type { Store } from '../../store/store.ts';
import { openLedger } from '../open-ledger.ts';
import type { TestAccount } from './contract-harness.ts';

const CHILD = join(import.meta.dir, 'archive-child.ts');
const REQUESTS = 1_200;

/**
 * Kills a process again and again while or after it lets a day leave, until no day is left. After each the books are right;
 * in the end every day has left exactly once.
 */
export async function archiveUnderKill(
  store: Store,
  where: { dataDir: string; databaseUrl: string },
): Promise<void> {
  // Days of ninety days ago: all of them are older than the retention.
  const now = Date.now() - 90 * 86_400_000;
  const { busyAccount } = await seed(store, { requests: REQUESTS, accounts: 2, days: 2, now });
  const hash = 'hash-of-the-victim';
  await store.db.updateTable('account').set({ token_hash: hash }).where('id', '=', busyAccount).execute();
  const owner = { id: busyAccount, hash } as TestAccount;
  let interrupted = 0;
  for (let kills = 0; ; kills++) {
    const { isDone } = await runUntilKilled(where, owner, 1 + 3 * kills);
    await expectRightBooks(store);
    if (isDone) break;
    if (await isDayOpen(store)) interrupted++;
  }
  expect(interrupted).toBeGreaterThan(0);
  await expectAllLeft(store, now);
}

async function runUntilKilled(
  { dataDir, databaseUrl }: { dataDir: string; databaseUrl: string },
  { id, hash }: TestAccount,
  served: number,
): Promise<{ isDone: boolean }> {
  const child = Bun.spawn([process.execPath, CHILD, dataDir, databaseUrl, id, hash], {
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let text = '';
  for await (const chunk of child.stdout) {
    text += Buffer.from(chunk).toString('utf8');
    if (text.split('served\n').length > served) child.kill('SIGKILL');
  }
  await child.exited;
  const isDone = text.endsWith('done\n');
  if (child.signalCode !== 'SIGKILL' && !isDone) throw new Error(await new Response(child.stderr).text());
  return { isDone };
}

/** Some of its receipts have left, and others have not. */
async function isDayOpen({ db }: Store): Promise<boolean> {
  const open = await db
    .selectFrom('archived_day')
    .select('day')
    .where('entry_id', 'is', null)
    .executeTakeFirst();
  return open !== undefined;
}

async function expectRightBooks(store: Store): Promise<void> {
  const opened = openLedger(store, {
    node: `check-${Math.random()}`,
    clock: systemClock,
    log: silentLog,
    deadlineMs: 20_000,
  });
  for (const full of [false, true]) expect((await opened.ledger.verify({ full })).breaches).toEqual([]);
  await opened.close();
}

async function expectAllLeft(store: Store, now: number): Promise<void> {
  const old = await store.db
    .selectFrom('receipt')
    .select('id')
    .where('created_at', '<', now + 1)
    .execute();
  expect(old).toEqual([]);
  const days = await store.db.selectFrom('archived_day').selectAll().execute();
  expect(days.reduce((sum, { requests }) => sum + requests, 0)).toBe(REQUESTS);
  const charges = await store.db.selectFrom('entry').select('once').where('kind', '=', 'charge').execute();
  expect(charges.map(({ once }) => String(once)).toSorted()).toEqual(
    days.map((one) => `archive:${one.account_id}:${one.day}`).toSorted(),
  );
}
