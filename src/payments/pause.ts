import { sql, type Transaction } from 'kysely';
import type { Schema } from '../store/schema.ts';

/** Why an account is paused, as its owner and the operator read it; the pages have words for each. */
export type PauseReason = 'refund' | 'dispute';

/**
 * Nothing more can be spent, and no saved card is charged any more. Whoever the account belongs to can sign in and read why. An
 * administrator is never locked out, and what an operator disabled stays disabled.
 */
export async function pauseAccount(
  tx: Transaction<Schema>,
  accountId: string,
  reason: PauseReason,
): Promise<void> {
  await tx
    .updateTable('account')
    .set({ status: 'disabled', paused_reason: reason })
    .where('id', '=', accountId)
    .where('role', '=', 'user')
    .where(sql<boolean>`(status = 'active' OR paused_reason IS NOT NULL)`)
    .execute();
  await stopAutomatic(tx, accountId, reason);
}

/** A card whose payment is disputed is not charged again by itself. */
export async function stopAutomatic(
  tx: Transaction<Schema>,
  accountId: string,
  reason: PauseReason,
): Promise<void> {
  await tx
    .updateTable('top_up')
    .set({ enabled: 0, off_reason: reason })
    .where('account_id', '=', accountId)
    .where('enabled', '=', 1)
    .execute();
}
