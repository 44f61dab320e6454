import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { completion, images, ScriptedBackend, streamed, usage } from '../support/scripted-backend.ts';

/** What is charged, to the nano-dollar, and that nobody can spend what is not there. */

let backend: ScriptedBackend;
let gateway: Gateway;

beforeAll(async () => {
  backend = new ScriptedBackend();
  // One output token costs 2,000 nano-dollars, input is free: a hold of one token is exactly its charge.
  gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' }) });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

const statuses = async (responses: Promise<Response>[]): Promise<Record<number, number>> => {
  const counts: Record<number, number> = {};
  for (const response of await Promise.all(responses)) {
    await response.arrayBuffer();
    counts[response.status] = (counts[response.status] ?? 0) + 1;
  }
  return counts;
};

describe('a burst on a balance for exactly 100', () => {
  test('500 chats at once: 100 answered, 400 refused, 100 backend calls, nothing left and nothing held, 20 times', async () => {
    backend.script(() => completion('x', usage(1, 1)));
    for (let round = 0; round < 20; round++) {
      const account = await gateway.account('0.0002');
      const before = backend.calls.length;
      const counts = await statuses(
        Array.from({ length: 500 }, () => gateway.chat(account.token, { max_tokens: 1 })),
      );
      expect(counts).toEqual({ 200: 100, 402: 400 });
      expect(backend.calls.length - before).toBe(100);
      expect(await gateway.money(account)).toEqual({ balance: 0 as never, held: 0 as never, open: 0 });
    }
    expect((await gateway.verify()).breaches).toEqual([]);
  });

  test('500 streams at once: the same', async () => {
    backend.script(() => streamed(['x'], { prompt: 1, completion: 1 }));
    const account = await gateway.account('0.0002');
    const before = backend.calls.length;
    const counts = await statuses(
      Array.from({ length: 500 }, () => gateway.chat(account.token, { max_tokens: 1, stream: true })),
    );
    expect(counts).toEqual({ 200: 100, 402: 400 });
    expect(backend.calls.length - before).toBe(100);
    expect(await gateway.money(account)).toEqual({ balance: 0 as never, held: 0 as never, open: 0 });
  });

  test('images with n = 4: the same, 20 times', async () => {
    backend.script(() => images(4));
    for (let round = 0; round < 20; round++) {
      const account = await gateway.account('4');
      const before = backend.calls.length;
      const counts = await statuses(
        Array.from({ length: 500 }, () =>
          gateway.image(account.token, { n: 4, response_format: 'b64_json' }),
        ),
      );
      expect(counts).toEqual({ 200: 100, 402: 400 });
      expect(backend.calls.length - before).toBe(100);
      expect(await gateway.money(account)).toEqual({ balance: 0 as never, held: 0 as never, open: 0 });
    }
    expect((await gateway.verify()).breaches).toEqual([]);
  });
});

describe('what is charged', () => {
  test('less than held: exactly the usage, and the rest is free at once', async () => {
    backend.script(() => completion('x', usage(10, 7)));
    const account = await gateway.account('1');
    const response = await gateway.chat(account.token, { max_tokens: 1000 });
    expect(response.headers.get('x-tollgate-cost')).toBe('0.000014');
    expect(await gateway.money(account)).toEqual({
      balance: 999_986_000 as never,
      held: 0 as never,
      open: 0,
    });
  });

  test('a backend that claims ten times its cap: the hold is charged, the rest is the operator’s loss, with an alarm', async () => {
    backend.script(() => completion('x', usage(0, 100)));
    const account = await gateway.account('1');
    await gateway.chat(account.token, { max_tokens: 10 });
    expect((await gateway.money(account)).balance).toBe((1_000_000_000 - 20_000) as never);
    const [row] = await gateway.requests(account);
    expect(row).toMatchObject({ charged: 20_000, overrun: 180_000, held: 20_000 });
    expect(gateway.log.some((line) => line.includes('overrun'))).toBe(true);
    expect((await gateway.verify()).breaches).toEqual([]);
  });

  test.each([
    ['negative', usage(-5, -5)],
    ['NaN as null', { prompt_tokens: null, completion_tokens: null }],
    ['text', { prompt_tokens: '12', completion_tokens: '3' }],
    ['a fraction', usage(1.5, 2.5)],
    ['beyond 2^53', usage(2 ** 53 + 2, 1)],
    ['missing', undefined],
    ['half missing', { completion_tokens: 3 }],
    ['a list', []],
  ])('usage that is %s is ignored and counted by us: no credit, no 500', async (_, hostile) => {
    backend.script(() => completion('one two three four', hostile));
    const account = await gateway.account('1');
    const response = await gateway.chat(account.token, { max_tokens: 100 });
    expect(response.status).toBe(200);
    const answer = (await response.json()) as { usage: { completion_tokens: number } };
    expect(answer.usage.completion_tokens).toBe(4);
    const [row] = await gateway.requests(account);
    expect(row).toMatchObject({ usage_source: 'counted', output_tokens: 4, charged: 8_000 });
  });

  test('usage of 1e400 is no number at all', async () => {
    backend.script(
      () =>
        new Response(
          '{"id":"x","object":"chat.completion","created":1,"model":"b","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1e400,"completion_tokens":1e400,"total_tokens":1}}',
          { headers: { 'content-type': 'application/json' } },
        ),
    );
    const account = await gateway.account('1');
    expect((await gateway.chat(account.token, { max_tokens: 10 })).status).toBe(200);
    expect((await gateway.requests(account))[0]).toMatchObject({ usage_source: 'counted', output_tokens: 1 });
  });

  test('images: n asked, fewer delivered, fewer charged', async () => {
    backend.script(() => images(2));
    const account = await gateway.account('1');
    const response = await gateway.image(account.token, { n: 4, response_format: 'b64_json' });
    expect(((await response.json()) as { data: unknown[] }).data).toHaveLength(2);
    expect((await gateway.money(account)).balance).toBe(980_000_000 as never);
  });

  test('a cap that the balance does not cover is lowered, reported, and sent to the backend', async () => {
    backend.script(() => completion('x', usage(0, 1)));
    const account = await gateway.account('0.002');
    const response = await gateway.chat(account.token, { max_tokens: 50_000 });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-tollgate-max-tokens')).toBe('1000');
    expect(backend.calls.at(-1)?.body['max_tokens']).toBe(1000);
  });

  test('below 256 tokens it is 402, with what would be needed', async () => {
    const account = await gateway.account('0.0005');
    const response = await gateway.chat(account.token, { max_tokens: 50_000 });
    expect(response.status).toBe(402);
    expect(((await response.json()) as { error: unknown }).error).toMatchObject({
      reason: 'request_exceeds_balance',
      available_usd: 0.0005,
      required_usd: 0.000512,
    });
  });

  test('money on hold is distinguished from spent money', async () => {
    const gate = Promise.withResolvers<void>();
    backend.script(async () => {
      await gate.promise;
      return completion('x', usage(0, 1));
    });
    const account = await gateway.account('0.000002');
    const before = backend.calls.length;
    const first = gateway.chat(account.token, { max_tokens: 1 });
    await backend.called(before + 1);
    const second = await gateway.chat(account.token, { max_tokens: 1 });
    expect(second.status).toBe(402);
    expect(((await second.json()) as { error: unknown }).error).toMatchObject({ reason: 'funds_on_hold' });
    expect(second.headers.get('retry-after')).toBe('1');
    gate.resolve();
    expect((await first).status).toBe(200);
  });
});

describe('Idempotency-Key', () => {
  const key = () => ({ headers: { 'idempotency-key': crypto.randomUUID() } });

  test('fifty at once: one backend call, one charge, the same bytes for all', async () => {
    backend.script(async () => {
      await Bun.sleep(30);
      return completion(`answer ${crypto.randomUUID()}`, usage(0, 1));
    });
    const account = await gateway.account('1');
    const before = backend.calls.length;
    const init = key();
    const texts = await Promise.all(
      Array.from({ length: 50 }, async () =>
        (await gateway.chat(account.token, { max_tokens: 1 }, init)).text(),
      ),
    );
    expect(new Set(texts).size).toBe(1);
    expect(backend.calls.length - before).toBe(1);
    expect(await gateway.requests(account)).toHaveLength(1);
  });

  test('a streamed answer is replayed byte for byte', async () => {
    backend.script(() => streamed(['a', 'b', 'c'], { prompt: 0, completion: 3 }));
    const account = await gateway.account('1');
    const init = key();
    const first = await (await gateway.chat(account.token, { stream: true, max_tokens: 10 }, init)).text();
    const again = await gateway.chat(account.token, { stream: true, max_tokens: 10 }, init);
    expect(await again.text()).toBe(first);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await gateway.requests(account)).toHaveLength(1);
  });

  test('another body with the same key is refused', async () => {
    backend.script(() => completion('x', usage(0, 1)));
    const account = await gateway.account('1');
    const init = key();
    await gateway.chat(account.token, { max_tokens: 1 }, init);
    const other = await gateway.chat(account.token, { max_tokens: 2 }, init);
    expect(other.status).toBe(400);
    expect(((await other.json()) as { error: { code: string } }).error.code).toBe('idempotency_key_reused');
  });

  test('the same body under another path with the same key is refused', async () => {
    backend.script(() => completion('x', usage(0, 1)));
    const account = await gateway.account('1');
    const init = key();
    const body = {
      endpoint: 'svc_chat',
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 1,
    };
    expect((await gateway.post('/v1/chat/completions', account.token, body, init)).status).toBe(200);
    const other = await gateway.post('/api/public/v1/chat/completions', account.token, body, init);
    expect(other.status).toBe(400);
    expect(await other.text()).toContain('idempotency_key_reused');
    expect(await gateway.requests(account)).toHaveLength(1);
  });

  test('a failure is not stored: a retry may succeed', async () => {
    const account = await gateway.account('1');
    const init = key();
    backend.script(() => new Response('{}', { status: 400 }));
    expect((await gateway.chat(account.token, { max_tokens: 1 }, init)).status).toBe(400);
    backend.script(() => completion('x', usage(0, 1)));
    expect((await gateway.chat(account.token, { max_tokens: 1 }, init)).status).toBe(200);
  });

  test('a client that leaves and comes back pays once and gets its answer', async () => {
    const gate = Promise.withResolvers<void>();
    backend.script(async () => {
      await gate.promise;
      return completion('worth waiting for', usage(0, 3));
    });
    const account = await gateway.account('1');
    const before = backend.calls.length;
    const init = key();
    const leaving = new AbortController();
    const first = gateway.chat(account.token, { max_tokens: 5 }, { ...init, signal: leaving.signal });
    await backend.called(before + 1);
    leaving.abort();
    await expect(first).rejects.toThrow();
    gate.resolve();
    const again = await gateway.chat(account.token, { max_tokens: 5 }, init);
    expect(await again.text()).toContain('worth waiting for');
    expect(backend.calls.length - before).toBe(1);
    expect((await gateway.money(account)).balance).toBe((1_000_000_000 - 6_000) as never);
  });

  test('an image answer is replayed too', async () => {
    backend.script(() => images(1));
    const account = await gateway.account('1');
    const init = key();
    const first = await (await gateway.image(account.token, {}, init)).text();
    expect(await (await gateway.image(account.token, {}, init)).text()).toBe(first);
    expect((await gateway.money(account)).balance).toBe(990_000_000 as never);
  });
});
