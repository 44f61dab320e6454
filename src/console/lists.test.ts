import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { testPostgres } from '../../test/support/postgres.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import { makeReader, type Reader } from '../activity/reader.ts';
import {
  countRows,
  MOST_ROWS,
  NEWEST_FIRST,
  orderColumns,
  readTableCursor,
  tablePage,
  writeTableCursor,
  type TableOrder,
} from '../activity/table-page.ts';
import type { RouteDeclaration } from './route.ts';
import { ROUTES } from './routes.ts';
import { LIST_CASES, type ListCase } from './testing/list-cases.ts';
import { readLists, seedLists, type ListRow, type SeededLists } from './testing/list-rows.ts';

/** Whole on SQLite; on Postgres each order in one direction. */
const DATABASES = {
  SQLite: { database: () => Promise.resolve(undefined), isWhole: true },
  Postgres: { database: async () => (await testPostgres()).freshDatabase(), isWhole: false },
};
/** A tenth of what a page reads, over a tenth of the rows that would take. */
const FEW_ROWS = {
  sorted: MOST_ROWS.sorted / 10,
  sortedAndSearched: MOST_ROWS.sortedAndSearched / 10,
  searched: MOST_ROWS.searched / 10,
};
const HOSTILE = ['%', '%%', '__', '\\', "'; DROP TABLE account; --", '"', '%_\\%', '🦊', 'x'.repeat(10_000)];

