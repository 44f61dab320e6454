import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** Requests without a cap of their own share a small balance. A token of output costs $0.00001, and input nothing. */

const ANSWER_TOKENS = 1_000;

describe.each(['sqlite', 'postgres'] as const)('on %s', (store) => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;

  beforeAll(async () => {
    const databaseUrl = store === 'postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 10' }).replace(
      '  image_models:',
      '    - { model: thinker, display_name: T, input: 0, output: 10, max_output: 100000, reasoning: hidden }\n  image_models:',
    );
    gateway = await Gateway.start({ yaml, ...(databaseUrl && { databaseUrl }) });
  });
  afterEach(async () => expect((await gateway.verify()).breaches).toEqual([]));
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
  });

  /** Asks until it is served or refused for good. */
  async function served(account: TestAccount, tries: number): Promise<boolean> {
    for (let attempt = 0; attempt < tries; attempt++) {
      const response = await gateway.chat(account.token);
      const body = (await response.json()) as { error?: { reason: string } };
      if (response.status === 200) return true;
      if (body.error?.reason !== 'funds_on_hold') return false;
    }
    return false;
  }

  test('of two hundred at once on a balance for ten, at least eight are served at once or after a retry', async () => {
    const account = await gateway.account('0.10');
    let answered = 0;
    const enough = Promise.withResolvers<void>();
    // Nobody is answered before several are there: whoever holds everything would wait for the others for ever.
    backend.script(async ({ body }) => {
      if (++answered === 4) enough.resolve();
      await enough.promise;
      return completion('x', usage(5, Math.min(ANSWER_TOKENS, Number(body['max_tokens']))));
    });
    const first = await Promise.all(Array.from({ length: 200 }, () => served(account, 50)));
    expect(first.filter((one) => one).length).toBeGreaterThanOrEqual(8);
    await gateway.settled(account);
  });

  test('a request without a cap holds a quarter of what is free, and its answer and its receipt say so', async () => {
    backend.script(({ body }) => completion('x', usage(5, Number(body['max_tokens']))));
    const account = await gateway.account('0.10');
    const response = await gateway.chat(account.token);
    expect(response.headers.get('x-tollgate-max-tokens')).toBe('2500');
    expect(response.headers.get('x-tollgate-cap-reason')).toBe('balance');
    expect(response.headers.get('x-tollgate-held')).toBe('0.025');
    expect(backend.calls.at(-1)?.body['max_tokens']).toBe(2_500);
    const id = response.headers.get('x-request-id');
    const receipt = await gateway.fetch(`/api/public/v1/requests/${id}`, { token: account.token });
    expect(await receipt.json()).toMatchObject({
      max_tokens: 2_500,
      cap_reason: 'balance',
      attempts: [{ result: 'served' }],
    });
  });

  test.each([
    ['a cap of its own', '0.10', { max_tokens: 9_000 }, 9_000],
    ['a balance that is large enough', '10', {}, 16_384],
    ['a quarter below the least', '0.005', {}, 256],
    ['a model that thinks out of sight', '0.10', { model: 'thinker' }, 8_192],
    ['a model that thinks out of sight, on less than it needs', '0.05', { model: 'thinker' }, 5_000],
  ])('%s: the cap is the one that the guide tells', async (_, usd, body, cap) => {
    backend.script(() => completion('x', usage(5, 1)));
    const account = await gateway.account(usd);
    expect((await gateway.chat(account.token, body)).status).toBe(200);
    expect(backend.calls.at(-1)?.body['max_tokens']).toBe(cap);
  });
});
