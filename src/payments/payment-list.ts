import { sql, type Kysely, type Selectable } from 'kysely';
import type { PaymentProblemTable } from '../store/schema-payments.ts';
import type { Schema } from '../store/schema.ts';
import { REVERSAL_STAGES } from './port.ts';
import type { PaymentRow, ReversalRow } from './payment-rows.ts';

/** Where a page ends: lists are ordered by time, then id, the newest first. */
export interface PaymentCursor {
  readonly at: number;
  readonly id: string;
}

interface ListRequest {
  readonly accountId?: string | undefined;
  readonly before?: PaymentCursor | undefined;
  readonly limit: number;
}

/** A payment, with what of it went back and did not return. */
export interface ListedPayment extends PaymentRow {
  readonly reversed: number;
}

/** Saving a card is no payment. */
export async function listPayments(
  db: Kysely<Schema>,
  { accountId, before, limit }: ListRequest,
): Promise<ListedPayment[]> {
  let query = db.selectFrom('payment').selectAll('payment').where('kind', '<>', 'card');
  if (accountId !== undefined) query = query.where('account_id', '=', accountId);
  if (before) query = query.where(sql<boolean>`(created_at, id) < (${before.at}, ${before.id})`);
  const rows = await query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
  const intents = rows.flatMap(({ intent_id }) => (intent_id === null ? [] : [intent_id]));
  const reversed = await reversedByIntent(db, intents);
  return rows.map((row) => Object.assign(row, { reversed: reversed.get(row.intent_id ?? '') ?? 0 }));
}

async function reversedByIntent(
  db: Kysely<Schema>,
  intents: readonly string[],
): Promise<Map<string, number>> {
  if (intents.length === 0) return new Map();
  const rows = await db
    .selectFrom('payment_reversal')
    .select(['intent_id', 'amount'])
    .where('intent_id', 'in', [...intents])
    .where('stage', '<', REVERSAL_STAGES.indexOf('returned'))
    .execute();
  const sums = new Map<string, number>();
  for (const { intent_id, amount } of rows) sums.set(intent_id, (sums.get(intent_id) ?? 0) + amount);
  return sums;
}

/** Refunds and disputes that were booked, for the operator. */
export async function listReversals(
  db: Kysely<Schema>,
  { before, limit }: ListRequest,
): Promise<ReversalRow[]> {
  let query = db.selectFrom('payment_reversal').selectAll().where('booked_at', 'is not', null);
  if (before) query = query.where(sql<boolean>`(created_at, id) < (${before.at}, ${before.id})`);
  return await query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
}

export async function listProblems(
  db: Kysely<Schema>,
  { before, limit }: ListRequest,
): Promise<Selectable<PaymentProblemTable>[]> {
  let query = db.selectFrom('payment_problem').selectAll();
  if (before) query = query.where(sql<boolean>`(created_at, event_id) < (${before.at}, ${before.id})`);
  return await query.orderBy('created_at', 'desc').orderBy('event_id', 'desc').limit(limit).execute();
}

/** What refunds and disputes have cost the operator, as far as it did not come back. */
export async function lostByPayments(db: Kysely<Schema>): Promise<number> {
  const row = await db
    .selectFrom('payment_reversal')
    .select(sql<number>`coalesce(sum(lost), 0)`.as('lost'))
    .where('returned_at', 'is', null)
    .executeTakeFirst();
  return row?.lost ?? 0;
}

/** What automatic top-ups have taken, or are taking, since a moment. */
export async function automaticSince(db: Kysely<Schema>, accountId: string, since: number): Promise<number> {
  const row = await db
    .selectFrom('payment')
    .select(sql<number>`coalesce(sum(amount), 0)`.as('total'))
    .where('account_id', '=', accountId)
    .where('kind', '=', 'automatic')
    .where('state', '<>', 'failed')
    .where('created_at', '>=', since)
    .executeTakeFirst();
  return row?.total ?? 0;
}
