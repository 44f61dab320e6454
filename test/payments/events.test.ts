import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Answer } from '../../src/console/contract/routes.ts';
import { Gateway } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { Payer } from './payer.ts';
import { CARD_CANARIES, type EventObject } from './stripe-objects.ts';
import { STRIPE_KEY } from './stripe-rules.ts';
import { StripeStandIn, WEBHOOK_SECRET } from './stripe-stand-in.ts';

type CardPayments = Answer<'GET /api/console/payments'>;

type AdminReversals = Answer<'GET /api/console/admin/payments/reversals'>;

const USD = 1_000_000_000;

describe.each([
  ['SQLite', () => Promise.resolve(undefined)],
  ['Postgres', async () => (await testPostgres()).freshDatabase()],
] as const)('money by card on %s', (_, database) => {
  let stripe: StripeStandIn;
  let gateway: Gateway;
  let admin: Payer;
  /** Where nothing is left behind: an address may sign up ten times. */
  let regular: Payer;
  let people = 0;

  beforeAll(async () => {
    stripe = new StripeStandIn();
    const databaseUrl = await database();
    gateway = await Gateway.start({ env: stripe.env, ...(databaseUrl === undefined ? {} : { databaseUrl }) });
    admin = await Payer.admin(gateway);
    regular = await payer();
  }, 300_000);
  afterAll(async () => {
    await gateway.stop();
    await stripe.stop();
  });

  const payer = async (): Promise<Payer> => await Payer.signUp(gateway, `payer${++people}@example.com`);
  const statuses = async (events: readonly EventObject[]): Promise<number[]> => {
    const answers: number[] = [];
    for (const event of events) answers.push((await stripe.deliver(gateway.url, event)).status);
    return answers;
  };
  const deliver = async (...events: readonly EventObject[]): Promise<void> => {
    expect(await statuses(events)).toEqual(events.map(() => 200));
  };
  const problemsOf = async (accountId: string): Promise<string[]> => {
    const { items } = await admin.get<Answer<'GET /api/console/admin/payments/problems'>>(
      'admin/payments/problems?limit=200',
    );
    return items.filter((item) => item.accountId === accountId).map(({ reason }) => reason);
  };
  const spend = async (accountId: string, amount: number): Promise<void> => {
    const { ledger } = gateway.tollgate.services.ledger;
    await ledger.post({
      accountId: accountId as never,
      kind: 'adjustment',
      amount: -amount,
      cause: 'spent',
      actor: 'test',
    });
  };
  const verified = async (): Promise<void> => {
    expect((await gateway.verify()).breaches).toEqual([]);
  };

  test('what the browser comes back with is worth nothing, and each payment counts once with its two events', async () => {
    const customer = await payer();
    const { events } = await customer.pays(stripe, '25');
    expect(await customer.balance()).toBe(0);
    await deliver(...events, ...events);
    expect(await customer.balance()).toBe(25 * USD);
    const { items } = await customer.get<Answer<'GET /api/console/payments/history'>>('payments/history');
    expect(items).toMatchObject([{ kind: 'top_up', state: 'paid', amountUsd: '25.00', reversedUsd: '0.00' }]);
    await verified();
  });

  test('a page that was completed without the money yet brings nothing until the money comes', async () => {
    const before = await regular.balance();
    const { events } = await regular.pays(stripe, '10');
    const [completed] = events;
    if (!completed) throw new Error('there is no event');
    const waiting = { ...completed.data.object, payment_status: 'unpaid' };
    await deliver({ ...completed, data: { object: waiting } });
    expect(await regular.balance()).toBe(before);
    const type = 'checkout.session.async_payment_succeeded';
    await deliver({ ...completed, id: `${completed.id}_later`, type });
    expect(await regular.balance()).toBe(before + 10 * USD);
    await verified();
  });

  test('only the amounts of the operator can be paid', async () => {
    const customer = await payer();
    for (const amountUsd of ['24.99', '0', '-25', '25.001', '1e2', '100000'])
      expect((await customer.send('POST', 'payments/checkout', { amountUsd, saveCard: false })).status).toBe(
        400,
      );
    const change = (topUpAmounts: string[]) => admin.send('PATCH', 'admin/settings', { topUpAmounts });
    for (const amounts of [[], ['0'], ['10.005'], ['-1'], ['100000'], Array.from({ length: 9 }, () => '10')])
      expect((await change(amounts)).status).toBe(400);
    expect((await change(['10', '12.50', '25', '50'])).status).toBe(200);
    const { events } = await customer.pays(stripe, '12.5');
    await deliver(...events);
    expect(await customer.balance()).toBe(12.5 * USD);
  });

  test('ten deliveries at once of each event of a payment count once', async () => {
    const before = await regular.balance();
    const { events } = await regular.pays(stripe, '10');
    const copies = Array.from({ length: 10 }, () => events).flat();
    const answers = await Promise.all(copies.map((event) => stripe.deliver(gateway.url, event)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await regular.balance()).toBe(before + 10 * USD);
    await verified();
  });

  test('a refund that is known before its payment takes what the payment brings, once', async () => {
    const customer = await payer();
    const { events, intentId } = await customer.pays(stripe, '25');
    const refund = stripe.refund(intentId, 1_000);
    await deliver(...refund.events.toReversed(), ...events.toReversed(), ...refund.events, ...events);
    expect(await customer.balance()).toBe(15 * USD);
    const { items } = await customer.get<Answer<'GET /api/console/payments/history'>>('payments/history');
    expect(items).toMatchObject([{ state: 'paid', reversedUsd: '10.00' }]);
    await verified();
  });

  test('a refund beyond the balance is the operator’s loss, and the account is paused and can read why', async () => {
    const customer = await payer();
    const { events, intentId } = await customer.pays(stripe, '50');
    await deliver(...events);
    await spend(customer.accountId, 30 * USD);
    const refund = stripe.refund(intentId);
    await deliver(...refund.events, ...refund.events);
    expect(await customer.balance()).toBe(0);
    expect(await customer.get<CardPayments>('payments')).toMatchObject({ pausedBy: 'refund' });
    expect(
      (await customer.send('POST', 'payments/checkout', { amountUsd: '10', saveCard: false })).status,
    ).toBe(403);
    const { items } = await admin.get<AdminReversals>('admin/payments/reversals');
    const shown = items.find(({ id }) => id === refund.id);
    expect(shown).toMatchObject({ takenUsd: '20.00', lostUsd: '30.00', accountId: customer.accountId });
    const enabled = await admin.send('POST', `admin/accounts/${customer.accountId}/enable`, {});
    expect(enabled.status).toBe(200);
    await deliver(...refund.events);
    const account = await gateway.tollgate.services.accounts.get(customer.accountId as never);
    expect(account).toMatchObject({ status: 'active', paused_reason: null });
    await verified();
  });

  test('a refund that fails brings back what it took, and the loss', async () => {
    const customer = await payer();
    const { events, intentId } = await customer.pays(stripe, '50');
    await deliver(...events);
    await spend(customer.accountId, 45 * USD);
    const before = await admin.get<AdminReversals>('admin/payments/reversals');
    const refund = stripe.refund(intentId, 2_000);
    const failed = stripe.failRefund(refund.id);
    await deliver(...refund.events, failed, ...refund.events, failed);
    expect(await customer.balance()).toBe(5 * USD);
    const after = await admin.get<AdminReversals>('admin/payments/reversals');
    expect(after.lostUsd).toBe(before.lostUsd);
    await verified();
  });

  test('a dispute that is won before it is known to be open takes nothing', async () => {
    const before = await regular.balance();
    const { events, intentId } = await regular.pays(stripe, '25');
    await deliver(...events);
    const dispute = stripe.dispute(intentId);
    const won = stripe.closeDispute(dispute.id, 'won');
    await deliver(...won, ...dispute.events);
    expect(await regular.balance()).toBe(before + 25 * USD);
    await verified();
  });

  test('a dispute takes at once, and gives back when it is won', async () => {
    const before = await regular.balance();
    const { events, intentId } = await regular.pays(stripe, '25');
    await deliver(...events);
    const dispute = stripe.dispute(intentId);
    await deliver(...dispute.events);
    expect(await regular.balance()).toBe(before);
    await deliver(...stripe.closeDispute(dispute.id, 'won'), ...dispute.events);
    expect(await regular.balance()).toBe(before + 25 * USD);
    await admin.send('POST', `admin/accounts/${regular.accountId}/allow-cards`, {});
    await verified();
  });

  test('another amount, currency or account than was asked for is refused and shown to the operator', async () => {
    const customer = await payer();
    const other = await payer();
    const changes = [{ amount: 100 }, { currency: 'jpy' }, { account: other.accountId }];
    const reasons = ['other_amount: 100 cents', 'other_currency: jpy', 'other_account'];
    for (const [index, change] of changes.entries()) {
      const { sessionId } = await customer.checkout('25');
      await deliver(...stripe.pay(sessionId, change));
      expect((await problemsOf(customer.accountId)).slice(0, 2)).toEqual([
        reasons[index] ?? '',
        reasons[index] ?? '',
      ]);
    }
    expect([await customer.balance(), await other.balance()]).toEqual([0, 0]);
    const logged = gateway.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const reason of reasons)
      expect(logged).toContainEqual(
        expect.objectContaining({
          level: 'error',
          event: 'payment_refused',
          reason,
          eventId: expect.stringMatching(/^evt_/),
        }),
      );
    await verified();
  });

  test('an event without a good and recent signature changes nothing', async () => {
    const before = await regular.balance();
    const { events } = await regular.pays(stripe, '25');
    const [event] = events;
    if (!event) throw new Error('no event');
    const bad = [
      { secret: 'whsec_wrong' },
      { at: Date.now() - 900_000 },
      { at: Date.now() + 900_000 },
      { body: JSON.stringify({ ...event, id: 'evt_forged' }) },
    ];
    for (const one of bad) {
      const answer = await stripe.deliver(gateway.url, event, one);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({
        error: { code: 'invalid_field', param: 'Stripe-Signature' },
      });
    }
    const unsigned = await fetch(`${gateway.url}/webhooks/stripe`, { method: 'POST', body: '{}' });
    expect(unsigned.status).toBe(400);
    const large = await stripe.deliver(gateway.url, event, { body: 'x'.repeat(300_000) });
    expect(await large.json()).toMatchObject({ error: { code: 'request_too_large' } });
    expect(await regular.balance()).toBe(before);
  });

  test('an event that is none of ours, or of a kind that we do not know, is taken and changes nothing', async () => {
    const before = stripe.events.length;
    const foreign = {
      id: 'evt_foreign',
      object: 'event' as const,
      type: 'payment_intent.succeeded',
      created: stripe.clock,
      data: { object: { id: 'pi_foreign', amount_received: 100, currency: 'usd', metadata: {} } },
    };
    const unknown = {
      ...foreign,
      id: 'evt_new',
      type: 'customer.created',
      data: { object: { id: 'cus_x' } },
    };
    await deliver(foreign, unknown);
    expect(stripe.events).toHaveLength(before);
    await verified();
  });

  test('a page that nobody went on with is closed, and paid all the same if the money comes', async () => {
    const before = await regular.balance();
    const { sessionId } = await regular.checkout('10');
    await deliver(stripe.decline(sessionId));
    expect(
      (await regular.get<Answer<'GET /api/console/payments/history'>>('payments/history')).items[0],
    ).toMatchObject({
      state: 'failed',
      reason: 'insufficient_funds',
    });
    const paid = stripe.pay(sessionId);
    await deliver(...paid);
    expect(
      (await regular.get<Answer<'GET /api/console/payments/history'>>('payments/history')).items[0],
    ).toMatchObject({
      state: 'paid',
      reason: null,
    });
    expect(await regular.balance()).toBe(before + 10 * USD);
  });

  test('no secret and no card datum is in any table or log line', async () => {
    const { db } = gateway.tollgate.services.store;
    const tables = [
      'payment',
      'payment_reversal',
      'payment_problem',
      'top_up',
      'entry',
      'setting',
      'audit',
    ] as const;
    const kept = await Promise.all(
      tables.map(async (table) => await db.selectFrom(table).selectAll().execute()),
    );
    const all = JSON.stringify(kept) + gateway.log.join('\n');
    expect(all).toContain('pi_standin');
    for (const canary of [...CARD_CANARIES, 'payer-canary', STRIPE_KEY, WEBHOOK_SECRET])
      expect(all).not.toContain(canary);
  });
});
