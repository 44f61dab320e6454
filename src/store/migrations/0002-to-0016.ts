import type { Dialect } from '../dialect.ts';
import { requestViews } from './0001-baseline.ts';

/**
 * Step 2. Receipts may leave by whole days of an account, and only so: a receipt can be deleted while its day is being
 * archived, and whoever deletes it, the database adds it to the day's sums. `entry_id` is set when all are gone and
 * their sum is booked; from then on the row stays as it is.
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

/**
 * Step 3. What is priced beside plain tokens and images, and what requests cost the operator. `extra` is the usage
 * that has no column. `owed` is price × usage so far of a running request, where SQL cannot compute it. `cost` is what
 * the backend that served takes, NULL while that is not known; `possible_cost` is what others may take for failed
 * attempts. `costed` is what was charged for requests whose cost is known.
 */
export function costs(d: Dialect): readonly string[] {
  return [
    `ALTER TABLE hold ADD COLUMN extra TEXT`,
    `ALTER TABLE hold ADD COLUMN owed ${d.int64}`,
    `ALTER TABLE receipt ADD COLUMN extra TEXT`,
    `ALTER TABLE receipt ADD COLUMN cost ${d.int64}`,
    `ALTER TABLE receipt ADD COLUMN possible_cost ${d.int64} NOT NULL DEFAULT 0`,
    ...['cost', 'possible_cost', 'costed'].map((column) => addSum(d, 'usage_day', column)),
    ...['possible_cost', 'costed'].map((column) => addSum(d, 'backend_day', column)),
    ...['request', 'closed_request', 'running_request'].map((view) => `DROP VIEW ${view}`),
    ...requestViews(d, {
      names: ['extra', 'cost', 'possible_cost'],
      running: ['h.extra', `CAST(NULL AS ${d.int64})`, `CAST(0 AS ${d.int64})`],
      over: ['r.extra', 'r.cost', 'r.possible_cost'],
    }),
  ];
}

function addSum(d: Dialect, table: string, column: string): string {
  return `ALTER TABLE ${table} ADD COLUMN ${column} ${d.int64} NOT NULL DEFAULT 0`;
}

/**
 * Step 4. Attempts to sign in, counted by all nodes together. `key` is a keyed hash: it names neither a person nor an
 * address. `at` is the last attempt, or how far an allowance is used up; a row that has expired counts as none.
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

/**
 * Step 5. Calls that were refused, kept for days and apart from receipts. A row stands for all calls of an account
 * that were refused alike within a few minutes; `id` is a hash of what they have in common. `left_out` counts refused
 * calls of the same account that have no row, because there were too many different ones at once.
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

/**
 * Step 6. Image requests that are answered before they are done. `id` is the request's, whose hold is the job's;
 * `backend_job` is what another process needs to go on with it at the backend, until `deadline`. A job that has ended
 * keeps no request.
 */
