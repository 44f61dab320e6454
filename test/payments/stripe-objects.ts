import { API_VERSION } from './stripe-rules.ts';

/** Objects of Stripe's API as its reference shows them (https://docs.stripe.com/api), with the parts that matter here and some that must not be kept. */

/** Of the card that every customer pays with; none of it may be found anywhere in Tollgate. */
export const CARD_CANARIES = [
  'lastfourcanary',
  'cardfingerprintcanary',
  'Cardholder Canary',
  'canary-street',
] as const;

const CARD = {
  brand: 'visa',
  last4: CARD_CANARIES[0],
  exp_month: 12,
  exp_year: 2034,
  fingerprint: CARD_CANARIES[1],
  funding: 'credit',
};

const BILLING = {
  name: CARD_CANARIES[2],
  email: 'payer-canary@example.com',
  address: { line1: CARD_CANARIES[3], city: 'Berlin', country: 'DE', postal_code: '10115', state: null },
};

export interface SessionObject {
  readonly id: string;
  readonly object: 'checkout.session';
  readonly mode: 'payment' | 'setup';
  readonly amount_total: number | null;
  readonly currency: string | null;
  readonly client_reference_id: string | null;
  readonly customer: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly payment_intent: string | null;
  readonly setup_intent: string | null;
  readonly payment_status: 'paid' | 'unpaid' | 'no_payment_required';
  readonly status: 'open' | 'complete' | 'expired';
  readonly url: string | null;
  readonly [more: string]: unknown;
}

export interface IntentObject {
  readonly id: string;
  readonly object: 'payment_intent';
  readonly amount: number;
  readonly amount_received: number;
  readonly currency: string;
  readonly customer: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly payment_method: string | null;
  readonly setup_future_usage: string | null;
  readonly status: string;
  readonly last_payment_error: unknown;
  readonly [more: string]: unknown;
}

export function sessionObject(more: Partial<SessionObject> & { id: string }): SessionObject {
  return {
    object: 'checkout.session',
    amount_subtotal: more.amount_total ?? null,
    amount_total: null,
    client_reference_id: null,
    currency: null,
    customer: null,
    customer_details: { ...BILLING, phone: null, tax_exempt: 'none', tax_ids: [] },
    livemode: false,
    metadata: {},
    mode: 'payment',
    payment_intent: null,
    payment_status: 'unpaid',
    setup_intent: null,
    status: 'open',
    url: `https://checkout.stripe.com/c/pay/${more.id}`,
    ...more,
  };
}

export function intentObject(more: Partial<IntentObject> & { id: string }): IntentObject {
  return {
    object: 'payment_intent',
    amount: 0,
    amount_received: 0,
    capture_method: 'automatic',
    currency: 'usd',
    customer: null,
    last_payment_error: null,
    latest_charge: `ch_${more.id.slice(3)}`,
    livemode: false,
    metadata: {},
    payment_method: null,
    allowed_payment_method_types: ['card'],
    payment_method_types: ['card'],
    setup_future_usage: null,
    status: 'succeeded',
    ...more,
  };
}

/** What a declined card leaves in its intent. */
export function paymentError(code: string, declineCode: string | undefined) {
  return {
    type: 'card_error',
    code,
    ...(declineCode === undefined ? {} : { decline_code: declineCode }),
    message: 'Your card was declined.',
    payment_method: { id: 'pm_of_the_error', object: 'payment_method', card: CARD, billing_details: BILLING },
  };
}

export function setupObject(id: string, metadata: Readonly<Record<string, string>>, method: string) {
  return {
    id,
    object: 'setup_intent',
    metadata,
    payment_method: method,
    status: 'succeeded',
    usage: 'off_session',
  };
}

export interface RefundObject {
  readonly id: string;
  readonly object: 'refund';
  readonly amount: number;
  readonly currency: string;
  readonly payment_intent: string | null;
  readonly status: string;
  readonly [more: string]: unknown;
}

export function refundObject(id: string, intent: IntentObject, amount: number, status: string): RefundObject {
  return {
    id,
    object: 'refund',
    amount,
    charge: `ch_${intent.id.slice(3)}`,
    currency: intent.currency,
    metadata: {},
    payment_intent: intent.id,
    reason: null,
    status,
  };
}

export interface DisputeObject {
  readonly id: string;
  readonly object: 'dispute';
  readonly amount: number;
  readonly currency: string;
  readonly payment_intent: string | null;
  readonly status: string;
  readonly [more: string]: unknown;
}

export function disputeObject(
  id: string,
  intent: IntentObject,
  amount: number,
  status: string,
): DisputeObject {
  return {
    id,
    object: 'dispute',
    amount,
    charge: `ch_${intent.id.slice(3)}`,
    currency: intent.currency,
    evidence: { customer_name: CARD_CANARIES[2], customer_email_address: BILLING.email },
    metadata: {},
    payment_intent: intent.id,
    reason: 'fraudulent',
    status,
  };
}

export interface EventObject {
  readonly id: string;
  readonly object: 'event';
  readonly type: string;
  readonly created: number;
  readonly data: { readonly object: { readonly id: string } };
  readonly [more: string]: unknown;
}

export function eventObject(
  id: string,
  { type, created, object }: { type: string; created: number; object: { readonly id: string } },
): EventObject {
  return {
    id,
    object: 'event',
    api_version: API_VERSION,
    created,
    // An event shows its object as it was then.
    data: { object: structuredClone(object) },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  };
}
