import type { Ledger } from '../ledger/port.ts';
import { lossKey, paymentKey, returnedKey, reversalKey } from '../ledger/reclaim.ts';
import { OVERRUN_ACCOUNT } from '../ledger/decide.ts';
import type { Clock } from '../std/clock.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import { nanoUsd } from '../std/money.ts';
import type { Store } from '../store/store.ts';
import { pauseAccount, stopAutomatic } from './pause.ts';
import { PaymentRows, type PaymentRow, type ReversalRow } from './payment-rows.ts';
import { CURRENCY, nanoOfCents, REVERSAL_STAGES, type PaymentFact, type ProviderEvent } from './port.ts';

/** Who acted, in the entries of payments. */
const ACTOR = 'stripe';
const RETURNED = REVERSAL_STAGES.indexOf('returned');

export interface PaymentBooksOptions {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
}

type Fact<Kind extends PaymentFact['kind']> = Extract<PaymentFact, { kind: Kind }>;

/**
 * Books what the provider's events tell. Every step can be repeated, and the entries have keys of the provider's objects: an
 * event that comes again, too late, before its time, on two nodes at once, or after a crash in the middle changes what it
 * would have changed anyway. Of two events that need each other, each writes first and then looks for the other, so that
 * whichever is later finds both.
 */
export class PaymentBooks {
  readonly #options: PaymentBooksOptions;
  readonly #rows: PaymentRows;

  constructor(options: PaymentBooksOptions) {
    this.#options = options;
    this.#rows = new PaymentRows(options);
  }

  /** Resolves when all that the event tells is in the books, or it was refused and the operator can see why. */
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
    const credited = await this.#post(event, {
      accountId: payment.account_id as AccountId,
      kind: 'credit',
      amount: payment.amount,
      cause: payment.kind === 'automatic' ? 'automatic top-up by card' : 'top-up by card',
      actor: ACTOR,
      once: paymentKey(fact.intentId),
    });
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
      const { taken, lost } = await this.#options.ledger.reclaim({
        accountId: payment.account_id as AccountId,
        amount: nanoUsd(reversal.amount),
        once: reversalKey(reversal.id),
        cause: `${reversal.kind} of a card payment`,
        actor: ACTOR,
      });
      await this.#markBooked(reversal, payment, { taken, lost });
      // It may have come back meanwhile, on another node that found nothing to give back.
      reversal = (await this.#rows.reversal(reversalId)) ?? reversal;
    }
    if (reversal.stage >= RETURNED) await this.#giveBack(reversal, payment, event);
  }

  async #markBooked(
    { id, kind, amount }: ReversalRow,
    payment: PaymentRow,
    booked: { readonly taken: number; readonly lost: number },
  ): Promise<void> {
    const { log } = this.#options;
    const isNew = await this.#rows.markBooked(id, payment.account_id, booked, async (tx) => {
      if (booked.lost > 0) await pauseAccount(tx, payment.account_id, kind);
      else if (kind === 'dispute') await stopAutomatic(tx, payment.account_id, kind);
    });
    if (isNew && booked.lost > 0)
      log.error('payment_lost', { payment: payment.id, reversal: id, amount, lostNanoUsd: booked.lost });
  }

  /** What was taken, and what was booked as a loss, is undone; nothing is, where nothing was taken. */
  async #giveBack(reversal: ReversalRow, payment: PaymentRow, event: ProviderEvent): Promise<void> {
    const once = reversalKey(reversal.id);
    const booked = await this.#rows.entryAmounts([once, lossKey(once)]);
    const taken = booked.get(once);
    const lost = booked.get(lossKey(once));
    const shared = { kind: 'adjustment', cause: `${reversal.kind} came back`, actor: ACTOR } as const;
    if (taken !== undefined) {
      const accountId = payment.account_id as AccountId;
      const back = { ...shared, accountId, amount: -taken, once: returnedKey(once) };
      if (!(await this.#post(event, back))) return;
    }
    if (lost !== undefined) {
      const accountId = OVERRUN_ACCOUNT as AccountId;
      const back = { ...shared, accountId, amount: -lost, once: returnedKey(lossKey(once)) };
      if (!(await this.#post(event, back))) return;
    }
    if (taken === undefined && lost === undefined) return;
    await this.#rows.markReturned(reversal.id, payment.account_id, {
      taken: 0 - (taken ?? 0),
      lost: lost ?? 0,
    });
  }

  /** `false`: the account cannot take it, and the operator can see that. */
  async #post(event: ProviderEvent, entry: Parameters<Ledger['post']>[0]): Promise<boolean> {
    try {
      await this.#options.ledger.post(entry);
      return true;
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'invalid_field') throw error;
      await this.#refuse(event, error.message, entry.accountId);
      return false;
    }
  }

  async #refuse({ id, type, objectId }: ProviderEvent, reason: string, accountId?: string): Promise<void> {
    const isNew = await this.#rows.noteProblem({ id, type, objectId, reason, accountId });
    if (isNew) this.#options.log.error('payment_refused', { event: id, type, object: objectId, reason });
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
