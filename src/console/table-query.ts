import { z } from 'zod';
import {
  countRows,
  NEWEST_FIRST,
  orderColumns,
  readTableCursor,
  tablePage,
  writeTableCursor,
  type ListedTable,
  type RowCount,
  type TableFilter,
  type TableOrder,
  type TablePage,
  type TablePageRequest,
} from '../activity/table-page.ts';
import type { SearchedPage, Page } from './contract.ts';
import type { RouteParts } from './parts.ts';
import { Fault } from '../std/fault.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

export const pagingFields = {
  cursor: z.string().max(200).optional(),
  limit: z
    .string()
    .regex(/^\d{1,3}$/)
    .optional(),
};

export const pagingSchema = z.strictObject(pagingFields);

export function limitOf({ limit }: { limit?: string | undefined }): number {
  return Math.min(MAX_LIMIT, Math.max(1, Number(limit ?? DEFAULT_LIMIT)));
}

/** The text of a search. */
export const searchField = z
  .string()
  .trim()
  .min(2, { error: 'type at least two characters' })
  .max(100)
  .optional();

export const tableFields = {
  ...pagingFields,
  /** Holds the last row's values in the columns of the order, of which a name may be long. */
  cursor: z.string().max(4_000).optional(),
  search: searchField,
};

/** `cost` from the smallest up, `-cost` from the largest down; by time, the newest first, when absent. */
export function orderSchema(names: readonly string[]) {
  return z.enum(names.flatMap((name) => [name, `-${name}`])).optional();
}

interface TableQuery {
  readonly cursor?: string | undefined;
  readonly limit?: string | undefined;
  readonly sort?: string | undefined;
}

function tableRequest(
  table: Pick<ListedTable, 'mark' | 'indexed' | 'sorted'>,
  query: TableQuery,
): TablePageRequest {
  const order = orderOf(query.sort);
  return { order, after: cursorOf(table, order, query.cursor), limit: limitOf(query) };
}

function orderOf(sort: string | undefined): TableOrder {
  if (sort === undefined) return NEWEST_FIRST;
  const descending = sort.startsWith('-');
  return { by: descending ? sort.slice(1) : sort, descending };
}

function cursorOf(
  table: Pick<ListedTable, 'mark' | 'indexed' | 'sorted'>,
  order: TableOrder,
  text: string | undefined,
): TablePageRequest['after'] {
  if (text === undefined || text === '') return undefined;
  const cursor = readTableCursor(text, {
    values: orderColumns(table, order).map(({ type }) => type),
    since: table.mark.map(({ type }) => type),
  });
  if (!cursor) throw wrongCursor();
  return cursor;
}

/** One page of a list, as its query asks for it. */
export async function findRows<Row>(
  { store, reader }: Pick<RouteParts, 'store' | 'reader'>,
  table: ListedTable,
  filter: TableFilter,
  query: TableQuery,
): Promise<TablePage<Row>> {
  const parts = { db: store.db, reader };
  const page = await tablePage<Row>(parts, table, filter, tableRequest(table, query));
  return { ...page, count: await listCount(query, page, () => countRows(parts, table, filter)) };
}

/** A list of one page counts itself; of a longer one it is asked for once, with the first page. */
export async function listCount(
  { cursor = '' }: { readonly cursor?: string | undefined },
  { rows, next }: { readonly rows: readonly unknown[]; readonly next: unknown },
  count: () => Promise<RowCount>,
): Promise<RowCount | undefined> {
  if (cursor !== '') return undefined;
  return next === undefined ? { rows: rows.length, more: false } : await count();
}

export function searchedPage<Row, Item>(
  { rows, next, searchedTo, count }: TablePage<Row>,
  item: (row: Row) => Item,
): SearchedPage<Item> {
  return {
    items: rows.map(item),
    next: next ? writeTableCursor(next) : null,
    searchedTo: searchedTo ?? null,
    count: count ?? null,
  };
}

/** The cursor of a list that is ordered by number. */
export function numberCursor(cursor: string | undefined): number | undefined {
  if (cursor === undefined || cursor === '') return undefined;
  if (!/^\d{1,15}$/.test(cursor)) throw wrongCursor();
  return Number(cursor);
}

/** The cursor of a list that is ordered by time, then id. */
export function markCursor(cursor: string | undefined): { at: number; id: string } | undefined {
  if (cursor === undefined || cursor === '') return undefined;
  const [, at, id] = /^(\d{1,15})\.([\w-]{1,100})$/.exec(cursor) ?? [];
  if (at === undefined || id === undefined) throw wrongCursor();
  return { at: Number(at), id };
}

/** A page out of rows that were asked for with one more than the limit. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number,
  { item, cursor }: { item: (row: Row) => Item; cursor: (row: Row) => string },
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown.map(item), next: rows.length > limit && last !== undefined ? cursor(last) : null };
}

export function wrongCursor(): Fault {
  return new Fault('invalid_field', 'This cursor is not one of this list.', { param: 'cursor' });
}
