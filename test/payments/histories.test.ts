import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import type { Ledger } from '../../src/ledger/port.ts';
import { PaymentEventHandler } from '../../src/payments/payment-events.ts';
import { nanoOfCents } from '../../src/payments/port.ts';
import { providerEvent } from '../../src/payments/stripe/stripe-facts.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { silentLog } from '../../src/std/log.ts';
import { HistoryOracle } from './history-oracle.ts';
import { paymentHarness, STORES, type PaymentHarness } from './payment-harness.ts';
import {
  disputeObject,
  eventObject,
  intentObject,
  refundObject,
  sessionObject,
  type EventObject,
} from './stripe-objects.ts';

/** A thousand on each store with TOLLGATE_LONG=1; otherwise a share of them, with a new seed in each run. */
const HISTORIES = process.env['TOLLGATE_LONG'] === '1' ? 1_000 : 100;
/** Together, so that their commits share the disk. */
const TOGETHER = 20;

const reversalArbitrary = fc.record({
  kind: fc.constantFrom('refund', 'dispute'),
  cents: fc.integer({ min: 1, max: 6_000 }),
  end: fc.constantFrom('stays', 'comes back'),
});
const historyArbitrary = fc.record({
  payments: fc.array(
    fc.record({
      cents: fc.constantFrom(1_000, 2_500, 5_000),
      reversals: fc.array(reversalArbitrary, { maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  /** Which event comes next, whether the server dies after the first booking, and what is spent before it. */
  steps: fc.array(
    fc.record({ pick: fc.nat(), crash: fc.boolean(), spend: fc.integer({ min: 0, max: 4_000 }) }),
    { maxLength: 30 },
  ),
  /** In which order all of them come once more, from the list. */
  seed: fc.nat(),
});
type History = typeof historyArbitrary extends fc.Arbitrary<infer Value> ? Value : never;

describe.each(STORES)('histories of payments on %s', (_, database) => {
  let harness: PaymentHarness;
  let made = 0;

  beforeAll(async () => {
    harness = await paymentHarness(database);
  }, 300_000);
  afterAll(async () => {
    await harness.close();
  });

  test('whatever comes twice, late, in any order, or before a crash: the balance is right, once', async () => {
    const histories = fc.array(historyArbitrary, { minLength: TOGETHER, maxLength: TOGETHER });
    await fc.assert(
      fc.asyncProperty(histories, async (batch) => {
        await Promise.all(batch.map((history) => play(history)));
      }),
      { numRuns: HISTORIES / TOGETHER },
    );
    expect((await harness.ledger.verify()).breaches).toEqual([]);
  }, 1_200_000);

  async function play(history: History): Promise<void> {
    const accountId = await harness.account(0);
    const { events, intents } = await asked(harness, accountId, history, () => `h${++made}`);
    const oracle = new HistoryOracle(intents);
    const dying = { next: false };
    const clock = { now: () => Date.now() * 1_000 + ++made };
    const { store } = harness;
    const handler = new PaymentEventHandler({
      store,
      ledger: dyingLedger(harness.ledger, dying),
      clock,
      log: silentLog,
    });
    for (const { pick, crash, spend } of history.steps) {
      await spendCents(accountId, Math.min(spend, oracle.balance), oracle);
      const event = events[pick % events.length];
      if (!event) continue;
      dying.next = crash;
      await handler.apply(providerEvent(event)).catch(ignoreDeath);
      dying.next = false;
      oracle.deliver(event, crash);
      expect(await harness.balance(accountId)).toBe(nanoOfCents(oracle.balance));
    }
    for (const event of shuffled(events, history.seed)) {
      await handler.apply(providerEvent(event));
      oracle.deliver(event, false);
    }
    expect(await harness.balance(accountId)).toBe(nanoOfCents(oracle.balance));
    expect(await lostOf(accountId)).toBe(nanoOfCents(oracle.lost));
  }

  async function spendCents(accountId: AccountId, cents: number, oracle: HistoryOracle): Promise<void> {
    if (cents === 0) return;
    const amount = -nanoOfCents(cents);
    await harness.ledger.post({ accountId, kind: 'adjustment', amount, cause: 'spent', actor: 'test' });
    oracle.balance -= cents;
  }

  async function lostOf(accountId: string): Promise<number> {
    const rows = await harness.store.db
      .selectFrom('payment_reversal')
      .select('lost')
      .where('account_id', '=', accountId)
      .where('returned_at', 'is', null)
      .execute();
    return rows.reduce((sum, { lost }) => sum + lost, 0);
  }
});

/** What was asked of Stripe, and every event that comes of it. */
async function asked(
  { store }: PaymentHarness,
  accountId: string,
  { payments }: History,
  newId: () => string,
): Promise<{ events: EventObject[]; intents: Map<string, number> }> {
  const events: EventObject[] = [];
  const intents = new Map<string, number>();
  for (const { cents, reversals } of payments) {
    const paymentId = `pay_${newId()}`;
    const metadata = { tollgate_payment: paymentId, tollgate_account: accountId };
    const amount = nanoOfCents(cents);
    await store.db
      .insertInto('payment')
      .values({ id: paymentId, account_id: accountId, kind: 'top_up', state: 'open', amount, created_at: 1 })
      .execute();
    const intent = intentObject({ id: `pi_${newId()}`, amount: cents, amount_received: cents, metadata });
    intents.set(intent.id, cents);
    const session = sessionObject({
      id: `cs_${newId()}`,
      amount_total: cents,
      currency: 'usd',
      client_reference_id: accountId,
      metadata,
      payment_intent: intent.id,
      payment_status: 'paid',
    });
    const add = (type: string, object: { readonly id: string }): void => {
      events.push(eventObject(`evt_${newId()}`, { type, created: 1, object }));
    };
    add('checkout.session.completed', session);
    add('payment_intent.succeeded', intent);
    for (const { kind, cents: part, end } of reversals) {
      const back = end === 'comes back';
      if (kind === 'refund') {
        const id = `re_${newId()}`;
        add('refund.created', refundObject(id, intent, part, 'pending'));
        add('refund.updated', refundObject(id, intent, part, 'succeeded'));
        if (back) add('refund.failed', refundObject(id, intent, part, 'failed'));
      } else {
        const id = `du_${newId()}`;
        add('charge.dispute.created', disputeObject(id, intent, part, 'needs_response'));
        add('charge.dispute.funds_withdrawn', disputeObject(id, intent, part, 'needs_response'));
        add('charge.dispute.closed', disputeObject(id, intent, part, back ? 'won' : 'lost'));
        if (back) add('charge.dispute.funds_reinstated', disputeObject(id, intent, part, 'won'));
      }
    }
  }
  return { events, intents };
}

class Died extends Error {}

/** The process dies after its next booking: what follows it in the delivery does not happen. */
function dyingLedger(ledger: Ledger, dying: { next: boolean }): Ledger {
  const dieAfter = async <T>(booking: Promise<T>): Promise<T> => {
    const booked = await booking;
    if (dying.next && booked !== undefined) throw new Died();
    return booked;
  };
  return Object.create(ledger, {
    post: { value: (entry: Parameters<Ledger['post']>[0]) => dieAfter(ledger.post(entry)) },
    reclaim: { value: (reclaim: Parameters<Ledger['reclaim']>[0]) => dieAfter(ledger.reclaim(reclaim)) },
    giveBack: {
      value: (reclaim: Parameters<Ledger['giveBack']>[0]) => dieAfter(ledger.giveBack(reclaim)),
    },
  }) as Ledger;
}

function ignoreDeath(error: unknown): void {
  if (!(error instanceof Died)) throw error;
}

function shuffled<T>(values: readonly T[], seed: number): T[] {
  const rest = [...values];
  const taken: T[] = [];
  for (let state = seed + 1; rest.length > 0; state = (state * 48_271) % 2_147_483_647)
    taken.push(...rest.splice(state % rest.length, 1));
  return taken;
}
