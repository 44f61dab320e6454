import { sql, type Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import { REVERSAL_STAGES } from './port.ts';
import type { PaymentRow } from './payment-rows.ts';

/** A payment, with what of it went back and did not return. */
export interface ListedPayment extends PaymentRow {
  readonly reversed: number;
}

/** In the same order. */
export async function withReversed(
  db: Kysely<Schema>,
  rows: readonly PaymentRow[],
): Promise<ListedPayment[]> {
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
