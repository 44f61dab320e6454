import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bulkWriter } from '../../scripts/seed/bulk.ts';
import { seed } from '../../scripts/seed.ts';
import { testPostgres } from '../../test/support/postgres.ts';
import { openLedger } from '../ledger/open-ledger.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import { dayOf } from '../std/calendar.ts';
import { systemClock } from '../std/clock.ts';
import type { AccountId } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import { modelsOfDays } from './charged-days.ts';
import { entryKinds } from './list-values.ts';
import { makeReader, type Reader } from './reader.ts';
import { countLines, statementPage, type StatementFilter, type StatementLine } from './statement.ts';
import type { TablePageRequest } from './table-page.ts';

const DATABASES = {
  SQLite: { database: () => Promise.resolve(undefined), limits: [1, 2, 7, 50, 5_000] },
  Postgres: { database: async () => (await testPostgres()).freshDatabase(), limits: [7, 5_000] },
};
const DAY_MS = 86_400_000;
/** Long over: Postgres archives by its own clock. */
const NOW = Date.UTC(2020, 4, 15, 12);
const REQUESTS = 400;
const DAYS = 8;
const ENTRIES = 120;
const CAUSES = ['Bank transfer', '100% refund', 'a_b', "O'Brien", 'goodwill'];
const KINDS = ['credit', 'refund', 'adjustment'] as const;
const HOSTILE = ['%%', '__', "' OR 1=1 --", '\\\\', 'x'.repeat(10_000), 'req_%'];

interface Line {
  readonly id: string;
  readonly account: string;
  readonly kind: string;
  readonly amount: number;
  readonly at: number;
  readonly texts: readonly string[];
  readonly operatorTexts: readonly string[];
}

