import type { Period } from '../std/calendar.ts';

/** What a budget has come to in its period. `name` is that of a member or app in its team. */
interface BudgetEvent {
  readonly account: string;
  readonly name: string | null;
  readonly amount_usd: number;
  readonly per: Period;
  readonly used_usd: number;
  readonly resets_at: string | null;
}

/** A price that changes; null: there was none, or there will be none. Amounts are decimals. */
export interface AnnouncedPrice {
  /** The dimension as receipts name it; for an image, its size. */
  readonly dimension: string;
  readonly per: number;
  readonly above_input_tokens: number | null;
  readonly quality: string | null;
  readonly before_usd: string | null;
  readonly after_usd: string | null;
}

/** A service tier whose factor of the token prices changes; null: there was none, or there will be none. */
export interface AnnouncedTier {
  readonly tier: string;
  readonly before: number | null;
  readonly after: number | null;
}

/** A model whose prices change. */
export interface AnnouncedModel {
  /** `code/model` */
  readonly model: string;
  readonly name: string;
  readonly change: 'changed' | 'new' | 'gone';
  readonly prices: readonly AnnouncedPrice[];
  /** Absent: none changes. */
  readonly service_tiers?: readonly AnnouncedTier[] | undefined;
}

/** What programs are told, with what each event says; amounts are dollars, as in the public API. */
export interface EventData {
  'balance.low': {
    readonly account: string;
    readonly balance_usd: number;
    readonly threshold_usd: number;
  };
  'limit.reached': {
    readonly account: string;
    readonly month: string;
    readonly spent_usd: number;
    readonly limit_usd: number;
  };
  'budget.low': BudgetEvent;
  'budget.reached': BudgetEvent;
  'token.expiring': {
    readonly account: string;
    readonly name: string | null;
    readonly token_hint: string;
    readonly expires_at: string;
  };
  'price.changes': {
    readonly account: string;
    readonly status: 'announced' | 'cancelled';
    readonly from: string;
    readonly models: readonly AnnouncedModel[];
    /** How many models there are beside those. */
    readonly more: number;
  };
  'token.replaced': { readonly account: string; readonly token_hint: string };
  'token.exposed': { readonly account: string; readonly token_hint: string };
  'image_job.done': { readonly account: string; readonly job: string; readonly images: number };
  'image_job.failed': { readonly account: string; readonly job: string; readonly code: string };
  'backend.down': { readonly backend: string; readonly reason: string | null };
  'backend.up': { readonly backend: string };
  'certificate.ending': { readonly ends_at: string; readonly days_left: number };
  'margin.negative': { readonly day: string; readonly revenue_usd: number; readonly cost_usd: number };
  'payment.failed': {
    readonly account: string;
    readonly payment: string;
    readonly amount_usd: number;
    readonly reason: string;
  };
  'ledger.breach': { readonly breaches: number; readonly rules: readonly string[] };
  'webhook.test': { readonly account: string | null };
}

export type EventType = keyof EventData;

/** The events that an account's webhooks may ask for. */
export const ACCOUNT_EVENTS = [
  'balance.low',
  'limit.reached',
  'budget.low',
  'budget.reached',
  'token.expiring',
  'token.replaced',
  'token.exposed',
  'image_job.done',
  'image_job.failed',
  'price.changes',
] as const satisfies readonly EventType[];

/** The events that the operator's webhooks may ask for. */
export const OPERATOR_EVENTS = [
  'backend.down',
  'backend.up',
  'certificate.ending',
  'margin.negative',
  'payment.failed',
  'ledger.breach',
] as const satisfies readonly EventType[];

/** In place of an account's id. */
export const OPERATOR = '';
