import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { CompiledQuery } from 'kysely';
import { testPostgres } from '../../test/support/postgres.ts';
import { openLedger, type OpenLedger } from '../ledger/open-ledger.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import { NO_USAGE } from '../ledger/price.ts';
import { dayOf } from '../std/calendar.ts';
import { newAccountId, newRequestId, type AccountId } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import { makeReader, type Reader } from './reader.ts';
import { TenDaySums } from './ten-day-sums.ts';
import { dayTotals, usageDays, usageDaysByEndpoint, usageModels } from './usage-sums.ts';
import { ALL_ACCOUNTS, type UsageDay } from './usage.ts';

/** What is added up of days that are over says what their rows say, whatever is asked for. */

const DATABASES = {
  SQLite: () => Promise.resolve(undefined),
  Postgres: async () => (await testPostgres()).freshDatabase(),
};
const DAY = 86_400_000;
/** Over months of different lengths; in the night, while yesterday is still open. */
const FIRST = Date.UTC(2030, 2, 10);
const NOW = Date.UTC(2030, 5, 5, 1, 59);
const ENDPOINTS = ['svc_a', 'svc_b'];
const COUNTS = [
  'requests',
  'failures',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'images',
  'charged',
  'saved',
] as const;

const COSTS = ['charged', 'cost', 'possible_cost', 'costed'] as const;

type Row = UsageDay;

