import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bulkWriter } from '../../scripts/seed/bulk.ts';
import { seed } from '../../scripts/seed.ts';
import { testPostgres } from '../../test/support/postgres.ts';
import { openLedger } from '../ledger/open-ledger.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import { systemClock } from '../std/clock.ts';
import { newRequestId, type AccountId } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import { STATE_CODES } from '../store/receipt-codes.ts';
import { openStore, type Store } from '../store/store.ts';
import { makeReader, type Reader } from './reader.ts';
import type { StatementFilter } from './statement-filter.ts';
import { statementPage, type StatementCursor, type StatementLine } from './statement.ts';

const DATABASES = {
  SQLite: () => Promise.resolve(undefined),
  Postgres: async () => (await testPostgres()).freshDatabase(),
};
const NOW = Date.UTC(2030, 4, 15, 12);
const REQUESTS = 3_000;

describe.each(Object.entries(DATABASES))('a statement on %s', (_name, database) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-statement-'));
  let store: Store;
  let reader: Reader;
  let busy: string;
  let booked: { id: string; account: string; at: number; amount: number }[];

  beforeAll(async () => {
    const databaseUrl = await database();
    store = await openStore({
      dataDir,
      databaseUrl,
      log: silentLog,
      clock: systemClock,
      ledgerSql: LEDGER_SQL,
    });
    // An hour for all of them: many were booked in another order than they came.
    busy = (await seed(store, { requests: REQUESTS, accounts: 3, days: 1 / 24, now: NOW })).busyAccount;
    reader = makeReader(store);
    await addOddLines();
    const receipts = await store.db.selectFrom('request').selectAll().where('state', '<>', 'void').execute();
    const entries = await store.db.selectFrom('entry').selectAll().execute();
    booked = [
      ...receipts.map((row) => ({
        id: row.id,
        account: row.account_id,
        at: row.finished_at ?? 0,
        amount: 0 - row.charged,
      })),
      ...entries.map((row) => ({
        id: String(row.id),
        account: row.account_id,
        at: row.created_at,
        amount: row.amount,
      })),
    ];
  }, 60_000);

  afterAll(async () => {
    await reader.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** Charges and credits of one moment, a charge of an hour ago, and one of a node whose clock is ahead. */
  async function addOddLines(): Promise<void> {
    const one = await store.db
      .selectFrom('receipt')
      .selectAll()
      .where('account_id', '=', busy)
      .where('charged', '>', 0)
      .limit(1)
      .executeTakeFirstOrThrow();
    const at = NOW - 600_000;
    const odd = [
      { id: newRequestId(at - 100), booked_at: at, late: 0 },
      { id: newRequestId(at - 9_999), booked_at: at, late: 0 },
      { id: newRequestId(at - 3_600_000), booked_at: at, late: 1 },
      { id: newRequestId(at + 60_000), booked_at: at, late: 1 },
    ];
    await store.db
      .insertInto('receipt')
      .values(odd.map((more) => ({ ...one, ...more })))
      .execute();
    const credit = { kind: 'credit', amount: 5, cause: 'gift', actor: 'test', created_at: at } as const;
    await store.db
      .insertInto('entry')
      .values([busy, busy, busy].map((account_id) => ({ ...credit, account_id })))
      .execute();
  }

  async function pageThrough(filter: StatementFilter, limit: number): Promise<StatementLine[]> {
    const lines: StatementLine[] = [];
    for (let before: StatementCursor | undefined; ;) {
      const page = await statementPage({ db: store.db, reader }, filter, { before, limit });
      lines.push(...page.lines);
      if (!page.next) return lines;
      before = page.next;
    }
  }

  test.each([1, 7, 50, 5_000])(
    'has every charge and every entry once, in the order of their booking, in pages of %d',
    async (limit) => {
      for (const accountId of limit === 1 ? [] : [undefined, busy]) {
        const lines = await pageThrough({ accountId, moneyOnly: false }, limit);
        const expected = booked.filter(({ account }) => (accountId ?? account) === account);
        expect(lines.map(({ id }) => id).toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
        const times = lines.map((line) => line.created_at);
        expect(times).toEqual(times.toSorted((a, b) => b - a));
        expect(lines.reduce((sum, { amount }) => sum + amount, 0)).toBe(
          expected.reduce((sum, { amount }) => sum + amount, 0),
        );
      }
      const money = await pageThrough({ accountId: busy, moneyOnly: true }, limit);
      expect(money.map(({ kind }) => kind)).toEqual(['credit', 'credit', 'credit', 'credit']);
    },
  );

  test('reads a bounded number of receipts for a page, and goes on after it, where most of them cost nothing', async () => {
    const quiet = 'acc_quiet';
    await store.db.insertInto('account').values({ id: quiet, email: 'quiet@x.org', created_at: 1 }).execute();
    const one = await store.db.selectFrom('receipt').selectAll().limit(1).executeTakeFirstOrThrow();
    const nothing = { account_id: quiet, charged: 0, state: STATE_CODES.void, late: 0 };
    const voids = Array.from({ length: 45_000 }, (_, place) => {
      const at = NOW - 86_400_000 + place * 10;
      return { ...one, ...nothing, id: newRequestId(at), created_at: at, booked_at: at };
    });
    const paid = [0, 22_500, 44_999].map((place) => {
      const at = NOW - 86_400_000 + place * 10 + 5;
      const charge = { charged: 7, state: STATE_CODES.posted };
      return { ...one, ...nothing, ...charge, id: newRequestId(at), created_at: at, booked_at: at };
    });
    const write = bulkWriter(store);
    await write.insert(
      'receipt',
      [...voids, ...paid].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    );
    let asked = 0;
    const counting: Reader = {
      ...reader,
      all(query) {
        asked++;
        return reader.all(query);
      },
    };
    const found: string[] = [];
    const reads: number[] = [];
    for (let before: StatementCursor | undefined; ;) {
      asked = 0;
      const filter = { accountId: quiet, moneyOnly: false };
      const page = await statementPage({ db: store.db, reader: counting }, filter, { before, limit: 50 });
      found.push(...page.lines.map(({ id }) => id));
      reads.push(asked);
      if (!page.next) break;
      before = page.next;
    }
    expect(found).toEqual(paid.map(({ id }) => id).toReversed());
    expect(reads.length).toBeGreaterThan(1);
    expect(Math.max(...reads)).toBeLessThanOrEqual(22);
  });

  test('has one line for each archived day, at its end, and the same sum as before', async () => {
    const accountId = 'acc_archived';
    await store.db
      .insertInto('account')
      .values({ id: accountId, email: 'archived@x.org', created_at: 1, balance: 79 })
      .execute();
    const one = await store.db.selectFrom('receipt').selectAll().limit(1).executeTakeFirstOrThrow();
    const start = Date.UTC(2020, 0, 1);
    const rows = [1, 30, 60].map((hours) => {
      const at = start + hours * 3_600_000;
      return {
        ...one,
        account_id: accountId,
        charged: 7,
        held: 7,
        late: 0,
        state: STATE_CODES.posted,
        id: newRequestId(at),
        created_at: at,
        booked_at: at,
      };
    });
    await bulkWriter(store).insert('receipt', rows);
    const sums = [20_200_101, 20_200_102, 20_200_103].map((day) => ({ day, requests: 1, charged: 7 }));
    await store.db
      .insertInto('usage_day')
      .values(sums.map((sum) => ({ ...sum, account_id: accountId, endpoint: 'e', model: 'm' })))
      .execute();
    await store.db
      .insertInto('entry')
      .values({
        account_id: accountId,
        kind: 'credit',
        amount: 100,
        cause: 'x',
        actor: 'x',
        created_at: start,
      })
      .execute();
    const opened = openLedger(store, {
      node: 'test',
      clock: systemClock,
      log: silentLog,
      deadlineMs: 20_000,
    });
    for (const day of [20_200_101, 20_200_102])
      expect(await opened.ledger.archive({ accountId: accountId as AccountId, day })).toMatchObject({
        charged: 7,
      });
    await opened.close();
    const lines = await pageThrough({ accountId, moneyOnly: false }, 2);
    expect(lines.map(({ kind, amount, cause }) => [kind, amount, cause])).toEqual([
      ['charge', -7, expect.any(String)],
      ['charge', -7, 'requests of 2020-01-02'],
      ['charge', -7, 'requests of 2020-01-01'],
      ['credit', 100, 'x'],
    ]);
    expect(await pageThrough({ accountId, moneyOnly: true }, 50)).toHaveLength(1);
  });
});
