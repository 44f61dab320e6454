import type { Dialect } from '../dialect.ts';

/** Links that let somebody choose a new password: one for an account at most, so that a newer one ends the older. */
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
