import { z } from 'zod';
import { accountNamed, emailsOf } from '../activity/accounts.ts';
import { REFUSED_CALL_LIMITS, refusedCallSums, type RefusedCallRow } from '../activity/refused-calls.ts';
import type { SearchedPage, Millis } from './contract.ts';
import type { RouteParts } from './parts.ts';
import { recentOf } from './recent-answers.ts';
import { route } from './route.ts';
import { findRows, orderSchema, searchedPage, tableFields } from './table-query.ts';
import { sql } from 'kysely';
import {
  anyContains,
  emailIn,
  equals,
  numberColumn,
  textColumn,
  type ListedTable,
  type TableFilter,
} from '../activity/table-page.ts';

const fields = { ...tableFields, reason: z.string().min(1).max(64).optional() };
const querySchema = z.strictObject({ ...fields, sort: orderSchema(['time', 'calls']) });
const adminQuerySchema = z.strictObject({
  ...fields,
  sort: orderSchema(['time', 'calls', 'account']),
  account: z.string().min(1).max(320).optional(),
});

/** Calls that were refused: the account's own, and for admins those of all accounts or of one. */
export const refusedCallRoutes = [
  route('GET /api/console/refused-calls', {
    who: 'user',
    compressed: true,
    query: querySchema,
    async handle(parts, { user, query }): Promise<RefusedCallPage<RefusedCallItem>> {
      const { accountId } = user;
      const filter = refusedCallFilter({ accountId, reason: query.reason, search: query.search });
      const page = await findRows<RefusedCallRow>(parts, REFUSED_CALL_TABLE, filter, query);
      return { ...searchedPage(page, refusedItem), ...(await summary(parts, accountId)) };
    },
  }),
  route('GET /api/console/admin/refused-calls', {
    who: 'operator',
    may: 'see_customers',
    summary: 'List refused calls',
    compressed: true,
    query: adminQuerySchema,
    async handle(parts, { query: { account, ...query } }): Promise<RefusedCallPage<AdminRefusedCall>> {
      const accountId = account && (await accountNamed(parts.store.db, account));
      const filter = refusedCallFilter({ accountId, reason: query.reason, search: query.search });
      const page = await findRows<RefusedCallRow>(parts, REFUSED_CALL_TABLE, filter, query);
      const emails = await emailsOf(
        parts.store.db,
        page.rows.map((row) => row.account_id),
      );
      const item = (row: RefusedCallRow) => ({
        ...refusedItem(row),
        accountId: row.account_id,
        email: emails.get(row.account_id) ?? '',
      });
      return { ...searchedPage(page, item), ...(await summary(parts, accountId)) };
    },
  }),
];

/** Calls that were refused, newest first. They have no receipt, because nothing was held for them. */
interface RefusedCallPage<Item> extends SearchedPage<Item> {
  /** Calls by reason, most frequent first, of all that are kept. */
  reasons: { reason: string; calls: number }[];
  /** Refused calls that are not in the list, because there were too many different ones at once. */
  leftOut: number;
  keptDays: number;
}

interface AdminRefusedCall extends RefusedCallItem {
  accountId: string;
  email: string;
}

/** Counts all reasons, whatever the filter, so that another one can be chosen. */
async function summary(
  { store, reader, clock }: RouteParts,
  accountId: string | undefined,
): Promise<Pick<RefusedCallPage<never>, 'reasons' | 'leftOut' | 'keptDays'>> {
  const sums =
    accountId === undefined
      ? await recentOf(store).get('refused calls', clock.now(), () =>
          refusedCallSums({ db: store.db, reader: reader.sums }, undefined),
        )
      : await refusedCallSums({ db: store.db, reader }, accountId);
  return {
    reasons: sums.map(({ reason, calls }) => ({ reason, calls })),
    leftOut: sums.reduce((sum, { leftOut }) => sum + leftOut, 0),
    keptDays: REFUSED_CALL_LIMITS.keptMs / 86_400_000,
  };
}

/** All calls that were refused alike within ten minutes. */
interface RefusedCallItem {
  id: string;
  firstAt: Millis;
  lastAt: Millis;
  calls: number;
  /** The id of the latest of these calls. */
  requestId: string;
  /** The path that was called. */
  operation: string;
  /** Endpoint and model as the client wrote them; empty if it named none. */
  endpoint: string;
  model: string;
  client: string;
  status: number;
  /** `reason` of a 402, `backend_refused`, or the error's code. */
  reason: string;
  /** The field that is wrong, where there is one. */
  param: string | null;
  /** The message to the client, unless it could repeat the prompt. */
  message: string | null;
  /** A backend refused it after money was held: its receipt charges nothing. */
  hasReceipt: boolean;
}

function refusedItem(row: RefusedCallRow): RefusedCallItem {
  return {
    id: row.id,
    firstAt: row.first_at,
    lastAt: row.last_at,
    calls: row.calls,
    requestId: row.request_id,
    operation: row.operation,
    endpoint: row.endpoint,
    model: row.model,
    client: row.client,
    status: row.status,
    reason: row.reason,
    param: row.param,
    message: row.message,
    // Only a call that a backend was asked about was admitted before it was refused.
    hasReceipt: row.reason === 'backend_refused',
  };
}

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
