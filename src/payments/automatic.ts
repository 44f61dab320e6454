import { sql, type Expression, type ExpressionBuilder, type Selectable, type SqlBool } from 'kysely';
import { availableOf } from '../ledger/decide.ts';
import type { Ledger } from '../ledger/port.ts';
import type { Clock } from '../std/clock.ts';
import type { AccountId, Random } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import type { TopUpTable } from '../store/schema-services.ts';
import type { NanoUsd } from '../std/money.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { PaymentNotices } from './payment-mails.ts';
import { PaymentRows, type PaymentRow } from './payment-rows.ts';
import { centsOf, type PaymentProvider } from './port.ts';

/** In one run; what is left comes in the next one, a moment later. */
const MOST_TOGETHER = 20;
/** After a charge without an answer; the provider knows its key for a day. */
const RETRY_MS = 30_000;
const GIVE_UP_MS = 20 * 3_600_000;

export interface AutomaticOptions {
  readonly store: Store;
  readonly provider: PaymentProvider;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly notices?: PaymentNotices | undefined;
}

/**
 * Charges the saved cards of accounts whose available balance has fallen below their threshold. It runs beside the
 * requests: begun by the request that notices it, and by a query a second for the rest. Each account has at most one
 * payment under way, on whichever node; its id is the key of the charge at the provider, so a crash at any point
 * charges once. The money is credited by the provider's event.
 */
export class AutomaticTopUps {
  readonly #options: AutomaticOptions;
  readonly #rows: PaymentRows;

  constructor(options: AutomaticOptions) {
    this.#options = options;
    this.#rows = new PaymentRows(options);
  }

