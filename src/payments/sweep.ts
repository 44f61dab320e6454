import type { Clock } from '../std/clock.ts';
import type { Store } from '../store/store.ts';
import type { PaymentProvider } from './port.ts';

const DAY_MS = 86_400_000;
/** A page of the provider's is good for a day. */
const OPEN_MS = 3 * DAY_MS;
/** A refund or dispute of a payment that is none of ours waits for nothing; the provider's events are gone by then. */
const WAITING_MS = 60 * DAY_MS;
const PROBLEM_MS = 400 * DAY_MS;
const MOST_TOGETHER = 20;

interface SweepParts {
  readonly store: Store;
  readonly provider: Pick<PaymentProvider, 'forgetCustomer'>;
  readonly clock: Clock;
}

/** Closes what nobody went on with, and deletes what belongs to nobody. What is paid all the same is paid. */
export async function sweepPayments({ store, provider, clock }: SweepParts): Promise<void> {
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
