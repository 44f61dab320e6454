import type { Dialect } from '../dialect.ts';
import {
  COMPLETED,
  DURATION_COLUMNS,
  RECEIPT_OUTCOMES,
  RECEIPT_SOURCES,
  RECEIPT_STATES,
  receiptWordSql,
} from '../receipt-codes.ts';

/** The schema of the first release. */
export function baseline(d: Dialect): readonly string[] {
  return [...ledgerTables(d), ...signInTables(d), ...operationTables(d), ...functionRegister(d)];
}

/** Which of the database's functions are in use; see src/store/stored-functions.ts. */
function functionRegister(d: Dialect): string[] {
  if (!d.storedFunctions) return [];
  return [`CREATE TABLE stored_function (name TEXT PRIMARY KEY, announced_at ${d.int64} NOT NULL)`];
}

/** Accounts and money, requests and their daily sums, answers that are given again. */
function ledgerTables(d: Dialect): readonly string[] {
  return [...accounts(d), ...money(d), ...requestTables(d), ...answers(d)];
}

function accounts(d: Dialect): string[] {
  return [
    `CREATE TABLE account (
      id TEXT PRIMARY KEY,
      email TEXT NOT NULL UNIQUE,
      role TEXT NOT NULL DEFAULT 'user' CHECK (${oneOf('role', ['user', 'admin', 'system'])}),
      status TEXT NOT NULL DEFAULT 'active' CHECK (${oneOf('status', ['active', 'disabled'])}),
      token_hash TEXT UNIQUE,
      token_hint TEXT,
      token_created_at ${d.int64},
      token_used_at ${d.int64},
      token_exposed_at ${d.int64},
      balance ${d.int64} NOT NULL DEFAULT 0 CHECK (balance >= 0),
      held ${d.int64} NOT NULL DEFAULT 0 CHECK (held >= 0 AND held <= balance),
      open_holds ${d.int64} NOT NULL DEFAULT 0 CHECK (open_holds >= 0),
      chat_arrival_us ${d.int64} NOT NULL DEFAULT 0,
      images_arrival_us ${d.int64} NOT NULL DEFAULT 0,
      chat_per_minute ${d.int64} CHECK (chat_per_minute > 0),
      images_per_minute ${d.int64} CHECK (images_per_minute > 0),
      concurrent ${d.int64} CHECK (concurrent > 0),
      monthly_limit ${d.int64} CHECK (monthly_limit >= 0),
      month ${d.int64} NOT NULL DEFAULT 0,
      month_spent ${d.int64} NOT NULL DEFAULT 0 CHECK (month_spent >= 0),
      low_balance ${d.int64} CHECK (low_balance >= 0),
      created_at ${d.int64} NOT NULL
    )`,
    `CREATE INDEX account_admin ON account (id) WHERE role = 'admin'`,
    `CREATE INDEX account_age ON account (created_at, id)`,
    ...d.roomToUpdate('account'),
    // What backends used beyond a hold is the operator's loss; it is booked on this account, so that all entries add up.
    `INSERT INTO account (id, email, role, created_at) VALUES ('acc_overrun', 'overrun@tollgate.invalid', 'system', 0)`,
  ];
}

/** What changes a balance, but for the charges of requests, which are their receipts. */
function money(d: Dialect): string[] {
  return [
    `CREATE TABLE entry (
      id ${d.autoId},
      account_id TEXT NOT NULL ${ownerReference(d)},
      kind TEXT NOT NULL CHECK (${oneOf('kind', ['credit', 'charge', 'refund', 'adjustment', 'overrun'])}),
      amount ${d.int64} NOT NULL,
      request_id ${d.byteOrderedText},
      once TEXT,
      cause TEXT NOT NULL,
      actor TEXT NOT NULL,
      created_at ${d.int64} NOT NULL
    )`,
    `CREATE UNIQUE INDEX entry_request ON entry (request_id, kind) WHERE request_id IS NOT NULL`,
    `CREATE UNIQUE INDEX entry_once ON entry (once) WHERE once IS NOT NULL`,
    `CREATE INDEX entry_account ON entry (account_id, created_at, id)`,
    `CREATE INDEX entry_age ON entry (created_at, id)`,
    ...d.appendOnly('entry'),
    `CREATE TABLE redeem_code (
      code_hash TEXT PRIMARY KEY,
      hint TEXT NOT NULL,
      batch TEXT NOT NULL,
      amount ${d.int64} NOT NULL CHECK (amount > 0),
      created_by TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      expires_at ${d.int64},
      redeemed_by TEXT REFERENCES account (id),
      redeemed_at ${d.int64}
    )`,
    `CREATE INDEX redeem_code_batch ON redeem_code (batch)`,
    `CREATE INDEX redeem_code_age ON redeem_code (created_at)`,
  ];
}