export function imageJobs(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE image_job (
      id ${d.byteOrderedText} PRIMARY KEY,
      account_id TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed')),
      request TEXT,
      backend TEXT,
      backend_job TEXT,
      deadline ${d.int64} NOT NULL,
      result TEXT,
      error TEXT,
      created_at ${d.int64} NOT NULL,
      ended_at ${d.int64}
    )`,
    `CREATE INDEX image_job_open ON image_job (deadline) WHERE ended_at IS NULL`,
    `CREATE INDEX image_job_ended ON image_job (ended_at) WHERE ended_at IS NOT NULL`,
    `CREATE INDEX image_job_account ON image_job (account_id, id)`,
  ];
}

/**
 * Step 7. Messages to be sent by mail or webhook, the addresses that get webhooks, and the notices that were raised.
 * `payload` is encrypted and erased with the end of its message. `next_at` is when a message is due; a sender that
 * takes it moves it on.
 */
export function outbox(d: Dialect): readonly string[] {
  return [...outboxMessages(d), ...webhooks(d), ...notices(d)];
}

function outboxMessages(d: Dialect): string[] {
  return [
    `CREATE TABLE outbox (
      id ${d.byteOrderedText} PRIMARY KEY,
      kind TEXT NOT NULL,
      topic TEXT NOT NULL,
      account_id TEXT NOT NULL,
      destination TEXT NOT NULL,
      once TEXT UNIQUE,
      payload TEXT,
      state TEXT NOT NULL DEFAULT 'waiting',
      attempts ${d.int64} NOT NULL DEFAULT 0,
      history TEXT NOT NULL DEFAULT '[]',
      next_at ${d.int64} NOT NULL,
      expires_at ${d.int64} NOT NULL,
      created_at ${d.int64} NOT NULL,
      finished_at ${d.int64}
    )`,
    `CREATE INDEX outbox_due ON outbox (kind, next_at) WHERE state = 'waiting'`,
    `CREATE INDEX outbox_waiting ON outbox (destination) WHERE state = 'waiting'`,
    `CREATE INDEX outbox_destination ON outbox (destination, id)`,
    `CREATE INDEX outbox_account ON outbox (account_id, id)`,
    `CREATE INDEX outbox_finished ON outbox (finished_at) WHERE finished_at IS NOT NULL`,
  ];
}

/** `account_id` '' is the operator. During a rotation messages are signed with both secrets until `old_until`. */
function webhooks(d: Dialect): string[] {
  return [
    `CREATE TABLE webhook (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      url TEXT NOT NULL,
      events TEXT NOT NULL,
      sealed TEXT NOT NULL,
      hint TEXT NOT NULL,
      old_sealed TEXT,
      old_until ${d.int64},
      created_at ${d.int64} NOT NULL,
      last_at ${d.int64},
      last_error TEXT,
      failing_since ${d.int64},
      failures ${d.int64} NOT NULL DEFAULT 0,
      paused_at ${d.int64},
      paused_reason TEXT
    )`,
    `CREATE INDEX webhook_account ON webhook (account_id, created_at)`,
  ];
}

/** A row says that a condition has been told, and `mark` for which occurrence of it. */
function notices(d: Dialect): string[] {
  return [
    `CREATE TABLE notice (
      account_id TEXT NOT NULL,
      topic TEXT NOT NULL,
      mark TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      PRIMARY KEY (account_id, topic)
    )`,
    `CREATE INDEX notice_topic ON notice (topic)`,
    `CREATE INDEX account_low_balance ON account (id) WHERE low_balance IS NOT NULL`,
  ];
}

/**
 * Step 8. Payments by card. The provider's objects are known by their ids alone: nothing about a card is kept. A
 * payment's credit, and what a refund or dispute takes, are entries of the ledger; these tables say what was asked for
 * and what became of it.
 */
export function payments(d: Dialect): readonly string[] {
  return [
    // Of an account whose status is `disabled`: whoever it belongs to may still sign in and read why.
    `ALTER TABLE account ADD COLUMN paused_reason TEXT`,
    ...paymentsAsked(d),
    ...paymentReversals(d),
    ...automaticTopUps(d),
  ];
}

function paymentsAsked(d: Dialect): string[] {
  return [
    // `card`: a card is saved, and nothing is paid. `attempted_at` is when the provider was last asked to charge a saved card.
    `CREATE TABLE payment (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      kind TEXT NOT NULL CHECK (kind = 'top_up' OR kind = 'automatic' OR kind = 'card'),
      state TEXT NOT NULL CHECK (state = 'open' OR state = 'paid' OR state = 'failed'),
      amount ${d.int64} NOT NULL CHECK (amount >= 0),
      session_id TEXT,
      intent_id TEXT,
      reason TEXT,
      attempted_at ${d.int64},
      card_saved_at ${d.int64},
      created_at ${d.int64} NOT NULL,
      finished_at ${d.int64}
    )`,
    `CREATE UNIQUE INDEX payment_intent ON payment (intent_id) WHERE intent_id IS NOT NULL`,
    `CREATE INDEX payment_account ON payment (account_id, created_at, id)`,
    `CREATE INDEX payment_age ON payment (created_at, id)`,
    `CREATE INDEX payment_unanswered ON payment (attempted_at) WHERE state = 'open' AND kind = 'automatic'`,
  ];
}

function paymentReversals(d: Dialect): string[] {
  return [
    // `stage` only rises, so that events may come in any order. NULL in `booked_at`: its payment is not known to be paid yet.
    `CREATE TABLE payment_reversal (
      id TEXT PRIMARY KEY,
      kind TEXT NOT NULL CHECK (kind = 'refund' OR kind = 'dispute'),
      intent_id TEXT NOT NULL,
      account_id TEXT,
      amount ${d.int64} NOT NULL CHECK (amount > 0),
      stage ${d.int64} NOT NULL,
      taken ${d.int64} NOT NULL DEFAULT 0,
      lost ${d.int64} NOT NULL DEFAULT 0,
      created_at ${d.int64} NOT NULL,
      booked_at ${d.int64},
      returned_at ${d.int64}
    )`,
    `CREATE INDEX payment_reversal_intent ON payment_reversal (intent_id)`,
    `CREATE INDEX payment_reversal_age ON payment_reversal (created_at, id)`,
    // Events that were refused, for the operator.
    `CREATE TABLE payment_problem (
      event_id TEXT PRIMARY KEY,
      event_type TEXT NOT NULL,
      object_id TEXT NOT NULL,
      account_id TEXT,
      reason TEXT NOT NULL,
      created_at ${d.int64} NOT NULL
    )`,
    `CREATE INDEX payment_problem_age ON payment_problem (created_at, event_id)`,
  ];
}

function automaticTopUps(d: Dialect): string[] {
  return [
    // `running` is the payment that is under way: at most one for each account. A row with `removed_at` is of a removed account
    // and goes once the provider has deleted the customer.
    `CREATE TABLE top_up (
      account_id TEXT PRIMARY KEY,
      customer_id TEXT NOT NULL,
      method_id TEXT,
      enabled ${d.int64} NOT NULL DEFAULT 0,
      threshold ${d.int64} NOT NULL DEFAULT 0,
      amount ${d.int64} NOT NULL DEFAULT 0,
      monthly_max ${d.int64} NOT NULL DEFAULT 0,
      running TEXT,
      off_reason TEXT,
      removed_at ${d.int64},
      updated_at ${d.int64} NOT NULL
    )`,
    `CREATE INDEX top_up_enabled ON top_up (account_id) WHERE enabled = 1`,
    `CREATE INDEX top_up_removed ON top_up (account_id) WHERE removed_at IS NOT NULL`,
  ];
}

/**
 * Step 9. Monthly statements that were issued. A number is one more than the highest, given in the transaction that
 * writes the row, and no row ever changes or leaves: so there is no gap. `content` is the rest of what a statement
 * says, as JSON, so that it says the same for ever; who the account belongs to is not in it.
 */
export function statements(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE statement (
      number ${d.int64} PRIMARY KEY CHECK (number > 0),
      account_id TEXT NOT NULL,
      month ${d.int64} NOT NULL,
      starts_at ${d.int64} NOT NULL,
      ends_at ${d.int64} NOT NULL,
      opening ${d.int64} NOT NULL,
      moved ${d.int64} NOT NULL,
      charged ${d.int64} NOT NULL,
      closing ${d.int64} NOT NULL CHECK (closing = opening + moved - charged),
      issued_at ${d.int64} NOT NULL,
      content TEXT NOT NULL
    )`,
    `CREATE UNIQUE INDEX statement_month ON statement (account_id, month)`,
    ...d.appendOnly('statement'),
  ];
}

