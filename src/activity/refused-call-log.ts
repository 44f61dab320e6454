import { sql, type Kysely, type Selectable } from 'kysely';
import type { RefusedCallTable, Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';
import {
  anyContains,
  emailIn,
  equals,
  numberColumn,
  textColumn,
  type ListedTable,
  type TableFilter,
} from './table-page.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> };

export type RefusedCallRow = Selectable<RefusedCallTable>;

interface RefusedCallFilter {
  /** `undefined`: all accounts. */
  readonly accountId: string | undefined;
  readonly reason: string | undefined;
  /** Part of the request's id, the client, the model, the path, the reason or the message. */
  readonly search: string | undefined;
}

/** Ids are unique within an account. */
export const REFUSED_CALL_TABLE: ListedTable = {
  from: sql`refused_call AS t`,
  columns: sql`t.*`,
  time: sql`t.last_at`,
  mark: [numberColumn(sql`t.last_at`), textColumn(sql`t.id`), textColumn(sql`t.account_id`)],
  sorted: { calls: numberColumn(sql`t.calls`), account: textColumn(emailIn('t.account_id')) },
};

/** Among the calls of all accounts, a search also looks at whose they are. */
export function refusedCallFilter({ accountId, reason, search }: RefusedCallFilter): TableFilter {
  const columns = ['client', 'model', 'endpoint', 'operation', 'reason', 'param', 'message'];
  const searched = [
    ...columns.map((column) => sql.ref(`t.${column}`)),
    ...(accountId === undefined ? [emailIn('t.account_id'), sql`t.account_id`] : []),
  ];
  return {
    where: equals('t.account_id', accountId),
    checks: [
      ...equals('t.reason', reason),
      ...(search === undefined ? [] : [anyContains(search, searched, [sql`t.request_id`])]),
    ],
  };
}

interface RefusedCallSums {
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