describe.each(Object.entries(DATABASES))('lists on %s', (_name, { database, isWhole }) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-lists-'));
  let store: Store;
  let reader: Reader;
  let seeded: SeededLists;
  let added = 500;

  beforeAll(async () => {
    const databaseUrl = await database();
    const options = { dataDir, databaseUrl, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL };
    store = await openStore(options);
    seeded = await seedLists(store);
    reader = makeReader(store);
  }, 60_000);

  afterAll(async () => {
    await reader.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  interface Through {
    readonly order: TableOrder;
    readonly limit: number;
    readonly maxSearchMs?: number;
    /** What happens after each page. */
    readonly between?: () => Promise<void>;
  }

  /** The keys of all rows, page after page, through the text of each cursor. */
  async function pageThrough(one: ListCase, filter: Filter, asked: Through): Promise<string[]> {
    const table = one.table();
    const { between, ...request } = asked;
    const types = {
      values: orderColumns(table, asked.order).map(({ type }) => type),
      since: table.mark.map(({ type }) => type),
    };
    const keys: string[] = [];
    for (let cursor: string | undefined, after; ;) {
      const conditions = one.filter(filter);
      const page = await tablePage<ListRow>({ db: store.db, reader }, table, conditions, {
        ...request,
        after,
        mostRows: FEW_ROWS,
      });
      expect(page.rows.length).toBeLessThanOrEqual(asked.limit);
      keys.push(...page.rows.map(one.key));
      if (!page.next) return keys;
      cursor = writeTableCursor(page.next);
      after = readTableCursor(cursor, types);
      expect(after).toEqual(page.next);
      await between?.();
    }
  }

  function expected(one: ListCase, filter: Filter, { by, descending }: TableOrder): string[] {
    const { bounded, indexed, isSearchedWhole } = one.table();
    const value = by === 'time' ? undefined : one.values[by];
    const { search = '', ...equal } = filter;
    const narrowed = one
      .rows(seeded)
      .filter((row) =>
        Object.entries(equal).every(([name, wanted]) => row[one.fields[name] ?? ''] === wanted),
      )
      .toSorted((a, b) => compareAll(one.mark.map((name) => [a[name], b[name]])));
    const isAllSorted = !value || indexed?.[by] || (bounded && (search === '' || isSearchedWhole));
    const most = search === '' ? FEW_ROWS.sorted : FEW_ROWS.sortedAndSearched;
    const sortable = isAllSorted ? narrowed : narrowed.slice(-most);
    const found = sortable.filter((row) =>
      one.texts(row, seeded).some((text) =>
        String(text ?? '')
          .toLowerCase()
          .includes(search.toLowerCase()),
      ),
    );
    // The sort is stable: what is equal stays in the order of time.
    const sorted = value
      ? found.toSorted((a, b) => compareAll([[value(a, seeded), value(b, seeded)]]))
      : found;
    return (descending ? sorted.toReversed() : sorted).map(one.key);
  }

  for (const one of LIST_CASES) {
    const orders = ['time', ...Object.keys(one.values)];
    const directions = orders
      .flatMap((by) => [true, false].map((descending) => ({ by, descending })))
      .filter(({ by, descending }) => isWhole || descending === (by === 'time'));

    test(`${one.title}: offers the orders that it has`, () => {
      const { sorted, indexed } = one.table();
      expect([...Object.keys(sorted), ...Object.keys(indexed ?? {})].toSorted()).toEqual(
        Object.keys(one.values).toSorted(),
      );
    });

    test(`${one.title}: tries every filter that its route has`, () => {
      const tried = new Set(one.filters.flatMap((filter) => Object.keys(filter)));
      expect(filtersOf(one.route).filter((name) => !tried.has(name))).toEqual([]);
    });

    test.each(directions)(
      `${one.title}: has every row once by $by, descending $descending`,
      async (order) => {
        const wanted = expected(one, {}, order);
        expect(wanted.length).toBeGreaterThan(20);
        const limit = Math.ceil(wanted.length / 7);
        expect(await pageThrough(one, {}, { order, limit })).toEqual(wanted);
        const all = expected(one, {}, NEWEST_FIRST);
        const counted = await countRows({ db: store.db, reader }, one.table(), one.filter({}));
        expect(counted).toEqual({ rows: all.length, more: false });
      },
    );

    test.each(one.filters.map((filter) => ({ filter })))(
      `${one.title}: finds what $filter says, in every order`,
      async ({ filter }) => {
        for (const order of directions) {
          const wanted = expected(one, filter, order);
          expect(wanted.length).toBeGreaterThan(0);
          expect(wanted.length).toBeLessThan(one.rows(seeded).length);
          const limit = Math.max(3, Math.ceil(wanted.length / 4));
          expect(await pageThrough(one, filter, { order, limit })).toEqual(wanted);
          // However early a page stops, the next one continues where it stopped.
          expect(await pageThrough(one, filter, { order, limit, maxSearchMs: 0 })).toEqual(wanted);
        }
      },
    );

    test(`${one.title}: a hostile search finds what has it, and nothing else`, async () => {
      for (const search of HOSTILE) {
        const wanted = expected(one, { search }, NEWEST_FIRST);
        expect(await pageThrough(one, { search }, { order: NEWEST_FIRST, limit: 500 })).toEqual(wanted);
      }
    });
  }

  for (const one of LIST_CASES) {
    test(`${one.title}: no row is missed or repeated while others are added`, async () => {
      for (const by of isWhole ? ['time', ...Object.keys(one.values)] : ['time']) {
        for (const order of [true, false].map((descending) => ({ by, descending }))) {
          const wanted = expected(one, {}, order);
          const first = added;
          const between = async (): Promise<void> => {
            const row = one.added.row(added++);
            await store.db.insertInto(one.added.table).values(row).execute();
          };
          const found = await pageThrough(one, {}, { order, limit: Math.ceil(wanted.length / 4), between });
          expect(added).toBeGreaterThan(first);
          expect(new Set(found).size).toBe(found.length);
          const before = new Set(wanted);
          expect(found.filter((key) => before.has(key))).toEqual(wanted);
          seeded = { ...seeded, ...(await readLists(store, [one.added.table])) };
        }
      }
    });
  }

  test('a cursor of another list, or none at all, is refused', () => {
    const types = { values: ['number', 'text'], since: ['number'] } as const;
    const good = writeTableCursor({ values: [1, 'a'], since: { at: 5, values: [2] } });
    expect(readTableCursor(good, types)).toEqual({ values: [1, 'a'], since: { at: 5, values: [2] } });
    const json = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    for (const wrong of [
      '',
      'x',
      json({}),
      json([]),
      json([['a', 1]]),
      json([[1]]),
      json([[1, 'a', 2]]),
      json([[1.5, 'a']]),
      json([[1, 'a\0']]),
      json([[1, 'a'], [1]]),
      json([
        [1, 'a'],
        ['b', 2],
      ]),
      json([[1, 'a'], [1, 2], []]),
      json([[1, null]]),
    ])
      expect(readTableCursor(wrong, types)).toBeUndefined();
  });
});

const NO_FILTERS: ReadonlySet<string> = new Set(['cursor', 'limit', 'sort']);

/** What a route's query has beside pages and orders. The account that it names is looked up, and its id is the filter. */
function filtersOf(name: string): string[] {
  const routes: readonly RouteDeclaration[] = ROUTES;
  const query = routes.find((route) => route.name === name)?.query;
  if (!(query instanceof z.ZodObject)) throw new Error(`${name} has no query`);
  return Object.keys(query.shape)
    .filter((field) => !NO_FILTERS.has(field))
    .map((field) => (field === 'account' ? 'accountId' : field));
}

type Filter = Readonly<Record<string, string | undefined>>;
type Compared = string | number | null | undefined;

/** The first pair that differs decides. */
function compareAll(pairs: readonly (readonly [Compared, Compared])[]): number {
  for (const [a, b] of pairs) if (a !== b) return (a ?? '') < (b ?? '') ? -1 : 1;
  return 0;
}
