import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seed } from '../../scripts/seed.ts';
import { testPostgres } from '../../test/support/postgres.ts';
import { openLedger, type OpenLedger } from '../ledger/open-ledger.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import { NO_USAGE } from '../ledger/price.ts';
import { applyRetention } from '../ledger/retention.ts';
import { dayOf } from '../std/calendar.ts';
import { newRequestId, requestTime, type AccountId } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import type { RequestRow } from '../store/schema.ts';
import { openStore, type Store } from '../store/store.ts';
import { ALL_MODELS, countModelDays, FIGURE_DAYS, quantileOf, WAIT_BOUNDS_MS } from './model-days.ts';
import { LEAST_MEASURED, modelFigures } from './model-figures.ts';

const DATABASES = {
  SQLite: () => Promise.resolve(undefined),
  Postgres: async () => (await testPostgres()).freshDatabase(),
};
const NOW = Date.UTC(2030, 4, 15, 12);
const DAY = 86_400_000;
const FAILED = new Set(['upstream_failed', 'cut_short', 'expired', 'shed']);

describe.each(Object.entries(DATABASES))('the days of models on %s', (_name, database) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-model-days-'));
  let store: Store;
  let books: OpenLedger;
  let account: AccountId;
  let now = NOW;
  const clock = { now: () => now };

  beforeAll(async () => {
    const databaseUrl = await database();
    store = await openStore({ dataDir, databaseUrl, log: silentLog, clock, ledgerSql: LEDGER_SQL });
    account = (await seed(store, { requests: 2_000, accounts: 3, days: 60, now: NOW }))
      .busyAccount as AccountId;
    const clockOffsetMs = () => now - Date.now();
    books = openLedger(store, { node: 'test', clock, clockOffsetMs, log: silentLog, deadlineMs: 30_000 });
    // Also what was there before anybody counted.
    await countModelDays({ store, clock });
  }, 60_000);
  afterAll(async () => {
    await books.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const figures = (endpoint: string, model: string) => modelFigures(store.db, { endpoint, model }, now);

  /** One request that ended as told. */
  async function request(model: string, errorCode?: string): Promise<void> {
    const requestId = newRequestId(now);
    const admission = await books.ledger.admit({
      requestId,
      caller: { kind: 'account', id: account },
      rate: 'chat',
      endpoint: 'svc_new',
      model,
      price: { kind: 'tokens', input: 1, cachedInput: 1, output: 1 },
      ceiling: { kind: 'tokens', input: 1_000, output: 1_000, choices: 1 },
      stream: true,
      client: 'test',
      limits: { chatPerMinute: 100_000, imagesPerMinute: 100_000, concurrent: 1_000 },
    });
    if (admission.kind !== 'admitted') throw new Error(admission.reason);
    const ending = { attempts: [], upstream: 'house', durationMs: 1_300, firstByteMs: 300 };
    if (errorCode === undefined) {
      const usage = { ...NO_USAGE, input: 10, output: 45 };
      const end = { outcome: 'completed', source: 'upstream', finishReason: 'stop' } as const;
      await books.ledger.settle(requestId, { ...ending, ...end, usage });
    } else await books.ledger.void(requestId, { ...ending, outcome: 'upstream_failed', errorCode });
  }

  test('every day of every model, and of every endpoint, is what its receipts say', async () => {
    const rows = await store.db.selectFrom('closed_request').selectAll().execute();
    const routes = new Set(rows.flatMap((row) => [`${row.endpoint} ${row.model}`, `${row.endpoint} `]));
    expect(routes.size).toBeGreaterThan(5);
    for (const route of routes) {
      const [endpoint = '', model = ''] = route.split(' ');
      const own = rows.filter(
        (row) => row.endpoint === endpoint && (model === ALL_MODELS || row.model === model),
      );
      const { days } = await figures(endpoint, model);
      expect(days).toEqual(expectedDays(own));
    }
  });

  test('half of the streams have their first token within p50, and nineteen of twenty within p95', async () => {
    const since = dayOf(NOW - 29 * DAY);
    const rows = await store.db
      .selectFrom('closed_request')
      .selectAll()
      .where('endpoint', '=', 'svc_chat')
      .where('stream', '=', 1)
      .where('outcome', '=', 'completed')
      .execute();
    const waits = rows
      .filter((row) => dayOf(requestTime(row.id)) >= since)
      .map((row) => row.first_byte_ms ?? 0)
      .toSorted((a, b) => a - b);
    const { wait } = await figures('svc_chat', ALL_MODELS);
    expect(wait?.measured).toBe(waits.length);
    for (const [share, found] of [
      [0.5, wait?.p50],
      [0.95, wait?.p95],
    ] as const)
      expect(bucketOf(found ?? 0)).toBe(bucketOf(waits[Math.ceil(share * waits.length) - 1] ?? -1));
  });

  test('what a client did wrong is no failure of the model, and few requests measure nothing', async () => {
    await request('young');
    await request('young', 'invalid_field');
    await request('young', 'upstream_error');
    await countModelDays({ store, clock });
    const young = await figures('svc_new', 'young');
    expect(young.days.at(-1)).toEqual({ day: dayOf(NOW), requests: 3, failures: 1 });
    expect([young.wait, young.speed]).toEqual([undefined, undefined]);
    for (let made = 1; made < LEAST_MEASURED; made++) await request('young');
    await countModelDays({ store, clock });
    const { wait, speed, uptime } = await figures('svc_new', 'young');
    expect(bucketOf(wait?.p50 ?? 0)).toBe(bucketOf(300));
    // 45 tokens in a second.
    expect(speed?.p50).toBeGreaterThan(40);
    expect(speed?.p95).toBeLessThan(50);
    expect(uptime).toBe(1 - 1 / (LEAST_MEASURED + 2));
  });

  test('counting again changes nothing, also when the receipts have left', async () => {
    const stored = () =>
      store.db
        .selectFrom('model_day')
        .selectAll()
        .orderBy('endpoint')
        .orderBy('model')
        .orderBy('day')
        .execute();
    const before = await stored();
    await countModelDays({ store, clock });
    expect(await stored()).toEqual(before);
    // Of the first day one account's receipts leave, and its row is the last one: so it is counted again.
    const first = Math.min(...before.map(({ day }) => day));
    expect(await applyRetention(books.ledger, 35, { maxDays: 1 })).toMatchObject({ days: 1 });
    await store.db.deleteFrom('model_day').where('day', '>', first).execute();
    await countModelDays({ store, clock });
    expect(await stored()).toEqual(before);
  });

  test('days leave when nobody can see them any more', async () => {
    now = NOW + (FIGURE_DAYS + 1) * DAY;
    await countModelDays({ store, clock });
    expect(await store.db.selectFrom('model_day').selectAll().execute()).toEqual([]);
    now = NOW;
  });
});

test('a quantile lies where its share of the values ends', () => {
  expect(quantileOf([0, 4], [10, 20], 0.5)).toBe(15);
  expect(quantileOf([1, 1, 2], [10, 20], 0.25)).toBe(10);
  // Beyond the last bound nothing more is known.
  expect(quantileOf([0, 0, 3], [10, 20], 0.5)).toBe(20);
});

function expectedDays(rows: readonly RequestRow[]) {
  const byDay = Map.groupBy(rows, (row) => dayOf(requestTime(row.id)));
  return Array.from({ length: FIGURE_DAYS }, (_, place) => {
    const day = dayOf(NOW - (FIGURE_DAYS - 1 - place) * DAY);
    const own = byDay.get(day) ?? [];
    const failed = own.filter((row) => FAILED.has(row.outcome ?? ''));
    return { day, requests: own.length, failures: failed.length };
  });
}

function bucketOf(ms: number): number {
  return WAIT_BOUNDS_MS.findIndex((bound) => ms <= bound);
}
