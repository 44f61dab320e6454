import type { Dialect } from '../dialect.ts';

/**
 * What `usage_day` says of days that are over, already added up, for accounts with many rows there: by day and endpoint
 * without the models, and by endpoint and model for ten days together. The row with an empty endpoint is written
 * last; it is the sum of the others, and says that they are complete.
 */
export function usageTotals(d: Dialect): readonly string[] {
  const counted = (columns: readonly string[]): string =>
    columns.map((column) => `${column} ${d.int64} NOT NULL DEFAULT 0`).join(', ');
  return [
    `CREATE TABLE usage_total (
      account_id TEXT NOT NULL,
      day ${d.int64} NOT NULL,
      endpoint TEXT NOT NULL,
      ${counted([...SUMS, ...COSTS])},
      PRIMARY KEY (account_id, day, endpoint)
    )${d.clusteredByKey}`,
    `CREATE TABLE usage_ten_days (
      account_id TEXT NOT NULL,
      first_day ${d.int64} NOT NULL,
      endpoint TEXT NOT NULL,
      model TEXT NOT NULL,
      ${counted(SUMS)},
      PRIMARY KEY (account_id, first_day, endpoint, model)
    )${d.clusteredByKey}`,
  ];
}

const SUMS = [
  'requests',
  'failures',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'images',
  'charged',
];
const COSTS = ['cost', 'possible_cost', 'costed'];
