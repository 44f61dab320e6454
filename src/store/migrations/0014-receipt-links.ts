import type { Dialect } from '../dialect.ts';

/** Links that show a receipt to others: so that their owner sees them and can end each of them. */
export function receiptLinks(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE receipt_link (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      request_id TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      expires_at ${d.int64} NOT NULL,
      ended_at ${d.int64}
    )`,
    `CREATE INDEX receipt_link_account ON receipt_link (account_id, expires_at)`,
  ];
}
