import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seed } from '../../scripts/seed.ts';
import { MOST_ROWS } from './table-page.ts';
import { testPostgres } from '../../test/support/postgres.ts';
import { openLedger, type OpenLedger } from '../ledger/open-ledger.ts';
import type { Ledger } from '../ledger/port.ts';
import { dayOf } from '../std/calendar.ts';
import { systemClock } from '../std/clock.ts';
import { newRequestId, type AccountId } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import { balanceDays } from './balance-days.ts';
import { textStream } from './csv.ts';
import { makeReader, type Reader } from './reader.ts';
import { requestValues } from './list-values.ts';
import { sortedRequests, type SortedCursor } from './sorted-requests.ts';
import { countRequests, requestPage, type LoggedRequest, type RequestFilter } from './request-log.ts';
import { ALL_ACCOUNTS, sumUsage, usageRows, type UsageSums } from './usage.ts';
import { usageDays, usageDaysByEndpoint, usageDaysByModel, usageModels } from './usage-sums.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';

/** On SQLite more than one query scans. */
const DATABASES = {
  SQLite: { database: () => Promise.resolve(undefined), requests: 6_000 },
  Postgres: { database: async () => (await testPostgres()).freshDatabase(), requests: 1_200 },
};
const NOW = Date.UTC(2030, 4, 15, 12);
const DAY = 86_400_000;

