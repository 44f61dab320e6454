import { afterEach, describe, expect, test } from 'bun:test';
import { METRICS_TOKEN } from '../support/leaks.ts';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';
import { chunk, completion, DONE, openStream, ScriptedBackend, usage } from '../support/scripted-backend.ts';

const PLACES = 4;
/** One token of output at $2 for a million. */
const PRICE_NANO_USD = 2_000;
const BALANCE_NANO_USD = 1_000_000_000;

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

const DATABASES = {
  SQLite: () => Promise.resolve({}),
  Postgres: async () => ({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};

async function start(
  database: () => Promise<{ databaseUrl?: string }>,
  env: Record<string, string>,
): Promise<{ gateway: Gateway; backend: ScriptedBackend }> {
  const backend = new ScriptedBackend();
  cleanUps.push(() => backend.stop());
  const yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' });
  const gateway = await Gateway.start({ yaml, env, ...(await database()) });
  cleanUps.push(() => gateway.stop());
  return { gateway, backend };
}

/** A backend that answers when it is told to. */
function cued(backend: ScriptedBackend): { go: () => void; called: (times: number) => Promise<void> } {
  const cue = Promise.withResolvers<void>();
  backend.script(async () => {
    await cue.promise;
    return completion('x', usage(0, 1));
  });
  return {
    go: cue.resolve,
    called: (times) => eventually(`${times} calls reached the backend`, () => backend.calls.length >= times),
  };
}

async function shedCount(gateway: Gateway, reason: string): Promise<number> {
  const text = await gateway.metrics();
  return Number(
    new RegExp(`^tollgate_shed_requests_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0,
  );
}

async function expectShed(response: Response): Promise<void> {
  expect(response.status).toBe(500);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await response.json()).toMatchObject({
    error: { code: 'service_unavailable', type: 'server_error', param: null },
  });
}

async function inFlight(gateway: Gateway): Promise<number> {
  const text = await gateway.metrics();
  return Number(/^tollgate_requests_in_flight (\d+)$/m.exec(text)?.[1]);
}

async function spent(gateway: Gateway, account: TestAccount): Promise<number> {
  return BALANCE_NANO_USD - (await gateway.money(account)).balance;
}

describe.each(Object.entries(DATABASES))('a full server on %s', (_, database) => {
  test('refuses new work at once without a trace, lets running work end, and keeps places for other accounts', async () => {
    const { gateway, backend } = await start(database, { TOLLGATE_MAX_IN_FLIGHT: String(PLACES) });
    const { go, called } = cued(backend);
    const [greedy, modest, late] = [
      await gateway.account('1'),
      await gateway.account('1'),
      await gateway.account('1'),
    ];
    const running = [
      gateway.chat(greedy.token, { max_tokens: 1 }),
      gateway.chat(greedy.token, { max_tokens: 1 }),
    ];
    await called(2);

    await expectShed(await gateway.chat(greedy.token, { max_tokens: 1 }));
    expect(await shedCount(gateway, 'account')).toBe(1);

    running.push(
      gateway.chat(modest.token, { max_tokens: 1 }),
      gateway.chat(modest.token, { max_tokens: 1 }),
    );
    await called(PLACES);
    expect(await inFlight(gateway)).toBe(PLACES);
    await expectShed(await gateway.chat(late.token, { max_tokens: 1 }));
    await expectShed(await gateway.image(late.token));
    const quoted = { endpoint: 'svc_chat', model: 'm', messages: [{ role: 'user', content: 'hi' }] };
    await expectShed(await gateway.post('/api/public/v1/quotes', late.token, quoted));
    await expectShed(await gateway.post('/v1/embeddings', late.token, { model: 'm', input: 'hi' }));
    const messages = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] };
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      const anthropic = await gateway.post(path, late.token, messages);
      expect([anthropic.status, anthropic.headers.has('retry-after')]).toEqual([500, true]);
      expect(await anthropic.json()).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
    }
    expect(await shedCount(gateway, 'places')).toBe(6);

    for (const path of ['/healthz', '/readyz', '/metrics', '/api/console/session'])
      expect([path, (await gateway.fetch(path, { token: METRICS_TOKEN })).status]).toEqual([path, 200]);
    const account = await gateway.fetch('/api/public/v1/account', { token: late.token });
    expect(account.status).toBe(200);

    go();
    for (const response of await Promise.all(running)) expect(response.status).toBe(200);
    await eventually('all places are free', async () => (await inFlight(gateway)) === 0);
    expect((await gateway.chat(late.token, { max_tokens: 1 })).status).toBe(200);
    const charged = [await spent(gateway, greedy), await spent(gateway, modest), await spent(gateway, late)];
    expect(charged).toEqual([2 * PRICE_NANO_USD, 2 * PRICE_NANO_USD, PRICE_NANO_USD]);
    expect(await gateway.requests(late)).toHaveLength(1);
    expect((await gateway.money(late)).open).toBe(0);
    expect((await gateway.verify()).breaches).toEqual([]);
    expect(gateway.log.filter((line) => line.includes('request_failed'))).toEqual([]);
  });

  test('counts a stream until its end, and no longer when its client leaves', async () => {
    const { gateway, backend } = await start(database, { TOLLGATE_MAX_IN_FLIGHT: '2' });
    const [one, two] = [await gateway.account('1'), await gateway.account('1')];
    const streams = [openStream(), openStream()];
    backend.script((_, index) => streams[index]?.response ?? completion('x', usage(0, 1)));
    const leaving = new AbortController();
    const begin = async (index: number, token: string, init: RequestInit = {}) => {
      const response = gateway.chat(token, { stream: true, max_tokens: 5 }, init);
      await eventually('the backend was called', () => backend.calls.length > index);
      streams[index]?.send(chunk({ content: 'x' }));
      return await response;
    };
    const first = await begin(0, one.token);
    await begin(1, two.token, { signal: leaving.signal });
    await expectShed(await gateway.chat(one.token, { max_tokens: 1 }));

    leaving.abort();
    await eventually('the place of the client who left is free', async () => (await inFlight(gateway)) === 1);
    expect((await gateway.chat(two.token, { max_tokens: 1 })).status).toBe(200);
    await expectShed(await gateway.chat(one.token, { max_tokens: 1 }));

    streams[0]?.send(chunk({}, 'stop') + DONE);
    streams[0]?.end();
    await first.text();
    await eventually('all places are free', async () => (await inFlight(gateway)) === 0);
    expect((await gateway.chat(one.token, { max_tokens: 1 })).status).toBe(200);
    await gateway.settled(two);
    expect((await gateway.verify()).breaches).toEqual([]);
  });

  test('of a late event loop sheds new work until it is in time again', async () => {
    const { gateway, backend } = await start(database, { TOLLGATE_MAX_DELAY_MS: '20' });
    backend.script(() => completion('x', usage(0, 1)));
    const account = await gateway.account('1');
    // The gateway runs on this event loop, which has hardly anything but blocking steps now.
    const blocking = setInterval(() => block(100), 1);
    try {
      await eventually('a request was shed', async () => {
        const response = await gateway.chat(account.token, { max_tokens: 1 });
        if (response.status === 200) return false;
        await expectShed(response);
        return true;
      });
    } finally {
      clearInterval(blocking);
    }
    expect(await shedCount(gateway, 'delay')).toBeGreaterThan(0);
    await eventually(
      'it serves again',
      async () => (await gateway.chat(account.token, { max_tokens: 1 })).status === 200,
    );
    await gateway.settled(account);
    const requests = await gateway.requests(account);
    expect(await spent(gateway, account)).toBe(requests.length * PRICE_NANO_USD);
    expect((await gateway.verify()).breaches).toEqual([]);
  });
});

function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
