import { sql, type Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

export interface EntryFilter {
  readonly accountId?: string | undefined;
  /** Leave out the charges of requests. */
  readonly moneyOnly: boolean;
}

/** Ledger entries, newest first, by number. */
export function entryPage(
  { db, reader }: { db: Kysely<Schema>; reader: Reader },
  { accountId, moneyOnly }: EntryFilter,
  page: { readonly before?: number | undefined; readonly limit: number },
) {
  let query = db
    .selectFrom('entry')
    .select(['id', 'account_id', 'kind', 'amount', 'request_id', 'cause', 'actor', 'created_at']);
  if (accountId !== undefined) query = query.where('account_id', '=', accountId);
  // Literal text, or the planner does not use the partial index of such entries.
  if (moneyOnly) query = query.where(sql<boolean>`kind <> 'charge'`);
  if (page.before !== undefined) query = query.where('id', '<', page.before);
  return reader.all(query.orderBy('id', 'desc').limit(page.limit));
}
