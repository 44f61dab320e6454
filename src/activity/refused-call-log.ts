import { sql, type Kysely, type Selectable } from 'kysely';
import type { RefusedCallTable, Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> };

export type RefusedCallRow = Selectable<RefusedCallTable>;

export interface RefusedCallFilter {
  /** `undefined`: all accounts. */
  readonly accountId: string | undefined;
  readonly reason: string | undefined;
}

/** Newest first. */
export function refusedCallPage(
  { db, reader }: Parts,
  { accountId, reason }: RefusedCallFilter,
  page: {
    readonly before?: { readonly at: number; readonly id: string } | undefined;
    readonly limit: number;
  },
): Promise<RefusedCallRow[]> {
  const { before } = page;
  let query = db.selectFrom('refused_call').selectAll();
  if (accountId !== undefined) query = query.where('account_id', '=', accountId);
  if (reason !== undefined) query = query.where('reason', '=', reason);
  if (before) query = query.where(sql<boolean>`(last_at, id) < (${before.at}, ${before.id})`);
  return reader.all(query.orderBy('last_at', 'desc').orderBy('id', 'desc').limit(page.limit));
}

export interface RefusedCallSums {
  readonly reason: string;
  readonly calls: number;
  readonly leftOut: number;
}

/** Calls by reason, most frequent first, and how many have no row. The table is small enough to be read whole. */
export function refusedCallSums(
  { db, reader }: Parts,
  accountId: string | undefined,
): Promise<RefusedCallSums[]> {
  let query = db
    .selectFrom('refused_call')
    .select([
      'reason',
      sql<number>`CAST(sum(calls) AS BIGINT)`.as('calls'),
      sql<number>`CAST(sum(left_out) AS BIGINT)`.as('leftOut'),
    ])
    .groupBy('reason');
  if (accountId !== undefined) query = query.where('account_id', '=', accountId);
  return reader.all(query.orderBy('calls', 'desc').orderBy('reason'));
}
