import { sql, type Kysely, type RawBuilder, type SelectQueryBuilder } from 'kysely';
import { requestIdAt, requestTime } from '../std/ids.ts';
import { PROMPT_MS, STATE_CODES } from '../store/receipt-codes.ts';
import type { EntryKind, Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';
import {
  chargeSearch,
  ENTRY_TABLE,
  entryFilter,
  hasCharges,
  type StatementFilter,
} from './statement-filter.ts';
import type { StatementLine } from './statement.ts';
import {
  numberColumn,
  SORTED_ROWS,
  tablePage,
  textColumn,
  type ListedTable,
  type TablePage,
  type TablePageRequest,
} from './table-page.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Reader };

interface SortedLine {
  readonly entry_id: number;
  readonly receipt_id: string;
  readonly account_id: string;
  readonly kind: EntryKind;
  readonly amount: number;
  readonly request_id: string;
  readonly cause: string;
  readonly actor: string;
  readonly created_at: number;
}

/** What a statement can be sorted by besides time. */
const SORTED = {
  amount: numberColumn(sql`t.amount`),
  account: textColumn(sql`coalesce(owner.email, '')`),
};
const MARK = [textColumn(sql`t.receipt_id`), numberColumn(sql`t.entry_id`)];

/** For reading a cursor: the same columns, whatever is asked for. */
export const SORTED_STATEMENT = { mark: MARK, sorted: SORTED } as const;

/** The newest entries and charges, sorted by something else than time. */
export async function sortedStatement(
  parts: Parts,
  filter: StatementFilter,
  page: TablePageRequest,
): Promise<TablePage<StatementLine>> {
  const since = page.after ? page.after.since : await sortedSince(parts, filter);
  const table: ListedTable = {
    ...SORTED_STATEMENT,
    // Both stores leave out the join unless the order needs it, and the rows are bounded.
    from: sql`(${sql.join(branches(filter, since?.at), sql` UNION ALL `)}) AS t
      LEFT JOIN account AS owner ON owner.id = t.account_id`,
    columns: sql`t.*`,
    time: sql`t.created_at`,
    bounded: { since },
  };
  const found = await tablePage<SortedLine>(parts, table, { where: [], checks: [] }, page);
  return { ...found, rows: found.rows.map(lineOf) };
}

/** The moment from which on there are not too many of either. */
async function sortedSince({ db, reader }: Parts, filter: StatementFilter) {
  const { accountId, moneyOnly, kind } = filter;
  let entries: SelectQueryBuilder<Schema, 'entry', { created_at: number }> = db
    .selectFrom('entry')
    .select('created_at');
  let receipts: SelectQueryBuilder<Schema, 'receipt', { id: string }> = db.selectFrom('receipt').select('id');
  if (accountId !== undefined) {
    entries = entries.where('account_id', '=', accountId);
    receipts = receipts.where('account_id', '=', accountId);
  }
  if (moneyOnly) entries = entries.where('kind', '<>', 'charge');
  if (kind !== undefined) entries = entries.where('kind', '=', kind);
  const [[entry], [receipt]] = await Promise.all([
    reader.all(entries.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(1).offset(SORTED_ROWS)),
    hasCharges(filter) ? reader.all(receipts.orderBy('id', 'desc').limit(1).offset(SORTED_ROWS)) : [],
  ]);
  const times = [entry?.created_at, receipt && requestTime(receipt.id)].filter((at) => at !== undefined);
  return times.length === 0 ? undefined : { at: Math.max(...times), values: [] };
}

/** Each reads its own index: entries by time, receipts by id, and those that were booked late by when they were. */
function branches(filter: StatementFilter, since: number | undefined): RawBuilder<unknown>[] {
  const { where, checks } = entryFilter(filter);
  const newer = since === undefined ? [] : [sql<boolean>`t.created_at > ${since}`];
  const entries = sql`SELECT t.id AS entry_id, CAST('' AS TEXT) AS receipt_id, t.account_id, t.kind, t.amount,
      coalesce(t.request_id, '') AS request_id, t.cause, t.actor, t.created_at
    FROM ${ENTRY_TABLE.from} WHERE ${conditions([...where, ...newer, ...checks])}`;
  if (!hasCharges(filter)) return [entries];
  const after = since === undefined ? [] : [sql<boolean>`receipt.booked_at > ${since}`];
  const ids =
    since === undefined ? [] : [sql<boolean>`receipt.id >= ${requestIdAt(Math.max(0, since - PROMPT_MS))}`];
  return [
    entries,
    charged(filter, [sql<boolean>`receipt.late = 0`, ...ids, ...after]),
    charged(filter, [sql<boolean>`receipt.late = 1`, ...after]),
  ];
}

function charged(filter: StatementFilter, more: readonly RawBuilder<boolean>[]): RawBuilder<unknown> {
  const { accountId, search } = filter;
  const own = accountId === undefined ? [] : [sql<boolean>`receipt.account_id = ${accountId}`];
  const isCharge = sql<boolean>`receipt.state <> ${sql.lit(STATE_CODES.void)}`;
  return sql`SELECT 0 AS entry_id, receipt.id AS receipt_id, receipt.account_id, 'charge' AS kind,
      0 - receipt.charged AS amount, receipt.id AS request_id, route.endpoint || '/' || route.model AS cause,
      'request' AS actor, receipt.booked_at AS created_at
    FROM receipt INNER JOIN route ON route.id = receipt.route
    WHERE ${conditions([isCharge, ...own, ...more, ...chargeSearch(search)])}`;
}

function conditions(all: readonly RawBuilder<boolean>[]): RawBuilder<unknown> {
  return all.length === 0 ? sql`1 = 1` : sql.join(all, sql` AND `);
}

function lineOf({ entry_id, receipt_id, request_id, ...line }: SortedLine): StatementLine {
  return {
    ...line,
    id: receipt_id === '' ? String(entry_id) : receipt_id,
    request_id: request_id === '' ? null : request_id,
  };
}
