import type { Dialect } from '../dialect.ts';
import { requestTables } from './baseline-requests.ts';

/** Accounts and money, requests and their daily sums, answers that are given again. */
export function ledgerTables(d: Dialect): readonly string[] {
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
