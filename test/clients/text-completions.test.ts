import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { completion, ScriptedBackend, streamed, usage } from '../support/scripted-backend.ts';
import { openAi, refusal } from './openai-client.ts';

/** `client.completions` of the package `openai`, which editors and test tools still use, on both stores. */

const MODEL = 'svc_chat/m';
const STORES = {
  SQLite: () => Promise.resolve({}),
  Postgres: async () => ({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};

describe.each(Object.entries(STORES))('completions with %s', (_, database) => {
  let backend: ScriptedBackend;
  let gateway: Gateway;
  let account: TestAccount;
  let client: OpenAI;

  beforeAll(async () => {
    backend = new ScriptedBackend();
    gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]), ...(await database()) });
    account = await gateway.account('10');
    client = openAi({ url: gateway.url, token: account.token, model: MODEL });
  });
  afterAll(async () => {
    await gateway.settled(account);
    expect((await gateway.verify()).breaches).toEqual([]);
    await gateway.stop();
    await backend.stop();
  });

  /** What the newest request was charged, in dollars. */
  const charged = async (): Promise<number> => ((await gateway.requests(account)).at(-1)?.charged ?? 0) / 1e9;

  test('a whole text comes in the older shape, charged by its usage', async () => {
    backend.script(() => completion(' a barrier.', usage(5, 3)));
    const answer = await client.completions.create({
      model: MODEL,
      prompt: 'A toll gate is',
      max_tokens: 20,
      temperature: 0.2,
      stop: ['\n'],
    });
    expect(answer).toMatchObject({ object: 'text_completion', model: MODEL });
    expect(answer.choices).toEqual([
      { text: ' a barrier.', index: 0, logprobs: null, finish_reason: 'stop' },
    ]);
    expect(answer.usage).toEqual({ cost: 0.000011, ...usage(5, 3) } as object as OpenAI.CompletionUsage);
    expect(await charged()).toBe(0.000011);
    expect(backend.calls.at(-1)?.path).toBe('/v1/chat/completions');
    expect(backend.calls.at(-1)?.body).toMatchObject({
      messages: [{ role: 'user', content: 'A toll gate is' }],
      max_tokens: 20,
      temperature: 0.2,
      stop: ['\n'],
    });
    expect(backend.calls.at(-1)?.body).not.toHaveProperty('prompt');
  });

  test('a stream comes in pieces, with usage and cost where they were asked for', async () => {
    backend.script(() => streamed([' a', ' bar', 'rier', '.'], { prompt: 5, completion: 4 }));
    const stream = await client.completions.create({
      model: MODEL,
      prompt: ['A toll gate is'],
      stream: true,
      stream_options: { include_usage: true },
    });
    const pieces: string[] = [];
    const usages: unknown[] = [];
    const reasons: unknown[] = [];
    for await (const chunk of stream) {
      for (const { text, finish_reason: reason } of chunk.choices) {
        pieces.push(text);
        reasons.push(reason);
      }
      if (chunk.usage) usages.push(chunk.usage);
    }
    expect(pieces).toEqual([' a', ' bar', 'rier', '.', '']);
    expect(reasons).toEqual([null, null, null, null, 'stop']);
    expect(usages).toEqual([{ cost: 0.000013, ...usage(5, 4) }]);
    expect(await charged()).toBe(0.000013);
  });

  test('without a cap it is sixteen tokens, as in the reference, and no usage is sent unasked', async () => {
    backend.script(() => streamed(['x'], { prompt: 5, completion: 1 }));
    const stream = await client.completions.create({ model: MODEL, prompt: 'Go on', stream: true });
    const usages: unknown[] = [];
    for await (const chunk of stream) if (chunk.usage) usages.push(chunk.usage);
    expect(usages).toEqual([]);
    expect(backend.calls.at(-1)?.body['max_tokens']).toBe(16);
    expect((await gateway.requests(account)).at(-1)).toMatchObject({ state: 'posted', charged: 7_000 });
  });

  test('echo begins each text with the prompt', async () => {
    backend.script(() => completion(' open.', usage(5, 2)));
    const whole = await client.completions.create({ model: MODEL, prompt: 'The gate is', echo: true });
    expect(whole.choices[0]?.text).toBe('The gate is open.');
    backend.script(() => streamed([' op', 'en.'], { prompt: 5, completion: 2 }));
    const stream = await client.completions.create({
      model: MODEL,
      prompt: 'The gate is',
      echo: true,
      stream: true,
    });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.text ?? '';
    expect(text).toBe('The gate is open.');
  });

  test.each([
    ['suffix', { prompt: 'a', suffix: 'z' }, 'chats'],
    ['prompt', { prompt: ['a', 'b'] }, 'one request for each prompt'],
    ['prompt', { prompt: [1, 2, 3] }, 'no token numbers'],
    ['prompt.0', { prompt: [1] }, 'token numbers are not taken'],
    ['best_of', { prompt: 'a', n: 1, best_of: 4 }, 'not shown'],
    ['echo', { prompt: 'a', echo: true, logprobs: 2 }, 'logprobs of the prompt'],
  ] as const)(
    '%s that cannot be done is refused with the reason, and costs nothing',
    async (param, body, why) => {
      const before = backend.calls.length;
      const error = await refusal(
        client.completions.create({ model: MODEL, ...body } as OpenAI.CompletionCreateParamsNonStreaming),
      );
      expect(error).toMatchObject({ status: 400, code: 'invalid_field', param });
      expect(error.message).toContain(why);
      expect(backend.calls.length).toBe(before);
    },
  );

  test('the same Idempotency-Key gives the same text and is charged once', async () => {
    backend.script(() => completion(' once.', usage(5, 2)));
    const before = await gateway.money(account);
    const ask = () =>
      client.completions.create(
        { model: MODEL, prompt: 'Pay' },
        { headers: { 'Idempotency-Key': 'completion-1' } },
      );
    const [first, second] = [await ask(), await ask()];
    expect(second).toEqual(first);
    expect(before.balance - (await gateway.money(account)).balance).toBe(9_000);
  });
});
