import { sql, type Transaction } from 'kysely';
import type { Ledger } from '../ledger/port.ts';
import { paymentKey, REVERSAL_STAGES, reversalKey } from '../ledger/reclaim.ts';
import type { Clock } from '../std/clock.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import { nanoUsd } from '../std/money.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { tellStopped, type PaymentNotices } from './payment-mails.ts';
import { PaymentRows, type PaymentRow, type ReversalRow } from './payment-rows.ts';
import { CURRENCY, nanoOfCents, type PaymentFact, type ProviderEvent, type PaymentProvider } from './port.ts';

/** The actor in the entries of payments. */
const ACTOR = 'stripe';
const RETURNED = REVERSAL_STAGES.indexOf('returned');
/** In one run; what is left comes in the next one, a moment later. */
const MOST_OWED = 100;

export interface PaymentEventOptions {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly notices?: PaymentNotices | undefined;
}

type Fact<Kind extends PaymentFact['kind']> = Extract<PaymentFact, { kind: Kind }>;

/**
 * Books what the provider's events report. Every step can be repeated, and the entries have keys made of the provider's
 * objects: an event that comes again, late, early, on two nodes at once, or after a crash in the middle has the same
 * effect. Of two events that need each other, each writes first and then looks for the other, so that the later one
 * finds both.
 */
export class PaymentEventHandler {
  readonly #options: PaymentEventOptions;
  readonly #rows: PaymentRows;

  constructor(options: PaymentEventOptions) {
    this.#options = options;
    this.#rows = new PaymentRows(options);
  }

  /** Resolves when everything that the event reports is booked, or was refused where the operator can see why. */
  async apply(event: ProviderEvent): Promise<void> {
    if (event.unreadable !== undefined) await this.#refuse(event, `unreadable: ${event.unreadable}`);
    for (const fact of event.facts) await this.#applyFact(fact, event);
    if (event.facts.length > 0) await this.#options.store.durable();
  }

