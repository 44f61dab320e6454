import { DAY_MS } from '../std/calendar.ts';
import type { Clock } from '../std/clock.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import { MAX_BALANCE, type NanoUsd } from '../std/money.ts';
import type { Store } from '../store/store.ts';
import { AutomaticTopUps, topUpOf, TopUpTrigger, type AutomaticOptions } from './automatic.ts';
import { MissedEvents, PaymentEventHandler, type PaymentEventOptions } from './payment-events.ts';
import { PaymentRows } from './payment-rows.ts';
import { centsOf, type PaymentProvider } from './port.ts';

interface PaymentsOptions extends AutomaticOptions, PaymentEventOptions {}

/** Payments by card: what customers begin, what the provider's events tell, and what runs by itself. */
export class Payments {
  readonly #options: PaymentsOptions;
  readonly #rows: PaymentRows;
  readonly #eventHandler: PaymentEventHandler;
  readonly #automatic: AutomaticTopUps;
  readonly #missed: MissedEvents;
  /** For the requests. */
  readonly trigger: TopUpTrigger;

  constructor(options: PaymentsOptions) {
    this.#options = options;
    this.#rows = new PaymentRows(options);
    this.#eventHandler = new PaymentEventHandler(options);
    this.#automatic = new AutomaticTopUps(options);
    this.#missed = new MissedEvents({ ...options, handler: this.#eventHandler });
    this.trigger = new TopUpTrigger({ ...options, topUp: (accountId) => this.#topUp(accountId) });
  }

  /** A notification of the provider's. Resolves when it is booked; until then the provider sends it again. */
  async receive(body: string, signature: string): Promise<void> {
    await this.#eventHandler.apply(await this.#options.provider.readNotification(body, signature));
  }

  /** The page of the provider's where a top-up is paid. Nothing is credited before the provider's event. */
  async beginTopUp(request: NewTopUp): Promise<{ readonly paymentId: string; readonly url: string }> {
    const { accountId, amount, saveCard } = request;
    await this.#requireCardsOn(accountId);
    const { balance } = await this.#options.store.db
      .selectFrom('account')
      .select('balance')
      .where('id', '=', accountId)
      .executeTakeFirstOrThrow();
    if (balance + amount > MAX_BALANCE)
      throw new Fault('invalid_field', 'This account cannot take so much.', { param: 'amountUsd' });
    const customerId = saveCard ? await this.#customer(accountId) : undefined;
    return await this.#checkout(request, { amount, customerId });
  }

  /** The page of the provider's where a card is saved for automatic top-ups, and nothing is paid. */
  async beginCard(request: CheckoutPage): Promise<{ readonly paymentId: string; readonly url: string }> {
    await this.#requireCardsOn(request.accountId);
    return await this.#checkout(request, {
      amount: undefined,
      customerId: await this.#customer(request.accountId),
    });
  }

