import { sql, type Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

/**
 * Redeem codes by batch, the newest first; a batch is a thousand codes at most. `mark` orders batches of one moment and
 * is as long for every batch, which its name is not.
 */
export function batchPage(
  { db, reader }: { db: Kysely<Schema>; reader: Reader },
  page: {
    readonly before?: { readonly at: number; readonly id: string } | undefined;
    readonly limit: number;
    readonly now: number;
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
      sql<number>`count(CASE WHEN redeemed_at IS NULL AND (expires_at IS NULL OR expires_at > ${page.now}) THEN 1 END)`.as(
        'open',
      ),
      sql<string>`max(created_by)`.as('createdBy'),
      sql<number>`min(created_at)`.as('createdAt'),
      sql<number | null>`max(expires_at)`.as('expiresAt'),
      sql<string>`min(code_hash)`.as('mark'),
    ])
    .groupBy('batch');
  if (before) {
    query = query.having((having) =>
      having.or([
        having(sql`min(created_at)`, '<', before.at),
        having.and([
          having(sql`min(created_at)`, '=', before.at),
          having(sql`min(code_hash)`, '<', before.id),
        ]),
      ]),
    );
  }
  return reader.all(query.orderBy('createdAt', 'desc').orderBy('mark', 'desc').limit(page.limit));
}

export type BatchRow = Awaited<ReturnType<typeof batchPage>>[number];
