import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Answer } from '../../src/console/contract/routes.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';
import { Payer } from './payer.ts';
import { StripeStandIn } from './stripe-stand-in.ts';

type CardPayments = Answer<'GET /api/console/payments'>;

const USD = 1_000_000_000;
const PATIENCE_MS = 240_000;

let backend: ScriptedBackend;
let stripe: StripeStandIn;
let gateway: Gateway;

beforeAll(async () => {
  backend = new ScriptedBackend();
  stripe = new StripeStandIn();
  // A cent for each token of output.
  const yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 10000' });
  gateway = await Gateway.start({ yaml, env: stripe.env });
  await Payer.admin(gateway);
}, 300_000);
/** Somebody with ten dollars, a saved card, and a top-up of 25 dollars below a threshold. */
async function paying(
  email: string,
  thresholdUsd: string,
  monthlyMaxUsd: string,
): Promise<{ customer: Payer; token: string }> {
  const customer = await Payer.signUp(gateway, email);
  const { sessionId } = await customer.checkout('10', true);
  for (const event of stripe.pay(sessionId))
    expect((await stripe.deliver(gateway.url, event)).status).toBe(200);
  const rule = { thresholdUsd, amountUsd: '25', monthlyMaxUsd };
  expect((await customer.send('PUT', 'payments/automatic', rule)).status).toBe(200);
  const token = await gateway.tollgate.services.accounts.replaceToken(customer.accountId as AccountId);
  backend.script(() => completion('x', usage(1, 50)));
  return { customer, token };
}

afterAll(async () => {
  await gateway.stop();
  await backend.stop();
  await stripe.stop();
});

test('a saved card tops up while requests run: none is refused that it covers, and a card that fails turns it off', async () => {
  const { customer, token } = await paying('busy@example.com', '8', '50');
  const chats = async (count: number): Promise<void> => {
    for (let chat = 0; chat < count; chat++) {
      // Half a dollar each.
      const answer = await gateway.chat(token, { max_tokens: 50 });
      expect(answer.status).toBe(200);
      await answer.arrayBuffer();
    }
  };
  await chats(60);
  expect(stripe.charged.length).toBeGreaterThanOrEqual(1);
  expect(await customer.balance()).toBe((10 + 25 * stripe.charged.length - 30) * USD);
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.tollgate.services.store.db
    .updateTable('top_up')
    .set({
      method_id: 'pm_card_chargeDeclinedInsufficientFunds',
      threshold: 1_000 * USD,
      monthly_max: 1_000 * USD,
    })
    .execute();
  const isOff = async (): Promise<boolean> =>
    (await customer.get<CardPayments>('payments')).automatic?.enabled === false;
  await eventually('it is turned off', isOff, PATIENCE_MS);
  expect(await customer.get<CardPayments>('payments')).toMatchObject({
    hasCard: true,
    automatic: { offReason: 'insufficient_funds', running: false },
  });
}, 600_000);

test('requests at once that cost more than the balance wait for the one charge of the card, whose event comes late', async () => {
  const { customer, token } = await paying('burst@example.com', '1', '100');
  const before = stripe.charged.length;
  const sent = stripe.events.length;
  stripe.eventsHidden.on = true;
  try {
    const asked = Array.from({ length: 30 }, () => gateway.chat(token, { max_tokens: 50 }));
    await eventually('the card was charged', () => stripe.charged.length === before + 1, PATIENCE_MS);
    for (const event of stripe.events.slice(sent)) await stripe.deliver(gateway.url, event);
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual(asked.map(() => 200));
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  } finally {
    stripe.eventsHidden.on = false;
  }
  expect(stripe.charged.length).toBe(before + 1);
  expect(await customer.balance()).toBe((10 + 25 - 15) * USD);
  expect((await gateway.verify()).breaches).toEqual([]);
}, 600_000);

test('a request that no top-up covers is refused: the card fails, the month has no room, or there is none', async () => {
  const { customer, token } = await paying('poor@example.com', '1', '25');
  const { db } = gateway.tollgate.services.store;
  const useCard = (method_id: string) =>
    db.updateTable('top_up').set({ method_id }).where('account_id', '=', customer.accountId).execute();
  const status = async (max_tokens: number): Promise<number> => {
    const answer = await gateway.chat(token, { max_tokens });
    await answer.arrayBuffer();
    return answer.status;
  };
  const before = stripe.charged.length;
  backend.script(() => completion('x', usage(1, 1_000)));
  expect(await status(1_000)).toBe(200);
  backend.script(() => completion('x', usage(1, 2_000)));
  expect(await status(2_000)).toBe(200);
  expect(stripe.charged.length).toBe(before + 1);
  // Five dollars are left, and the month's maximum is used up.
  backend.script(() => completion('x', usage(1, 450)));
  expect(await status(450)).toBe(200);
  expect(await status(450)).toBe(402);
  await db
    .updateTable('top_up')
    .set({ monthly_max: 100 * USD })
    .execute();
  await useCard('pm_card_chargeDeclinedInsufficientFunds');
  expect(await status(450)).toBe(402);
  expect(stripe.charged.length).toBe(before + 1);
  expect((await gateway.verify()).breaches).toEqual([]);
}, 600_000);