  async #applyFact(fact: PaymentFact, event: ProviderEvent): Promise<void> {
    switch (fact.kind) {
      case 'paid':
        return await this.#applyPaid(fact, event);
      case 'not_paid':
        return await this.#rows.markFailed(fact.paymentId, fact.reason);
      case 'card_saved':
        return await this.#rows.saveCard(fact.paymentId, fact.methodId);
      case 'reversed':
        return await this.#applyReversed(fact, event);
      default:
        return fact satisfies never;
    }
  }

  async #applyPaid(fact: Fact<'paid'>, event: ProviderEvent): Promise<void> {
    const payment = await this.#rows.payment(fact.paymentId);
    const refusal = mismatch(payment, fact);
    if (!payment || refusal !== undefined)
      return await this.#refuse(event, refusal ?? 'unknown_payment', payment?.account_id);
    if (!(await this.#rows.claimIntent(payment.id, fact.intentId)))
      return await this.#refuse(event, 'paid_by_another_intent', payment.account_id);
    const credited = await this.#unlessRefused(event, payment.account_id, () =>
      this.#options.ledger.post({
        accountId: payment.account_id as AccountId,
        kind: 'credit',
        amount: payment.amount,
        cause: payment.kind === 'automatic' ? 'automatic top-up by card' : 'top-up by card',
        actor: ACTOR,
        once: paymentKey(fact.intentId),
      }),
    );
    if (!credited) return;
    await this.#rows.markPaid(payment);
    for (const { id } of await this.#rows.reversalsOf(fact.intentId)) await this.#book(id, event);
  }

  async #applyReversed(fact: Fact<'reversed'>, event: ProviderEvent): Promise<void> {
    if (fact.currency !== CURRENCY) {
      const payment = await this.#rows.paidWith(fact.intentId);
      if (payment) await this.#refuse(event, `other_currency: ${fact.currency}`, payment.account_id);
      return;
    }
    const { reversalId: id, reversal: kind, intentId, cents, stage } = fact;
    await this.#rows.noteReversal({ id, kind, intentId, amount: nanoOfCents(cents), stage });
    const noted = await this.#rows.reversal(id);
    // The bank took it a second time; nothing of the first time says how much of it the account still has.
    if (stage === 'lost' && noted?.stage === RETURNED)
      return await this.#refuse(event, 'lost_after_it_came_back', noted.account_id ?? undefined);
    await this.#book(id, event);
  }

  /** A refund or dispute whose payment is not known to be paid waits for it. */
  async #book(reversalId: string, event: ProviderEvent): Promise<void> {
    const found = await this.#rows.reversal(reversalId);
    const payment = found && (await this.#rows.paidWith(found.intent_id));
    if (!found || !payment) return;
    let reversal = found;
    if (reversal.stage < RETURNED) {
      await this.#reclaim(reversal, payment.account_id);
      // It may have come back meanwhile, on another node that found nothing to give back.
      reversal = (await this.#rows.reversal(reversalId)) ?? reversal;
    }
    if (reversal.stage >= RETURNED) await this.#giveBack(reversal, payment.account_id, event);
  }

  /** Takes what was owed from accounts whose requests have released it. Called periodically. */
  async takeOwed(stopping?: AbortSignal): Promise<void> {
    for (const reversal of await this.#rows.owedReversals(MOST_OWED)) {
      if (stopping?.aborted) return;
      if (reversal.account_id !== null) await this.#reclaim(reversal, reversal.account_id);
    }
  }

  async #reclaim(reversal: ReversalRow, accountId: string): Promise<void> {
    const { ledger, log } = this.#options;
    const { id, kind, amount, intent_id } = reversal;
    if (reversal.booked_at === null) await this.#stopCards(reversal, accountId);
    const booked = await ledger.reclaim({
      accountId: accountId as AccountId,
      amount: nanoUsd(amount),
      creditOnce: paymentKey(intent_id),
      once: reversalKey(id),
      cause: `${kind} of a card payment`,
      actor: ACTOR,
    });
    const isNew = await this.#rows.markBooked(id, accountId, booked, async (tx) => {
      if (booked.lost > 0) await pauseAccount(tx, accountId, kind);
    });
    if (isNew && booked.lost > 0)
      log.error('payment_lost', { intent: intent_id, reversal: id, amount, lostNanoUsd: booked.lost });
  }

  /** Before anything is taken: the balance that falls must not charge the card that the money has just gone back to. */
  async #stopCards({ id, kind }: ReversalRow, accountId: string): Promise<void> {
    const { store, clock, notices } = this.#options;
    await store.db.transaction().execute(async (tx) => {
      const wasOn = await stopAutomatic(tx, accountId, kind);
      if (wasOn && notices) await tellStopped(tx, notices, { accountId, kind, reversalId: id });
      if (kind !== 'dispute') return;
      await tx
        .updateTable('account')
        .set({ cards_off_at: clock.now() })
        .where('id', '=', accountId)
        .where('cards_off_at', 'is', null)
        .execute();
    });
  }

  /** Undoes what was taken, lost and owed; does nothing where nothing was. */
  async #giveBack(
    { id, kind, intent_id }: ReversalRow,
    accountId: string,
    event: ProviderEvent,
  ): Promise<void> {
    const { ledger } = this.#options;
    const reclaimed = {
      accountId: accountId as AccountId,
      creditOnce: paymentKey(intent_id),
      once: reversalKey(id),
      actor: ACTOR,
    };
    const cause = `${kind} came back`;
    const returned = await this.#unlessRefused(event, accountId, () =>
      ledger.giveBack({ ...reclaimed, cause }),
    );
    if (returned) await this.#rows.markReturned(id, accountId, returned);
  }

  /** `undefined`: the account cannot take it, and the operator can see that. */
  async #unlessRefused<T>(
    event: ProviderEvent,
    accountId: string,
    booking: () => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await booking();
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'invalid_field') throw error;
      await this.#refuse(event, error.message, accountId);
      return undefined;
    }
  }

  async #refuse({ id, type, objectId }: ProviderEvent, reason: string, accountId?: string): Promise<void> {
    const isNew = await this.#rows.noteProblem({ id, type, objectId, reason, accountId });
    if (isNew) this.#options.log.error('payment_refused', { eventId: id, type, object: objectId, reason });
    await this.#options.store.durable();
  }
}

/** Why a payment is not the one that we asked for. */
function mismatch(payment: PaymentRow | undefined, fact: Fact<'paid'>): string | undefined {
  if (!payment) return 'unknown_payment';
  if (payment.kind === 'card') return 'nothing_was_to_be_paid';
  if (fact.accountId !== undefined && fact.accountId !== payment.account_id) return 'other_account';
  if (fact.currency !== CURRENCY) return `other_currency: ${fact.currency.slice(0, 10)}`;
  if (nanoOfCents(fact.cents) !== payment.amount) return `other_amount: ${fact.cents} cents`;
  return undefined;
}

