import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { completion, ScriptedBackend, streamed, usage } from '../support/scripted-backend.ts';

/** A search costs $0.01, a token $0.000001. */

const TOKENS_NANO = 15_000;
const SEARCH_NANO = 10_000_000;
const PRICES =
  'input: 1, output: 1, tool_calls: { web_search: 0.01 }, cost: { b0: { input: 1, output: 1, tool_calls: { web_search: 0.005 } } }';

describe.each(['sqlite', 'postgres'] as const)('web searches on %s', (store) => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;

  beforeAll(async () => {
    const databaseUrl = store === 'postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const yaml = catalogFor([backend.baseUrl], { prices: PRICES });
    gateway = await Gateway.start({ yaml, ...(databaseUrl && { databaseUrl }) });
  });
  afterEach(async () => expect((await gateway.verify()).breaches).toEqual([]));
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
  });

  const whole = (searches?: number) =>
    completion('ok', {
      ...usage(10, 5),
      ...(searches !== undefined && { server_tool_use: { web_search_requests: searches } }),
    });

  test.each([
    ['one where the backend reports none', { web_search_options: {} }, () => whole(), 1],
    ['one where the backend reports zero', { web_search_options: {} }, () => whole(0), 1],
    ['as many as the backend reports', { web_search_options: {} }, () => whole(3), 3],
    [
      'one in a stream',
      { web_search_options: {}, stream: true },
      () => streamed(['ok'], { prompt: 10, completion: 5 }),
      1,
    ],
    ['none where none was asked for', {}, () => whole(), 0],
  ])('are charged: %s', async (_, fields, answer, searches) => {
    backend.script(answer);
    const account = await gateway.account('10');
    await (await gateway.chat(account.token, { max_tokens: 100, ...fields })).text();
    await gateway.settled(account);
    const [receipt] = await gateway.requests(account);
    expect(receipt?.charged).toBe(TOKENS_NANO + searches * SEARCH_NANO);
    // What the provider takes is known by the same number.
    expect(receipt?.attempts).toContain(String(TOKENS_NANO + (searches * SEARCH_NANO) / 2));
  });
});
