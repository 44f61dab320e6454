import { sql, type Selectable, type Transaction, type Kysely } from 'kysely';
import type { GivenBack, Reclaimed } from '../ledger/port.ts';
import { REVERSAL_STAGES, type ReversalStage } from '../ledger/reclaim.ts';
import type { Clock } from '../std/clock.ts';
import type { PaymentReversalTable, PaymentTable } from '../store/schema-services.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { tellFailed, tellPaid, type PaymentNotices } from './payment-mails.ts';

export type PaymentRow = Selectable<PaymentTable>;
export type ReversalRow = Selectable<PaymentReversalTable>;

interface PaymentRowsOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Who is told of payments; nobody by default. */
  readonly notices?: PaymentNotices | undefined;
}

/** The rows of payments, refunds and disputes. Each method is one statement or transaction that may be repeated. */
export class PaymentRows {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #notices: PaymentNotices | undefined;

  constructor({ store, clock, notices }: PaymentRowsOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#notices = notices;
  }

  async payment(id: string): Promise<PaymentRow | undefined> {
    return await this.#store.db.selectFrom('payment').selectAll().where('id', '=', id).executeTakeFirst();
  }

  async paidWith(intentId: string): Promise<PaymentRow | undefined> {
    return await this.#store.db
      .selectFrom('payment')
      .selectAll()
      .where('intent_id', '=', intentId)
      .where('state', '=', 'paid')
      .executeTakeFirst();
  }

  /** `false`: the payment belongs to another intent, which would be paid twice. */
  async claimIntent(id: string, intentId: string): Promise<boolean> {
    const { numUpdatedRows } = await this.#store.db
      .updateTable('payment')
      .set({ intent_id: intentId })
      .where('id', '=', id)
      .where((where) => where.or([where('intent_id', 'is', null), where('intent_id', '=', intentId)]))
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  async markPaid({ id, account_id }: PaymentRow): Promise<void> {
    const now = this.#clock.now();
    await this.#store.db.transaction().execute(async (tx) => {
      const paid = await tx
        .updateTable('payment')
        .set({ state: 'paid', reason: null, finished_at: now })
        .where('id', '=', id)
        .where('state', '<>', 'paid')
        .returningAll()
        .executeTakeFirst();
      await endRun(tx, account_id, id);
      if (paid && this.#notices) await tellPaid(tx, this.#notices, paid, now);
    });
  }

  /** What is paid stays paid, whatever comes late. A saved card that failed is not charged again by itself. */
  async markFailed(id: string, reason: string): Promise<void> {
    await this.#store.db.transaction().execute(async (tx) => {
      const failed = await tx
        .updateTable('payment')
        .set({ state: 'failed', reason, finished_at: this.#clock.now() })
        .where('id', '=', id)
        .where('state', '=', 'open')
        .returning(['id', 'account_id', 'kind', 'amount'])
        .executeTakeFirst();
      if (failed?.kind !== 'automatic') return;
      await endRun(tx, failed.account_id, id);
      if (this.#notices) await tellFailed(tx, this.#notices, failed, reason);
      await tx
        .updateTable('top_up')
        .set({ enabled: 0, off_reason: reason, updated_at: this.#clock.now() })
        .where('account_id', '=', failed.account_id)
        .execute();
    });
  }

  /** Once for each payment: an event that comes again after the card was removed does not bring it back. */
  async saveCard(paymentId: string, methodId: string): Promise<void> {
    const now = this.#clock.now();
    await this.#store.db.transaction().execute(async (tx) => {
      const payment = await tx
        .updateTable('payment')
        .set({ card_saved_at: now })
        .where('id', '=', paymentId)
        .where('card_saved_at', 'is', null)
        .returning(['id', 'account_id', 'kind'])
        .executeTakeFirst();
      if (!payment) return;
      if (payment.kind === 'card') {
        await tx
          .updateTable('payment')
          .set({ state: 'paid', reason: null, finished_at: now })
          .where('id', '=', payment.id)
          .execute();
      }
      await tx
        .updateTable('top_up')
        .set({ method_id: methodId, off_reason: null, updated_at: now })
        .where('account_id', '=', payment.account_id)
        .where('removed_at', 'is', null)
        .execute();
    });
  }

  /** The stage only rises: an event that comes late changes nothing. */
  async noteReversal(reversal: NewReversal): Promise<void> {
    const { id, kind, intentId, amount } = reversal;
    const stage = REVERSAL_STAGES.indexOf(reversal.stage);
    await this.#store.db
      .insertInto('payment_reversal')
      .values({ id, kind, intent_id: intentId, amount, stage, created_at: this.#clock.now() })
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet({ stage }).where('payment_reversal.stage', '<', stage),
      )
      .execute();
  }

  async reversal(id: string): Promise<ReversalRow | undefined> {
    return await this.#store.db
      .selectFrom('payment_reversal')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
  }

  async reversalsOf(intentId: string): Promise<ReversalRow[]> {
    return await this.#store.db
      .selectFrom('payment_reversal')
      .selectAll()
      .where('intent_id', '=', intentId)
      .where('returned_at', 'is', null)
      .orderBy('created_at')
      .orderBy('id')
      .execute();
  }

  /** Refunds and disputes that wait for what running requests hold, the oldest first. */
  async owedReversals(limit: number): Promise<ReversalRow[]> {
    return await this.#store.db
      .selectFrom('payment_reversal')
      .selectAll()
      .where(sql<boolean>`owed > 0`)
      .orderBy('created_at')
      .orderBy('id')
      .limit(limit)
      .execute();
  }

  /**
   * What was booked so far, until nothing is owed any more. `alongside` runs with the first change and with the last;
   * returns whether anything changed.
   */
  async markBooked(
    id: string,
    accountId: string,
    { taken, lost, owed }: Reclaimed,
    alongside: (tx: Transaction<Schema>) => Promise<void>,
  ): Promise<boolean> {
    const now = this.#clock.now();
    return await this.#store.db.transaction().execute(async (tx) => {
      const { numUpdatedRows } = await tx
        .updateTable('payment_reversal')
        .set({ account_id: accountId, taken, lost, owed })
        .set({ booked_at: sql<number>`coalesce(booked_at, ${now})` })
        .where('id', '=', id)
        .where((where) => where.or([where('booked_at', 'is', null), where('owed', '>', owed)]))
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return false;
      await alongside(tx);
      return true;
    });
  }

