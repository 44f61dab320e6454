import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bulkWriter } from '../../scripts/seed/bulk.ts';
import { seed } from '../../scripts/seed.ts';
import { testPostgres } from '../../test/support/postgres.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import { systemClock } from '../std/clock.ts';
import { newRequestId } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import { entryKinds } from './list-values.ts';
import { makeReader, type Reader } from './reader.ts';
import { SORTED_STATEMENT, sortedStatement } from './sorted-statement.ts';
import type { StatementFilter } from './statement-filter.ts';
import { statementPage, type StatementCursor, type StatementLine } from './statement.ts';
import { readTableCursor, writeTableCursor } from './table-cursor.ts';
import { SORTED_ROWS, type TableOrder } from './table-page.ts';

const DATABASES = {
  SQLite: () => Promise.resolve(undefined),
  Postgres: async () => (await testPostgres()).freshDatabase(),
};
const NOW = Date.UTC(2030, 4, 15, 12);
const REQUESTS = 12_000;
const ENTRIES = 300;
const CAUSES = ['Bank transfer', '100% refund', 'a_b', "O'Brien", 'goodwill'];
const KINDS = ['credit', 'refund', 'adjustment'] as const;
const HOSTILE = ['%%', '__', "' OR 1=1 --", '\\\\', 'x'.repeat(10_000), 'req_%'];

interface Line {
  readonly id: string;
  readonly account: string;
  readonly email: string;
  readonly kind: string;
  readonly amount: number;
  readonly at: number;
  readonly texts: readonly string[];
  readonly operatorTexts: readonly string[];
}

