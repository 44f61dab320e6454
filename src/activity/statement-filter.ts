import { sql, type RawBuilder } from 'kysely';
import type { EntryKind } from '../store/schema.ts';
import {
  anyContains,
  emailIn,
  equals,
  numberColumn,
  type ListedTable,
  type TableFilter,
} from './table-page.ts';

export interface StatementFilter {
  readonly accountId?: string | undefined;
  /** Leave out the charges of requests, also those of archived days. */
  readonly moneyOnly: boolean;
  readonly kind?: EntryKind | undefined;
  readonly search?: StatementSearch | undefined;
}

export interface StatementSearch {
  /** Part of the reason, of a model, or of a request's id; or the number of an entry. */
  readonly text: string;
  /** Operators also search for who booked it, and for whom. */
  readonly isOperator: boolean;
}

/** What changes balances, but for the charges of requests. */
export const ENTRY_TABLE: ListedTable = {
  from: sql`entry AS t`,
  columns: sql`t.id, t.account_id, t.kind, t.amount, t.request_id, t.cause, t.actor, t.created_at`,
  time: sql`t.created_at`,
  mark: [numberColumn(sql`t.created_at`), numberColumn(sql`t.id`)],
  sorted: {},
};

export function entryFilter({ accountId, moneyOnly, kind, search }: StatementFilter): TableFilter {
  return {
    where: [
      ...equals('t.account_id', accountId),
      ...(moneyOnly ? [sql<boolean>`t.kind <> 'charge'`] : []),
      ...equals('t.kind', kind),
    ],
    checks: search ? [entrySearch(search)] : [],
  };
}

function entrySearch({ text, isOperator }: StatementSearch): RawBuilder<boolean> {
  const operator = [sql`t.actor`, sql`t.account_id`, emailIn('t.actor'), emailIn('t.account_id')];
  const found = anyContains(text, [sql`t.cause`, ...(isOperator ? operator : [])], [sql`t.request_id`]);
  // The number of an entry is looked for as a whole: nearly every number has a 1 in it.
  return sql<boolean>`(${found} OR CAST(t.id AS TEXT) = ${text})`;
}

/** Whether any charge of a request can be among the lines. */
export function hasCharges({ moneyOnly, kind }: StatementFilter): boolean {
  return !moneyOnly && (kind === undefined || kind === 'charge');
}

/** Conditions on a `receipt` joined with its `route`. The beginning of a request's id is found by the index. */
export function chargeSearch(search: StatementSearch | undefined): RawBuilder<boolean>[] {
  if (!search) return [];
  const { text, isOperator } = search;
  if (text.startsWith('req_'))
    return [sql<boolean>`receipt.id >= ${text}`, sql<boolean>`receipt.id < ${`${text}~`}`];
  const model = sql`route.endpoint || '/' || route.model`;
  const operator = [sql`receipt.account_id`, emailIn('receipt.account_id')];
  return [anyContains(text, [model, ...(isOperator ? operator : [])], [sql`receipt.id`])];
}
