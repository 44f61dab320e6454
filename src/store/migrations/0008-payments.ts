import type { Dialect } from '../dialect.ts';

/**
 * Payments by card. The provider's objects are known by their ids alone: nothing about a card is kept. A payment's credit, and
 * what a refund or dispute takes, are entries of the ledger; these tables say what was asked for and what became of it.
 */
export function payments(d: Dialect): readonly string[] {
  return [
    // Of an account whose status is `disabled`: whoever it belongs to may still sign in and read why.
    `ALTER TABLE account ADD COLUMN paused_reason TEXT`,
    ...asked(d),
    ...reversed(d),
    ...automatic(d),
  ];
}

function asked(d: Dialect): string[] {
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

function reversed(d: Dialect): string[] {
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

function automatic(d: Dialect): string[] {
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
