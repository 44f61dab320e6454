import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { testPostgres } from '../../test/support/postgres.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import { statementAmountCheck, statementNumberCheck } from '../ledger/verify-checks.ts';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import { sql } from 'kysely';
import { issueStatement, type MonthlyStatement } from './monthly-statement.ts';
import { ACCOUNTS, fillMonths, MONTHS, orderOf, orders } from './testing/statement-orders.ts';

const CHILD = join(import.meta.dir, 'testing/statement-child.ts');

interface Place {
  readonly dataDir: string;
  readonly databaseUrl: string;
}

const opened: AsyncDisposableStack = new AsyncDisposableStack();
afterAll(() => opened.disposeAsync());

async function open({ dataDir, databaseUrl }: Place): Promise<Store> {
  const where = databaseUrl === '' ? { dataDir } : { dataDir, databaseUrl };
  const store = await openStore({ ...where, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL });
  opened.defer(() => store.close());
  return store;
}

async function newPlace(databaseUrl: string): Promise<Place> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-statements-'));
  opened.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  return await Promise.resolve({ dataDir, databaseUrl });
}

async function breaches({ db }: Store): Promise<unknown[]> {
  const found = [statementNumberCheck(), statementAmountCheck(10)].map((check) => sql.raw(check).execute(db));
  return (await Promise.all(found)).flatMap(({ rows }) => rows);
}

async function numbersOf({ db }: Store): Promise<number[]> {
  const rows = await db.selectFrom('statement').select('number').orderBy('number').execute();
  return rows.map(({ number }) => number);
}

function countTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

describe.each([
  ['SQLite', () => Promise.resolve('')],
  ['Postgres', async () => (await testPostgres()).freshDatabase()],
])('statements on %s', (_, database) => {
  test('have numbers without a gap, however many are issued at once by two processes, and are the same for everybody', async () => {
    const place = await newPlace(await database());
    const stores = [await open(place), await open(place)] as const;
    await fillMonths(stores[0].db);
    const issued = new Map<string, MonthlyStatement>();
    const asked = fc.record({
      accountId: fc.constantFrom(...ACCOUNTS),
      month: fc.constantFrom(...MONTHS),
      store: fc.constantFrom(...stores),
    });
    const atOnce = fc.array(asked, { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(atOnce, async (orders) => {
        const got = await Promise.all(
          orders.map(({ accountId, month, store }) => issueStatement(store, orderOf(accountId, month))),
        );
        for (const [index, { accountId, month }] of orders.entries()) {
          const key = `${accountId} ${month}`;
          expect(got[index]).toEqual(issued.get(key) ?? got[index]);
          if (got[index]) issued.set(key, got[index]);
        }
        expect(await numbersOf(stores[0])).toEqual(countTo(issued.size));
      }),
      { numRuns: 25, endOnFailure: true },
    );
    expect(await breaches(stores[0])).toEqual([]);
  }, 60_000);

  test('have numbers without a gap when the process that issues them is killed, and go on from there', async () => {
    const place = await newPlace(await database());
    const store = await open(place);
    await fillMonths(store.db);
    const all = orders().length;
    let kills = 0;
    for (let after = 2; ; after += 7) {
      const told = await runUntilKilled(place, after);
      const numbers = await numbersOf(store);
      expect(numbers).toEqual(countTo(numbers.length));
      // What was told was written; what was written may not have been told.
      expect(numbers.length).toBeGreaterThanOrEqual(Math.max(0, ...told.numbers));
      expect(await breaches(store)).toEqual([]);
      if (told.isDone) break;
      kills++;
    }
    expect(kills).toBeGreaterThan(1);
    expect(await numbersOf(store)).toHaveLength(all);
    const { db } = store;
    expect(await failure(db.deleteFrom('statement').execute())).toContain('append-only');
    expect(await failure(db.updateTable('statement').set({ content: '{}' }).execute())).toContain(
      'append-only',
    );
  }, 120_000);

  test('count archived receipts once: by the sums of their day, and not by the charge that stands for them', async () => {
    const store = await open(await newPlace(await database()));
    await fillMonths(store.db);
    const charge = {
      account_id: 'acc_a',
      kind: 'charge',
      amount: -3_000_001,
      cause: 'x',
      actor: 'x',
    } as const;
    const created_at = Date.UTC(2020, 0, 20, 23, 59);
    await store.db
      .insertInto('entry')
      .values({ ...charge, created_at })
      .execute();
    const first = await issueStatement(store, orderOf('acc_a', 202001));
    const closing = 1_000_000_007 - 3_000_001;
    expect(first).toMatchObject({ opening: 0, moved: 1_000_000_007, charged: 3_000_001, closing });
    expect(await issueStatement(store, orderOf('acc_a', 202002))).toMatchObject({ opening: closing });
  }, 60_000);

  test('list the entries of a month with thousands of them by day, and their sum is the same', async () => {
    const place = await newPlace(await database());
    const store = await open(place);
    await fillMonths(store.db);
    const entry = { account_id: 'acc_a', kind: 'adjustment', amount: -1, cause: 'x', actor: 'x' } as const;
    const created_at = Date.UTC(2020, 1, 16, 23, 59);
    for (let part = 0; part < 3; part++) {
      const rows = Array.from({ length: 700 }, () => ({ ...entry, created_at }));
      await store.db.insertInto('entry').values(rows).execute();
    }
    const statement = await issueStatement(store, orderOf('acc_a', 202002));
    expect(statement.moved).toBe(1_000_000_007 - 2_100);
    expect(statement.entries).toEqual([
      { at: Date.UTC(2020, 1, 15), kind: 'credit', cause: '1 entry', amount: 1_000_000_007 },
      { at: Date.UTC(2020, 1, 16), kind: 'adjustment', cause: '2100 entries', amount: -2_100 },
    ]);
    expect(await breaches(store)).toEqual([]);
  }, 60_000);
});

async function failure(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'nothing failed',
    (error: unknown) => String(error),
  );
}

async function runUntilKilled(
  { dataDir, databaseUrl }: Place,
  after: number,
): Promise<{ isDone: boolean; numbers: number[] }> {
  const child = Bun.spawn([process.execPath, CHILD, dataDir, databaseUrl, String(after)], {
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let text = '';
  for await (const chunk of child.stdout) {
    text += Buffer.from(chunk).toString('utf8');
    if (text.split('issued ').length > after) child.kill('SIGKILL');
  }
  await child.exited;
  const isDone = text.endsWith('done\n');
  if (child.signalCode !== 'SIGKILL' && !isDone) throw new Error(await new Response(child.stderr).text());
  return { isDone, numbers: [...text.matchAll(/issued (\d+)\n/g)].map(([, number]) => Number(number)) };
}