describe.each(Object.entries(DATABASES))('a statement on %s', (_name, { database, limits }) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-statement-'));
  let store: Store;
  let reader: Reader;
  let busy: string;
  let others: readonly string[];
  let entries: readonly Line[];
  let requests: readonly { account: string; day: number; model: string; charged: number }[];

  beforeAll(async () => {
    const databaseUrl = await database();
    const options = { dataDir, databaseUrl, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL };
    store = await openStore(options);
    busy = (await seed(store, { requests: REQUESTS, accounts: 3, days: DAYS, now: NOW })).busyAccount;
    reader = makeReader(store);
    const accounts = await store.db.selectFrom('account').select('id').where('role', '=', 'user').execute();
    others = accounts.map(({ id }) => id).filter((id) => id !== busy);
    const rows = Array.from({ length: ENTRIES }, (_, index) => entry(index));
    await bulkWriter(store).insert('entry', rows);
    await readLines();
  }, 60_000);

  afterAll(async () => {
    await reader.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** Several at one moment, and at the last and the first moment of a day; also on days without requests. */
  function entry(index: number) {
    const end = Math.floor(NOW / DAY_MS) * DAY_MS - (index % 11) * DAY_MS;
    const at = [end - 1, end, end + 1, NOW - Math.floor(index / 3) * 4_000_000][index % 4] ?? NOW;
    return {
      account_id: index % 5 === 0 ? busy : (others[index % others.length] ?? ''),
      kind: KINDS[Math.floor(index / 2) % KINDS.length] ?? 'credit',
      amount: ((index * 37) % 41) - 20,
      cause: CAUSES[index % CAUSES.length] ?? '',
      actor: index % 2 === 0 ? busy : 'cli',
      created_at: at,
    };
  }

  async function readLines(): Promise<void> {
    const accounts = await store.db.selectFrom('account').select(['id', 'email']).execute();
    const email = (id: string): string => accounts.find((row) => row.id === id)?.email ?? '';
    const booked = await store.db.selectFrom('entry').selectAll().execute();
    entries = booked.map((row) => ({
      id: String(row.id),
      account: row.account_id,
      kind: row.kind,
      amount: row.amount,
      at: row.created_at,
      texts: [row.cause, row.request_id ?? ''],
      operatorTexts: [row.account_id, row.actor, email(row.account_id), email(row.actor)],
    }));
    const made = await store.db.selectFrom('request').selectAll().execute();
    requests = made.map((row) => ({
      account: row.account_id,
      day: dayOf(row.created_at),
      model: row.model,
      charged: row.charged,
    }));
  }

  /** What the statement has to be, from the rows themselves. */
  function expected({ accountId, kind, from = 0, to = Infinity, search }: StatementFilter): Line[] {
    const text = search?.text.toLowerCase() ?? '';
    const found = entries.filter((line) => {
      const texts = search?.isOperator ? [...line.texts, ...line.operatorTexts] : line.texts;
      return (
        line.kind !== 'charge' &&
        (kind === undefined || kind === 'money' || kind === line.kind) &&
        (texts.some((one) => one.toLowerCase().includes(text)) || line.id === text)
      );
    });
    const own = requests.filter(({ account }) => (accountId ?? account) === account);
    const days = search || (kind !== undefined && kind !== 'charge') ? [] : chargesOf(own);
    return [...found, ...days]
      .filter(({ account }) => (accountId ?? account) === account || account === '')
      .filter(({ at }) => dayOf(at) >= from && dayOf(at) <= to)
      .toSorted((a, b) => b.at - a.at || rank(b) - rank(a));
  }

  function chargesOf(rows: typeof requests): Line[] {
    return [...Map.groupBy(rows, ({ day }) => day)].map(([day, own]) => ({
      id: `day-${day}`,
      account: '',
      kind: 'charge',
      amount: own.reduce((sum, { charged }) => sum - charged, 0),
      at: startOf(day) + DAY_MS - 1,
      texts: [],
      operatorTexts: [],
    }));
  }

  async function pageThrough(
    filter: StatementFilter,
    limit: number,
    maxSearchMs?: number,
  ): Promise<StatementLine[]> {
    const lines: StatementLine[] = [];
    for (let after: TablePageRequest['after']; ;) {
      const page = await statementPage({ db: store.db, reader }, filter, { after, limit, maxSearchMs });
      expect(page.rows.length).toBeLessThanOrEqual(limit);
      lines.push(...page.rows);
      if (!page.next) return lines;
      after = page.next;
    }
  }

  const search = (text: string, isOperator = true) => ({ text, isOperator });
  const FILTERS: Record<string, () => StatementFilter> = {
    'of one account': () => ({ accountId: busy }),
    'of all accounts together': () => ({}),
    'without charges': () => ({ accountId: busy, kind: 'money' }),
    'of one kind': () => ({ kind: 'refund' }),
    'of charges': () => ({ kind: 'charge', accountId: busy }),
    'since a day': () => ({ from: dayOf(NOW - 3 * DAY_MS), accountId: busy }),
    'of some days': () => ({ from: dayOf(NOW - 6 * DAY_MS), to: dayOf(NOW - 5 * DAY_MS) }),
    'up to a day': () => ({ to: dayOf(NOW - 4 * DAY_MS), accountId: busy }),
    'by a reason': () => ({ search: search('bank TRANSFER', false) }),
    'by a reason with a meaning in LIKE': () => ({ kind: 'money', search: search('a_b', false) }),
    'by who booked it': () => ({ search: search('cli') }),
    'by an account': () => ({ kind: 'adjustment', search: search('seed-2@') }),
    'by the number of an entry': () => ({ search: search(entries[40]?.id ?? '', false) }),
  };

  test.each(Object.keys(FILTERS))('has every line once, newest first, %s', async (title) => {
    const filter = FILTERS[title]?.() ?? {};
    const wanted = expected(filter);
    const counted = await countLines({ db: store.db, reader }, filter);
    expect(counted).toEqual({ rows: wanted.length, more: false });
    expect(wanted.length).toBeGreaterThan(0);
    expect(wanted.length).toBeLessThanOrEqual(entries.length + DAYS + 1);
    for (const limit of limits) {
      const found = await pageThrough(filter, limit);
      expect(found.map(({ id, amount }) => [id, amount])).toEqual(
        wanted.map(({ id, amount }) => [id, amount]),
      );
      // However early a search stops, the next page continues where it stopped.
      if (filter.search) expect(await pageThrough(filter, limit, 0)).toEqual(found);
    }
  });

  test('a line of charges says of which day and of how many requests it is, and which model cost most', async () => {
    const lines = await pageThrough({ accountId: busy, kind: 'charge' }, 50);
    const days = Map.groupBy(
      requests.filter(({ account }) => account === busy),
      ({ day }) => day,
    );
    expect(lines.map(({ charges }) => charges)).toEqual(
      [...days]
        .toSorted(([a], [b]) => b - a)
        .map(([day, own]) => ({
          day,
          requests: own.length,
          charged: own.reduce((sum, { charged }) => sum + charged, 0),
          archived: false,
        })),
    );
    const named = await modelsOfDays({ db: store.db, reader }, busy, [...days.keys()]);
    for (const [day, own] of days) {
      const models = Map.groupBy(own, ({ model }) => model);
      const spent = (model: string): number =>
        (models.get(model) ?? []).reduce((sum, { charged }) => sum + charged, 0);
      const { model = '', ...found } = named.get(day) ?? {};
      expect(found).toEqual({ day, models: models.size });
      expect(spent(model)).toBe(Math.max(...[...models.keys()].map(spent)));
    }
  });

  test('a hostile search finds what has it, and nothing else', async () => {
    for (const text of HOSTILE) {
      for (const isOperator of [true, false]) {
        const filter = { search: search(text, isOperator) };
        const found = await pageThrough(filter, 200);
        expect(found.map(({ id }) => id)).toEqual(expected(filter).map(({ id }) => id));
      }
    }
  });

  test('a customer finds nothing by who booked a line, which would tell who the operators are', async () => {
    const found = (isOperator: boolean) =>
      pageThrough({ accountId: busy, search: search('seed-0@', isOperator) }, 50);
    expect(await found(true)).not.toHaveLength(0);
    expect(await found(false)).toHaveLength(0);
  });

  test('offers the kinds that there are', async () => {
    const parts = { db: store.db, reader };
    const kinds = (account?: string): string[] =>
      [...new Set(expected({ accountId: account }).map(({ kind }) => kind))].toSorted();
    expect(await entryKinds(parts, undefined)).toEqual(kinds() as never);
    expect(await entryKinds(parts, busy)).toEqual(kinds(busy) as never);
    expect(await entryKinds(parts, 'acc_nobody')).toEqual([]);
  });

  test('a line of a team’s charges is what all its accounts were charged on that day', async () => {
    const own = requests.filter(({ account }) => others.includes(account));
    const [team = ''] = others;
    const join = (wallet: string | null) =>
      store.db.updateTable('account').set({ wallet_id: wallet }).where('id', 'in', others).execute();
    await join(team);
    const filter: StatementFilter = { accountId: team, kind: 'charge' };
    const lines = await pageThrough(filter, 3);
    const counted = await countLines({ db: store.db, reader }, filter);
    await join(null);
    expect(new Set(own.map(({ account }) => account)).size).toBeGreaterThan(1);
    expect(lines.map(({ id, amount, charges }) => [id, amount, charges?.requests])).toEqual(
      chargesOf(own)
        .toSorted((a, b) => b.at - a.at)
        .map(({ id, amount }) => [id, amount, own.filter(({ day }) => id === `day-${day}`).length]),
    );
    expect(counted).toEqual({ rows: lines.length, more: false });
  });

  // The last two change what there is.
  test('no line is missed or repeated while others are added', async () => {
    const before = expected({ accountId: busy });
    const found: string[] = [];
    let cursor: TablePageRequest['after'];
    let place = 0;
    do {
      const page = await statementPage(
        { db: store.db, reader },
        { accountId: busy },
        { after: cursor, limit: 5 },
      );
      found.push(...page.rows.map(({ id }) => id));
      cursor = page.next;
      const late = { ...entry(0), account_id: busy, created_at: NOW + ++place };
      await store.db.insertInto('entry').values(late).execute();
    } while (cursor);
    expect(place).toBeGreaterThan(1);
    expect(found).toEqual(before.map(({ id }) => id));
    await readLines();
  });

  test('an archived day stays one line with the same sum, and says that its receipts have left', async () => {
    const before = await pageThrough({ accountId: busy }, 50);
    const day = dayOf(NOW - 5 * DAY_MS);
    const opened = openLedger(store, {
      node: 'test',
      clock: { now: () => NOW },
      log: silentLog,
      deadlineMs: 20_000,
    });
    const archived = await opened.ledger.archive({ accountId: busy as AccountId, day });
    await opened.close();
    expect(archived).toMatchObject({ kind: 'archived' });
    expect(
      await store.db.selectFrom('entry').select('id').where('kind', '=', 'charge').execute(),
    ).toHaveLength(1);
    const after = await pageThrough({ accountId: busy }, 50);
    expect(after).toEqual(
      before.map((line) =>
        line.charges?.day === day ? { ...line, charges: { ...line.charges, archived: true } } : line,
      ),
    );
    expect(after.filter(({ charges }) => charges?.archived)).toHaveLength(1);
  });
});

/** At one moment a day's charges come first, then the entries with the largest numbers. */
function rank({ id, kind }: Line): number {
  return kind === 'charge' ? Infinity : Number(id);
}

function startOf(day: number): number {
  return Date.UTC(Math.floor(day / 10_000), (Math.floor(day / 100) % 100) - 1, day % 100);
}
