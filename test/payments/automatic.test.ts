import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Ledger } from '../../src/ledger/port.ts';
import { PaymentEventHandler } from '../../src/payments/payment-events.ts';
import { providerEvent } from '../../src/payments/stripe/stripe-facts.ts';
import { systemClock } from '../../src/std/clock.ts';
import { newRequestId, type AccountId } from '../../src/std/ids.ts';
import { silentLog } from '../../src/std/log.ts';
import { nanoUsd } from '../../src/std/money.ts';
import {
  pageFor,
  paymentHarness,
  STORES,
  USD,
  withAutomatic,
  type PaymentHarness,
} from './payment-harness.ts';
import { CAUTIOUS_CARD, POOR_CARD } from './stripe-stand-in.ts';

describe.each(STORES)('the automatic top-up on %s', (_, database) => {
  let harness: PaymentHarness;

  beforeAll(async () => {
    harness = await paymentHarness(database);
  }, 300_000);
  afterAll(async () => {
    await harness.close();
  });

  const topUp = async (accountId: string) =>
    await harness.store.db
      .selectFrom('top_up')
      .selectAll()
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow();
  const charges = (accountId: string) =>
    harness.stripe.charged.filter(({ metadata }) => metadata['tollgate_account'] === accountId);
  const useCard = async (accountId: string, method: string): Promise<void> => {
    await harness.store.db
      .updateTable('top_up')
      .set({ method_id: method })
      .where('account_id', '=', accountId)
      .execute();
  };
  const spend = async (accountId: AccountId, amount: number): Promise<void> => {
    await harness.ledger.post({
      accountId,
      kind: 'adjustment',
      amount: -amount,
      cause: 'spent',
      actor: 'test',
    });
  };
  /** A request that runs until it is released. */
  const holdDollars = async (accountId: AccountId, dollars: number): Promise<() => Promise<unknown>> => {
    const requestId = newRequestId(Date.now());
    const admission = await harness.ledger.admit({
      requestId,
      caller: { kind: 'account', id: accountId },
      rate: 'images',
      endpoint: 'svc_tgter',
      model: 'p',
      price: { kind: 'images', image: nanoUsd(dollars * USD) },
      ceiling: { kind: 'images', images: 1 },
      stream: false,
      client: 'test',
      limits: { chatPerMinute: 100, imagesPerMinute: 100, concurrent: 10 },
    });
    expect(admission.kind).toBe('admitted');
    return () => harness.ledger.void(requestId, { outcome: 'shed', attempts: [], durationMs: 1 });
  };
  const verified = async (): Promise<void> => {
    expect((await harness.ledger.verify()).breaches).toEqual([]);
  };

  test('a balance below the threshold is topped up once, by however many nodes at once', async () => {
    const accountId = await withAutomatic(harness, { balance: 3, threshold: 5, amount: 20, monthlyMax: 100 });
    const nodes = [harness.payments, ...Array.from({ length: 4 }, () => harness.anotherNode())];
    await Promise.all(nodes.map((node) => node.runAutomatic()));
    for (const node of nodes) await node.runAutomatic();
    expect(charges(accountId)).toMatchObject([{ amount: 2_000, currency: 'usd' }]);
    expect(await harness.balance(accountId)).toBe(23 * USD);
    await verified();
  });

  test('the money comes with the event and not with the answer to the charge', async () => {
    const accountId = await withAutomatic(harness, { balance: 3, threshold: 5, amount: 20, monthlyMax: 100 });
    const before = harness.stripe.events.length;
    const { eventsHidden } = harness.stripe;
    eventsHidden.on = true;
    await harness.payments.runAutomatic();
    expect(charges(accountId)).toHaveLength(1);
    expect(await harness.balance(accountId)).toBe(3 * USD);
    await harness.payments.runAutomatic();
    expect(charges(accountId)).toHaveLength(1);
    eventsHidden.on = false;
    await harness.receive(...harness.stripe.events.slice(before), ...harness.stripe.events.slice(before));
    expect(await harness.balance(accountId)).toBe(23 * USD);
    await verified();
  });

  test('a charge whose answer was lost is asked for again with the same key, and charged once', async () => {
    const accountId = await withAutomatic(harness, { balance: 1, threshold: 5, amount: 20, monthlyMax: 100 });
    harness.stripe.failures.push('lost');
    await harness.payments.runAutomatic();
    expect(await harness.balance(accountId)).toBe(USD);
    await harness.payments.runAutomatic();
    harness.advance(60_000);
    await harness.payments.runAutomatic();
    expect(charges(accountId)).toHaveLength(1);
    expect(await harness.balance(accountId)).toBe(21 * USD);
    expect(await topUp(accountId)).toMatchObject({ enabled: 1, running: null });
    await verified();
  });

  test('a charge that never reached the provider is made by the node that finds it', async () => {
    const accountId = await withAutomatic(harness, { balance: 1, threshold: 5, amount: 20, monthlyMax: 100 });
    harness.stripe.failures.push('refused_before', 'refused_before');
    await harness.payments.runAutomatic();
    expect(charges(accountId)).toHaveLength(0);
    harness.advance(60_000);
    const nodes = [harness.payments, harness.anotherNode(), harness.anotherNode()];
    await Promise.all(nodes.map((node) => node.runAutomatic()));
    expect(charges(accountId)).toHaveLength(1);
    expect(await harness.balance(accountId)).toBe(21 * USD);
  });

  test.each([
    [POOR_CARD, 'insufficient_funds'],
    [CAUTIOUS_CARD, 'authentication_required'],
    ['pm_gone', 'resource_missing'],
  ])('a card that fails (%s) turns it off with the reason', async (method, reason) => {
    const accountId = await withAutomatic(harness, { balance: 1, threshold: 5, amount: 20, monthlyMax: 100 });
    await useCard(accountId, method);
    await harness.payments.runAutomatic();
    await harness.payments.fetchMissed();
    await harness.payments.runAutomatic();
    expect(await topUp(accountId)).toMatchObject({ enabled: 0, running: null, off_reason: reason });
    expect(await harness.balance(accountId)).toBe(USD);
    const tried = harness.stripe.calls.filter(
      ({ call, form }) => call === 'POST /v1/payment_intents' && JSON.stringify(form).includes(accountId),
    );
    expect(tried).toHaveLength(1);
  });

  test('no more is charged in a month than its maximum, and the next month begins anew', async () => {
    const accountId = await withAutomatic(harness, { balance: 1, threshold: 5, amount: 20, monthlyMax: 45 });
    for (let time = 0; time < 4; time++) {
      await harness.payments.runAutomatic();
      await spend(accountId, Math.max(0, (await harness.balance(accountId)) - USD) || 1);
    }
    expect(charges(accountId)).toHaveLength(2);
    harness.advance(32 * 86_400_000);
    await harness.payments.runAutomatic();
    expect(charges(accountId)).toHaveLength(3);
    await verified();
  });

  test('an account that is paused, or whose card was removed, is not charged', async () => {
    const paused = await withAutomatic(harness, { balance: 30, threshold: 5, amount: 20, monthlyMax: 100 });
    const { url } = await harness.payments.beginTopUp({
      ...pageFor(paused),
      amount: (10 * USD) as never,
      saveCard: false,
    });
    const sessionId = url.split('/').at(-1) ?? '';
    await harness.receive(...harness.stripe.pay(sessionId));
    await spend(paused, 39 * USD);
    const intent = harness.stripe.session(sessionId).payment_intent ?? '';
    await harness.receive(...harness.stripe.dispute(intent).events);
    const removed = await withAutomatic(harness, { balance: 1, threshold: 5, amount: 20, monthlyMax: 100 });
    await harness.payments.removeCard(removed);
    await harness.payments.runAutomatic();
    expect([charges(paused), charges(removed)]).toEqual([[], []]);
    expect(await topUp(paused)).toMatchObject({ enabled: 0, off_reason: 'dispute' });
    expect(await topUp(removed)).toMatchObject({ enabled: 0, method_id: null });
  });

  test('what running requests hold counts as spent, and an account that the operator disabled is not charged', async () => {
    const rule = { balance: 10, threshold: 5, amount: 20, monthlyMax: 100 };
    const [busy, disabled] = [await withAutomatic(harness, rule), await withAutomatic(harness, rule)];
    await harness.payments.runAutomatic();
    expect([...charges(busy), ...charges(disabled)]).toEqual([]);
    const release = await holdDollars(busy, 8);
    await spend(disabled, 8 * USD);
    const { db } = harness.store;
    await db.updateTable('account').set({ status: 'disabled' }).where('id', '=', disabled).execute();
    await harness.payments.runAutomatic();
    expect(charges(busy)).toHaveLength(1);
    expect(charges(disabled)).toEqual([]);
    expect(await harness.balance(busy)).toBe(30 * USD);
    await release();
    await verified();
  });

  test('a request that was refused for want of money begins the top-up that covers it, and waits for its event', async () => {
    const accountId = await withAutomatic(harness, { balance: 3, threshold: 5, amount: 20, monthlyMax: 20 });
    const caller = { kind: 'account', id: accountId } as const;
    const { trigger } = harness.payments;
    const signal = new AbortController().signal;
    expect(await trigger.covered(caller, nanoUsd(3 * USD), signal)).toBe(true);
    expect(charges(accountId)).toHaveLength(1);
    expect(await harness.balance(accountId)).toBe(23 * USD);
    // The month has no room for another, and nothing has changed since.
    await spend(accountId, 20 * USD);
    expect(await trigger.covered(caller, nanoUsd(3 * USD), signal)).toBe(false);
    const stranger = { kind: 'account', id: await harness.account(3) } as const;
    expect(await trigger.covered(stranger, nanoUsd(3 * USD), signal)).toBe(false);
    expect(charges(accountId)).toHaveLength(1);
    await verified();
  });

  /** Charges the card of an account that has three dollars, and returns the payment at Stripe. */
  const chargedOnce = async (accountId: AccountId): Promise<string> => {
    await harness.payments.runAutomatic();
    const [intent] = charges(accountId);
    if (!intent) throw new Error('the card was not charged');
    expect(await harness.balance(accountId)).toBe(23 * USD);
    return intent.id;
  };
  const LOW = { balance: 3, threshold: 5, amount: 20, monthlyMax: 100 };

  test.each(['refund', 'dispute'] as const)(
    'a %s of its payment does not charge the card again, and it stays off until its owner turns it on',
    async (kind) => {
      const accountId = await withAutomatic(harness, LOW);
      const { events } = harness.stripe[kind](await chargedOnce(accountId));
      await harness.receive(...events);
      await harness.payments.runAutomatic();
      expect(await harness.balance(accountId)).toBe(3 * USD);
      expect(await topUp(accountId)).toMatchObject({ enabled: 0, off_reason: kind });
      expect(charges(accountId)).toHaveLength(1);
      const rule = { threshold: nanoUsd(5 * USD), amount: nanoUsd(20 * USD), monthlyMax: nanoUsd(100 * USD) };
      if (kind === 'dispute') {
        await expect(harness.payments.setAutomatic(accountId, rule)).rejects.toMatchObject({
          code: 'forbidden',
        });
        await expect(harness.payments.beginCard(pageFor(accountId))).rejects.toMatchObject({
          code: 'forbidden',
        });
        await harness.store.db
          .updateTable('account')
          .set({ cards_off_at: null })
          .where('id', '=', accountId)
          .execute();
      }
      await harness.payments.setAutomatic(accountId, rule);
      // What is known already does not turn it off again.
      await harness.receive(...events);
      await harness.payments.runAutomatic();
      expect(await topUp(accountId)).toMatchObject({ enabled: 1, off_reason: null });
      expect(charges(accountId)).toHaveLength(2);
      await verified();
    },
  );

  test('it is off before a refund takes anything, so that no node charges the card in between', async () => {
    const accountId = await withAutomatic(harness, LOW);
    const { events } = harness.stripe.refund(await chargedOnce(accountId));
    const ledger = Object.create(harness.ledger, {
      reclaim: {
        value: async (reclaim: Parameters<Ledger['reclaim']>[0]) => {
          const reclaimed = await harness.ledger.reclaim(reclaim);
          await harness.payments.runAutomatic();
          return reclaimed;
        },
      },
    }) as Ledger;
    const { store } = harness;
    const handler = new PaymentEventHandler({ store, ledger, clock: systemClock, log: silentLog });
    for (const event of events) await handler.apply(providerEvent(event));
    expect(charges(accountId)).toHaveLength(1);
    await verified();
  });

  test('an event that comes again after the card was removed does not bring it back', async () => {
    const accountId = await harness.account(1);
    const { url } = await harness.payments.beginCard(pageFor(accountId));
    const events = harness.stripe.pay(url.split('/').at(-1) ?? '');
    await harness.receive(...events);
    await harness.payments.removeCard(accountId);
    await harness.receive(...events);
    expect(await topUp(accountId)).toMatchObject({ method_id: null });
  });

  test('events that were missed are fetched, page by page, from where the list was last read', async () => {
    const accountId = await harness.account(0);
    for (let time = 0; time < 51; time++) {
      const { url } = await harness.payments.beginTopUp({
        ...pageFor(accountId),
        amount: (10 * USD) as never,
        saveCard: false,
      });
      harness.stripe.pay(url.split('/').at(-1) ?? '');
    }
    await harness.anotherNode().fetchMissed();
    expect(await harness.balance(accountId)).toBe(510 * USD);
    const pages = harness.stripe.calls.filter(({ call }) => call === 'GET /v1/events');
    expect(pages.at(-1)?.form).toHaveProperty('starting_after');
    harness.advance(86_400_000);
    const calls = harness.stripe.calls.length;
    await harness.anotherNode().fetchMissed();
    await harness.anotherNode().fetchMissed();
    expect(await harness.balance(accountId)).toBe(510 * USD);
    expect(harness.stripe.calls.length).toBeGreaterThan(calls);
    await verified();
  });

  test('the customer of a removed account is deleted at the provider', async () => {
    const accountId = await withAutomatic(harness, { balance: 1, threshold: 5, amount: 20, monthlyMax: 100 });
    const { customer_id: customer } = await topUp(accountId);
    await harness.store.db
      .updateTable('top_up')
      .set({ removed_at: 1, enabled: 0, method_id: null })
      .where('account_id', '=', accountId)
      .execute();
    await harness.payments.sweep();
    expect(harness.stripe.calls.map(({ call }) => call)).toContain(`DELETE /v1/customers/${customer}`);
    expect(topUp(accountId)).rejects.toThrow();
  });
});
