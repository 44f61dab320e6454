import type { Dialect } from '../dialect.ts';

/**
 * What leaves the house by mail or webhook, the addresses that get webhooks, and which notices are raised. `payload` is
 * encrypted and erased with the end of its message. `next_at` is when a message is due; a sender that takes it moves it on.
 */
export function outbox(d: Dialect): readonly string[] {
  return [...messages(d), ...endpoints(d), ...notices(d)];
}

function messages(d: Dialect): string[] {
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
function endpoints(d: Dialect): string[] {
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
