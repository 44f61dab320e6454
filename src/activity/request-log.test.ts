import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seed } from '../../scripts/seed.ts';
import { testPostgres } from '../../test/support/postgres.ts';
import { openLedger, type OpenLedger } from '../ledger/open-ledger.ts';
import type { Ledger } from '../ledger/port.ts';
import { dayOf } from '../std/calendar.ts';
import { systemClock } from '../std/clock.ts';
import { newRequestId, type AccountId } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import { textStream } from './csv.ts';
import { makeReader, type Reader } from './reader.ts';
import { requestPage, type LoggedRequest, type RequestFilter } from './request-log.ts';
import { ALL_ACCOUNTS, sumUsage, usageRows } from './usage.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';

const DATABASES = {
  SQLite: () => Promise.resolve(undefined),
  Postgres: async () => (await testPostgres()).freshDatabase(),
};
const NOW = Date.UTC(2030, 4, 15, 12);
const REQUESTS = 6_000;
const DAY = 86_400_000;

describe.each(Object.entries(DATABASES))('the request log on %s', (_name, database) => {
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
    busy = (await seed(store, { requests: REQUESTS, accounts: 5, days: 30, now: NOW })).busyAccount;
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
      }
    });
  }

  test('agrees with the daily sums, which agree with the ledger', async () => {
    const days = { from: 20300101, to: 20301231 };
    const at = { db: store.db, reader };
    const [all, own] = [
      sumUsage(await usageRows(at, ALL_ACCOUNTS, days)),
      sumUsage(await usageRows(at, busy, days)),
    ];
    const mine = everything.filter((row) => row.account_id === busy && row.state !== 'pending');
    expect([all.requests, own.requests]).toEqual([REQUESTS, mine.length]);
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
    row.created_at <= to
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