function answers(d: Dialect): string[] {
  return [
    // The body is the last column: SQLite reads a row up to the requested column, and a body may take thousands of pages.
    `CREATE TABLE answer (
      account_id TEXT NOT NULL,
      idempotency_key TEXT NOT NULL,
      body_hash TEXT NOT NULL,
      request_id ${d.byteOrderedText} NOT NULL,
      state TEXT NOT NULL CHECK (${oneOf('state', ['running', 'done'])}),
      status ${d.int64},
      headers TEXT,
      lease_until ${d.int64} NOT NULL,
      created_at ${d.int64} NOT NULL,
      body ${d.bytes},
      PRIMARY KEY (account_id, idempotency_key)
    )`,
    `CREATE INDEX answer_age ON answer (created_at)`,
  ];
}

/**
 * Where functions in the database decide, they have locked the account when they write a hold or an entry. A foreign key
 * would look it up and lock it again for each row, which doubles the cost of an admission.
 */
function ownerReference(d: Dialect): string {
  return d.storedFunctions ? '' : 'REFERENCES account (id)';
}

/** As a chain of OR: SQLite builds a temporary index for an IN list each time a row is checked, a third of an insert's cost. */
function oneOf(column: string, values: readonly string[]): string {
  return values.map((value) => `${column} = '${value}'`).join(' OR ');
}

/**
 * Requests: a hold while one runs, a receipt once it is over, and sums by day. The amounts of a request are written once;
 * see docs/decisions/0008-hold-and-receipt.md.
 */