/**
 * Step 10. Images outside of the database. A row of `image_object` is written before its object, so that no crash
 * leaves one that nothing tells about: it is in use from when an image has it until the last one that had it is
 * deleted. An image without an object has its bytes in its own row.
 */
export function imageObjects(d: Dialect): readonly string[] {
  return [
    `ALTER TABLE image ADD COLUMN object ${d.byteOrderedText}`,
    `ALTER TABLE image ADD COLUMN width ${d.int64}`,
    `ALTER TABLE image ADD COLUMN height ${d.int64}`,
    `ALTER TABLE image ADD COLUMN parameters TEXT`,
    `CREATE INDEX image_stored_object ON image (object) WHERE object IS NOT NULL`,
    `CREATE TABLE image_object (
      id ${d.byteOrderedText} PRIMARY KEY,
      account_id TEXT NOT NULL,
      place TEXT NOT NULL CHECK (place IN ('files', 's3')),
      hash TEXT NOT NULL,
      is_used ${d.int64} NOT NULL CHECK (is_used IN (0, 1)),
      changed_at ${d.int64} NOT NULL
    )`,
    `CREATE INDEX image_object_content ON image_object (account_id, hash)`,
    `CREATE INDEX image_object_unused ON image_object (changed_at) WHERE is_used = 0`,
    `CREATE TABLE image_thumbnail (
      image_id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      bytes ${d.bytes} NOT NULL
    )`,
    `CREATE INDEX image_thumbnail_account ON image_thumbnail (account_id)`,
  ];
}

