import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { CardPayments } from '../../src/console/contract.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';
import { Payer } from './payer.ts';
import { StripeStandIn } from './stripe-stand-in.ts';

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
}, 300_000);
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
  await stripe.stop();
});

test('a saved card tops up while requests run: none is refused that it covers, and a card that fails turns it off', async () => {
  await Payer.admin(gateway);
  const customer = await Payer.signUp(gateway, 'busy@example.com');
  const { sessionId } = await customer.checkout('10', true);
  for (const event of stripe.pay(sessionId))
    expect((await stripe.deliver(gateway.url, event)).status).toBe(200);
  const rule = { thresholdUsd: '8', amountUsd: '25', monthlyMaxUsd: '50' };
  expect((await customer.send('PUT', 'payments/automatic', rule)).status).toBe(200);
  const token = await gateway.tollgate.services.accounts.replaceToken(customer.accountId as AccountId);
  backend.script(() => completion('x', usage(1, 50)));
  const chats = async (count: number): Promise<void> => {
    for (let chat = 0; chat < count; chat++) {
      // Half a dollar each. Who spends more than the threshold before Stripe has answered would have to wait.
      await eventually('the top-up came', async () => (await customer.balance()) >= USD, PATIENCE_MS);
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
