import { afterEach, describe, expect, test } from 'bun:test';
import { eventObject } from '../payments/stripe-objects.ts';
import { StripeStandIn } from '../payments/stripe-stand-in.ts';
import { AttackedServer } from '../support/attacked-server.ts';
import { eventually } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';

/** Who watches a server, and who tells it of payments, is answered whatever else is under way. */

const PLACES = 4;
const METRICS_TOKEN = 'token-of-whoever-watches';

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** On the store whose connections could be taken too. */
describe('a server whose places are all taken', () => {
  test('answers supervisors, monitoring and the events of payments', async () => {
    const stripe = new StripeStandIn();
    cleanUps.push(() => stripe.stop());
    const env = {
      ...stripe.env,
      TOLLGATE_MAX_IN_FLIGHT: String(PLACES),
      TOLLGATE_METRICS_TOKEN: METRICS_TOKEN,
    };
    const server = await AttackedServer.start({
      databaseUrl: await (await testPostgres()).freshDatabase(),
      env,
    });
    cleanUps.push(() => server.stop());
    const metrics = (token: string): Promise<Response> =>
      fetch(`${server.node.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    const inFlight = async (): Promise<number> =>
      Number(/^tollgate_requests_in_flight (\d+)$/m.exec(await (await metrics(METRICS_TOKEN)).text())?.[1]);

    const hanging = new AbortController();
    cleanUps.push(() => Promise.resolve(hanging.abort()));
    const accounts = await Promise.all([1, 2].map(() => server.operator.account('1')));
    for (const { token } of accounts)
      for (let streams = 0; streams < PLACES / 2; streams++) {
        const stream = await fetch(`${server.node.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'svc_chat/m',
            messages: [{ role: 'user', content: 'hi' }],
            stream: true,
            script: { chunks: 10_000, everyMs: 1_000 },
          }),
          signal: hanging.signal,
        });
        expect(stream.status).toBe(200);
      }
    expect(await inFlight()).toBe(PLACES);
    expect(await server.victimAnswer()).toContain('service_unavailable');

    const event = eventObject('evt_1', { type: 'customer.created', created: 1, object: { id: 'cus_1' } });
    for (let turn = 0; turn < 5; turn++) {
      expect(await server.node.probe('/healthz')).toBe(200);
      expect(await server.node.probe('/readyz')).toBe(200);
      expect((await metrics(METRICS_TOKEN)).status).toBe(200);
      expect((await metrics('wrong')).status).toBe(401);
      expect((await stripe.deliver(server.node.url, event)).status).toBe(200);
    }
    expect(await inFlight()).toBe(PLACES);
    hanging.abort();
    await eventually('the places are free again', async () => (await server.victimAnswer()) === '200');
  }, 60_000);
});
