import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Reader, ReadQuery } from './reader.ts';

/** An expression over a row `t`, and what its values are; they are never NULL. */
interface TableColumn {
  readonly expression: RawBuilder<unknown>;
  readonly type: 'number' | 'text';
}

/** A list of the console as data: its rows, and by what they can be ordered. */
export interface ListedTable {
  /** What follows FROM; each row is called `t`. */
  readonly from: RawBuilder<unknown>;
  readonly columns: RawBuilder<unknown>;
  /** When a row was made, in milliseconds. */
  readonly time: RawBuilder<unknown>;
  /** The columns of an index that orders rows by time; together they are unique. */
  readonly mark: readonly TableColumn[];
  /** Other orders that an index has: each is unique too. */
  readonly indexed?: Readonly<Record<string, readonly TableColumn[]>>;
  /** What the newest rows can be sorted by without an index. */
  readonly sorted: Readonly<Record<string, TableColumn>>;
  /** A search reads it as a whole: to begin in the middle would cost as much. */
  readonly isSearchedWhole?: true;
  /** All rows are sorted: there are few enough. */
  readonly bounded?: true;
}

export interface TableFilter {
  /** Conditions that an index supports, or that nearly every row meets. */
  readonly where: readonly RawBuilder<boolean>[];
  /** Conditions that are checked row by row, for a bounded time. */
  readonly checks: readonly RawBuilder<boolean>[];
}

export interface TableOrder {
  readonly by: string;
  readonly descending: boolean;
}

export const NEWEST_FIRST: TableOrder = { by: 'time', descending: true };

export interface TablePageRequest {
  readonly order: TableOrder;
  readonly after: TableCursor | undefined;
  readonly limit: number;
  /** How long to search before returning what was found. */
  readonly maxSearchMs?: number | undefined;
  readonly mostRows?: typeof MOST_ROWS | undefined;
}

export interface TablePage<Row> {
  readonly rows: readonly Row[];
  /** Where to continue; `undefined`: there are no more. */
  readonly next: TableCursor | undefined;
  /** How far was searched or sorted, if not through everything. */
  readonly searchedTo: number | undefined;
  /** The rows of the whole list; only the first page has it. */
  readonly count?: RowCount | undefined;
}

/** Sorting without an index, and searching, read rows that are not shown; so a bounded number is read at once. */
export const MOST_ROWS = { sorted: 10_000, sortedAndSearched: 4_000, searched: 2_500 };
const DEFAULT_SEARCH_MS = 40;

type Parts = { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> };

interface Listing {
  readonly table: ListedTable;
  readonly filter: TableFilter;
  readonly page: TablePageRequest;
}

/** The columns that every read row has beside its own. */
type Marked = Readonly<Record<string, TableValue>> & { readonly listed_at: number };

/**
 * One page of a list. Where an index has the order, rows are read in it, and a search looks at a bounded number of them; a
 * page that is not full then says where to continue. By anything else the newest rows are sorted.
 */
export function tablePage<Row>(
  parts: Parts,
  table: ListedTable,
  filter: TableFilter,
  page: TablePageRequest,
): Promise<TablePage<Row>> {
  const column = table.sorted[page.order.by];
  const listing = { table, filter, page };
  return column ? sortedPage<Row>(parts, listing, column) : scannedPage<Row>(parts, listing);
}

/** How many rows a list has; or how many of its newest, if there are `more` than are counted. */
export interface RowCount {
  readonly rows: number;
  readonly more: boolean;
}

/** As many are counted as are sorted or searched at once, so that a list of millions costs no more than one of thousands. */
export async function countRows(parts: Parts, table: ListedTable, filter: TableFilter): Promise<RowCount> {
  const page = { order: NEWEST_FIRST, after: undefined, limit: 0 };
  const isScanned = filter.checks.length > 0 && !table.isSearchedWhole;
  const end = isScanned ? await rowAt(parts, { table, filter, page }, filter.where) : undefined;
  const until = end ? [compared(table.mark, '>=', valuesOf(end, table.mark))] : [];
  const [counted] = await read<{ readonly rows: number | string }>(
    parts,
    sql`SELECT count(*) AS rows FROM (SELECT 1 AS one FROM ${table.from}
      WHERE ${all([...filter.where, ...until, ...filter.checks])} LIMIT ${MOST_ROWS.sorted + 1}) AS counted`,
  );
  const rows = Number(counted?.rows ?? 0);
  return { rows: Math.min(rows, MOST_ROWS.sorted), more: end !== undefined || rows > MOST_ROWS.sorted };
}

/** The columns that order a list, the last of which make it unique. */
export function orderColumns(
  table: Pick<ListedTable, 'mark' | 'indexed' | 'sorted'>,
  { by }: TableOrder,
): readonly TableColumn[] {
  const column = table.sorted[by];
  const columns = column ? [column, ...table.mark] : table.indexed?.[by];
  if (!columns && by !== NEWEST_FIRST.by) throw new Error(`This list has no order by ${by}.`);
  return columns ?? table.mark;
}

