import type { Dialect } from '../dialect.ts';

/**
 * Calls that were refused, kept for days and apart from receipts. A row stands for all calls of an account that were
 * refused alike within a few minutes; `id` is a hash of what they have in common. `left_out` counts refused calls of the
 * same account that have no row, because there were too many different ones at once.
 */
export function refusedCalls(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE refused_call (
      account_id TEXT NOT NULL,
      id ${d.byteOrderedText} NOT NULL,
      first_at ${d.int64} NOT NULL,
      last_at ${d.int64} NOT NULL,
      calls ${d.int64} NOT NULL,
      left_out ${d.int64} NOT NULL DEFAULT 0,
      request_id ${d.byteOrderedText} NOT NULL,
      operation TEXT NOT NULL,
      endpoint TEXT NOT NULL,
      model TEXT NOT NULL,
      client TEXT NOT NULL,
      status ${d.int64} NOT NULL,
      reason TEXT NOT NULL,
      param TEXT,
      message TEXT,
      PRIMARY KEY (account_id, id)
    )${d.clusteredByKey}`,
    `CREATE INDEX refused_call_account ON refused_call (account_id, last_at, id)`,
    `CREATE INDEX refused_call_time ON refused_call (last_at, id)`,
  ];
}
