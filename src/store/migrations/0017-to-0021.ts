import type { Dialect } from '../dialect.ts';

/**
 * What cached input has saved is written with the other sums of the day, at settlement. In the sums of ten days it is NULL
 * where a version wrote them that did not know of it; those are added up once more.
 *
 * `usage_total` and `usage_saving` are no longer read, and stay for versions that run beside this one or that somebody goes
 * back to; what this version does for them is in `usage-hours.ts` and `ten-day-sums.ts`. A later step drops both, with those
 * lines and with what `provider-bill.ts` adds to `usage_total`.
 */
export function savedByCache(d: Dialect): readonly string[] {
  return [
    `ALTER TABLE usage_day ADD COLUMN saved ${d.int64} NOT NULL DEFAULT 0`,
    `ALTER TABLE usage_ten_days ADD COLUMN saved ${d.int64}`,
  ];
}

/**
 * What an account owes of refunds and disputes while running requests hold its money: one row of `debt` for each, and their
 * sum in `account`, where the admission sees it. `returned` is what was owed when the money came back to the operator.
 * After a dispute an account pays by card again once an operator has allowed it.
 */
export function moneyThatGoesBack(d: Dialect): readonly string[] {
  return [
    `ALTER TABLE account ADD COLUMN owed ${d.int64} NOT NULL DEFAULT 0`,
    `ALTER TABLE account ADD COLUMN cards_off_at ${d.int64}`,
    `ALTER TABLE payment_reversal ADD COLUMN owed ${d.int64} NOT NULL DEFAULT 0`,
    `CREATE INDEX payment_reversal_owed ON payment_reversal (created_at, id) WHERE owed > 0`,
    `CREATE TABLE debt (
      once TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      owed ${d.int64} NOT NULL CHECK (owed >= 0),
      returned ${d.int64} NOT NULL DEFAULT 0,
      created_at ${d.int64} NOT NULL
    )`,
  ];
}

/**
 * The keys of charged requests stay for their day, however many there are. Each index has what is looked for, the oldest
 * bodies and the oldest keys of free requests, so that no row with its body is read to find them.
 */
export function chargedAnswers(d: Dialect): readonly string[] {
  return [
    `ALTER TABLE answer ADD COLUMN charged ${d.int64}`,
    `CREATE INDEX answer_bodies ON answer (account_id, created_at, idempotency_key) WHERE body IS NOT NULL`,
    `CREATE INDEX answer_free ON answer (account_id, created_at, idempotency_key) WHERE charged = 0`,
  ];
}

/**
 * A team is an account of kind `team`: a balance without a token. Its members and apps are accounts whose `wallet_id` names
 * it, for as long as they exist, so that whose money a request took never changes. What an account may spend in a period, and
 * what its token may be used for, belongs to the account.
 */
