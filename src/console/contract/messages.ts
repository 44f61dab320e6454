import type { Millis } from './shared.ts';

/** The webhooks of an account, or of the operator. */
export interface WebhookList {
  items: WebhookItem[];
  /** The events that they can ask for. */
  events: string[];
  /** How many there may be. */
  max: number;
}

export interface WebhookItem {
  id: string;
  url: string;
  events: string[];
  /** The end of its secret. */
  hint: string;
  createdAt: Millis;
  /** Until when the secret before this one signs too. */
  oldUntil: Millis | null;
  lastAt: Millis | null;
  lastError: string | null;
  failingSince: Millis | null;
  /** It gets no events until it is resumed. */
  paused: { at: Millis; reason: string } | null;
}

/** The secret is shown here and never again. */
export interface MadeWebhook {
  webhook: WebhookItem;
  secret: string;
}

export interface MessageItem {
  id: string;
  kind: 'mail' | 'webhook';
  /** The event or the template. */
  topic: string;
  state: 'waiting' | 'sent' | 'failed';
  createdAt: Millis;
  finishedAt: Millis | null;
  /** When it is tried again; null when it is over. */
  nextAt: Millis | null;
  attempts: MessageAttempt[];
}

export interface MessageAttempt {
  at: Millis;
  ms: number;
  /** The status of the answer, if there was one. */
  status: number | null;
  /** Null: it arrived. */
  error: string | null;
}

export interface AdminMessage extends MessageItem {
  /** Null: the operator. */
  accountId: string | null;
  /** Of that account. */
  email: string | null;
  /** A mail address, or the address of a webhook; null when it was removed since. */
  destination: string | null;
}

/** How mail is sent; null: it is not. */
export interface MailState {
  mail: { from: string; server: string } | null;
}