/** Why an account is paused or its card is not charged, as its owner and the operator read it; the pages have words for each. */
type PauseReason = 'refund' | 'dispute';

/**
 * Stops all spending, with a person's account in their team, and the charging of a saved card. The owner can still sign in and
 * read why. An administrator is never locked out, and an account that an operator disabled stays disabled.
 */
async function pauseAccount(tx: Transaction<Schema>, accountId: string, reason: PauseReason): Promise<void> {
  const paused = await tx
    .updateTable('account')
    .set({ status: 'disabled', paused_reason: reason })
    .where('id', '=', accountId)
    .where('role', '=', 'user')
    .where(sql<boolean>`(status = 'active' OR paused_reason IS NOT NULL)`)
    .returning('id')
    .execute();
  if (paused.length > 0)
    await tx
      .updateTable('account')
      .set({ status: 'disabled' })
      .where('person_id', '=', accountId)
      .where('ended_at', 'is', null)
      .execute();
  await stopAutomatic(tx, accountId, reason);
}

/** It stays off until the owner turns it on again. Returns whether it was on. */
async function stopAutomatic(
  tx: Transaction<Schema>,
  accountId: string,
  reason: PauseReason,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('top_up')
    .set({ enabled: 0, off_reason: reason })
    .where('account_id', '=', accountId)
    .where('enabled', '=', 1)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

const KEY = 'payments.events';
/** Events may appear in the list later than others that were made after them. */
const OVERLAP_SECONDS = 3_600;
/** Before the first start nothing was asked for; the provider keeps events for thirty days. */
const FIRST_SECONDS = 86_400;
const MOST_KNOWN = 10_000;

interface MissedEventsOptions {
  readonly store: Store;
  readonly provider: Pick<PaymentProvider, 'eventsSince'>;
  readonly handler: Pick<PaymentEventHandler, 'apply'>;
  readonly clock: Clock;
}

/**
 * Fetches events whose notification was not delivered: from where the list was last read to its end, with an overlap,
 * by the provider's clock. The position moves only when all of them were booked; after an interruption they are read
 * again, which changes nothing.
 */
export class MissedEvents {
  readonly #options: MissedEventsOptions;
  /** Booked by this process; it only saves work. */
  #known = new Set<string>();

  constructor(options: MissedEventsOptions) {
    this.#options = options;
  }

  /** Returns how many events were looked at. */
  async run(stopping?: AbortSignal): Promise<number> {
    const { provider, handler } = this.#options;
    const position = await this.#position();
    let latest = position;
    let seen = 0;
    for await (const event of provider.eventsSince(position - OVERLAP_SECONDS)) {
      if (stopping?.aborted) return seen;
      latest = Math.max(latest, event.createdSeconds);
      if (this.#known.has(event.id)) continue;
      await handler.apply(event);
      this.#remember(event.id);
      seen++;
    }
    if (latest > position) await this.#moveTo(latest);
    return seen;
  }

  async #position(): Promise<number> {
    const { store, clock } = this.#options;
    const row = await store.db
      .selectFrom('setting')
      .select('value')
      .where('key', '=', KEY)
      .executeTakeFirst();
    if (row) return Number(row.value);
    const first = Math.floor(clock.now() / 1000) - FIRST_SECONDS;
    await store.db
      .insertInto('setting')
      .values({ key: KEY, value: String(first), updated_at: clock.now() })
      .onConflict((conflict) => conflict.column('key').doNothing())
      .execute();
    return first;
  }

  /** Another node may be ahead. */
  async #moveTo(seconds: number): Promise<void> {
    const { store, clock } = this.#options;
    await store.db.transaction().execute(async (tx) => {
      const row = await tx.selectFrom('setting').select('value').where('key', '=', KEY).executeTakeFirst();
      if (row && Number(row.value) >= seconds) return;
      await tx
        .updateTable('setting')
        .set({ value: String(seconds), updated_at: clock.now() })
        .where('key', '=', KEY)
        .execute();
    });
  }

  #remember(id: string): void {
    if (this.#known.size >= MOST_KNOWN) this.#known = new Set();
    this.#known.add(id);
  }
}
