import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';
import type { Services } from '../../src/main/services.ts';
import { eventObject, intentObject, type EventObject } from './stripe-objects.ts';
import { StripeStandIn } from './stripe-stand-in.ts';

const USD = 1_000_000_000;

let stripe: StripeStandIn;
beforeAll(() => {
  stripe = new StripeStandIn();
});
afterAll(async () => {
  await stripe.stop();
});

let made = 0;

/** A payment of ten dollars that the account has begun, and the event that says it was paid. */
async function paidEvent({ store }: Pick<Services, 'store'>, account: TestAccount): Promise<EventObject> {
  const id = `pay_outage${++made}`;
  await store.db
    .insertInto('payment')
    .values({ id, account_id: account.id, kind: 'top_up', state: 'open', amount: 10 * USD, created_at: 1 })
    .execute();
  await store.durable();
  const metadata = { tollgate_payment: id, tollgate_account: account.id };
  const intent = intentObject({ id: `pi_outage${made}`, amount: 1_000, amount_received: 1_000, metadata });
  const event = { type: 'payment_intent.succeeded', created: stripe.clock, object: intent };
  return eventObject(`evt_outage${made}`, event);
}

test('an event during an outage of SQLite is not acknowledged, and counts once when it comes again', async () => {
  const gateway = await Gateway.start({ env: stripe.env });
  try {
    const account = await gateway.account('1');
    const event = await paidEvent(gateway.tollgate.services, account);
    const other = new Database(join(gateway.folder, 'data', 'tollgate.db'));
    other.run('BEGIN IMMEDIATE');
    const during = await stripe.deliver(gateway.url, event);
    expect([during.status, during.headers.has('retry-after')]).toEqual([500, true]);
    other.run('ROLLBACK');
    other.close();
    expect((await gateway.money(account)).balance as number).toBe(USD);
    for (let time = 0; time < 2; time++) expect((await stripe.deliver(gateway.url, event)).status).toBe(200);
    expect((await gateway.money(account)).balance as number).toBe(11 * USD);
    expect((await gateway.verify()).breaches).toEqual([]);
  } finally {
    await gateway.stop();
  }
});

test('an event during an outage of Postgres is not acknowledged, and counts once when it comes again', async () => {
  const { port, freshDatabase } = await testPostgres();
  const direct = await freshDatabase();
  const proxy = await startFaultProxy(port);
  const through = direct.replace(`:${port}/`, `:${proxy.port}/`);
  const env = { ...stripe.env, TOLLGATE_DATABASE_DEADLINE_MS: '1000' };
  const gateway = await Gateway.start({ env, databaseUrl: through });
  try {
    const account = await gateway.account('1');
    const event = await paidEvent(gateway.tollgate.services, account);
    proxy.freeze();
    const during = await stripe.deliver(gateway.url, event);
    expect(during.status).toBe(500);
    proxy.thaw();
    const patient = await Operator.open({
      DATABASE_URL: direct,
      TOLLGATE_SECRET: 'a secret for tests only',
      TOLLGATE_DATA: gateway.folder,
    });
    for (let good = 0; good < 2;) if ((await stripe.deliver(gateway.url, event)).status === 200) good++;
    expect(await patient.money(account)).toMatchObject({ balance: 11 * USD });
    expect((await patient.services.ledger.ledger.verify()).breaches).toEqual([]);
    await patient.close();
  } finally {
    await gateway.stop();
    await proxy.close();
  }
});

test('a server that is killed between an event and its answer credits it once', async () => {
  const node = await NodeProcess.start({ env: stripe.env });
  try {
    const operator = await Operator.open(node.env);
    const account = await operator.account('1');
    const events = [
      await paidEvent(operator.services, account),
      await paidEvent(operator.services, account),
      await paidEvent(operator.services, account),
    ];
    // At the moment it was sent, as soon as it is booked, and soon after.
    const moments = [0, 1, 2];
    for (const [index, event] of events.entries()) {
      const answer = stripe.deliver(node.url, event).catch(() => undefined);
      if (moments[index] === 1)
        while ((await operator.money(account)).balance < (1 + 10 * (index + 1)) * USD) {
          if (await Promise.race([answer, Bun.sleep(1).then(() => undefined)])) break;
        }
      if (moments[index] === 2) await answer;
      await node.kill();
      await answer;
      await node.restart();
      for (let time = 0; time < 2; time++) expect((await stripe.deliver(node.url, event)).status).toBe(200);
      expect(await operator.money(account)).toMatchObject({ balance: (1 + 10 * (index + 1)) * USD });
    }
    expect((await operator.services.ledger.ledger.verify()).breaches).toEqual([]);
    await operator.close();
  } finally {
    await node.stop();
  }
});
