import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testPostgres } from '../../test/support/postgres.ts';
import { openLedger, type OpenLedger } from '../ledger/open-ledger.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import type { Outcome } from '../ledger/port.ts';
import { NO_USAGE, type Price, type Usage } from '../ledger/price.ts';
import { applyRetention } from '../ledger/retention.ts';
import { dayOf, QUARTER_MS } from '../std/calendar.ts';
import { newAccountId, newRequestId, type AccountId, type RequestId } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import { MOST_CLIENTS } from './counted-usage.ts';
import { makeReader, type Reader } from './reader.ts';
import { UsageByHour } from './usage-by-hour.ts';
import { UsageHours } from './usage-hours.ts';
import { usageDays } from './usage-sums.ts';

const DATABASES = {
  SQLite: () => Promise.resolve(undefined),
  Postgres: async () => (await testPostgres()).freshDatabase(),
};
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Four days around the night in which Berlin repeats an hour: 27 October 2030, 01:00 UTC. */
const FIRST = Date.UTC(2030, 9, 25);
const LAST = Date.UTC(2030, 9, 28);
const NOW = Date.UTC(2030, 9, 28, 23, 59);
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/Los_Angeles',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
  'Australia/Lord_Howe',
];
const PLAIN: Price = {
  kind: 'tokens',
  input: 2_500_000_001,
  cachedInput: 249_999_999,
  output: 10_000_000_000,
};
const TIERED: Price = {
  kind: 'tokens',
  input: 3_000_000_000,
  cachedInput: 300_000_001,
  output: 15_000_000_000,
  extra: {
    above: [{ above: 500, input: 6_000_000_003, cachedInput: 600_000_000, output: 22_500_000_000 }],
    serviceTiers: { priority: 1_750_000 },
  },
};

/** Begins on the first day, and ends days later. */
const SLOW = { at: FIRST, client: 'curl/8.9.0', usage: { cached: 111 } };

/** A request as the oracle keeps it. */
interface Made {
  readonly at: number;
  readonly client: string;
  readonly endpoint: string;
  readonly model: string;
  readonly usage: Usage;
  readonly failed: boolean;
  readonly saved: number;
  charged: number;
}

