import { Stripe } from 'stripe';
import { Fault } from '../../std/fault.ts';
import type { AccountId } from '../../std/ids.ts';
import {
  CURRENCY,
  type ChargeAnswer,
  type Checkout,
  type PaymentProvider,
  type ProviderEvent,
  type SavedCardCharge,
} from '../port.ts';
import { ACCOUNT_KEY, EVENT_TYPES, PAYMENT_KEY, providerEvent, reasonWord } from './stripe-facts.ts';

export interface StripeOptions {
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** Where Stripe's API is; absent, Stripe itself. */
  readonly address?: string | undefined;
  readonly now: () => number;
}

const TIMEOUT_MS = 20_000;
/** How old, and how far in the future, a notification may be. */
const MAX_SKEW_SECONDS = 300;
const PAGE = 100;
/** A hundred thousand events: far more than a month without us could bring. */
const MAX_PAGES = 1_000;

/** Payments by Stripe, with its own package; the version of the API is the package's. */
export class StripeProvider implements PaymentProvider {
  readonly #stripe: Stripe;
  readonly #options: StripeOptions;

  constructor(options: StripeOptions) {
    this.#options = options;
    const address = options.address === undefined ? undefined : new URL(options.address);
    this.#stripe = new Stripe(options.secretKey, {
      httpClient: Stripe.createFetchHttpClient(),
      maxNetworkRetries: 1,
      timeout: TIMEOUT_MS,
      telemetry: false,
      ...(address && {
        host: address.hostname,
        port: address.port,
        protocol: address.protocol === 'http:' ? 'http' : 'https',
      }),
    });
  }

  async openCheckout(checkout: Checkout): Promise<{ sessionId: string; url: string }> {
    const { paymentId, accountId } = checkout;
    const session = await this.#stripe.checkout.sessions.create(
      {
        client_reference_id: accountId,
        metadata: ours(paymentId, accountId),
        allowed_payment_method_types: ['card'],
        success_url: checkout.returnUrl,
        cancel_url: checkout.cancelUrl,
        ...(checkout.customerId !== undefined && { customer: checkout.customerId }),
        ...checkoutMode(checkout),
      },
      { idempotencyKey: `${paymentId}-checkout` },
    );
    if (session.url === null) throw new Error(`session ${session.id} has no page`);
    return { sessionId: session.id, url: session.url };
  }

  async createCustomer(accountId: AccountId): Promise<string> {
    const { id } = await this.#stripe.customers.create(
      { metadata: { [ACCOUNT_KEY]: accountId } },
      { idempotencyKey: `${accountId}-customer` },
    );
    return id;
  }

  async chargeSavedCard(charge: SavedCardCharge): Promise<ChargeAnswer> {
    const { paymentId, accountId, cents, customerId, methodId } = charge;
    try {
      const intent = await this.#stripe.paymentIntents.create(
        {
          amount: cents,
          currency: CURRENCY,
          customer: customerId,
          payment_method: methodId,
          allowed_payment_method_types: ['card'],
          confirm: true,
          off_session: true,
          metadata: ours(paymentId, accountId),
        },
        { idempotencyKey: `${paymentId}-charge` },
      );
      if (intent.status === 'succeeded' || intent.status === 'processing')
        return { kind: 'accepted', intentId: intent.id };
      return { kind: 'refused', reason: reasonWord(intent.status, 'payment_failed') };
    } catch (error) {
      const reason = refusalOf(error);
      if (reason === undefined) throw error;
      return { kind: 'refused', reason };
    }
  }

  async forgetCard(methodId: string): Promise<void> {
    await unlessGone(this.#stripe.paymentMethods.detach(methodId));
  }

  async forgetCustomer(customerId: string): Promise<void> {
    await unlessGone(this.#stripe.customers.del(customerId));
  }

  async readNotification(body: string, signature: string): Promise<ProviderEvent> {
    refuseFuture(signature, this.#options.now());
    let event: unknown;
    try {
      event = await this.#stripe.webhooks.constructEventAsync(
        body,
        signature,
        this.#options.webhookSecret,
        MAX_SKEW_SECONDS,
        undefined,
        this.#options.now(),
      );
    } catch (error) {
      throw badSignature(error);
    }
    return providerEvent(event);
  }

  async *eventsSince(seconds: number): AsyncGenerator<ProviderEvent> {
    let after: string | undefined;
    for (let page = 1; page <= MAX_PAGES; page++) {
      const events = await this.#stripe.events.list({
        created: { gte: seconds },
        types: [...EVENT_TYPES],
        limit: PAGE,
        ...(after !== undefined && { starting_after: after }),
      });
      for (const event of events.data) yield providerEvent(event);
      after = events.data.at(-1)?.id;
      if (!events.has_more || after === undefined) return;
    }
    throw new Error(`there are more than ${MAX_PAGES * PAGE} events`);
  }
}

function ours(paymentId: string, accountId: string): Record<string, string> {
  return { [PAYMENT_KEY]: paymentId, [ACCOUNT_KEY]: accountId };
}

function checkoutMode(checkout: Checkout): Stripe.Checkout.SessionCreateParams {
  const { paymentId, accountId, cents, customerId, title } = checkout;
  if (cents === undefined) {
    return { mode: 'setup', setup_intent_data: { metadata: ours(paymentId, accountId) } };
  }
  return {
    mode: 'payment',
    line_items: [
      {
        quantity: 1,
        price_data: { currency: CURRENCY, unit_amount: cents, product_data: { name: title } },
      },
    ],
    payment_intent_data: {
      metadata: ours(paymentId, accountId),
      ...(customerId !== undefined && { setup_future_usage: 'off_session' }),
    },
  };
}

/** Stripe's own check refuses old notifications; one dated in the future would stay valid until then. */
function refuseFuture(signature: string, nowMs: number): void {
  const times = signature.split(',').filter((part) => part.startsWith('t='));
  const seconds = times.length === 1 ? Number(times[0]?.slice(2)) : Number.NaN;
  if (!(seconds <= nowMs / 1000 + MAX_SKEW_SECONDS)) throw badSignature();
}

function badSignature(cause?: unknown): Fault {
  return new Fault('invalid_field', 'The signature is missing, wrong or too old.', {
    param: 'Stripe-Signature',
    cause,
  });
}

/** A refusal that asking again cannot change; `undefined`: nobody knows what happened, or it was never looked at. */
function refusalOf(error: unknown): string | undefined {
  if (error instanceof Stripe.errors.StripeCardError)
    return reasonWord(error.decline_code, reasonWord(error.code, 'card_declined'));
  if (error instanceof Stripe.errors.StripeInvalidRequestError)
    return reasonWord(error.code, 'invalid_request');
  return undefined;
}

/** An object that no longer exists need not be deleted. */
async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error;
  }
}