  async markReturned(id: string, accountId: string, { taken, lost }: GivenBack): Promise<void> {
    const now = this.#clock.now();
    await this.#store.db
      .updateTable('payment_reversal')
      .set({ account_id: accountId, taken, lost, owed: 0, returned_at: now })
      .set({ booked_at: sql<number>`coalesce(booked_at, ${now})` })
      .where('id', '=', id)
      .where('returned_at', 'is', null)
      .execute();
  }

  /** Whether it was not noted before. */
  async noteProblem(problem: NewProblem): Promise<boolean> {
    const { id, type, objectId, reason, accountId } = problem;
    const { numInsertedOrUpdatedRows: noted = 0n } = await this.#store.db
      .insertInto('payment_problem')
      .values({
        event_id: id,
        event_type: type,
        object_id: objectId,
        account_id: accountId ?? null,
        reason,
        created_at: this.#clock.now(),
      })
      .onConflict((conflict) => conflict.column('event_id').doNothing())
      .executeTakeFirstOrThrow();
    return noted > 0n;
  }
}

interface NewReversal {
  readonly id: string;
  readonly kind: 'refund' | 'dispute';
  readonly intentId: string;
  readonly amount: number;
  readonly stage: ReversalStage;
}

interface NewProblem {
  readonly id: string;
  readonly type: string;
  readonly objectId: string;
  readonly reason: string;
  readonly accountId: string | undefined;
}

/** The next automatic top-up may begin. */
async function endRun(tx: Transaction<Schema>, accountId: string, paymentId: string): Promise<void> {
  await tx
    .updateTable('top_up')
    .set({ running: null })
    .where('account_id', '=', accountId)
    .where('running', '=', paymentId)
    .execute();
}

/** A payment, with the part that was refunded or disputed and did not come back. */
export interface ListedPayment extends PaymentRow {
  readonly reversed: number;
}

/** In the same order. */
export async function withReversed(
  db: Kysely<Schema>,
  rows: readonly PaymentRow[],
): Promise<ListedPayment[]> {
  const intents = rows.flatMap(({ intent_id }) => (intent_id === null ? [] : [intent_id]));
  const reversed = await reversedByIntent(db, intents);
  return rows.map((row) => Object.assign(row, { reversed: reversed.get(row.intent_id ?? '') ?? 0 }));
}

async function reversedByIntent(
  db: Kysely<Schema>,
  intents: readonly string[],
): Promise<Map<string, number>> {
  if (intents.length === 0) return new Map();
  const rows = await db
    .selectFrom('payment_reversal')
    .select(['intent_id', 'amount'])
    .where('intent_id', 'in', [...intents])
    .where('stage', '<', REVERSAL_STAGES.indexOf('returned'))
    .execute();
  const sums = new Map<string, number>();
  for (const { intent_id, amount } of rows) sums.set(intent_id, (sums.get(intent_id) ?? 0) + amount);
  return sums;
}

/** What refunds and disputes have cost the operator, as far as it did not come back. */
export async function lostByPayments(db: Kysely<Schema>): Promise<number> {
  const row = await db
    .selectFrom('payment_reversal')
    .select(sql<number>`coalesce(sum(lost), 0)`.as('lost'))
    .where('returned_at', 'is', null)
    .executeTakeFirst();
  return row?.lost ?? 0;
}

/** What automatic top-ups have taken, or are taking, since a moment. */
export async function automaticSince(db: Kysely<Schema>, accountId: string, since: number): Promise<number> {
  const row = await db
    .selectFrom('payment')
    .select(sql<number>`coalesce(sum(amount), 0)`.as('total'))
    .where('account_id', '=', accountId)
    .where('kind', '=', 'automatic')
    .where('state', '<>', 'failed')
    .where('created_at', '>=', since)
    .executeTakeFirst();
  return row?.total ?? 0;
}
