import { sql } from 'kysely';
import {
  anyContains,
  emailIn,
  equals,
  numberColumn,
  textColumn,
  type ListedTable,
  type TableFilter,
} from './table-page.ts';

export interface PaymentFilter {
  /** `undefined`: all accounts. */
  readonly accountId?: string | undefined;
  readonly state?: 'open' | 'paid' | 'failed' | undefined;
  readonly kind?: 'top_up' | 'automatic' | undefined;
  /** Part of an id, here or at the provider, or of why it failed. */
  readonly search?: string | undefined;
}

export const PAYMENT_TABLE: ListedTable = {
  from: sql`payment AS t`,
  columns: sql`t.*`,
  time: sql`t.created_at`,
  mark: [numberColumn(sql`t.created_at`), textColumn(sql`t.id`)],
  sorted: { amount: numberColumn(sql`t.amount`), account: textColumn(emailIn('t.account_id')) },
};

/** Saving a card is no payment. */
export function paymentFilter({ accountId, state, kind, search }: PaymentFilter): TableFilter {
  const ids = [sql`t.id`, sql`t.reason`];
  const operator = [sql`t.intent_id`, sql`t.session_id`, sql`t.account_id`, emailIn('t.account_id')];
  return {
    where: [sql<boolean>`t.kind <> 'card'`, ...equals('t.account_id', accountId)],
    checks: [
      ...equals('t.state', state),
      ...equals('t.kind', kind),
      ...searched(search, accountId === undefined ? [...ids, ...operator] : ids),
    ],
  };
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

function searched(search: string | undefined, columns: Parameters<typeof anyContains>[1]) {
  return search === undefined ? [] : [anyContains(search, columns)];
}
