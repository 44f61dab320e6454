import type { Kysely } from 'kysely';
import type { Schema } from './schema.ts';

/**
 * Whoever comes first goes on, and others with the same key wait until its transaction ends: an upsert of one row does
 * that on both databases.
 */
export async function lockRow(tx: Kysely<Schema>, key: string, now: number): Promise<void> {
  await tx
    .insertInto('setting')
    .values({ key, value: '', updated_at: now })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ updated_at: now }))
    .execute();
}
