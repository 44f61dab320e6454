import { attemptsOf } from '../../src/ledger/receipt.ts';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import {
  chunk,
  completion,
  eventStream,
  ScriptedBackend,
  streamed,
  usage,
} from '../support/scripted-backend.ts';

/** Which backend is asked, when another one is, and what the client hears when none can. */

let backends: ScriptedBackend[] = [];
let gateway: Gateway;
let account: TestAccount;

const TIMEOUTS = 'timeouts: { first_byte_ms: 400, idle_ms: 2000, total_ms: 4000 }';

async function start(count: number, endpoint?: string): Promise<void> {
  backends = Array.from({ length: count }, () => new ScriptedBackend());
  const yaml = catalogFor(
    backends.map(({ baseUrl }) => baseUrl),
    { upstream: TIMEOUTS, ...(endpoint ? { endpoint } : {}) },
  );
  gateway = await Gateway.start({ yaml });
  account = await gateway.account('100');
}

beforeEach(() => {
  backends = [];
});
afterEach(async () => {
  await gateway.settled(account);
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await Promise.all(backends.map((backend) => backend.stop()));
});

const ok = (): Response => completion('ok', usage(1, 1));
const fails =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    new Response('{"error":{"message":"no"}}', { status, headers });
const calls = (): number[] => backends.map(({ calls: made }) => made.length);
const lastReceipt = async () => (await gateway.requests(account)).at(-1)!;

describe('order and weights', () => {
  test('the first available one is called, the others are not', async () => {
    await start(3);
    for (const backend of backends) backend.script(ok);
    for (let round = 0; round < 10; round++) expect((await gateway.chat(account.token)).status).toBe(200);
    expect(calls()).toEqual([10, 0, 0]);
  });

  test('weights within a place share the load in proportion', async () => {
    await start(2, '[{ name: b0, weight: 3 }, { name: b1, weight: 1 }]');
    for (const backend of backends) backend.script(ok);
    for (let round = 0; round < 4; round++) {
      await Promise.all(Array.from({ length: 100 }, async () => (await gateway.chat(account.token)).text()));
    }
    const [first = 0, second = 0] = calls();
    expect(first + second).toBe(400);
    // Far outside chance: 300 ± 9 is one standard deviation.
    expect(first).toBeGreaterThan(250);
    expect(first).toBeLessThan(350);
  });
});

