import type { Millis, SearchedPage, Usd } from './shared.ts';

/** Payments by card as the account's owner sees them. */
export interface CardPayments {
  /** False: the operator takes no cards; codes and credits remain. */
  enabled: boolean;
  /** What can be topped up at once. */
  amountsUsd: Usd[];
  /** A card is saved at the provider; nothing about it is known here. */
  hasCard: boolean;
  automatic: AutomaticTopUp | null;
  /** Why the account is paused; null while it is not. */
  pausedBy: 'refund' | 'dispute' | null;
}

export interface AutomaticTopUp {
  enabled: boolean;
  thresholdUsd: Usd;
  amountUsd: Usd;
  monthlyMaxUsd: Usd;
  /** Of this month, UTC. */
  monthUsedUsd: Usd;
  /** A payment is under way. */
  running: boolean;
  /** Why it was turned off by itself, in the provider's word. */
  offReason: string | null;
}

export interface PaymentItem {
  id: string;
  kind: 'top_up' | 'automatic';
  state: 'open' | 'paid' | 'failed';
  amountUsd: Usd;
  /** Refunded or disputed. */
  reversedUsd: Usd;
  /** Why it failed, in the provider's word. */
  reason: string | null;
  at: Millis;
  finishedAt: Millis | null;
}

export interface AdminPayment extends PaymentItem {
  accountId: string;
  email: string;
  /** The payment at the provider. */
  intentId: string | null;
}

/** A refund or a dispute. */
export interface AdminReversal {
  id: string;
  kind: 'refund' | 'dispute';
  accountId: string;
  email: string;
  intentId: string;
  amountUsd: Usd;
  takenUsd: Usd;
  lostUsd: Usd;
  at: Millis;
  /** When the money came back to the operator. */
  returnedAt: Millis | null;
}

export interface AdminReversals extends SearchedPage<AdminReversal> {
  /** All losses that did not come back. */
  lostUsd: Usd;
}

/** An event that was refused: money may have come that is not in the books. */
export interface AdminPaymentProblem {
  eventId: string;
  type: string;
  objectId: string;
  accountId: string | null;
  email: string | null;
  reason: string;
  at: Millis;
}
