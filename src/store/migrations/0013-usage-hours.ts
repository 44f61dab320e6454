import type { Dialect } from '../dialect.ts';

/**
 * What `usage_day` does not tell apart: quarters of an hour, clients, and what cached input has saved. Counted from
 * receipts, which may leave before these rows do. Every time zone in use is a whole number of quarters away from UTC.
 */
export function usageHours(d: Dialect): readonly string[] {
  const sums = SUMS.map((column) => `${column} ${d.int64} NOT NULL DEFAULT 0`).join(', ');
  return [
    `CREATE TABLE usage_quarter (
      account_id TEXT NOT NULL,
      quarter ${d.int64} NOT NULL,
      ${sums},
      PRIMARY KEY (account_id, quarter)
    )${d.clusteredByKey}`,
    `CREATE TABLE usage_client (
      account_id TEXT NOT NULL,
      day ${d.int64} NOT NULL,
      client TEXT NOT NULL,
      ${sums},
      PRIMARY KEY (account_id, day, client)
    )${d.clusteredByKey}`,
    `CREATE INDEX usage_client_day ON usage_client (day)`,
    `CREATE TABLE usage_saving (
      account_id TEXT NOT NULL,
      day ${d.int64} NOT NULL,
      endpoint TEXT NOT NULL,
      model TEXT NOT NULL,
      requests ${d.int64} NOT NULL DEFAULT 0,
      saved ${d.int64} NOT NULL DEFAULT 0,
      PRIMARY KEY (account_id, day, endpoint, model)
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
  'saved',
];