async function scannedPage<Row>(parts: Parts, listing: Listing): Promise<TablePage<Row>> {
  const { table, filter, page } = listing;
  const columns = orderColumns(table, page.order);
  const { descending } = page.order;
  const deadline = performance.now() + (page.maxSearchMs ?? DEFAULT_SEARCH_MS);
  const found: (Row & Marked)[] = [];
  for (let after = page.after?.values; ;) {
    const from = [...filter.where, ...beyond(columns, after, descending)];
    const isScanned = filter.checks.length > 0 && !table.isSearchedWhole;
    const end = isScanned ? await rowAt(parts, listing, from) : undefined;
    const until = end ? [compared(columns, descending ? '>=' : '<=', valuesOf(end, columns))] : [];
    const rows = await read<Row & Marked>(
      parts,
      sql`SELECT ${selected(table, columns)} FROM ${table.from}
        WHERE ${all([...from, ...until, ...filter.checks])}
        ORDER BY ${ordered(columns, descending)} LIMIT ${page.limit + 1 - found.length}`,
    );
    found.push(...rows);
    const last = found[page.limit - 1];
    if (found.length > page.limit && last)
      return {
        rows: found.slice(0, page.limit),
        next: { values: valuesOf(last, columns), since: undefined },
        searchedTo: undefined,
      };
    if (!end) return { rows: found, next: undefined, searchedTo: undefined };
    after = valuesOf(end, columns);
    if (performance.now() > deadline)
      return { rows: found, next: { values: after, since: undefined }, searchedTo: timeOf(listing, end) };
  }
}

/** Only an order by time says something about time. */
function timeOf({ page }: Listing, row: Marked): number | undefined {
  return page.order.by === 'time' ? row.listed_at : undefined;
}

/** The last of the next rows that are looked at; `undefined`: there are fewer. */
async function rowAt(
  parts: Parts,
  { table, page: { order, mostRows = MOST_ROWS } }: Listing,
  where: readonly RawBuilder<boolean>[],
): Promise<Marked | undefined> {
  const columns = orderColumns(table, order);
  const [row] = await read<Marked>(
    parts,
    sql`SELECT ${marks(table, columns)} FROM ${table.from} WHERE ${all(where)}
      ORDER BY ${ordered(columns, order.descending)} LIMIT 1 OFFSET ${mostRows.searched - 1}`,
  );
  return row;
}

/** Rows that come meanwhile do not move the oldest that is sorted: no page misses what another would have shown. */
async function sortedPage<Row>(
  parts: Parts,
  { table, filter, page }: Listing,
  column: TableColumn,
): Promise<TablePage<Row>> {
  const { descending } = page.order;
  const columns = [column, ...table.mark];
  const since = await sinceOf(parts, { table, filter, page });
  const newest = since && since.values.length > 0 ? [compared(table.mark, '>', since.values)] : [];
  const rows = await read<Row & Marked>(
    parts,
    sql`SELECT ${selected(table, columns)} FROM ${table.from}
      WHERE ${all([...filter.where, ...newest, ...filter.checks, ...beyond(columns, page.after?.values, descending)])}
      ORDER BY ${ordered(columns, descending)} LIMIT ${page.limit + 1}`,
  );
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  return {
    rows: shown,
    next: rows.length > page.limit && last ? { values: valuesOf(last, columns), since } : undefined,
    searchedTo: since?.at,
  };
}

/** The newest row that is not sorted any more; `undefined`: all are. */
async function sinceOf(
  parts: Parts,
  { table, filter: { where, checks }, page }: Listing,
): Promise<TableCursor['since']> {
  if (table.bounded && (checks.length === 0 || table.isSearchedWhole)) return undefined;
  if (page.after) return page.after.since;
  const { sorted, sortedAndSearched } = page.mostRows ?? MOST_ROWS;
  const most = checks.length === 0 ? sorted : sortedAndSearched;
  const [row] = await read<Marked>(
    parts,
    sql`SELECT ${marks(table, table.mark)} FROM ${table.from} WHERE ${all(where)}
      ORDER BY ${ordered(table.mark, true)} LIMIT 1 OFFSET ${most}`,
  );
  return row && { at: row.listed_at, values: valuesOf(row, table.mark) };
}

function read<Row>({ db, reader }: Parts, query: RawBuilder<unknown>): Promise<Row[]> {
  const typed: ReadQuery<Row> = {
    // The columns of a list are text to the compiler; its module says what they are.
    compile: () => query.compile(db),
    execute: async () => (await query.execute(db)).rows as Row[],
  };
  return reader.all(typed);
}

function selected(table: ListedTable, columns: readonly TableColumn[]): RawBuilder<unknown> {
  return sql`${table.columns}, ${marks(table, columns)}`;
}

function marks({ time }: ListedTable, columns: readonly TableColumn[]): RawBuilder<unknown> {
  const named = columns.map(({ expression }, index) => sql`${expression} AS ${sql.ref(`mark_${index}`)}`);
  return sql`${time} AS listed_at, ${sql.join(named)}`;
}

function valuesOf(row: Marked, columns: readonly TableColumn[]): TableValue[] {
  return columns.map((_, index) => row[`mark_${index}`] ?? '');
}