describe.each(Object.entries(DATABASES))('usage of days that are over on %s', (_name, database) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-usage-totals-'));
  let store: Store;
  let reader: Reader;
  let books: OpenLedger;
  let now = NOW;
  const clock = { now: () => now };
  const [busy, quiet] = [newAccountId(FIRST), newAccountId(FIRST + 1)];
  const totals = (): TenDaySums => new TenDaySums({ store, clock });

  beforeAll(async () => {
    const databaseUrl = await database();
    store = await openStore({ dataDir, databaseUrl, log: silentLog, clock, ledgerSql: LEDGER_SQL });
    reader = makeReader(store);
    const clockOffsetMs = () => now - Date.now();
    books = openLedger(store, { node: 'test', clock, clockOffsetMs, log: silentLog, deadlineMs: 30_000 });
    await store.db
      .insertInto('account')
      .values([busy, quiet].map((id) => ({ id, email: `${id}@example.com`, created_at: FIRST })))
      .execute();
    for (let at = FIRST; at <= NOW; at += DAY) await addDay(dayOf(at));
  }, 120_000);
  afterAll(async () => {
    await reader.close();
    await books.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** A busy account, one with few requests, and both together. */
  async function addDay(day: number): Promise<void> {
    const both = new Map<string, Row>();
    for (const account_id of [busy, quiet]) {
      const rows = rowsOf(account_id, day);
      // On a quiet day even the busy one has too few to be added up.
      const requests = account_id === busy && day % 10 > 0 ? 150 : 20;
      const client = { account_id, day, client: 'curl', requests };
      await store.db.insertInto('usage_client').values(client).execute();
      await store.db.insertInto('usage_day').values(rows).execute();
      await store.db.insertInto('usage_quarter').values(quartersOf(rows)).execute();
      for (const row of rows) {
        const key = `${row.endpoint} ${row.model}`;
        const all = both.get(key) ?? { ...row, account_id: ALL_ACCOUNTS };
        both.set(key, account_id === quiet && both.has(key) ? added(all, row) : all);
      }
    }
    await store.db
      .insertInto('usage_day')
      .values([...both.values()])
      .execute();
  }

  async function allRows(): Promise<Row[]> {
    return await store.db.selectFrom('usage_day').selectAll().execute();
  }

  /** Every question about every kind of range, answered by hand from the rows. */
  async function expectTrueSums(): Promise<void> {
    const rows = await allRows();
    const dayIn = fc.integer({ min: 0, max: 90 }).map((days) => dayOf(FIRST - 2 * DAY + days * DAY));
    const asked = fc.record({
      accountId: fc.constantFrom<string>(busy, quiet, ALL_ACCOUNTS),
      ends: fc.tuple(
        fc.oneof(dayIn, fc.constantFrom(20_300_311, 20_300_401, 20_300_421, 20_300_501)),
        fc.oneof(dayIn, fc.constantFrom(20_300_331, 20_300_430, 20_300_520, 20_300_605)),
      ),
      endpoint: fc.option(fc.constantFrom(...ENDPOINTS, 'svc_none'), { nil: undefined }),
      model: fc.option(fc.constantFrom('m1', 'm7'), { nil: undefined, freq: 4 }),
    });
    const at = { db: store.db, reader };
    await fc.assert(
      fc.asyncProperty(asked, async ({ accountId, ends, endpoint, model }) => {
        const [from, to] = ends.toSorted((a, b) => a - b) as [number, number];
        const filter = { accountId, from, to, endpoint, model };
        const wanted = rows.filter(
          (row) =>
            row.account_id === accountId &&
            row.day >= from &&
            row.day <= to &&
            row.endpoint === (endpoint ?? row.endpoint) &&
            row.model === (model ?? row.model),
        );
        const sums = (keyOf: (row: Row) => string) => summedByHand(wanted, keyOf);
        expect(keyed(await usageDays(at, filter), ({ day }) => `${day}`)).toEqual(
          sums(({ day }) => `${day}`),
        );
        const byEndpoint = (row: { day: number; endpoint: string }): string => `${row.day} ${row.endpoint}`;
        expect(keyed(await usageDaysByEndpoint(at, filter), byEndpoint)).toEqual(sums(byEndpoint));
        const byModel = (row: { endpoint: string; model: string }): string => `${row.endpoint} ${row.model}`;
        const models = await usageModels(at, filter, 1_000);
        expect(keyed(models, byModel).toSorted(byKey)).toEqual(sums(byModel));
        const totals = (await dayTotals(at, { from, to })).map((row) => [
          row.day,
          ...COSTS.map((name) => row[name]),
        ]);
        const ofAll = rows.filter((row) => row.account_id === '' && row.day >= from && row.day <= to);
        expect(totals).toEqual(costsByHand(ofAll));
        const charges = models.map(({ charged }) => charged);
        expect(charges).toEqual(charges.toSorted((a, b) => b - a));
      }),
      { numRuns: 60 },
    );
  }

  async function addedUp() {
    return await store.db
      .selectFrom('usage_ten_days')
      .selectAll()
      .orderBy('account_id')
      .orderBy('first_day')
      .orderBy('endpoint')
      .orderBy('model')
      .execute();
  }

  async function tenDaysAddedUp(accountId: string): Promise<number[]> {
    const query = store.db
      .selectFrom('usage_ten_days')
      .select('first_day')
      .where('account_id', '=', accountId);
    const rows = await query.where('endpoint', '=', '').orderBy('first_day').execute();
    return rows.map(({ first_day }) => first_day);
  }

  test('is what the rows say before anything is added up', expectTrueSums, 60_000);

  test('is left for later by a process that is stopping, and nothing says that it is done', async () => {
    expect(await totals().count(AbortSignal.abort())).toBe(false);
    expect(await tenDaysAddedUp(ALL_ACCOUNTS)).toEqual([]);
  });

  test('is added up for all together, and for who has many requests in ten days', async () => {
    expect(await totals().count()).toBe(true);
    const tens = [301, 311, 321, 401, 411, 421, 501, 511, 521].map((day) => 20_300_000 + day);
    expect(await tenDaysAddedUp(ALL_ACCOUNTS)).toEqual(tens);
    expect(await tenDaysAddedUp(busy)).toEqual(tens.slice(1));
    expect(await tenDaysAddedUp(quiet)).toEqual([]);
  }, 60_000);

  test('is still what the rows say then', expectTrueSums, 60_000);

  test('goes on where another process stopped, with the days that have ended since', async () => {
    now = NOW + 6 * DAY + 60_000;
    expect(await totals().count()).toBe(true);
    expect((await tenDaysAddedUp(busy)).at(-1)).toBe(20_300_601);
    await expectTrueSums();
  }, 60_000);

  test('has what was booked late, also by a process that is gone, and once', async () => {
    await books.ledger.post({ accountId: busy, kind: 'credit', amount: 1e12, cause: 'test', actor: 'test' });
    const bookLate = async (at = now): Promise<void> => {
      now = Date.UTC(2030, 3, 3, 12);
      const requestId = await begin(busy);
      now = at;
      const usage = { ...NO_USAGE, input: 1_000, output: 10 };
      const ending = { attempts: [], upstream: 'house', durationMs: 9, outcome: 'completed' } as const;
      await books.ledger.settle(requestId, { ...ending, source: 'upstream', usage, finishReason: 'stop' });
    };
    await bookLate();
    // The process that booked it is gone for hours.
    now += 5 * 3_600_000;
    const running = totals();
    await running.count();
    await expectTrueSums();
    await bookLate(now);
    now += 60_000;
    await running.count();
    await running.count();
    await expectTrueSums();
  }, 60_000);

  test('has what was saved also where an older version added up, which did not know it', async () => {
    const before = await addedUp();
    await store.db.updateTable('usage_ten_days').set({ saved: null }).execute();
    await expectTrueSums();
    expect(await totals().count()).toBe(true);
    expect(await addedUp()).toEqual(before);
  }, 60_000);

  test('lets an older version read again what it has added up without a request that was booked late', async () => {
    const stale = [busy, ALL_ACCOUNTS].map((account_id) => ({ account_id, day: 20_300_403, endpoint: '' }));
    await store.db
      .insertInto('usage_total')
      .values([...stale, { ...stale[0]!, day: 20_300_404 }])
      .execute();
    // Another process has not seen it yet.
    await totals().count();
    const left = await store.db.selectFrom('usage_total').select('day').execute();
    expect(left).toEqual([{ day: 20_300_404 }]);
  });

  test('takes over once what was counted as saved before settlements wrote it, but for days that are not over', async () => {
    const key = { account_id: quiet, endpoint: 'svc_old', requests: 3 };
    const days = [20_300_410, 20_300_411, dayOf(now)];
    const models = ['m1', 'm2', 'm3'];
    const rows = days.flatMap((day) => models.map((model) => ({ ...key, day, model })));
    await store.db
      .insertInto('usage_day')
      .values(rows.map((row) => ({ ...row, saved: row.model === 'm2' ? 5 : 0 })))
      .execute();
    await store.db
      .insertInto('usage_saving')
      .values(rows.filter(({ model }) => model !== 'm3').map((row) => ({ ...row, saved: -7 })))
      .execute();
    const saved = async () =>
      (await allRows())
        .filter(({ endpoint }) => endpoint === 'svc_old')
        .toSorted((a, b) => a.day - b.day || (a.model < b.model ? -1 : 1))
        .map((row) => row.saved);
    for (let round = 0; round < 2; round++) {
      expect(await totals().count()).toBe(true);
      expect(await saved()).toEqual([-7, 5, 0, -7, 5, 0, 0, 5, 0]);
    }
  }, 60_000);

  test('is the same when several processes add it up at once', async () => {
    const before = await addedUp();
    await store.db.deleteFrom('usage_ten_days').execute();
    const done = await Promise.all([totals(), totals(), totals()].map((process) => process.count()));
    expect(done).toEqual([true, true, true]);
    expect(await addedUp()).toEqual(before);
  }, 60_000);

  test('is the same when a process was killed in the middle of its last period', async () => {
    const before = await addedUp();
    // All together come last, and of each account its whole sum.
    const unwritten = `account_id = '' OR account_id = '${busy}' AND endpoint IN ('', 'svc_b')`;
    const last = `DELETE FROM usage_ten_days WHERE first_day = 20300601 AND (${unwritten})`;
    await store.db.executeQuery(CompiledQuery.raw(last));
    expect(await addedUp()).not.toEqual(before);
    expect(await totals().count()).toBe(true);
    expect(await addedUp()).toEqual(before);
  }, 60_000);

  test('is read without its rows, also by day where all requests were counted by quarters', async () => {
    const at = { db: store.db, reader };
    const filter = { accountId: busy, from: 20_300_401, to: 20_300_531 };
    const read = async () => [
      await usageModels(at, filter, 1_000),
      // A late request of the first days is counted by no quarter here.
      (await usageDays(at, filter)).filter(({ day }) => day > 20_300_410 && day < 20_300_511),
    ];
    const before = await read();
    await store.db
      .deleteFrom('usage_day')
      .where('account_id', '=', busy)
      .where('day', '<=', 20_300_531)
      .execute();
    expect(await read()).toEqual(before);
  });

  async function begin(accountId: AccountId) {
    const requestId = newRequestId(now);
    const admission = await books.ledger.admit({
      requestId,
      caller: { kind: 'account', id: accountId },
      rate: 'chat',
      endpoint: 'svc_a',
      model: 'm1',
      price: { kind: 'tokens', input: 2_000_000, cachedInput: 1, output: 3_000_000 },
      ceiling: { kind: 'tokens', input: 10_000, output: 1_000, choices: 1 },
      stream: false,
      client: 'test',
      limits: { chatPerMinute: 1_000, imagesPerMinute: 1_000, concurrent: 1_000 },
    });
    if (admission.kind !== 'admitted') throw new Error(admission.reason);
    return requestId;
  }
});

function rowsOf(account_id: string, day: number): Row[] {
  return Array.from({ length: 12 }, (_, index) => index)
    .filter((index) => (day * 7 + index * 3) % 5 > 0)
    .map((index) => ({
      account_id,
      day,
      endpoint: ENDPOINTS[index % 2] ?? '',
      model: `m${index}`,
      ...(Object.fromEntries(
        COUNTS.map((count, place) => [count, ((day % 977) * (index + 3) * (place + 1)) % 1_009]),
      ) as unknown as Record<(typeof COUNTS)[number], number>),
      requests: 1 + ((day + index) % 9),
      cost: (day * index) % 501,
      possible_cost: (day + index) % 7,
      costed: (day * index) % 499,
    }));
}

/** Two quarters of the day; some requests of May 20 and 21 left before they were counted by quarters. */
function quartersOf(rows: readonly Row[]) {
  const counted = rows.slice(DAYS_NOT_COUNTED.has(rows[0]?.day ?? 0) ? 1 : 0);
  return [counted.slice(0, 2), counted.slice(2)].map((some, place) => ({
    account_id: rows[0]?.account_id ?? '',
    quarter: startOf(rows[0]?.day ?? 0) / 900_000 + 95 * place,
    ...(Object.fromEntries(
      COUNTS.map((count) => [count, some.reduce((sum, row) => sum + row[count], 0)]),
    ) as unknown as Record<(typeof COUNTS)[number], number>),
  }));
}

const DAYS_NOT_COUNTED = new Set([20_300_520, 20_300_521]);

function startOf(day: number): number {
  return Date.UTC(Math.floor(day / 10_000), (Math.floor(day / 100) % 100) - 1, day % 100);
}

function added(one: Row, other: Row): Row {
  const names = [...COUNTS, ...COSTS];
  return { ...one, ...Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) };
}

function summedByHand(rows: readonly Row[], keyOf: (row: Row) => string): [string, number[]][] {
  const sums = new Map<string, number[]>();
  for (const row of rows) {
    const before = sums.get(keyOf(row));
    sums.set(
      keyOf(row),
      COUNTS.map((count, place) => row[count] + (before?.[place] ?? 0)),
    );
  }
  return [...sums].toSorted(byKey);
}

function costsByHand(rows: readonly Row[]): number[][] {
  const days = [...Map.groupBy(rows, ({ day }) => day)].toSorted(([a], [b]) => a - b);
  return days.map(([day, own]) => [
    day,
    ...COSTS.map((name) => own.reduce((sum, row) => sum + row[name], 0)),
  ]);
}

function keyed<Sums extends Record<(typeof COUNTS)[number], number>>(
  rows: readonly Sums[],
  keyOf: (row: Sums) => string,
): [string, number[]][] {
  return rows.map((row) => [keyOf(row), COUNTS.map((count) => row[count])]);
}

function byKey([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}
