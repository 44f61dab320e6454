import type { ColumnType, Generated, Selectable } from 'kysely';

/** What leaves the house: messages, where webhooks go, and which notices are raised. */
export interface OutboxSchema {
  outbox: OutboxTable;
  webhook: WebhookTable;
  notice: NoticeTable;
}

type Nullable<T> = ColumnType<T | null, T | null | undefined, T | null>;

export interface OutboxTable {
  /** Sorts by time. */
  id: string;
  kind: OutboxKind;
  /** The event of a webhook, the template of a mail. */
  topic: string;
  /** Whom it is about; '' for the operator. */
  account_id: string;
  /** A mail address, or the id of a row of `webhook`. */
  destination: string;
  once: Nullable<string>;
  /** Encrypted JSON, until the message is sent or given up. */
  payload: Nullable<string>;
  state: Generated<OutboxState>;
  attempts: Generated<number>;
  /** JSON of the attempts, oldest first. */
  history: Generated<string>;
  next_at: number;
  expires_at: number;
  created_at: number;
  finished_at: Nullable<number>;
}

export type OutboxKind = 'mail' | 'webhook';
export type OutboxState = 'waiting' | 'sent' | 'failed';
export type OutboxRow = Selectable<OutboxTable>;

export interface WebhookTable {
  id: string;
  /** '' for the operator. */
  account_id: string;
  url: string;
  /** JSON list of event types. */
  events: string;
  sealed: string;
  hint: string;
  /** The secret before a rotation, which signs too until `old_until`. */
  old_sealed: Nullable<string>;
  old_until: Nullable<number>;
  created_at: number;
  last_at: Nullable<number>;
  last_error: Nullable<string>;
  failing_since: Nullable<number>;
  failures: Generated<number>;
  paused_at: Nullable<number>;
  paused_reason: Nullable<string>;
}

export type WebhookRow = Selectable<WebhookTable>;

/** A condition that has been told; `mark` is the occurrence. */
export interface NoticeTable {
  account_id: string;
  topic: string;
  mark: string;
  created_at: number;
}
