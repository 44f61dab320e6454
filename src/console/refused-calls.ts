import { z } from 'zod';
import { accountNamed, emailsOf } from '../activity/accounts.ts';
import {
  REFUSED_CALL_TABLE,
  refusedCallFilter,
  refusedCallSums,
  type RefusedCallRow,
} from '../activity/refused-call-log.ts';
import { REFUSED_CALL_LIMITS } from '../activity/refused-calls.ts';
import type { AdminRefusedCallPage, RefusedCallItem, RefusedCallPage } from './contract.ts';
import type { RouteParts } from './parts.ts';
import { recentOf } from './recent-answers.ts';
import { route } from './route.ts';
import { findRows, orderSchema, searchedPage, tableFields } from './table-query.ts';

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
    async handle(parts, { user, query }): Promise<RefusedCallPage> {
      const { accountId } = user;
      const filter = refusedCallFilter({ accountId, reason: query.reason, search: query.search });
      const page = await findRows<RefusedCallRow>(parts, REFUSED_CALL_TABLE, filter, query);
      return { ...searchedPage(page, refusedItem), ...(await summary(parts, accountId)) };
    },
  }),
  route('GET /api/console/admin/refused-calls', {
    who: 'admin',
    compressed: true,
    query: adminQuerySchema,
    async handle(parts, { query: { account, ...query } }): Promise<AdminRefusedCallPage> {
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

/** Counts all reasons, whatever the filter, so that another one can be chosen. */
async function summary(
  { store, reader, clock }: RouteParts,
  accountId: string | undefined,
): Promise<Pick<RefusedCallPage, 'reasons' | 'leftOut' | 'keptDays'>> {
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
