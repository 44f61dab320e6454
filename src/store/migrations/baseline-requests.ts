import type { Dialect } from '../dialect.ts';
import {
  COMPLETED,
  RECEIPT_OUTCOMES,
  RECEIPT_SOURCES,
  RECEIPT_STATES,
  receiptWordSql,
} from '../receipt-codes.ts';

/**
 * Requests: a hold while one runs, a receipt once it is over, and sums by day. The amounts of a request are written once;
 * see docs/decisions/hold-and-receipt.md.
 */
export function requestTables(d: Dialect): readonly string[] {
  return [...repeatedValues(d), ...holds(d), ...receipts(d), requestView(d), ...daySums(d)];
}

/** Values that repeat in every request, which refers to them by number. They are only ever added. */
function repeatedValues(d: Dialect): string[] {
  return [
    // `value` is the price as the ledger writes it; the other columns are what SQL computes with.
    `CREATE TABLE price (
      id ${d.autoId},
      value TEXT NOT NULL UNIQUE,
      input ${d.int64} NOT NULL,
      cached_input ${d.int64} NOT NULL,
      output ${d.int64} NOT NULL,
      image ${d.int64} NOT NULL
    )`,
    `CREATE TABLE route (
      id ${d.autoId},
      kind TEXT NOT NULL,
      endpoint TEXT NOT NULL,
      model TEXT NOT NULL,
      UNIQUE (endpoint, model, kind)
    )`,
    `CREATE TABLE backend (id ${d.autoId}, name TEXT NOT NULL UNIQUE)`,
    `CREATE TABLE node (id ${d.autoId}, name TEXT NOT NULL UNIQUE)`,
  ];
}

/** No index but the key: there are few rows, all of them short-lived, and a renewal must not touch an index. */
function holds(d: Dialect): string[] {
  return [
    `CREATE TABLE hold (
      id ${d.byteOrderedText} NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL,
      held ${d.int64} NOT NULL CHECK (held >= 0),
      lease_until ${d.int64} NOT NULL,
      created_at ${d.int64} NOT NULL,
      node ${d.int32} NOT NULL,
      price ${d.int32} NOT NULL,
      route ${d.int32} NOT NULL,
      input_ceiling ${d.int32} NOT NULL,
      output_cap ${d.int32} NOT NULL,
      choices ${d.int32} NOT NULL,
      ${usageColumns(d, 'DEFAULT 0')},
      stream ${d.int16} NOT NULL,
      client TEXT NOT NULL
    )${d.clusteredByKey}`,
    ...d.shortLivedRows('hold'),
  ];
}

/** Written once. The indexes other than the key and the account's list contain only rare rows. */
function receipts(d: Dialect): string[] {
  return [
    `CREATE TABLE receipt (
      id ${d.byteOrderedText} NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL,
      held ${d.int64} NOT NULL CHECK (held >= 0),
      charged ${d.int64} NOT NULL CHECK (charged >= 0 AND charged <= held),
      overrun ${d.int64} NOT NULL CHECK (overrun >= 0),
      created_at ${d.int64} NOT NULL,
      booked_at ${d.int64} NOT NULL,
      node ${d.int32} NOT NULL,
      price ${d.int32} NOT NULL,
      route ${d.int32} NOT NULL,
      backend ${d.int32},
      ${usageColumns(d, '')},
      output_cap ${d.int32} NOT NULL,
      choices ${d.int32} NOT NULL,
      first_byte_ms ${d.int32},
      duration_ms ${d.int32} NOT NULL,
      state ${d.int16} NOT NULL,
      outcome ${d.int16} NOT NULL,
      source ${d.int16},
      stream ${d.int16} NOT NULL,
      late ${d.int16} NOT NULL,
      client TEXT NOT NULL,
      detail TEXT
    )${d.clusteredByKey}`,
    `CREATE INDEX receipt_account ON receipt (account_id, id)`,
    `CREATE INDEX receipt_failed ON receipt (account_id, outcome, id) WHERE outcome <> ${COMPLETED}`,
    `CREATE INDEX receipt_failed_all ON receipt (outcome, id) WHERE outcome <> ${COMPLETED}`,
    `CREATE INDEX receipt_late ON receipt (account_id, booked_at, id) WHERE late = 1`,
    `CREATE INDEX receipt_late_all ON receipt (booked_at, id) WHERE late = 1`,
    ...d.appendOnly('receipt'),
  ];
}

