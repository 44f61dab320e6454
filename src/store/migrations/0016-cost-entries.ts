import type { Dialect } from '../dialect.ts';

/**
 * What was booked to the operator's costs after the requests were over: when a provider's bill says what failed attempts
 * cost. Each is also in the sums of its day over all accounts; receipts, and sums of single accounts, stay as they are.
 */
export function costEntries(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE cost_entry (
      id ${d.autoId},
      day ${d.int64} NOT NULL,
      backend TEXT NOT NULL,
      model TEXT NOT NULL,
      cost ${d.int64} NOT NULL,
      possible_cost ${d.int64} NOT NULL CHECK (possible_cost <= 0),
      cause TEXT NOT NULL,
      actor TEXT NOT NULL,
      created_at ${d.int64} NOT NULL
    )`,
    `CREATE INDEX cost_entry_day ON cost_entry (day, backend, model)`,
    ...d.appendOnly('cost_entry'),
  ];
}
