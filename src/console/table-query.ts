import { z } from 'zod';
import {
  NEWEST_FIRST,
  orderColumns,
  readTableCursor,
  tablePage,
  writeTableCursor,
  type ListedTable,
  type TableFilter,
  type TableOrder,
  type TablePage,
  type TablePageRequest,
} from '../activity/table-page.ts';
import type { SearchedPage } from './contract.ts';
import { limitOf, pagingFields, wrongCursor } from './paging.ts';
import type { RouteParts } from './parts.ts';

/** What a person types to find something. */
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
export function findRows<Row>(
  { store, reader }: Pick<RouteParts, 'store' | 'reader'>,
  table: ListedTable,
  filter: TableFilter,
  query: TableQuery,
): Promise<TablePage<Row>> {
  return tablePage<Row>({ db: store.db, reader }, table, filter, tableRequest(table, query));
}

export function searchedPage<Row, Item>(
  { rows, next, searchedTo }: TablePage<Row>,
  item: (row: Row) => Item,
): SearchedPage<Item> {
  return {
    items: rows.map(item),
    next: next ? writeTableCursor(next) : null,
    searchedTo: searchedTo ?? null,
  };
}