function usageColumns(d: Dialect, more: string): string {
  return ['input_tokens', 'cached_tokens', 'output_tokens', 'reasoning_tokens', 'images']
    .map((column) => `${column} ${d.int32} NOT NULL ${more}`)
    .join(', ');
}

/**
 * All requests, running and over, in words. One statement sees both tables at the same moment: a request is never in both
 * and never in neither, which two statements could not tell.
 */
function requestView(d: Dialect): string {
  const none = (type: string): string => `CAST(NULL AS ${type})`;
  return `CREATE VIEW request AS
    SELECT h.id, h.account_id, 'pending' AS state, h.held, CAST(0 AS ${d.int64}) AS charged, CAST(0 AS ${d.int64}) AS overrun,
      n.name AS node, h.lease_until, o.kind, o.endpoint, o.model, p.value AS price, h.input_ceiling, h.output_cap, h.choices,
      h.stream, h.client, h.created_at, ${none(d.int64)} AS finished_at, ${none(d.int32)} AS first_byte_ms,
      ${none(d.int32)} AS duration_ms, h.input_tokens, h.cached_tokens, h.output_tokens, h.reasoning_tokens, h.images,
      ${none('TEXT')} AS usage_source, ${none('TEXT')} AS outcome, ${none('TEXT')} AS error_code,
      ${none('TEXT')} AS finish_reason, ${none('TEXT')} AS upstream, ${none('TEXT')} AS attempts,
      ${none(d.int16)} AS outcome_code
    FROM hold h JOIN price p ON p.id = h.price JOIN route o ON o.id = h.route JOIN node n ON n.id = h.node
    UNION ALL
    SELECT r.id, r.account_id, ${receiptWordSql(RECEIPT_STATES, 'r.state')}, r.held, r.charged, r.overrun,
      n.name, ${none(d.int64)}, o.kind, o.endpoint, o.model, p.value, ${none(d.int32)}, r.output_cap, r.choices,
      r.stream, r.client, r.created_at, r.booked_at, r.first_byte_ms,
      r.duration_ms, r.input_tokens, r.cached_tokens, r.output_tokens, r.reasoning_tokens, r.images,
      ${receiptWordSql(RECEIPT_SOURCES, 'r.source')}, ${receiptWordSql(RECEIPT_OUTCOMES, 'r.outcome')},
      ${d.jsonText('r.detail', 'error')}, ${d.jsonText('r.detail', 'finish')}, b.name, ${d.jsonText('r.detail', 'attempts')},
      r.outcome
    FROM receipt r JOIN price p ON p.id = r.price JOIN route o ON o.id = r.route JOIN node n ON n.id = r.node
      LEFT JOIN backend b ON b.id = r.backend`;
}

/** Sums of closed requests by the UTC day of their admission. */
function daySums(d: Dialect): string[] {
  return [
    `CREATE TABLE usage_day (
      account_id TEXT NOT NULL,
      day ${d.int64} NOT NULL,
      endpoint TEXT NOT NULL,
      model TEXT NOT NULL,
      requests ${d.int64} NOT NULL DEFAULT 0,
      failures ${d.int64} NOT NULL DEFAULT 0,
      input_tokens ${d.int64} NOT NULL DEFAULT 0,
      cached_tokens ${d.int64} NOT NULL DEFAULT 0,
      output_tokens ${d.int64} NOT NULL DEFAULT 0,
      reasoning_tokens ${d.int64} NOT NULL DEFAULT 0,
      images ${d.int64} NOT NULL DEFAULT 0,
      charged ${d.int64} NOT NULL DEFAULT 0,
      PRIMARY KEY (account_id, day, endpoint, model)
    )${d.clusteredByKey}`,
    ...d.roomToUpdate('usage_day'),
  ];
}