function beyond(
  columns: readonly TableColumn[],
  values: readonly TableValue[] | undefined,
  descending: boolean,
): RawBuilder<boolean>[] {
  return values ? [compared(columns, descending ? '<' : '>', values)] : [];
}

function compared(
  columns: readonly TableColumn[],
  operator: '<' | '>' | '<=' | '>=',
  values: readonly TableValue[],
): RawBuilder<boolean> {
  const expressions = columns.map(({ expression }) => expression);
  return sql<boolean>`(${sql.join(expressions)}) ${sql.raw(operator)} (${sql.join(values)})`;
}

function ordered(columns: readonly TableColumn[], descending: boolean): RawBuilder<unknown> {
  const direction = sql.raw(descending ? 'DESC' : 'ASC');
  return sql.join(columns.map(({ expression }) => sql`${expression} ${direction}`));
}

function all(conditions: readonly RawBuilder<boolean>[]): RawBuilder<unknown> {
  return conditions.length === 0 ? sql`1 = 1` : sql.join(conditions, sql` AND `);
}

export function numberColumn(expression: RawBuilder<unknown>): TableColumn {
  return { expression, type: 'number' };
}

export function textColumn(expression: RawBuilder<unknown>): TableColumn {
  return { expression, type: 'text' };
}

/** Between texts that are searched at once; nobody types it. */
const SEPARATOR = sql.lit('\u001F');

/**
 * One of the texts has this in it, in either case. They are compared as one text, which takes half the time. `ids` are
 * columns that Postgres orders by bytes: among other texts they would have those lowered by the rules of bytes too.
 */
export function anyContains(
  text: string,
  columns: readonly RawBuilder<unknown>[],
  ids: readonly RawBuilder<unknown>[] = [],
): RawBuilder<boolean> {
  const pattern = containing(text);
  const joined = sql.join(
    columns.map((column) => sql`coalesce(${column}, '')`),
    sql` || ${SEPARATOR} || `,
  );
  const conditions = [joined, ...ids].map((one) => sql`lower(${one}) LIKE ${pattern} ESCAPE '\\'`);
  return sql<boolean>`(${sql.join(conditions, sql` OR `)})`;
}

/** Equal, where a value is asked for. */
export function equals(column: string, value: string | undefined): RawBuilder<boolean>[] {
  return value === undefined ? [] : [sql<boolean>`${sql.ref(column)} = ${value}`];
}

/** The email address of the account that a column names: a look-up for each row that is read, and never a join of all. */
export function emailIn(column: string): RawBuilder<unknown> {
  return sql`coalesce((SELECT a.email FROM account a WHERE a.id = ${sql.ref(column)}), '')`;
}

type TableValue = string | number;

/** Where a page ended. */
interface TableCursor {
  /** The values of the last row in the columns of the order. */
  readonly values: readonly TableValue[];
  /** The newest row that was not sorted any more when the list began. */
  readonly since: { readonly at: number; readonly values: readonly TableValue[] } | undefined;
}

type ValueType = 'number' | 'text';

interface CursorTypes {
  readonly values: readonly ValueType[];
  readonly since: readonly ValueType[];
}

export function writeTableCursor({ values, since }: TableCursor): string {
  const text = JSON.stringify(since ? [values, [since.at, ...since.values]] : [values]);
  return Buffer.from(text).toString('base64url');
}

/** `undefined`: not a cursor of this list. Its values are bound to a query, so they must have the types of its columns. */
export function readTableCursor(text: string, types: CursorTypes): TableCursor | undefined {
  const [values, sinceValues] = listsOf(text);
  if (!values || !areOf(values, types.values)) return undefined;
  if (sinceValues === undefined) return { values, since: undefined };
  const [at, ...rest] = sinceValues;
  if (typeof at !== 'number' || !areOf([at, ...rest], ['number', ...types.since])) return undefined;
  return { values, since: { at, values: rest } };
}

function listsOf(text: string): (readonly TableValue[] | undefined)[] {
  try {
    const lists = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown;
    return Array.isArray(lists) && lists.length <= 2 && lists.every(isList) ? lists : [];
  } catch {
    // Not JSON: whoever asks is told that it is no cursor.
    return [];
  }
}

function isList(list: unknown): list is TableValue[] {
  return (
    Array.isArray(list) &&
    list.every((value) => Number.isSafeInteger(value) || (typeof value === 'string' && isStorable(value)))
  );
}

/** Postgres takes no NUL in a text. */
function isStorable(text: string): boolean {
  return !text.includes('\0');
}

function areOf(values: readonly TableValue[], types: readonly ValueType[]): boolean {
  return (
    values.length === types.length &&
    types.every((type, index) => typeof values[index] === (type === 'text' ? 'string' : 'number'))
  );
}

/** A pattern for LIKE, in lower case: any text with this in it. Characters with a meaning are escaped with a backslash. */
export function containing(text: string): string {
  return `%${text.toLowerCase().replace(/[\\%_]/g, (character) => `\\${character}`)}%`;
}
