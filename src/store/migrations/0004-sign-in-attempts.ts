import type { Dialect } from '../dialect.ts';

/**
 * Attempts to sign in, counted by all nodes together. `key` is a keyed hash: it names neither a person nor an address.
 * `at` is the last attempt, or how far an allowance is used up; a row that has expired counts as none.
 */
export function signInAttempts(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE sign_in_attempt (
      key ${d.byteOrderedText} PRIMARY KEY,
      count ${d.int64} NOT NULL,
      at ${d.int64} NOT NULL,
      expires_at ${d.int64} NOT NULL
    )${d.clusteredByKey}`,
    `CREATE INDEX sign_in_attempt_expires ON sign_in_attempt (expires_at)`,
  ];
}