describe.each(Object.entries(DATABASES))('the request log on %s', (_name, { database, requests }) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-activity-'));
  let store: Store;
  let reader: Reader;
  let books: OpenLedger;
  let busy: string;
  let everything: LoggedRequest[];

  beforeAll(async () => {
    store = await openStore({
      dataDir,
      databaseUrl: await database(),
      log: silentLog,
      clock: systemClock,
      ledgerSql: LEDGER_SQL,
    });
    busy = (await seed(store, { requests, accounts: 5, days: 30, now: NOW })).busyAccount;
    reader = makeReader(store);
    books = openLedger(store, {
      node: 'test',
      clock: { now: () => NOW },
      log: silentLog,
      deadlineMs: 30_000,
    });
    for (const model of ['house-guide', 'brand-new']) await admit(books.ledger, busy as AccountId, model);
    everything = (await store.db.selectFrom('request').selectAll().execute()).toSorted((a, b) =>
      a.id < b.id ? 1 : -1,
    );
  }, 60_000);

  afterAll(async () => {
    await reader.close();
    await books.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const pageThrough = async (filter: RequestFilter, maxSearchMs = 1_000): Promise<string[]> => {
    const ids: string[] = [];
    let before: string | undefined;
    do {
      const page = await requestPage({ db: store.db, reader }, filter, {
        before,
        limit: 97,
        maxSearchMs,
      });
      ids.push(...page.rows.map(({ id }) => id));
      expect(page.rows.length).toBeLessThanOrEqual(97);
      before = page.next;
    } while (before !== undefined);
    return ids;
  };

  const FILTERS: Record<string, RequestFilter> = {
    'without a filter': {},
    'by endpoint': { endpoint: 'svc_chat' },
    'by model': { model: 'house-guide' },
    'by both': { endpoint: 'svcv1_chat', model: 'house-guide' },
    'by a rare model': { model: 'rarely-used' },
    'by a model that nobody used': { model: 'nobody' },
    'by failure': { outcome: 'failed' },
    'by one outcome': { outcome: 'upstream_failed' },
    'by an outcome that never was': { outcome: 'cut_short' },
    'by completion and model': { outcome: 'completed', model: 'house-echo' },
    'by failure and endpoint': { outcome: 'failed', endpoint: 'svcv3_chat' },
    'by expiry': { state: 'expired' },
    'by what cannot be': { state: 'expired', outcome: 'completed' },
    'by state': { state: 'void' },
    'by state and model': { state: 'void', model: 'house-guide' },
    'by running': { state: 'pending' },
    'by running and model': { state: 'pending', model: 'house-guide' },
    'by a model whose first request still runs': { model: 'brand-new' },
    'by time': { from: NOW - 9 * DAY, to: NOW - 7 * DAY },
    'by time and model': { from: NOW - 9 * DAY, model: 'gpt-5-mini' },
    'by the beginning of the client': { client: 'OpenAI/', from: NOW - 2 * DAY },
    'by a client with a running request': { client: 'te' },
    'by a client that nobody has': { client: 'python' },
    'by part of the client, in either case': { text: 'PYTHON', from: NOW - 2 * DAY },
    'by part of the error': { text: 'stream_err' },
    'by part of ids, in either case': { text: 'aB' },
    'by what has a meaning in LIKE': { text: '%' },
    'by text and model': { text: 'upstream', model: 'house-echo' },
    'by backend': { backend: 'house', from: NOW - 2 * DAY },
    'by a backend that nobody has': { backend: 'hous' },
    'by client, running': { client: 'test', state: 'pending' },
  };

  for (const [title, filter] of Object.entries(FILTERS)) {
    test(`returns every matching request once, newest first, ${title}`, async () => {
      for (const accountId of [undefined, busy]) {
        const expected = everything
          .filter((row) => matches(row, { ...filter, accountId }))
          .map(({ id }) => id);
        expect(await pageThrough({ ...filter, accountId })).toEqual(expected);
        // However early a page stops, the next one continues where it stopped.
        expect(await pageThrough({ ...filter, accountId }, 0)).toEqual(expected);
        expect(await countRequests({ db: store.db, reader }, { ...filter, accountId })).toEqual(
          countedOf({ ...filter, accountId }),
        );
      }
    });
  }

  /** Of a filter that looks at each row, only the newest rows of the range are looked at. */
  function countedOf({ accountId, from, to, ...looked }: RequestFilter): { rows: number; more: boolean } {
    const range = everything.filter((row) => matches(row, { accountId, from, to }));
    const most = Object.keys(looked).length === 0 ? MOST_ROWS.sorted : MOST_ROWS.searched;
    const found = range.slice(0, most + 1).filter((row) => matches(row, looked));
    return { rows: Math.min(found.length, most), more: range.length > most };
  }

  test('finds a request by its id, or by the beginning of it, and nobody else’s', async () => {
    const [first] = everything.filter(({ account_id }) => account_id === busy).slice(100);
    const id = first?.id ?? '';
    expect(await pageThrough({ idPrefix: id, accountId: busy })).toEqual([id]);
    expect(await pageThrough({ idPrefix: id, accountId: 'acc_other' })).toEqual([]);
    const idPrefix = id.slice(0, 10);
    const expected = everything.filter((row) => row.id.startsWith(idPrefix)).map((row) => row.id);
    expect(expected).toContain(id);
    expect(await pageThrough({ idPrefix })).toEqual(expected);
  });

  test.each(['cost', 'duration'] as const)(
    'finds a request by any part of its id in order of %s, also one that is older than what is sorted',
    async (by) => {
      const own = everything.filter(({ account_id, state }) => account_id === busy && state !== 'pending');
      for (const { id } of [own[3], own.at(-3)].flatMap((row) => row ?? [])) {
        const page = await sortedRequests(
          { db: store.db, reader },
          { text: id.slice(9, 22).toUpperCase(), accountId: busy },
          { by, descending: true, after: undefined, limit: 10, mostSorted: 50 },
        );
        expect(page.rows.map((row) => row.id)).toEqual([id]);
      }
    },
  );

  test.each([
    ['cost', true, {}],
    ['cost', false, { model: 'house-echo' }],
    ['duration', true, { outcome: 'failed' }],
    ['duration', false, { text: 'python', from: NOW - 9 * DAY }],
  ] as const)('sorts finished requests by %s, page after page, each once', async (by, descending, filter) => {
    const value = (row: LoggedRequest): number => (by === 'cost' ? row.charged : (row.duration_ms ?? 0));
    const order = (a: LoggedRequest, b: LoggedRequest): number =>
      value(a) - value(b) || (a.id < b.id ? -1 : Number(a.id > b.id));
    const expected = everything
      .filter((row) => row.state !== 'pending' && matches(row, { ...filter, accountId: busy }))
      .toSorted((a, b) => (descending ? order(b, a) : order(a, b)));
    const ids: string[] = [];
    for (let after: SortedCursor | undefined; ;) {
      const page = await sortedRequests(
        { db: store.db, reader },
        { ...filter, accountId: busy },
        { by, descending, after, limit: 200 },
      );
      ids.push(...page.rows.map(({ id }) => id));
      expect(page.sortedTo).toBeUndefined();
      after = page.next;
      if (!after) break;
    }
    expect(ids).toEqual(expected.map(({ id }) => id));
  });

  test('offers every endpoint and model that was ever used, and of an account only its own', async () => {
    const closed = everything.filter(({ state }) => state !== 'pending');
    for (const accountId of [ALL_ACCOUNTS, busy]) {
      const own = closed.filter((row) => accountId === ALL_ACCOUNTS || row.account_id === accountId);
      const { endpoints, models } = await requestValues({ db: store.db, reader }, accountId);
      expect(endpoints.toSorted()).toEqual([...new Set(own.map(({ endpoint }) => endpoint))].toSorted());
      expect(models.toSorted()).toEqual([...new Set(own.map(({ model }) => model))].toSorted());
    }
    expect(await requestValues({ db: store.db, reader }, 'acc_nobody')).toEqual({
      endpoints: [],
      models: [],
    });
  });

  test('adds up to the sums that the database makes by day, model and endpoint', async () => {
    const at = { db: store.db, reader };
    const closed = everything.filter(({ state }) => state !== 'pending');
    for (const accountId of [ALL_ACCOUNTS, busy]) {
      const own = closed.filter((row) => accountId === ALL_ACCOUNTS || row.account_id === accountId);
      const filter = { accountId, from: dayOf(NOW - 9 * DAY), to: dayOf(NOW - 3 * DAY) };
      const inRange = own.filter(
        (row) => dayOf(row.created_at) >= filter.from && dayOf(row.created_at) <= filter.to,
      );
      const days = await usageDays(at, filter);
      expect(days.map(figures('day'))).toEqual(expectedSums(inRange, (row) => dayOf(row.created_at)));
      const models = await usageModels(at, filter, 100);
      expect(models.map(({ charged }) => charged)).toEqual(
        models.map(({ charged }) => charged).toSorted((a, b) => b - a),
      );
      const named = (row: { endpoint: string; model: string }) => `${row.endpoint} ${row.model}`;
      expect(models.map((row) => figures('key')({ ...row, key: named(row) })).toSorted(byKey)).toEqual(
        expectedSums(inRange, named),
      );
      const endpoints = await usageDaysByEndpoint(at, filter);
      const ofDay = ({ day, ...row }: { day: number; endpoint: string }) => `${day} ${row.endpoint}`;
      expect(endpoints.map((row) => figures('key')({ ...row, key: ofDay(row) })).toSorted(byKey)).toEqual(
        expectedSums(inRange, (row) => `${dayOf(row.created_at)} ${row.endpoint}`),
      );
      const some = models.slice(0, 2);
      const rows = await usageDaysByModel(at, filter, days, some);
      const shown = (row: { endpoint: string; model: string }): string =>
        some.some((one) => named(one) === named(row)) ? named(row) : ' ';
      expect(
        rows.map((row) => figures('key')({ ...row, key: `${row.day} ${shown(row)}` })).toSorted(byKey),
      ).toEqual(expectedSums(inRange, (row) => `${dayOf(row.created_at)} ${shown(row)}`));
    }
  });

  test('agrees with the daily sums, which agree with the ledger', async () => {
    const days = { from: 20300101, to: 20301231 };
    const at = { db: store.db, reader };
    const [all, own] = [
      sumUsage(await usageRows(at, ALL_ACCOUNTS, days)),
      sumUsage(await usageRows(at, busy, days)),
    ];
    const mine = everything.filter((row) => row.account_id === busy && row.state !== 'pending');
    expect([all.requests, own.requests]).toEqual([requests, mine.length]);
    expect(own.charged).toBe(mine.reduce((sum, row) => sum + row.charged, 0));
    expect(own.failures).toBe(mine.filter((row) => row.outcome !== 'completed').length);
    expect((await books.ledger.verify()).breaches).toEqual([]);
  });

  test('finds a request that arrived before midnight and was admitted after it', async () => {
    const midnight = Date.UTC(2030, 4, 3);
    const id = newRequestId(midnight - 500);
    const one = await store.db
      .selectFrom('receipt')
      .selectAll()
      .where('account_id', '=', busy)
      .where('charged', '>', 0)
      .limit(1)
      .executeTakeFirstOrThrow();
    const route = { endpoint: 'svc_chat', model: 'night-shift' };
    const { id: number } = await store.db
      .insertInto('route')
      .values({ kind: 'chat', ...route })
      .returning('id')
      .executeTakeFirstOrThrow();
    await store.db
      .insertInto('receipt')
      .values({ ...one, route: number, id, created_at: midnight + 500 })
      .execute();
    for (const accountId of [busy, ALL_ACCOUNTS]) {
      const sum = { account_id: accountId, day: dayOf(midnight + 500), requests: 1 };
      await store.db
        .insertInto('usage_day')
        .values({ ...route, ...sum })
        .execute();
    }
    for (const accountId of [undefined, busy])
      expect(await pageThrough({ accountId, model: 'night-shift' })).toEqual([id]);
  });

  // The last one: its entries are no part of the books.
  test('explains the balance of every day, reckoned back from the present one', async () => {
    const at = { db: store.db, reader };
    const account = { id: busy, balance: 5_000_000_000_000, created_at: NOW - 20 * DAY };
    const entry = { account_id: busy, actor: 'test', cause: 'test', created_at: NOW - 5 * DAY };
    await store.db
      .insertInto('entry')
      .values([
        { ...entry, kind: 'credit', amount: 70_000 },
        // What archived receipts were charged, which is in the sums of their days too.
        { ...entry, kind: 'charge', amount: -30_000 },
      ])
      .execute();
    const spent = await usageDays(at, { accountId: busy, from: 20300101, to: 20301231 });
    const found = await balanceDays(at, account, spent, { now: NOW, days: 30 });
    expect(found.map(({ day }) => day)).toEqual(
      Array.from({ length: 21 }, (_, index) => dayOf(NOW - (20 - index) * DAY)),
    );
    const entries = await store.db.selectFrom('entry').selectAll().where('account_id', '=', busy).execute();
    for (const { day, balance } of found) {
      const charged = everything
        .filter((row) => row.account_id === busy && dayOf(row.created_at) > day)
        .reduce((sum, row) => sum + row.charged, 0);
      const cameIn = entries
        .filter((row) => row.kind !== 'charge' && dayOf(row.created_at) > day)
        .reduce((sum, row) => sum + row.amount, 0);
      expect(balance).toBe(account.balance + charged - cameIn);
    }
  });
});

async function admit(ledger: Ledger, id: AccountId, model: string): Promise<void> {
  const admission = await ledger.admit({
    requestId: newRequestId(NOW - 1_000),
    caller: { kind: 'account', id },
    rate: 'chat',
    endpoint: 'svc_chat',
    model,
    price: { kind: 'tokens', input: 1_000, cachedInput: 1_000, output: 1_000 },
    ceiling: { kind: 'tokens', input: 10, output: 10, choices: 1 },
    stream: false,
    client: 'test',
    limits: { chatPerMinute: 600, imagesPerMinute: 600, concurrent: 50 },
  });
  expect(admission.kind).toBe('admitted');
}

function matches(row: LoggedRequest, filter: RequestFilter): boolean {
  const { accountId, endpoint, model, state, outcome, from = 0, to = Infinity } = filter;
  return (
    (accountId ?? row.account_id) === row.account_id &&
    (endpoint ?? row.endpoint) === row.endpoint &&
    (model ?? row.model) === row.model &&
    (state ?? row.state) === row.state &&
    (outcome === undefined ||
      (outcome === 'failed' ? (row.outcome ?? 'completed') !== 'completed' : row.outcome === outcome)) &&
    row.created_at >= from &&
    row.created_at <= to &&
    row.id.startsWith(filter.idPrefix ?? '') &&
    row.client.startsWith(filter.client ?? '') &&
    (filter.backend ?? row.upstream) === row.upstream &&
    [row.id, row.client, row.error_code ?? ''].some((text) =>
      text.toLowerCase().includes((filter.text ?? '').toLowerCase()),
    )
  );
}

test('a CSV file is fetched only as fast as it is read, and no further once its reader has disconnected', async () => {
  let fetched = 0;
  let ended = false;
  async function* pages(): AsyncGenerator<string> {
    try {
      for (;;) {
        fetched++;
        yield `page ${fetched}\n`;
      }
    } finally {
      ended = true;
    }
  }
  const body = textStream(pages()).getReader();
  for (let n = 0; n < 3; n++) await body.read();
  expect(fetched).toBeLessThanOrEqual(5);
  await body.cancel();
  expect(ended).toBe(true);
});

type Figures = readonly [key: string, requests: number, failures: number, input: number, charged: number];

/** What the test compares of a sum, with what it is the sum of. */
function figures<Key extends string>(key: Key) {
  return (row: UsageSums & Readonly<Record<Key, string | number>>): Figures => [
    String(row[key]),
    row.requests,
    row.failures,
    row.input_tokens,
    row.charged,
  ];
}

/** The same added up request by request. */
function expectedSums(
  rows: readonly LoggedRequest[],
  keyOf: (row: LoggedRequest) => string | number,
): Figures[] {
  const groups = Object.groupBy(rows, (row) => String(keyOf(row)));
  return Object.entries(groups)
    .map(([key, group = []]): Figures => {
      const sum = (of: (row: LoggedRequest) => number): number =>
        group.reduce((total, row) => total + of(row), 0);
      const failures = group.filter(({ outcome }) => outcome !== 'completed').length;
      return [key, group.length, failures, sum((row) => row.input_tokens), sum((row) => row.charged)];
    })
    .toSorted(byKey);
}

function byKey([a]: Figures, [b]: Figures): number {
  return a < b ? -1 : Number(a > b);
}