describe.each(Object.entries(DATABASES))('searching and sorting statements on %s', (_name, database) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-lines-'));
  let store: Store;
  let reader: Reader;
  let busy: string;
  let others: readonly string[];
  let booked: readonly Line[];

  beforeAll(async () => {
    const databaseUrl = await database();
    const options = { dataDir, databaseUrl, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL };
    store = await openStore(options);
    busy = (await seed(store, { requests: REQUESTS, accounts: 4, days: 2, now: NOW })).busyAccount;
    reader = makeReader(store);
    const accounts = await store.db.selectFrom('account').select('id').where('role', '=', 'user').execute();
    others = accounts.map(({ id }) => id).filter((id) => id !== busy);
    const write = bulkWriter(store);
    await write.insert(
      'entry',
      Array.from({ length: ENTRIES }, (_, index) => entry(index)),
    );
    await write.finish();
    booked = await readLines();
  }, 60_000);

  afterAll(async () => {
    await reader.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  function entry(index: number) {
    return {
      account_id: index % 5 === 0 ? busy : (others[index % others.length] ?? ''),
      kind: KINDS[Math.floor(index / 2) % KINDS.length] ?? 'credit',
      amount: ((index * 37) % 41) - 20,
      cause: CAUSES[index % CAUSES.length] ?? '',
      actor: index % 2 === 0 ? busy : 'cli',
      created_at: NOW - Math.floor(index / 3) * 400_000,
    };
  }

  async function readLines(): Promise<Line[]> {
    const accounts = await store.db.selectFrom('account').select(['id', 'email']).execute();
    const email = (id: string): string => accounts.find((row) => row.id === id)?.email ?? '';
    const receipts = await store.db.selectFrom('request').selectAll().where('state', '<>', 'void').execute();
    const entries = await store.db.selectFrom('entry').selectAll().execute();
    return [
      ...receipts.map((row) => ({
        id: row.id,
        account: row.account_id,
        email: email(row.account_id),
        kind: 'charge',
        amount: 0 - row.charged,
        at: row.finished_at ?? 0,
        texts: [row.id, `${row.endpoint}/${row.model}`],
        operatorTexts: [row.account_id, email(row.account_id)],
      })),
      ...entries.map((row) => ({
        id: String(row.id),
        account: row.account_id,
        email: email(row.account_id),
        kind: row.kind,
        amount: row.amount,
        at: row.created_at,
        texts: [row.cause, row.request_id ?? ''],
        operatorTexts: [row.account_id, row.actor, email(row.account_id), email(row.actor)],
      })),
    ];
  }

  function matching({ accountId, moneyOnly, kind, search }: StatementFilter): Line[] {
    const text = search?.text.toLowerCase() ?? '';
    return booked.filter((line) => {
      const texts = search?.isOperator ? [...line.texts, ...line.operatorTexts] : line.texts;
      const isFound =
        text.startsWith('req_') && line.kind === 'charge'
          ? line.id.startsWith(search?.text ?? '')
          : texts.some((one) => one.toLowerCase().includes(text)) || line.id === text;
      return (
        (accountId ?? line.account) === line.account &&
        !(moneyOnly && line.kind === 'charge') &&
        (kind ?? line.kind) === line.kind &&
        isFound
      );
    });
  }

  async function byTime(
    filter: StatementFilter,
    limit: number,
    maxSearchMs?: number,
  ): Promise<StatementLine[]> {
    const lines: StatementLine[] = [];
    for (let before: StatementCursor | undefined; ;) {
      const page = await statementPage({ db: store.db, reader }, filter, { before, limit, maxSearchMs });
      expect(page.lines.length).toBeLessThanOrEqual(limit);
      lines.push(...page.lines);
      if (!page.next) return lines;
      before = page.next;
    }
  }

  async function sorted(
    filter: StatementFilter,
    order: TableOrder,
    between?: () => Promise<void>,
  ): Promise<StatementLine[]> {
    const lines: StatementLine[] = [];
    const types = {
      values: [order.by === 'amount' ? 'number' : 'text', 'text', 'number'],
      since: [],
    } as const;
    for (let after; ;) {
      const page = await sortedStatement({ db: store.db, reader }, filter, { order, after, limit: 997 });
      lines.push(...page.rows);
      if (!page.next) return lines;
      after = readTableCursor(writeTableCursor(page.next), types);
      expect(after).toEqual(page.next);
      await between?.();
    }
  }

  const search = (text: string, isOperator = true) => ({ text, isOperator });
  const FILTERS: Record<string, () => StatementFilter> = {
    'one kind': () => ({ moneyOnly: false, kind: 'refund' }),
    charges: () => ({ moneyOnly: false, kind: 'charge', accountId: busy }),
    'a reason': () => ({ moneyOnly: false, search: search('bank TRANSFER', false) }),
    'a reason with a meaning in LIKE': () => ({ moneyOnly: true, search: search('a_b', false) }),
    'a model of one account': () => ({
      moneyOnly: false,
      accountId: busy,
      search: search('house-echo', false),
    }),
    'who booked it': () => ({ moneyOnly: true, search: search('cli') }),
    'an account': () => ({ moneyOnly: false, kind: 'adjustment', search: search('seed-2@') }),
    'the beginning of a request id': () => ({
      moneyOnly: false,
      search: search(booked.find(({ kind }) => kind === 'charge')?.id.slice(0, 10) ?? ''),
    }),
    'the number of an entry': () => ({
      moneyOnly: false,
      search: search(booked.find(({ kind }) => kind === 'refund')?.id ?? '', false),
    }),
  };

  test.each(Object.keys(FILTERS))('finds every line once, newest first, by %s', async (title) => {
    const filter = FILTERS[title]?.() ?? { moneyOnly: false };
    const expected = matching(filter);
    expect(expected.length).toBeGreaterThan(0);
    expect(expected.length).toBeLessThan(booked.length);
    for (const maxSearchMs of [undefined, 0]) {
      const lines = await byTime(filter, 200, maxSearchMs);
      expect(lines.map(({ id }) => id).toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
      const times = lines.map((line) => line.created_at);
      expect(times).toEqual(times.toSorted((a, b) => b - a));
    }
  });

  test.each(['amount', 'account'])('sorts the newest lines by %s, page after page, each once', async (by) => {
    const filters: StatementFilter[] = [
      { moneyOnly: true },
      { moneyOnly: false, accountId: busy, search: search('house-echo', false) },
      { moneyOnly: false },
    ];
    for (const filter of filters) {
      for (const descending of [true, false]) {
        const { search: text, ...narrow } = filter;
        const ids = booked
          .filter((line) => line.id.startsWith('req_') && (filter.accountId ?? line.account) === line.account)
          .map(({ id }) => id);
        expect(ids.length > SORTED_ROWS || narrow.moneyOnly || narrow.accountId !== undefined).toBe(true);
        const page = await sortedStatement({ db: store.db, reader }, filter, {
          order: { by, descending },
          after: undefined,
          limit: 1,
        });
        const since = page.searchedTo ?? 0;
        expect(since > 0).toBe(!narrow.moneyOnly && narrow.accountId === undefined);
        const value = (line: Line): string | number => (by === 'amount' ? line.amount : line.email);
        const expected = matching({ ...narrow, search: text }).filter(({ at }) => at > since);
        const lines = await sorted(filter, { by, descending });
        expect(lines.map(({ id }) => id).toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
        const values = lines.map(({ id }) => value(lineById(id)));
        const inOrder = values.toSorted(compare);
        expect(values).toEqual(descending ? inOrder.toReversed() : inOrder);
      }
    }
  });

  const byId = new Map<string, Line>();
  function lineById(id: string): Line {
    if (byId.size !== booked.length) for (const line of booked) byId.set(line.id, line);
    const line = byId.get(id);
    if (!line) throw new RangeError(`no line ${id}`);
    return line;
  }

  test('a hostile search finds what has it, and nothing else', async () => {
    for (const text of HOSTILE) {
      for (const isOperator of [true, false]) {
        const filter = { moneyOnly: false, search: search(text, isOperator) };
        const expected = matching(filter).map(({ id }) => id);
        expect((await byTime(filter, 200)).map(({ id }) => id).toSorted()).toEqual(expected.toSorted());
        expect(await sorted(filter, { by: 'amount', descending: true })).toHaveLength(expected.length);
      }
    }
  });

  test('a customer finds nothing by who booked a line, which would tell who the operators are', async () => {
    const filter = { accountId: busy, moneyOnly: true };
    expect(await byTime({ ...filter, search: search('seed-0@', true) }, 50)).not.toHaveLength(0);
    expect(await byTime({ ...filter, search: search('seed-0@', false) }, 50)).toHaveLength(0);
    const order = { by: 'amount', descending: false };
    expect(await sorted({ ...filter, search: search('seed-0@', false) }, order)).toHaveLength(0);
  });

  test('offers the kinds that there are', async () => {
    const parts = { db: store.db, reader };
    const kinds = (account?: string): string[] =>
      [...new Set(booked.filter((line) => (account ?? line.account) === line.account).map(({ kind }) => kind))]
        .toSorted(); // prettier-ignore
    expect(await entryKinds(parts, undefined)).toEqual(kinds() as never);
    expect(await entryKinds(parts, busy)).toEqual(kinds(busy) as never);
    expect(await entryKinds(parts, 'acc_nobody')).toEqual([]);
  });

  // Last: it adds lines.
  test('no line is missed or repeated while others are added', async () => {
    const receipt = await store.db
      .selectFrom('receipt')
      .selectAll()
      .where('charged', '>', 0)
      .limit(1)
      .executeTakeFirstOrThrow();
    let place = 0;
    const between = async (): Promise<void> => {
      const at = NOW + ++place;
      const charge = { id: newRequestId(at), created_at: at, booked_at: at, late: 0, charged: place };
      await store.db
        .insertInto('receipt')
        .values({ ...receipt, ...charge })
        .execute();
      await store.db
        .insertInto('entry')
        .values({ ...entry(place), created_at: at })
        .execute();
    };
    const filter = { moneyOnly: false };
    for (const by of Object.keys(SORTED_STATEMENT.sorted)) {
      for (const descending of [true, false]) {
        const before = new Set((await sorted(filter, { by, descending })).map(({ id }) => id));
        const lines = (await sorted(filter, { by, descending }, between)).map(({ id }) => id);
        expect(new Set(lines).size).toBe(lines.length);
        expect(new Set(lines.filter((id) => before.has(id)))).toEqual(before);
      }
    }
    expect(place).toBeGreaterThan(0);
  });
});

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : Number(a > b);
}
