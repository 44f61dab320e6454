import { type Kysely, type Selectable, sql } from 'kysely';
import { z } from 'zod';
import { accountNamed, emailsOf } from '../../activity/accounts.ts';
import { findPayments, paymentFields, paymentItem, type PaymentItem, searched } from '../payments.ts';
import { lostByPayments, type ReversalRow } from '../../payments/payment-rows.ts';
import type { PaymentProblemTable } from '../../store/schema-services.ts';
import type { Schema } from '../../store/schema.ts';
import { usd } from '../amounts.ts';
import type { SearchedPage, Millis, Usd } from '../contract.ts';
import { route } from '../route.ts';
import { findRows, orderSchema, searchedPage, tableFields } from '../table-query.ts';
import {
  emailIn,
  equals,
  numberColumn,
  textColumn,
  type ListedTable,
  type TableFilter,
} from '../../activity/table-page.ts';

/** Payments by card, what refunds and disputes cost, and events that were refused. */
export const adminPaymentRoutes = [
  route('GET /api/console/admin/payments', {
    who: 'operator',
    may: 'see_business',
    summary: 'List payments',
    compressed: true,
    query: z.strictObject({
      ...paymentFields,
      sort: orderSchema(['time', 'amount', 'account']),
      /** An id or an email address. */
      account: z.string().min(1).max(320).optional(),
    }),
    async handle(parts, { query }): Promise<SearchedPage<AdminPayment>> {
      const accountId = query.account && (await accountNamed(parts.store.db, query.account));
      const page = await findPayments(parts, { ...query, accountId }, query);
      const emails = await emailsBy(parts.store.db, page.rows);
      return searchedPage(page, (row) => ({
        ...paymentItem(row),
        accountId: row.account_id,
        email: emails.get(row.account_id) ?? '',
        intentId: row.intent_id,
      }));
    },
  }),
  route('GET /api/console/admin/payments/reversals', {
    who: 'operator',
    may: 'see_business',
    summary: 'List refunds and disputes of payments',
    compressed: true,
    query: z.strictObject({
      ...tableFields,
      sort: orderSchema(['time', 'amount', 'taken', 'lost', 'account']),
      kind: z.enum(['refund', 'dispute']).optional(),
    }),
    async handle(parts, { query }): Promise<AdminReversals> {
      const { db } = parts.store;
      const [page, lost] = await Promise.all([
        findRows<ReversalRow>(parts, REVERSAL_TABLE, reversalFilter(query), query),
        lostByPayments(db),
      ]);
      const emails = await emailsBy(db, page.rows);
      const found = searchedPage(page, (row) => ({
        id: row.id,
        kind: row.kind,
        accountId: row.account_id ?? '',
        email: emails.get(row.account_id ?? '') ?? '',
        intentId: row.intent_id,
        amountUsd: usd(row.amount),
        takenUsd: usd(row.taken),
        lostUsd: usd(row.lost),
        owedUsd: usd(row.owed),
        at: row.created_at,
        returnedAt: row.returned_at,
      }));
      return { ...found, lostUsd: usd(lost) };
    },
  }),
  route('GET /api/console/admin/payments/problems', {
    who: 'operator',
    may: 'see_business',
    summary: 'List payment problems',
    compressed: true,
    query: z.strictObject({
      ...tableFields,
      sort: orderSchema(['time', 'account', 'event']),
      type: z.string().min(1).max(200).optional(),
    }),
    async handle(parts, { query }): Promise<SearchedPage<AdminPaymentProblem>> {
      const filter = problemFilter(query);
      const page = await findRows<Selectable<PaymentProblemTable>>(parts, PROBLEM_TABLE, filter, query);
      const emails = await emailsBy(parts.store.db, page.rows);
      return searchedPage(page, (row) => ({
        eventId: row.event_id,
        type: row.event_type,
        objectId: row.object_id,
        accountId: row.account_id,
        email: row.account_id === null ? null : (emails.get(row.account_id) ?? null),
        reason: row.reason,
        at: row.created_at,
      }));
    },
  }),
];

interface AdminPayment extends PaymentItem {
  accountId: string;
  email: string;
  /** The payment at the provider. */
  intentId: string | null;
}

interface AdminReversals extends SearchedPage<AdminReversal> {
  /** All losses that did not come back. */
  lostUsd: Usd;
}

/** A refund or a dispute. */
interface AdminReversal {
  id: string;
  kind: 'refund' | 'dispute';
  accountId: string;
  email: string;
  intentId: string;
  amountUsd: Usd;
  takenUsd: Usd;
  lostUsd: Usd;
  /** To be taken once running requests release it. */
  owedUsd: Usd;
  at: Millis;
  /** When the money came back to the operator. */
  returnedAt: Millis | null;
}

/** An event that was refused: money may have come that is not in the books. */
interface AdminPaymentProblem {
  eventId: string;
  type: string;
  objectId: string;
  accountId: string | null;
  email: string | null;
  reason: string;
  at: Millis;
}

function emailsBy(db: Kysely<Schema>, rows: readonly { readonly account_id: string | null }[]) {
  return emailsOf(
    db,
    rows.flatMap(({ account_id }) => (account_id === null ? [] : [account_id])),
  );
}

/** Refunds and disputes. */
export const REVERSAL_TABLE: ListedTable = {
  from: sql`payment_reversal AS t`,
  columns: sql`t.*`,
  time: sql`t.created_at`,
  mark: [numberColumn(sql`t.created_at`), textColumn(sql`t.id`)],
  sorted: {
    amount: numberColumn(sql`t.amount`),
    taken: numberColumn(sql`t.taken`),
    lost: numberColumn(sql`t.lost`),
    account: textColumn(emailIn('t.account_id')),
  },
};

interface ReversalFilter {
  readonly kind?: 'refund' | 'dispute' | undefined;
  readonly search?: string | undefined;
}

/** Only those that were booked. */
export function reversalFilter({ kind, search }: ReversalFilter): TableFilter {
  const ids = [sql`t.id`, sql`t.intent_id`, sql`t.account_id`, emailIn('t.account_id')];
  return {
    where: [sql<boolean>`t.booked_at IS NOT NULL`],
    checks: [...equals('t.kind', kind), ...searched(search, ids)],
  };
}

/** Events that were refused. */
export const PROBLEM_TABLE: ListedTable = {
  from: sql`payment_problem AS t`,
  columns: sql`t.*`,
  time: sql`t.created_at`,
  mark: [numberColumn(sql`t.created_at`), textColumn(sql`t.event_id`)],
  sorted: { account: textColumn(emailIn('t.account_id')), event: textColumn(sql`t.event_type`) },
};

interface ProblemFilter {
  readonly type?: string | undefined;
  readonly search?: string | undefined;
}

export function problemFilter({ type, search }: ProblemFilter): TableFilter {
  const columns = ['event_id', 'event_type', 'object_id', 'account_id', 'reason'];
  const all = [...columns.map((column) => sql.ref(`t.${column}`)), emailIn('t.account_id')];
  return { where: [], checks: [...equals('t.event_type', type), ...searched(search, all)] };
}