describe.each(Object.entries(DATABASES))('usage by hour and client on %s', (_name, database) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-usage-hours-'));
  let store: Store;
  let reader: Reader;
  let books: OpenLedger;
  let account: AccountId;
  let slow: RequestId;
  let hours: UsageHours;
  let now = FIRST;
  const clock = { now: () => now };
  const made: Made[] = [];

  beforeAll(async () => {
    const databaseUrl = await database();
    store = await openStore({ dataDir, databaseUrl, log: silentLog, clock, ledgerSql: LEDGER_SQL });
    reader = makeReader(store);
    const clockOffsetMs = () => now - Date.now();
    books = openLedger(store, { node: 'test', clock, clockOffsetMs, log: silentLog, deadlineMs: 30_000 });
    hours = new UsageHours({ store, clock });
    account = newAccountId(FIRST);
    const other = newAccountId(FIRST);
    await store.db
      .insertInto('account')
      .values([account, other].map((id) => ({ id, email: `${id}@example.com`, created_at: FIRST })))
      .execute();
    for (const accountId of [account, other])
      await books.ledger.post({ accountId, kind: 'credit', amount: 1e12, cause: 'test', actor: 'test' });
    await request({ at: FIRST, accountId: other, client: 'curl/8.5.0' });
    slow = await begin(SLOW);
    for (const moment of moments()) await request(moment);
    now = NOW;
  }, 120_000);
  afterAll(async () => {
    await reader.close();
    await books.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  interface Wanted {
    readonly at: number;
    readonly accountId?: AccountId;
    readonly client: string;
    readonly price?: Price;
    readonly usage?: Partial<Usage>;
    readonly outcome?: Outcome;
    readonly model?: string;
  }

  async function request(wanted: Wanted): Promise<void> {
    now = wanted.at;
    await finish(await begin(wanted), wanted);
  }

  async function begin({ at, accountId = account, client, price = PLAIN, model = 'one' }: Wanted) {
    const requestId = newRequestId(at);
    const admission = await books.ledger.admit({
      requestId,
      caller: { kind: 'account', id: accountId },
      rate: 'chat',
      endpoint: 'svc_chat',
      model,
      price,
      ceiling: {
        kind: 'tokens',
        input: 10_000,
        output: 1_000,
        choices: 1,
        extra: { serviceTier: 'priority' },
      },
      stream: true,
      client,
      limits: { chatPerMinute: 100_000, imagesPerMinute: 100_000, concurrent: 1_000 },
    });
    if (admission.kind !== 'admitted') throw new Error(admission.reason);
    return requestId;
  }

  async function finish(requestId: RequestId, wanted: Wanted): Promise<void> {
    const { accountId = account, client, price = PLAIN, outcome = 'completed', model = 'one' } = wanted;
    const usage = { ...NO_USAGE, input: 900, cached: 0, output: 70, ...wanted.usage };
    const ending = { attempts: [], upstream: 'house', durationMs: 900, outcome };
    const failed = outcome === 'upstream_failed';
    const done = failed
      ? await books.ledger.void(requestId, { ...ending, errorCode: 'upstream_error' })
      : await books.ledger.settle(requestId, { ...ending, source: 'upstream', usage, finishReason: 'stop' });
    if (accountId !== account) return;
    const used = failed ? NO_USAGE : usage;
    const saved = failed ? 0 : savedByHand(price, used);
    // The clock of Postgres goes on while a test holds its own.
    const { created_at: at } = await store.db
      .selectFrom('request')
      .select('created_at')
      .where('id', '=', requestId)
      .executeTakeFirstOrThrow();
    made.push({ at, client, endpoint: 'svc_chat', model, usage: used, failed, saved, charged: done.charged });
  }

  async function counted() {
    const range = { accountId: account, from: dayOf(FIRST), to: dayOf(LAST) };
    const at = { db: store.db, reader };
    return UsageByHour.read(at, range, usageDays(at, range));
  }

  async function expectExact(): Promise<void> {
    const usage = await counted();
    expect(usage.missing).toBe(0);
    for (const zone of ZONES) {
      expect([zone, sorted(await usage.byHourOfWeek(zone))]).toEqual([
        zone,
        expected((row) => weekHour(row.at, zone)),
      ]);
      const hoursOfZone = await usage.byHour(zone);
      expect([zone, sorted(hoursOfZone)]).toEqual([zone, expected((row) => hourStart(row.at, zone))]);
      expect([zone, newestOf(await usage.byHour(zone, 3), 3)]).toEqual([zone, newestOf(hoursOfZone, 3)]);
    }
    const clients = (await usage.byClient(100)).map(({ client, ...sums }) => [client, sums] as const);
    expect(sorted(new Map(clients))).toEqual(expected((row) => NAMES[row.client] ?? row.client));
    const days = (await usage.clientDays()).map((row) => [`${row.day} ${row.client}`, pick(row)] as const);
    expect(sorted(new Map(days))).toEqual(
      expected((row) => `${dayOf(row.at)} ${NAMES[row.client] ?? row.client}`),
    );
    const settled = await store.db
      .selectFrom('usage_day')
      .selectAll()
      .where('account_id', '=', account)
      .execute();
    const byModel = settled.map((row) => [`${row.day} ${row.model}`, pick(row)] as const);
    expect(sorted(new Map(byModel))).toEqual(expected((row) => `${dayOf(row.at)} ${row.model}`));
  }

  function expected<Key extends string | number>(key: (row: Made) => Key) {
    return sorted(new Map([...Map.groupBy(made, key)].map(([name, rows]) => [name, sumsOf(rows)])));
  }

  test('is what the requests say before anything was counted', async () => {
    // Two days at most are counted while somebody waits.
    const usage = await counted();
    const recent = made.filter(({ at }) => at >= LAST - DAY);
    expect(usage.missing).toBe(made.length - recent.length);
    const hoursOfDay = [...(await usage.byHour('UTC')).values()];
    expect(hoursOfDay.reduce((sum, { requests }) => sum + requests, 0)).toBe(recent.length);
  });

  test('is what the requests say, in every time zone, at the edge of a day and where clocks change', async () => {
    await hours.count();
    await expectExact();
  });

  test('counts what has ended since, and what ends days later', async () => {
    await request({ at: NOW - 1, client: 'curl/8.9.0', usage: { cached: 333 } });
    now = NOW;
    await expectExact();
    await hours.count();
    await expectExact();
    now = NOW + 3 * DAY;
    await hours.count();
    await finish(slow, SLOW);
    await hours.count();
    const kept = await store.db
      .selectFrom('usage_quarter')
      .select(({ fn }) => fn.sum<number>('requests').as('requests'))
      .where('account_id', '=', account)
      .executeTakeFirstOrThrow();
    expect(kept.requests).toBe(made.length);
    now = NOW;
    await expectExact();
  });

  test('counting again changes nothing, also by another process, and when the receipts have left', async () => {
    const before = await everything();
    await hours.count();
    await new UsageHours({ store, clock }).count();
    expect(await everything()).toEqual(before);
    now = NOW + 100 * DAY;
    expect((await applyRetention(books.ledger, 35, { maxDays: 3 })).days).toBe(3);
    await store.db.deleteFrom('usage_client').where('day', '>', dayOf(FIRST)).execute();
    await new UsageHours({ store, clock }).count();
    now = NOW;
    const after = await everything();
    expect(after.quarters).toEqual(before.quarters);
    expect((await counted()).missing).toBe(0);
  });

  async function everything() {
    return {
      quarters: await store.db
        .selectFrom('usage_quarter')
        .selectAll()
        .orderBy('account_id')
        .orderBy('quarter')
        .execute(),
      clients: await store.db
        .selectFrom('usage_client')
        .selectAll()
        .orderBy('account_id')
        .orderBy('day')
        .orderBy('client')
        .execute(),
    };
  }

  test('somebody with a new name for every request gets no row for each', async () => {
    now = NOW + 30 * DAY - 12 * HOUR;
    for (let agent = 0; agent < MOST_CLIENTS + 10; agent++)
      await request({ at: now + 1_000, client: `robot-${agent}x` });
    await request({ at: now + 1_000, client: 'curl/8.5.0' });
    await request({ at: now + 1_000, client: 'curl/8.9.0' });
    await hours.count();
    const rows = await store.db
      .selectFrom('usage_client')
      .selectAll()
      .where('day', '=', dayOf(now))
      .execute();
    expect(rows).toHaveLength(MOST_CLIENTS);
    expect(rows.find(({ client }) => client === 'curl')?.requests).toBe(2);
  });
});

const NAMES: Record<string, string> = {
  'curl/8.5.0': 'curl',
  'curl/8.9.0': 'curl',
  'OpenAI/Python 2.1.0': 'OpenAI/Python',
  '': '',
};

/** Every half hour, and just before and after each: with cached input or without, dear or not, failed or not. */
function moments() {
  const agents = ['curl/8.5.0', 'curl/8.9.0', 'OpenAI/Python 2.1.0', ''];
  const wanted = [];
  for (let at = FIRST, n = 0; at < LAST + DAY - HOUR; at += 1_800_000, n++) {
    wanted.push({
      at: at + [0, -1, 1, 899_999][n % 4]! * (n === 0 ? 0 : 1),
      client: agents[n % 3 === 0 ? 2 : n % 4] ?? '',
      model: n % 5 === 0 ? 'tiered' : 'one',
      price: n % 5 === 0 ? TIERED : PLAIN,
      usage: {
        input: 400 + (n % 7) * 97,
        cached: n % 3 === 1 ? 0 : 1 + ((n * 37) % 400),
        ...(n % 10 === 0 ? { extra: { serviceTier: 'priority', cacheWrite: 0 } } : {}),
      },
      outcome: n % 11 === 0 ? ('upstream_failed' as const) : ('completed' as const),
    });
  }
  return wanted;
}

/** Both bills in exact numbers: every token × price × factor, rounded up once. */
function savedByHand(price: Price, { input, cached, output, extra }: Usage): number {
  if (price.kind !== 'tokens') throw new Error('no tokens');
  const tier = price.extra?.above?.find(({ above }) => input > above) ?? price;
  const [plain, cheap, out] = [tier.input ?? 0, tier.cachedInput ?? 0, tier.output ?? 0].map(BigInt);
  const factor = BigInt(price.extra && extra?.serviceTier ? 1_750_000 : 1_000_000);
  const bill = (fromCache: number): bigint => {
    const sum = BigInt(input - fromCache) * plain! + BigInt(fromCache) * cheap! + BigInt(output) * out!;
    const exact = sum * factor;
    return (exact + 999_999_999_999n) / 1_000_000_000_000n;
  };
  return Number(bill(0) - bill(cached));
}

function localParts(at: number, timeZone: string): Record<string, string> {
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  return Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
}

function weekHour(at: number, zone: string): number {
  const { weekday = '', hour = '' } = localParts(at, zone);
  return ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'].indexOf(weekday) * 24 + Number(hour);
}

function hourStart(at: number, zone: string): number {
  const quarter = Math.floor(at / QUARTER_MS);
  return quarter - Math.floor(Number(localParts(at, zone)['minute']) / 15);
}

function sumsOf(rows: readonly Made[]) {
  const sum = (of: (row: Made) => number): number => rows.reduce((whole, row) => whole + of(row), 0);
  return {
    requests: rows.length,
    failures: sum(({ failed }) => (failed ? 1 : 0)),
    input_tokens: sum(({ usage }) => usage.input),
    cached_tokens: sum(({ usage }) => usage.cached),
    output_tokens: sum(({ usage }) => usage.output),
    reasoning_tokens: 0,
    images: 0,
    charged: sum(({ charged }) => charged),
    saved: sum(({ saved }) => saved),
  };
}

function pick(row: ReturnType<typeof sumsOf>): ReturnType<typeof sumsOf> {
  const names = Object.keys(sumsOf([])) as (keyof typeof row)[];
  return Object.fromEntries(names.map((name) => [name, row[name]])) as typeof row;
}

function sorted<Key extends string | number, Value>(map: ReadonlyMap<Key, Value>): [Key, Value][] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function newestOf<Value>(map: ReadonlyMap<number, Value>, most: number): [number, Value][] {
  return sorted(map).slice(-most);
}
