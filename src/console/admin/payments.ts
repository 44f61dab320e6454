import type { Kysely } from 'kysely';
import { emailsOf } from '../../activity/accounts.ts';
import { listPayments, listProblems, listReversals, lostByPayments } from '../../payments/payment-list.ts';
import type { Schema } from '../../store/schema.ts';
import { usd } from '../amounts.ts';
import type { AdminPayment, AdminPaymentProblem, AdminReversals, Page } from '../contract.ts';
import { limitOf, markCursor, pageOf, pagingSchema } from '../paging.ts';
import { paymentItem } from '../payments.ts';
import { route } from '../route.ts';

/** Payments by card, what refunds and disputes cost, and events that were refused. */
export const adminPaymentRoutes = [
  route('GET /api/console/admin/payments', {
    who: 'admin',
    query: pagingSchema,
    async handle({ store }, { query }): Promise<Page<AdminPayment>> {
      const limit = limitOf(query);
      const request = { before: markCursor(query.cursor), limit: limit + 1 };
      const rows = await listPayments(store.db, request);
      const emails = await emailsBy(store.db, rows);
      return pageOf(rows, limit, {
        item: (row) => ({
          ...paymentItem(row),
          accountId: row.account_id,
          email: emails.get(row.account_id) ?? '',
          intentId: row.intent_id,
        }),
        cursor: (row) => `${row.created_at}.${row.id}`,
      });
    },
  }),
  route('GET /api/console/admin/payments/reversals', {
    who: 'admin',
    query: pagingSchema,
    async handle({ store }, { query }): Promise<AdminReversals> {
      const limit = limitOf(query);
      const request = { before: markCursor(query.cursor), limit: limit + 1 };
      const [rows, lost] = await Promise.all([listReversals(store.db, request), lostByPayments(store.db)]);
      const emails = await emailsBy(store.db, rows);
      const page = pageOf(rows, limit, {
        item: (row) => ({
          id: row.id,
          kind: row.kind,
          accountId: row.account_id ?? '',
          email: emails.get(row.account_id ?? '') ?? '',
          intentId: row.intent_id,
          amountUsd: usd(row.amount),
          takenUsd: usd(row.taken),
          lostUsd: usd(row.lost),
          at: row.created_at,
          returnedAt: row.returned_at,
        }),
        cursor: (row) => `${row.created_at}.${row.id}`,
      });
      return { ...page, lostUsd: usd(lost) };
    },
  }),
  route('GET /api/console/admin/payments/problems', {
    who: 'admin',
    query: pagingSchema,
    async handle({ store }, { query }): Promise<Page<AdminPaymentProblem>> {
      const limit = limitOf(query);
      const request = { before: markCursor(query.cursor), limit: limit + 1 };
      const rows = await listProblems(store.db, request);
      const emails = await emailsBy(store.db, rows);
      return pageOf(rows, limit, {
        item: (row) => ({
          eventId: row.event_id,
          type: row.event_type,
          objectId: row.object_id,
          accountId: row.account_id,
          email: row.account_id === null ? null : (emails.get(row.account_id) ?? null),
          reason: row.reason,
          at: row.created_at,
        }),
        cursor: (row) => `${row.created_at}.${row.event_id}`,
      });
    },
  }),
];

function emailsBy(db: Kysely<Schema>, rows: readonly { readonly account_id: string | null }[]) {
  return emailsOf(
    db,
    rows.flatMap(({ account_id }) => (account_id === null ? [] : [account_id])),
  );
}