  /** `undefined` turns it off. Throws `invalid_field` without a saved card. */
  async setAutomatic(accountId: AccountId, rule: AutomaticRule | undefined): Promise<void> {
    const { store, clock } = this.#options;
    if (rule) await this.#requireCardsOn(accountId);
    const changes = rule
      ? {
          enabled: 1,
          threshold: rule.threshold,
          amount: rule.amount,
          monthly_max: rule.monthlyMax,
          off_reason: null,
        }
      : { enabled: 0, off_reason: null };
    if (rule && rule.monthlyMax < rule.amount)
      throw new Fault('invalid_field', 'The monthly maximum must allow at least one top-up.', {
        param: 'monthlyMaxUsd',
      });
    const { numUpdatedRows } = await store.db
      .updateTable('top_up')
      .set({ ...changes, updated_at: clock.now() })
      .where('account_id', '=', accountId)
      .where('method_id', 'is not', null)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n && rule)
      throw new Fault('invalid_field', 'Save a card first.', { param: 'card' });
    await store.durable();
    await this.trigger.refresh();
  }

  /** Forgotten here first: from then on it is not charged, whatever the provider answers. */
  async removeCard(accountId: AccountId): Promise<void> {
    const { store, provider, clock } = this.#options;
    const topUp = await topUpOf(store, accountId);
    if (!topUp || topUp.method_id === null) return;
    await store.db
      .updateTable('top_up')
      .set({ method_id: null, enabled: 0, off_reason: null, updated_at: clock.now() })
      .where('account_id', '=', accountId)
      .where('method_id', '=', topUp.method_id)
      .execute();
    await store.durable();
    await this.#asked(() => provider.forgetCard(topUp.method_id ?? ''));
  }

  /** The provider's events about accepted charges follow a moment later. */
  async runAutomatic(stopping?: AbortSignal): Promise<void> {
    await this.trigger.refresh();
    if ((await this.#automatic.run(stopping)) > 0) await this.#missed.run(stopping);
  }

  async #topUp(accountId: string): Promise<void> {
    if ((await this.#automatic.runFor(accountId)) > 0) await this.#missed.run();
  }

  /** Takes what accounts owe of refunds and disputes, as their requests release it. */
  async takeOwed(stopping?: AbortSignal): Promise<void> {
    await this.#eventHandler.takeOwed(stopping);
  }

  async fetchMissed(stopping?: AbortSignal): Promise<void> {
    await this.#missed.run(stopping);
  }

  async sweep(): Promise<void> {
    await sweepPayments(this.#options);
  }

  /** After a dispute nothing is charged until an operator allows it. */
  async #requireCardsOn(accountId: AccountId): Promise<void> {
    const { cards_off_at } = await this.#options.store.db
      .selectFrom('account')
      .select('cards_off_at')
      .where('id', '=', accountId)
      .executeTakeFirstOrThrow();
    if (cards_off_at !== null) throw cardsAreOff();
  }

  async #checkout(
    { accountId, title, returnUrl, cancelUrl }: CheckoutPage,
    { amount, customerId }: { readonly amount: NanoUsd | undefined; readonly customerId: string | undefined },
  ): Promise<{ paymentId: string; url: string }> {
    const { store, provider, clock, random } = this.#options;
    const paymentId = `pay_${random.text(22)}`;
    const kind = amount === undefined ? 'card' : 'top_up';
    await store.db
      .insertInto('payment')
      .values({
        id: paymentId,
        account_id: accountId,
        kind,
        state: 'open',
        amount: amount ?? 0,
        created_at: clock.now(),
      })
      .execute();
    await store.durable();
    const cents = amount === undefined ? undefined : centsOf(amount);
    const checkout = { paymentId, accountId, cents, customerId, title, cancelUrl };
    const { sessionId, url } = await this.#asked(
      () => provider.openCheckout({ ...checkout, returnUrl: withPayment(returnUrl, paymentId) }),
      async () => await this.#rows.markFailed(paymentId, 'provider_unavailable'),
    );
    await store.db
      .updateTable('payment')
      .set({ session_id: sessionId })
      .where('id', '=', paymentId)
      .execute();
    return { paymentId, url };
  }

  async #customer(accountId: AccountId): Promise<string> {
    const { store, provider, clock } = this.#options;
    const known = await topUpOf(store, accountId);
    if (known) return known.customer_id;
    const id = await this.#asked(() => provider.createCustomer(accountId));
    await store.db
      .insertInto('top_up')
      .values({ account_id: accountId, customer_id: id, updated_at: clock.now() })
      .onConflict((conflict) => conflict.column('account_id').doNothing())
      .execute();
    return (await topUpOf(store, accountId))?.customer_id ?? id;
  }

  /** A provider that fails is the operator's to look at; the customer can only try again. */
  async #asked<T>(call: () => Promise<T>, onFailure?: () => Promise<void>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      this.#options.log.error('payment_provider_failed', { error });
      await onFailure?.();
      throw new Fault('service_unavailable', 'The payment provider does not answer. Try again soon.', {
        cause: error,
        retryAfterMs: RETRY_MS,
      });
    }
  }
}

const RETRY_MS = 5_000;

interface CheckoutPage {
  readonly accountId: AccountId;
  /** The name of what is sold, on the payment page. */
  readonly title: string;
  readonly returnUrl: string;
  readonly cancelUrl: string;
}

interface NewTopUp extends CheckoutPage {
  /** A whole number of cents. */
  readonly amount: NanoUsd;
  readonly saveCard: boolean;
}

interface AutomaticRule {
  readonly threshold: NanoUsd;
  /** A whole number of cents. */
  readonly amount: NanoUsd;
  readonly monthlyMax: NanoUsd;
}

/** The provider's page expires after a day. */
const OPEN_MS = 3 * DAY_MS;
/** A refund or dispute of a payment that is not ours waits in vain; by then the provider has deleted its events. */
const WAITING_MS = 60 * DAY_MS;
const PROBLEM_MS = 400 * DAY_MS;
const MOST_TOGETHER = 20;

interface SweepParts {
  readonly store: Store;
  readonly provider: Pick<PaymentProvider, 'forgetCustomer'>;
  readonly clock: Clock;
}

/**
 * Closes payments that nobody finished, and deletes rows that belong to no account. A closed payment that is paid after
 * all is still credited.
 */
async function sweepPayments({ store, provider, clock }: SweepParts): Promise<void> {
  const { db } = store;
  const now = clock.now();
  await db
    .updateTable('payment')
    .set({ state: 'failed', reason: 'expired', finished_at: now })
    .where('state', '=', 'open')
    .where('kind', '<>', 'automatic')
    .where('created_at', '<', now - OPEN_MS)
    .execute();
  await db
    .deleteFrom('payment_reversal')
    .where('booked_at', 'is', null)
    .where('created_at', '<', now - WAITING_MS)
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('payment')
            .select('payment.id')
            .whereRef('payment.intent_id', '=', 'payment_reversal.intent_id'),
        ),
      ),
    )
    .execute();
  await db
    .deleteFrom('payment_problem')
    .where('created_at', '<', now - PROBLEM_MS)
    .execute();
  const removed = await db
    .selectFrom('top_up')
    .select(['account_id', 'customer_id'])
    .where('removed_at', 'is not', null)
    .limit(MOST_TOGETHER)
    .execute();
  for (const { account_id, customer_id } of removed) {
    await provider.forgetCustomer(customer_id);
    await db.deleteFrom('top_up').where('account_id', '=', account_id).execute();
  }
}

/** The page knows by it that somebody comes back from paying. */
function withPayment(page: string, paymentId: string): string {
  const url = new URL(page);
  url.searchParams.set('payment', paymentId);
  return url.href;
}

export function cardsAreOff(): Fault {
  return new Fault(
    'forbidden',
    'Card payments are off for this account, because a payment was disputed. Contact the operator.',
  );
}
