import type { Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';

/** The accounts whose requests a wallet pays for: a person's own, or all that a team has or had. */
export async function spendersOf(db: Kysely<Schema>, walletId: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('account')
    .select('id')
    .where('wallet_id', '=', walletId)
    .orderBy('id')
    .execute();
  // A team has had one account at least: that of whoever made it.
  return rows.length > 0 ? rows.map(({ id }) => id) : [walletId];
}
