import type { Dialect } from '../dialect.ts';

/**
 * Receipts may leave by whole days of an account, and only so: a receipt can be deleted while its day is being archived,
 * and whoever deletes it, the database adds it to the day's sums. `entry_id` is set when all are gone and their sum is
 * booked; from then on the row stays as it is.
 */
export function retention(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE archived_day (
      account_id TEXT NOT NULL,
      day ${d.int64} NOT NULL,
      requests ${d.int64} NOT NULL DEFAULT 0 CHECK (requests >= 0),
      charged ${d.int64} NOT NULL DEFAULT 0 CHECK (charged >= 0),
      overrun ${d.int64} NOT NULL DEFAULT 0 CHECK (overrun >= 0),
      entry_id ${d.int64},
      PRIMARY KEY (account_id, day)
    )${d.clusteredByKey}`,
    `CREATE UNIQUE INDEX archived_day_entry ON archived_day (entry_id) WHERE entry_id IS NOT NULL`,
    ...d.archivedByDay,
  ];
}
