import type { Dialect } from '../dialect.ts';

/** Links for setting a new password: at most one per account, so that a newer one replaces the older. */
export function resetLinks(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE reset_link (
      account_id TEXT PRIMARY KEY REFERENCES account (id),
      token_hash TEXT NOT NULL UNIQUE,
      created_by TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      expires_at ${d.int64} NOT NULL
    )`,
  ];
}