describe('failover', () => {
  test.each([500, 502, 503, 429, 401, 403, 404])(
    'a %i goes to the next backend; the receipt tells the story; one charge',
    async (status) => {
      await start(2);
      backends[0]!.script(fails(status));
      backends[1]!.script(ok);
      expect((await gateway.chat(account.token)).status).toBe(200);
      const receipt = await lastReceipt();
      expect(receipt).toMatchObject({ upstream: 'b1', charged: 3_000, state: 'posted' });
      expect(attemptsOf(receipt)).toMatchObject([
        { upstream: 'b0', result: 'failed' },
        { upstream: 'b1', result: 'served' },
      ]);
    },
  );

  test('a 400 is the client’s error: no other backend is called, its message is redacted, nothing is charged', async () => {
    await start(2);
    backends[0]!.script(() =>
      Response.json(
        { error: { message: 'bad tool in https://internal.host/x with key sk-abcdefgh12345678' } },
        { status: 400 },
      ),
    );
    backends[1]!.script(ok);
    const response = await gateway.chat(account.token);
    expect(response.status).toBe(400);
    const text = await response.text();
    expect(text).toContain('bad tool');
    expect(text).not.toContain('internal.host');
    expect(text).not.toContain('abcdefgh12345678');
    expect(calls()).toEqual([1, 0]);
    expect(await lastReceipt()).toMatchObject({ charged: 0, state: 'void' });
  });

  test('an unreachable backend is followed by the next', async () => {
    await start(2);
    await backends[0]!.stop();
    backends[1]!.script(ok);
    expect((await gateway.chat(account.token)).status).toBe(200);
  });

  test('a stream that begins with an error inside a 200 is followed by the next, and the client sees a clean stream', async () => {
    await start(2);
    backends[0]!.script(() => eventStream('data: {"error":{"message":"overloaded"}}\n\n'));
    backends[1]!.script(() => streamed(['fine'], { prompt: 1, completion: 1 }));
    const text = await (await gateway.chat(account.token, { stream: true })).text();
    expect(text).toContain('fine');
    expect(text).not.toContain('error');
    expect(await lastReceipt()).toMatchObject({ upstream: 'b1', charged: 3_000 });
  });

  test('also when a chunk without content came before the error', async () => {
    await start(2);
    backends[0]!.script(() =>
      eventStream(`${chunk({ role: 'assistant', content: '' })}data: {"error":{"message":"overloaded"}}\n\n`),
    );
    backends[1]!.script(() => streamed(['fine'], { prompt: 1, completion: 1 }));
    const text = await (await gateway.chat(account.token, { stream: true })).text();
    expect(text).toContain('fine');
    expect(text).not.toContain('overloaded');
  });

  test('an invalid stream (wrong type, garbage, empty) is followed by the next', async () => {
    await start(2);
    backends[1]!.script(() => streamed(['fine'], { prompt: 1, completion: 1 }));
    for (const wrong of [() => ok(), () => eventStream('data: <html>\n\n'), () => eventStream('')]) {
      backends[0]!.script(wrong);
      expect(await (await gateway.chat(account.token, { stream: true })).text()).toContain('fine');
    }
  });

  test('an invalid answer (HTML, no choices, half JSON) is followed by the next', async () => {
    await start(2);
    backends[1]!.script(ok);
    for (const wrong of ['<html>', '{}', '{"choices":[]}', '{"choices":[{']) {
      backends[0]!.script(() => new Response(wrong, { headers: { 'content-type': 'application/json' } }));
      expect((await gateway.chat(account.token)).status).toBe(200);
    }
  });

  test('a slow start is followed by the next', async () => {
    await start(2);
    backends[0]!.script(async () => {
      await Bun.sleep(1_500);
      return streamed(['late']);
    });
    backends[1]!.script(() => streamed(['fine'], { prompt: 1, completion: 1 }));
    expect(await (await gateway.chat(account.token, { stream: true })).text()).toContain('fine');
  });

  test('nothing is retried once content has reached the client', async () => {
    await start(2);
    backends[0]!.script(() => eventStream(chunk({ content: 'begun' })));
    backends[1]!.script(() => streamed(['other']));
    const text = await (await gateway.chat(account.token, { stream: true })).text();
    expect(text).toContain('"error"');
    expect(text).not.toContain('other');
    expect(calls()).toEqual([1, 0]);
  });

  test('a redirect is not followed, and our key is not sent along', async () => {
    await start(2);
    const thief = new ScriptedBackend();
    backends[0]!.script(() => Response.redirect(`${thief.baseUrl}/chat/completions`, 307));
    backends[1]!.script(ok);
    expect((await gateway.chat(account.token)).status).toBe(200);
    expect(thief.calls).toHaveLength(0);
    await thief.stop();
  });
});

