import type { Usd } from './shared.ts';

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
