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

export interface MessageAttempt {
  at: Millis;
  ms: number;
  /** The status of the answer, if there was one. */
  status: number | null;
  /** Null: it arrived. */
  error: string | null;
}

/** How mail is sent; null: it is not. */
export interface MailState {
  mail: { from: string; server: string } | null;
}
