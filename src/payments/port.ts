import type { ReversalStage } from '../ledger/reclaim.ts';
import type { AccountId } from '../std/ids.ts';

/**
 * A payment provider. It asks for cards on pages of its own, so no card ever reaches us. What it answers to a call is never
 * money: that comes with its events alone, by notification or from its list, any number of times and in any order.
 */
export interface PaymentProvider {
  /** A page of the provider's where a card is entered. The same payment always gives the same page. */
  openCheckout(checkout: Checkout): Promise<{ readonly sessionId: string; readonly url: string }>;
  /** Whom a saved card belongs to, the same for an account however often it is asked. */
  createCustomer(accountId: AccountId): Promise<string>;
  /** Charges a saved card, once for each payment however often it is called. Throws when it is not known what happened. */
  chargeSavedCard(charge: SavedCardCharge): Promise<ChargeAnswer>;
  forgetCard(methodId: string): Promise<void>;
  /** Deletes the customer with all cards that are saved for it. */
  forgetCustomer(customerId: string): Promise<void>;
  /** Checks that a notification is the provider's own and recent; throws `invalid_field` unless it is. */
  readNotification(body: string, signature: string): Promise<ProviderEvent>;
  /** All events since a moment, in seconds since 1970, the newest first. */
  eventsSince(seconds: number): AsyncIterable<ProviderEvent>;
}

export interface Checkout {
  readonly paymentId: string;
  readonly accountId: AccountId;
  /** `undefined`: only the card is saved. */
  readonly cents: number | undefined;
  /** Set when the card is to be saved. */
  readonly customerId: string | undefined;
  /** The name of what is sold, on the payment page. */
  readonly title: string;
  readonly returnUrl: string;
  readonly cancelUrl: string;
}

export interface SavedCardCharge {
  readonly paymentId: string;
  readonly accountId: AccountId;
  readonly cents: number;
  readonly customerId: string;
  readonly methodId: string;
}

/** `accepted` is no payment yet: whether it is paid comes as an event. */
export type ChargeAnswer =
  | { readonly kind: 'accepted'; readonly intentId: string }
  | { readonly kind: 'refused'; readonly reason: string };

export interface ProviderEvent {
  readonly id: string;
  readonly type: string;
  /** The provider's clock, seconds since 1970. */
  readonly createdSeconds: number;
  /** The object that it is about. */
  readonly objectId: string;
  /** Empty: it is none of ours. */
  readonly facts: readonly PaymentFact[];
  /** Why it cannot be read, although it seems to be a payment of ours. */
  readonly unreadable?: string | undefined;
}

/** What an event tells, in our words. */
export type PaymentFact =
  | {
      readonly kind: 'paid';
      readonly paymentId: string;
      readonly intentId: string;
      readonly cents: number;
      readonly currency: string;
      readonly accountId: string | undefined;
    }
  | { readonly kind: 'not_paid'; readonly paymentId: string; readonly reason: string }
  | { readonly kind: 'card_saved'; readonly paymentId: string; readonly methodId: string }
  | {
      readonly kind: 'reversed';
      readonly reversalId: string;
      readonly reversal: 'refund' | 'dispute';
      readonly intentId: string;
      readonly cents: number;
      readonly currency: string;
      readonly stage: ReversalStage;
    };

/** The only currency of the ledger. */
export const CURRENCY = 'usd';
const NANO_PER_CENT = 10_000_000;

export function nanoOfCents(cents: number): number {
  return cents * NANO_PER_CENT;
}

/** The cents of an amount, which has to be whole cents. */
export function centsOf(amount: number): number {
  if (amount % NANO_PER_CENT !== 0) throw new RangeError(`not a whole number of cents: ${amount}`);
  return amount / NANO_PER_CENT;
}
