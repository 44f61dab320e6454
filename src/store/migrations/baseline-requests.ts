import type { Dialect } from '../dialect.ts';
import {
  COMPLETED,
  DURATION_COLUMNS,
  RECEIPT_OUTCOMES,
  RECEIPT_SOURCES,
  RECEIPT_STATES,
  receiptWordSql,
} from '../receipt-codes.ts';

/**
 * Requests: a hold while one runs, a receipt once it is over, and sums by day. The amounts of a request are written once;
 * see docs/decisions/0008-hold-and-receipt.md.
 */
export function requestTables(d: Dialect): readonly string[] {
  return [...repeatedValues(d), ...holds(d), ...receipts(d), ...requestViews(d), ...daySums(d)];
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
 * and never in neither, which two statements could not tell. What the numbers stand for is looked up row by row: with joins,
 * neither database would read the newest rows of both tables from their indexes and stop after a page. The running ones and
 * those that are over are also views of their own, for lists of only such.
 */
export function requestViews(d: Dialect, added: AddedColumns = NOTHING_ADDED): string[] {
  const none = (type: string): string => `CAST(NULL AS ${type})`;
  // SQLite pages through both tables by their indexes only where the columns of both have the same declared type.
  const text = (expression: string): string => `CAST(${expression} AS TEXT)`;
  const named = (table: string, column: string, number: string): string =>
    `(SELECT t.${column} FROM ${table} t WHERE t.id = ${number})`;
  const words = (row: string): string[] => [
    named('node', 'name', `${row}.node`),
    ...['kind', 'endpoint', 'model'].map((column) => named('route', column, `${row}.route`)),
    named('price', 'value', `${row}.price`),
    ...BOTH.map((column) => `${row}.${column}`),
  ];
  const running = [
    ...words('h'),
    text(`'pending'`),
    `CAST(0 AS ${d.int64})`,
    `CAST(0 AS ${d.int64})`,
    'h.lease_until',
    'h.input_ceiling',
    none(d.int64),
    none(d.int32),
    none(d.int32),
    ...Array.from({ length: 6 }, () => none('TEXT')),
    none(d.int16),
    ...added.running,
  ];
  const over = [
    ...words('r'),
    text(receiptWordSql(RECEIPT_STATES, 'r.state')),
    'r.charged',
    'r.overrun',
    none(d.int64),
    none(d.int32),
    'r.booked_at',
    'r.first_byte_ms',
    'r.duration_ms',
    text(receiptWordSql(RECEIPT_SOURCES, 'r.source')),
    text(receiptWordSql(RECEIPT_OUTCOMES, 'r.outcome')),
    text(d.jsonText('r.detail', 'error')),
    text(d.jsonText('r.detail', 'finish')),
    named('backend', 'name', 'r.backend'),
    text(d.jsonText('r.detail', 'attempts')),
    'r.outcome',
    ...added.over,
  ];
  const names = [...VIEW_COLUMNS, ...added.names];
  const fromHolds = `SELECT ${asNamed(running, names)} FROM hold h`;
  const fromReceipts = `SELECT ${asNamed(over, names)} FROM receipt r`;
  return [
    `CREATE VIEW running_request AS ${fromHolds}`,
    `CREATE VIEW closed_request AS ${fromReceipts}`,
    `CREATE VIEW request AS ${fromHolds} UNION ALL ${fromReceipts}`,
  ];
}

/** Columns of a later step, as expressions over a hold `h` and a receipt `r`. */
interface AddedColumns {
  readonly names: readonly string[];
  readonly running: readonly string[];
  readonly over: readonly string[];
}

const NOTHING_ADDED: AddedColumns = { names: [], running: [], over: [] };

/** Columns that holds and receipts have alike. */
const BOTH = [
  'id', 'account_id', 'held', 'created_at', 'output_cap', 'choices', 'stream', 'client',
  'input_tokens', 'cached_tokens', 'output_tokens', 'reasoning_tokens', 'images',
]; // prettier-ignore

const VIEW_COLUMNS = [
  'node', 'kind', 'endpoint', 'model', 'price', ...BOTH, 'state', 'charged', 'overrun', 'lease_until', 'input_ceiling',
  'finished_at', 'first_byte_ms', 'duration_ms', 'usage_source', 'outcome', 'error_code', 'finish_reason', 'upstream',
  'attempts', 'outcome_code',
]; // prettier-ignore

function asNamed(expressions: readonly string[], names: readonly string[]): string {
  return expressions.map((expression, place) => `${expression} AS ${names[place]}`).join(', ');
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
    // `backend` is '' for requests that none was asked for. `cost` is what the provider takes.
    `CREATE TABLE backend_day (
      day ${d.int64} NOT NULL,
      backend TEXT NOT NULL,
      model TEXT NOT NULL,
      requests ${d.int64} NOT NULL DEFAULT 0,
      failures ${d.int64} NOT NULL DEFAULT 0,
      charged ${d.int64} NOT NULL DEFAULT 0,
      cost ${d.int64} NOT NULL DEFAULT 0,
      ${DURATION_COLUMNS.map((column) => `${column} ${d.int64} NOT NULL DEFAULT 0`).join(', ')},
      PRIMARY KEY (day, backend, model)
    )${d.clusteredByKey}`,
    ...d.roomToUpdate('backend_day'),
  ];
}