/**
 * Step 11. Indexes for installations with thousands of models. The days on which a model or an endpoint was used are
 * found without reading the sums of all others; a row of `usage_day` enters these indexes once a day, and no
 * settlement changes them again. Losses and messages by state are rare rows among many.
 */
export function largeTables(_d: Dialect): readonly string[] {
  return [
    `CREATE INDEX usage_day_model ON usage_day (account_id, model, day)`,
    `CREATE INDEX usage_day_endpoint ON usage_day (account_id, endpoint, day)`,
    `CREATE INDEX receipt_loss ON receipt (id) WHERE coalesce(cost, 0) + possible_cost > charged`,
    `CREATE INDEX outbox_state ON outbox (state, id)`,
  ];
}

/**
 * Step 12. How requests for a model went on a day: how many there were, how many failed and not by the client's doing,
 * and how fast they were. Counted from receipts, which may leave before these rows do. `model` '' is the sum of the
 * endpoint.
 */
export function modelDays(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE model_day (
      endpoint TEXT NOT NULL,
      model TEXT NOT NULL,
      day ${d.int64} NOT NULL,
      requests ${d.int64} NOT NULL DEFAULT 0,
      failures ${d.int64} NOT NULL DEFAULT 0,
      waits TEXT NOT NULL DEFAULT '[]',
      speeds TEXT NOT NULL DEFAULT '[]',
      PRIMARY KEY (endpoint, model, day)
    )${d.clusteredByKey}`,
    `CREATE INDEX model_day_day ON model_day (day)`,
  ];
}

/**
 * Step 13. What `usage_day` does not tell apart: quarters of an hour, clients, and what cached input has saved.
 * Counted from receipts, which may leave before these rows do. Every time zone in use is a whole number of quarters
 * away from UTC.
 */
export function usageHours(d: Dialect): readonly string[] {
  const sums = [...USAGE_SUMS, 'saved'].map((column) => `${column} ${d.int64} NOT NULL DEFAULT 0`).join(', ');
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

/** Step 14. Links that show a receipt to others: so that their owner sees them and can end each of them. */
export function receiptLinks(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE receipt_link (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      request_id TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      expires_at ${d.int64} NOT NULL,
      ended_at ${d.int64}
    )`,
    `CREATE INDEX receipt_link_account ON receipt_link (account_id, expires_at)`,
  ];
}

/**
 * Step 15. What `usage_day` says of days that are over, already added up, for accounts with many rows there: by day
 * and endpoint without the models, and by endpoint and model for ten days together. The row with an empty endpoint is
 * written last; it is the sum of the others, and says that they are complete.
 */
export function usageTotals(d: Dialect): readonly string[] {
  const counted = (columns: readonly string[]): string =>
    columns.map((column) => `${column} ${d.int64} NOT NULL DEFAULT 0`).join(', ');
  return [
    `CREATE TABLE usage_total (
      account_id TEXT NOT NULL,
      day ${d.int64} NOT NULL,
      endpoint TEXT NOT NULL,
      ${counted([...USAGE_SUMS, ...COSTS])},
      PRIMARY KEY (account_id, day, endpoint)
    )${d.clusteredByKey}`,
    `CREATE TABLE usage_ten_days (
      account_id TEXT NOT NULL,
      first_day ${d.int64} NOT NULL,
      endpoint TEXT NOT NULL,
      model TEXT NOT NULL,
      ${counted(USAGE_SUMS)},
      PRIMARY KEY (account_id, first_day, endpoint, model)
    )${d.clusteredByKey}`,
  ];
}

const USAGE_SUMS = [
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

/**
 * Step 16. What was booked to the operator's costs after the requests were over: when a provider's bill says what
 * failed attempts cost. Each is also in the sums of its day over all accounts; receipts, and sums of single accounts,
 * stay as they are.
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