  /** Returns how many charges the provider has accepted. */
  async run(stopping?: AbortSignal): Promise<number> {
    let accepted = 0;
    for (const topUp of await this.#due()) {
      if (stopping?.aborted) return accepted;
      const payment = await this.#begin(topUp);
      if (payment && (await this.#charge(payment))) accepted++;
    }
    for (const payment of await this.#unanswered()) {
      if (stopping?.aborted) return accepted;
      if (await this.#chargeAgain(payment)) accepted++;
    }
    return accepted;
  }

  /** The same for one account, at once. */
  async runFor(accountId: string): Promise<number> {
    let accepted = 0;
    for (const topUp of await this.#due(accountId)) {
      const payment = await this.#begin(topUp);
      if (payment && (await this.#charge(payment))) accepted++;
    }
    return accepted;
  }

  async #due(accountId?: string): Promise<{ account_id: string; amount: number }[]> {
    const query = this.#options.store.db
      .selectFrom('top_up')
      .innerJoin('account', 'account.id', 'top_up.account_id')
      .select(['top_up.account_id', 'top_up.amount'])
      .where(sql<boolean>`top_up.enabled = 1`)
      .where('account.status', '=', 'active')
      // A team that was closed needs no money.
      .where('account.ended_at', 'is', null)
      .where(sql<boolean>`account.balance - account.held - account.owed < top_up.threshold`)
      .where((where) => mayBegin(where, this.#monthStart()))
      .orderBy('top_up.account_id')
      .limit(MOST_TOGETHER);
    const ofOne = accountId === undefined ? query : query.where('top_up.account_id', '=', accountId);
    return await ofOne.execute();
  }

  /** Begins one top-up, however many try at once. */
  async #begin({
    account_id,
    amount,
  }: {
    account_id: string;
    amount: number;
  }): Promise<PaymentRow | undefined> {
    const { store, clock, random } = this.#options;
    const id = `pay_${random.text(22)}`;
    const now = clock.now();
    await store.db.transaction().execute(async (tx) => {
      const { numUpdatedRows } = await tx
        .updateTable('top_up')
        .set({ running: id })
        .where('account_id', '=', account_id)
        .where('enabled', '=', 1)
        .where('amount', '=', amount)
        .where((where) => mayBegin(where, this.#monthStart()))
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return;
      await tx
        .insertInto('payment')
        .values({
          id,
          account_id,
          kind: 'automatic',
          state: 'open',
          amount,
          attempted_at: now,
          created_at: now,
        })
        .execute();
    });
    await store.durable();
    return await this.#rows.payment(id);
  }

  async #unanswered(): Promise<PaymentRow[]> {
    return await this.#options.store.db
      .selectFrom('payment')
      .selectAll()
      .where(sql<boolean>`state = 'open' AND kind = 'automatic'`)
      .where('intent_id', 'is', null)
      .where('attempted_at', '<', this.#options.clock.now() - RETRY_MS)
      .orderBy('attempted_at')
      .limit(MOST_TOGETHER)
      .execute();
  }

  /** One node at a time asks again, and not for ever: after a day the provider would treat the key as a new one. */
  async #chargeAgain(payment: PaymentRow): Promise<boolean> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const { numUpdatedRows } = await store.db
      .updateTable('payment')
      .set({ attempted_at: now })
      .where('id', '=', payment.id)
      .where('state', '=', 'open')
      .where('attempted_at', '=', payment.attempted_at ?? 0)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) return false;
    if (now - payment.created_at > GIVE_UP_MS) {
      await this.#rows.markFailed(payment.id, 'no_answer');
      return false;
    }
    return await this.#charge(payment);
  }

  async #charge(payment: PaymentRow): Promise<boolean> {
    const { store, provider, log } = this.#options;
    const topUp = await topUpOf(store, payment.account_id);
    if (!topUp || topUp.method_id === null || topUp.removed_at !== null) {
      await this.#rows.markFailed(payment.id, 'no_card');
      return false;
    }
    try {
      const answer = await provider.chargeSavedCard({
        paymentId: payment.id,
        accountId: payment.account_id as AccountId,
        cents: centsOf(payment.amount),
        customerId: topUp.customer_id,
        methodId: topUp.method_id,
      });
      if (answer.kind === 'refused') await this.#rows.markFailed(payment.id, answer.reason);
      else await this.#rows.claimIntent(payment.id, answer.intentId);
      await store.durable();
      return answer.kind === 'accepted';
    } catch (error) {
      log.warn('automatic_top_up_unanswered', { payment: payment.id, error });
      return false;
    }
  }

  #monthStart(): number {
    const now = new Date(this.#options.clock.now());
    return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  }
}

/** Whether a top-up may begin: none is under way, and this month's maximum allows one more. */
function mayBegin(where: ExpressionBuilder<Schema, 'top_up'>, monthStart: number): Expression<SqlBool> {
  const spent = where
    .selectFrom('payment')
    .select((query) => sql<number>`coalesce(${query.fn.sum('payment.amount')}, 0)`.as('spent'))
    .whereRef('payment.account_id', '=', 'top_up.account_id')
    .where('payment.created_at', '>=', monthStart)
    .where('payment.kind', '=', 'automatic')
    .where('payment.state', '<>', 'failed');
  return where.and([
    where('top_up.running', 'is', null),
    where('top_up.method_id', 'is not', null),
    sql<boolean>`top_up.amount + (${spent}) <= top_up.monthly_max`,
  ]);
}

export async function topUpOf({ db }: Store, accountId: string): Promise<Selectable<TopUpTable> | undefined> {
  return await db.selectFrom('top_up').selectAll().where('account_id', '=', accountId).executeTakeFirst();
}

/** Far more automatic top-ups than one installation has; accounts beyond it are found by the periodic run. */
const MAX_WATCHED = 50_000;
/** Requests that wait at once, and how long one does. */
const MAX_WAITING = 500;
const WAIT_MS = 15_000;
const LOOK_MS = 200;

type Caller = Parameters<Ledger['identify']>[0];

interface TopUpTriggerParts {
  readonly store: Store;
  readonly ledger: Pick<Ledger, 'identify'>;
  readonly log: Log;
  /** Charges the account's card if a top-up is due, and books what the provider reports about it. */
  readonly topUp: (accountId: string) => Promise<void>;
  readonly waitMs?: number | undefined;
}

/**
 * Begins automatic top-ups from the requests themselves: which accounts have one is known in memory, so a request costs one
 * look into a map. A request that the balance does not cover waits for the top-up that would.
 */
export class TopUpTrigger {
  readonly #parts: TopUpTriggerParts;
  readonly #begun = new Map<string, Promise<void>>();
  #thresholds: ReadonlyMap<string, number> = new Map();
  #waiting = 0;

  constructor(parts: TopUpTriggerParts) {
    this.#parts = parts;
  }

  /** Called periodically. */
  async refresh(): Promise<void> {
    const rows = await this.#parts.store.db
      .selectFrom('top_up')
      .select(['account_id', 'threshold'])
      .where(sql<boolean>`enabled = 1`)
      .limit(MAX_WATCHED)
      .execute();
    this.#thresholds = new Map(rows.map(({ account_id, threshold }) => [account_id, threshold]));
  }

  /** A request was admitted, and this much is left to spend. */
  admitted(accountId: string, available: NanoUsd): void {
    const threshold = this.#thresholds.get(accountId);
    if (threshold !== undefined && available < threshold) void this.#begin(accountId);
  }

  /**
   * A request was refused for lack of money. True once there is more than before, so that it may be asked for again.
   */
  async covered(caller: Caller, available: NanoUsd, signal: AbortSignal): Promise<boolean> {
    if (this.#thresholds.size === 0 || this.#waiting >= MAX_WAITING) return false;
    this.#waiting++;
    try {
      const account = await this.#parts.ledger.identify(caller);
      const walletId = account?.team?.id ?? account?.accountId ?? '';
      if (!this.#thresholds.has(walletId)) return false;
      await this.#begin(walletId);
      await this.#ended(walletId, signal);
      const now = await this.#parts.ledger.identify(caller);
      return now !== undefined && availableOf(now) > available;
    } finally {
      this.#waiting--;
    }
  }

  /** One at a time for each account; a failure is logged and met again by the periodic run. */
  async #begin(accountId: string): Promise<void> {
    const { topUp, log } = this.#parts;
    let begun = this.#begun.get(accountId);
    if (!begun) {
      begun = topUp(accountId)
        .catch((error: unknown) => log.warn('automatic_top_up_failed', { account: accountId, error }))
        .finally(() => this.#begun.delete(accountId));
      this.#begun.set(accountId, begun);
    }
    await begun;
  }

  /** Its event may come later than the provider's answer, and another node may have begun it. */
  async #ended(accountId: string, signal: AbortSignal): Promise<void> {
    const until = performance.now() + (this.#parts.waitMs ?? WAIT_MS);
    while (!signal.aborted && performance.now() < until) {
      const topUp = await topUpOf(this.#parts.store, accountId);
      if (!topUp || topUp.running === null) return;
      await Bun.sleep(LOOK_MS);
    }
  }
}