describe('no backend can serve', () => {
  test.each([
    [500, 'upstream_error'],
    [429, 'upstream_error'],
    [401, 'upstream_error'],
    [402, 'upstream_error'],
    [504, 'upstream_timeout'],
  ])(
    'all answer %i: 500 %s with Retry-After, never our 401 or 429, nothing charged',
    async (status, code) => {
      await start(2);
      for (const backend of backends) backend.script(fails(status));
      const response = await gateway.chat(account.token);
      expect(response.status).toBe(500);
      expect(((await response.json()) as { error: { code: string } }).error.code).toBe(code);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(await lastReceipt()).toMatchObject({ charged: 0, state: 'void', outcome: 'upstream_failed' });
    },
  );

  test('a backend’s refusal of our key raises an alarm and is not echoed', async () => {
    await start(1);
    backends[0]!.script(() =>
      Response.json(
        { error: { message: 'Incorrect API key provided: sk-secretsecret1234' } },
        { status: 401 },
      ),
    );
    const response = await gateway.chat(account.token);
    expect(await response.text()).not.toContain('secretsecret');
    expect(
      gateway.log.some((line) => line.includes('backend_key_rejected') && line.includes('"level":"error"')),
    ).toBe(true);
    expect(gateway.log.join('')).not.toContain('secretsecret');
  });
});

describe('health', () => {
  test('after failures the breaker opens; then one probe decides', async () => {
    await start(2);
    backends[0]!.script(fails(500));
    backends[1]!.script(ok);
    for (let round = 0; round < 12; round++) await gateway.chat(account.token);
    const resting = calls()[0] ?? 0;
    expect(resting).toBeLessThan(12);
    expect(resting).toBeGreaterThanOrEqual(5);
    backends[0]!.script(ok);
    // The rest lasts about two seconds; the first request after it is the probe that closes the breaker.
    for (let tries = 0; calls()[0] === resting && tries < 100; tries++) {
      await Bun.sleep(50);
      await gateway.chat(account.token);
    }
    const probed = calls()[0] ?? 0;
    expect(probed).toBe(resting + 1);
    await gateway.chat(account.token);
    expect(calls()[0]).toBe(probed + 1);
  });

  test('a backend’s 429 with Retry-After cools it down at once', async () => {
    await start(2);
    backends[0]!.script(fails(429, { 'retry-after': '30' }));
    backends[1]!.script(ok);
    for (let round = 0; round < 5; round++) expect((await gateway.chat(account.token)).status).toBe(200);
    expect(calls()).toEqual([1, 5]);
  });

  test('when everything fails, the backends get at most a tenth more than the clients sent, plus a reserve', async () => {
    await start(3);
    for (const backend of backends) backend.script(fails(404));
    await Promise.all(Array.from({ length: 100 }, async () => (await gateway.chat(account.token)).text()));
    const total = calls().reduce((sum, count) => sum + count, 0);
    expect(total).toBeLessThanOrEqual(100 * 1.1 + 25);
  });
});

describe('what reaches a backend', () => {
  test('an allow-list of headers, the operator’s key, and never the client’s token', async () => {
    await start(1);
    backends[0]!.script(ok);
    await gateway.chat(
      account.token,
      {},
      {
        headers: {
          cookie: 'session=1',
          'x-forwarded-for': '1.2.3.4',
          'x-custom': 'y',
          'openai-organization': 'org-x',
        },
      },
    );
    const [call] = backends[0]!.calls;
    const names = [...call!.headers.keys()].sort();
    expect(
      names.filter(
        (name) =>
          ![
            'accept',
            'accept-encoding',
            'connection',
            'content-length',
            'content-type',
            'host',
            'user-agent',
          ].includes(name),
      ),
    ).toEqual([]);
    expect(call!.text + JSON.stringify([...call!.headers])).not.toContain(account.token);
  });

  test('every field of the chat surface that costs nothing extra passes; selectors do not; null is absent', async () => {
    await start(1);
    backends[0]!.script(ok);
    const fields = {
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' }, strict: true } }],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
      logprobs: true,
      top_logprobs: 3,
      seed: 7,
      n: 2,
      logit_bias: { '50256': -100 },
      modalities: ['text'],
      metadata: { a: 'b' },
    };
    await gateway.chat(account.token, { ...fields, user: null, stop: null });
    const { model, messages, max_tokens, ...rest } = backends[0]!.calls[0]!.body;
    expect(rest).toEqual(fields);
    expect({ model, messages, max_tokens }).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 16_384,
    });
  });
});