function requestTables(d: Dialect): readonly string[] {
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

/** Sign-in to the console and what belongs to a person: invitations, links for a new password, preferences. */
function signInTables(d: Dialect): readonly string[] {
  return [...users(d), ...waysToSignIn(d), ...people(d)];
}

/** Table names are ours, column names are the sign-in library's (quoted: they are mixed case), plus `confirmedAt`. */
function users(d: Dialect): string[] {
  return [
    `CREATE TABLE auth_user (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      email TEXT NOT NULL UNIQUE,
      "emailVerified" ${d.flag} NOT NULL,
      image TEXT,
      "createdAt" ${d.timestamp} NOT NULL,
      "updatedAt" ${d.timestamp} NOT NULL,
      "twoFactorEnabled" ${d.flag}
    )`,
    `CREATE TABLE auth_session (
      id TEXT PRIMARY KEY,
      "expiresAt" ${d.timestamp} NOT NULL,
      token TEXT NOT NULL UNIQUE,
      "createdAt" ${d.timestamp} NOT NULL,
      "updatedAt" ${d.timestamp} NOT NULL,
      "ipAddress" TEXT,
      "userAgent" TEXT,
      "userId" TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
      "confirmedAt" ${d.int64}
    )`,
    `CREATE INDEX auth_session_user ON auth_session ("userId")`,
    `CREATE INDEX auth_session_age ON auth_session ("expiresAt")`,
    `CREATE TABLE auth_verification (
      id TEXT PRIMARY KEY,
      identifier TEXT NOT NULL,
      value TEXT NOT NULL,
      "expiresAt" ${d.timestamp} NOT NULL,
      "createdAt" ${d.timestamp} NOT NULL,
      "updatedAt" ${d.timestamp} NOT NULL
    )`,
    `CREATE INDEX auth_verification_identifier ON auth_verification (identifier)`,
    `CREATE INDEX auth_verification_age ON auth_verification ("expiresAt")`,
  ];
}

/** Passwords, second factors and passkeys (public keys only). `usedAt` is ours. */
function waysToSignIn(d: Dialect): string[] {
  return [
    `CREATE TABLE auth_account (
      id TEXT PRIMARY KEY,
      "accountId" TEXT NOT NULL,
      "providerId" TEXT NOT NULL,
      "userId" TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
      "accessToken" TEXT,
      "refreshToken" TEXT,
      "idToken" TEXT,
      "accessTokenExpiresAt" ${d.timestamp},
      "refreshTokenExpiresAt" ${d.timestamp},
      scope TEXT,
      password TEXT,
      "createdAt" ${d.timestamp} NOT NULL,
      "updatedAt" ${d.timestamp} NOT NULL
    )`,
    `CREATE UNIQUE INDEX auth_account_provider ON auth_account ("providerId", "accountId")`,
    `CREATE INDEX auth_account_user ON auth_account ("userId")`,
    `CREATE TABLE auth_two_factor (
      id TEXT PRIMARY KEY,
      secret TEXT NOT NULL,
      "backupCodes" TEXT NOT NULL,
      "userId" TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
      verified ${d.flag},
      "failedVerificationCount" ${d.int64},
      "lockedUntil" ${d.timestamp}
    )`,
    `CREATE INDEX auth_two_factor_user ON auth_two_factor ("userId")`,
    `CREATE INDEX auth_two_factor_secret ON auth_two_factor (secret)`,
    `CREATE TABLE auth_passkey (
      id TEXT PRIMARY KEY,
      name TEXT,
      "publicKey" TEXT NOT NULL,
      "userId" TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
      "credentialID" TEXT NOT NULL UNIQUE,
      counter ${d.int64} NOT NULL,
      "deviceType" TEXT NOT NULL,
      "backedUp" ${d.flag} NOT NULL,
      transports TEXT,
      "createdAt" ${d.timestamp},
      aaguid TEXT,
      "usedAt" ${d.int64}
    )`,
    `CREATE INDEX auth_passkey_user ON auth_passkey ("userId")`,
  ];
}

function people(d: Dialect): string[] {
  return [
    `CREATE TABLE preference (
      account_id TEXT PRIMARY KEY REFERENCES account (id),
      language TEXT,
      theme TEXT NOT NULL CHECK (theme IN ('system', 'light', 'dark'))
    )`,
    // At most one link per account, so that a newer one replaces the older.
    `CREATE TABLE reset_link (
      account_id TEXT PRIMARY KEY REFERENCES account (id),
      token_hash TEXT NOT NULL UNIQUE,
      created_by TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      expires_at ${d.int64} NOT NULL
    )`,
    `CREATE TABLE invite (
      code_hash TEXT PRIMARY KEY,
      hint TEXT NOT NULL,
      created_by TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      expires_at ${d.int64},
      used_by TEXT,
      used_at ${d.int64}
    )`,
    `CREATE INDEX invite_age ON invite (created_at)`,
  ];
}

/** What the operator keeps: settings, the audit, the catalog's versions, sealed provider keys, stored images. */
function operationTables(d: Dialect): readonly string[] {
  return [...settings(d), ...content(d)];
}

function settings(d: Dialect): string[] {
  return [
    `CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL, updated_at ${d.int64} NOT NULL)`,
    `CREATE TABLE audit (
      id ${d.autoId},
      at ${d.int64} NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      target TEXT NOT NULL,
      detail TEXT NOT NULL
    )`,
    ...d.appendOnly('audit'),
    `CREATE INDEX audit_actor ON audit (actor, id)`,
    `CREATE INDEX audit_action ON audit (action, id)`,
  ];
}

function content(d: Dialect): string[] {
  return [
    `CREATE TABLE catalog_version (
      id ${d.autoId},
      created_at ${d.int64} NOT NULL,
      actor TEXT NOT NULL,
      note TEXT NOT NULL,
      yaml TEXT NOT NULL
    )`,
    `CREATE TABLE provider_key (name TEXT PRIMARY KEY, sealed TEXT NOT NULL, hint TEXT NOT NULL, updated_at ${d.int64} NOT NULL)`,
    `CREATE TABLE image (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      request_id ${d.byteOrderedText} NOT NULL,
      mime TEXT NOT NULL,
      size ${d.int64} NOT NULL,
      prompt TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      expires_at ${d.int64} NOT NULL,
      bytes ${d.bytes} NOT NULL
    )`,
    `CREATE INDEX image_account ON image (account_id, created_at)`,
    `CREATE INDEX image_age ON image (expires_at)`,
    `CREATE INDEX image_request ON image (request_id)`,
  ];
}