export function teams(d: Dialect): readonly string[] {
  const counted = `${d.int64} NOT NULL DEFAULT 0`;
  return [
    `ALTER TABLE account ADD COLUMN kind TEXT NOT NULL DEFAULT 'person'`,
    `ALTER TABLE account ADD COLUMN name TEXT`,
    `ALTER TABLE account ADD COLUMN wallet_id TEXT`,
    `ALTER TABLE account ADD COLUMN person_id TEXT`,
    `ALTER TABLE account ADD COLUMN team_role TEXT`,
    `ALTER TABLE account ADD COLUMN ended_at ${d.int64}`,
    `ALTER TABLE account ADD COLUMN team_held ${counted}`,
    `ALTER TABLE account ADD COLUMN budget ${d.int64}`,
    `ALTER TABLE account ADD COLUMN budget_per TEXT`,
    `ALTER TABLE account ADD COLUMN budget_from ${counted}`,
    `ALTER TABLE account ADD COLUMN budget_from_day ${counted}`,
    `ALTER TABLE account ADD COLUMN budget_used ${counted}`,
    `ALTER TABLE account ADD COLUMN budget_held ${counted}`,
    `ALTER TABLE account ADD COLUMN token_models TEXT`,
    `ALTER TABLE account ADD COLUMN token_networks TEXT`,
    `ALTER TABLE account ADD COLUMN token_expires_at ${d.int64}`,
    `CREATE INDEX account_of_team ON account (wallet_id, id) WHERE wallet_id IS NOT NULL`,
    // A person is in at most one team; names of teams, and of a team's apps, are said on the command line.
    `CREATE UNIQUE INDEX account_member ON account (person_id) WHERE person_id IS NOT NULL AND ended_at IS NULL`,
    `CREATE UNIQUE INDEX account_team_name ON account (name) WHERE kind = 'team' AND ended_at IS NULL`,
    `CREATE UNIQUE INDEX account_app_name ON account (wallet_id, name) WHERE kind = 'app' AND ended_at IS NULL`,
    `CREATE TABLE team_invite (
      secret_hash TEXT PRIMARY KEY,
      team_id TEXT NOT NULL,
      email TEXT,
      role TEXT NOT NULL,
      budget ${d.int64},
      budget_per TEXT,
      created_by TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      expires_at ${d.int64} NOT NULL,
      used_at ${d.int64}
    )`,
    `CREATE INDEX team_invite_team ON team_invite (team_id, created_at)`,
    `CREATE TABLE wallet_move (
      id TEXT PRIMARY KEY,
      from_id TEXT NOT NULL,
      to_id TEXT NOT NULL,
      amount ${d.int64} NOT NULL CHECK (amount > 0),
      created_at ${d.int64} NOT NULL
    )`,
    `CREATE INDEX wallet_move_from ON wallet_move (from_id, created_at)`,
    `CREATE INDEX wallet_move_to ON wallet_move (to_id, created_at)`,
  ];
}

/**
 * What the Responses API keeps of an account: each response with its own input and output, and the response that it follows;
 * conversations with their items. What they say is sealed. `response_storage` has what all of it takes, so that no row has to
 * be added up, and whether the account's owner has switched it off. Ids begin with their time, so that the oldest are found
 * by them; the index of an account has what is needed to choose which of its responses leave.
 *
 * A database that has accounts already was made by an earlier version: there, nothing is kept until the operator says so.
 */
export function storedResponses(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE response_storage (
      account_id TEXT PRIMARY KEY,
      bytes ${d.int64} NOT NULL,
      off_at ${d.int64}
    )`,
    `CREATE TABLE stored_response (
      id ${d.byteOrderedText} PRIMARY KEY,
      account_id TEXT NOT NULL,
      previous_id TEXT,
      conversation_id TEXT,
      state TEXT NOT NULL CHECK (state IN ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
      item_bytes ${d.int64} NOT NULL,
      bytes ${d.int64} NOT NULL,
      created_at ${d.int64} NOT NULL,
      request_id TEXT,
      items ${d.bytes} NOT NULL,
      head ${d.bytes} NOT NULL
    )`,
    `CREATE INDEX stored_response_account ON stored_response (account_id, id, created_at, bytes)`,
    `CREATE INDEX stored_response_running ON stored_response (request_id) WHERE request_id IS NOT NULL`,
    `CREATE TABLE conversation (
      id ${d.byteOrderedText} PRIMARY KEY,
      account_id TEXT NOT NULL,
      head ${d.bytes} NOT NULL,
      bytes ${d.int64} NOT NULL,
      item_bytes ${d.int64} NOT NULL,
      last_place ${d.int64} NOT NULL,
      running TEXT,
      running_since ${d.int64},
      created_at ${d.int64} NOT NULL
    )`,
    `CREATE INDEX conversation_account ON conversation (account_id, id)`,
    `CREATE TABLE conversation_item (
      conversation_id TEXT NOT NULL,
      place ${d.int64} NOT NULL,
      id TEXT NOT NULL,
      account_id TEXT NOT NULL,
      item ${d.bytes} NOT NULL,
      PRIMARY KEY (conversation_id, place)
    )`,
    `CREATE UNIQUE INDEX conversation_item_id ON conversation_item (conversation_id, id)`,
    `CREATE INDEX conversation_item_account ON conversation_item (account_id, id)`,
    `INSERT INTO setting (key, value, updated_at)
      SELECT 'responses.made_before', 'true', 0 WHERE EXISTS (SELECT 1 FROM account WHERE role <> 'system')`,
  ];
}
