import { sql, type Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

/** Redeem codes by batch, the newest first; a batch is a thousand codes at most. */
export function batchPage(
  { db, reader }: { db: Kysely<Schema>; reader: Reader },
  page: {
    readonly before?: { readonly at: number; readonly id: string } | undefined;
    readonly limit: number;
  },
) {
  const { before } = page;
  let query = db
    .selectFrom('redeem_code')
    .select([
      'batch',
      sql<number>`max(amount)`.as('amount'),
      sql<number>`count(*)`.as('count'),
      sql<number>`count(redeemed_at)`.as('redeemed'),
      sql<string>`max(created_by)`.as('createdBy'),
      sql<number>`min(created_at)`.as('createdAt'),
      sql<number | null>`max(expires_at)`.as('expiresAt'),
    ])
    .groupBy('batch');
  if (before) {
    const batch = Buffer.from(before.id, 'base64url').toString();
    query = query.having((having) =>
      having.or([
        having(sql`min(created_at)`, '<', before.at),
        having.and([having(sql`min(created_at)`, '=', before.at), having('batch', '<', batch)]),
      ]),
    );
  }
  return reader.all(query.orderBy('createdAt', 'desc').orderBy('batch', 'desc').limit(page.limit));
}
