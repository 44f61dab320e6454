import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { StrictOpenAi } from '../providers/openai.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { PIXEL_BASE64 } from '../support/scripted-backend.ts';

/** Agents have their texts judged without being told to: it is passed on, costs nothing, and has a receipt. */

const STORES = {
  SQLite: () => Promise.resolve(undefined),
  Postgres: async () => await (await testPostgres()).freshDatabase(),
};

let provider: StrictOpenAi;

beforeAll(() => void (provider = new StrictOpenAi()));
afterAll(async () => await provider.stop());
beforeEach(() => void (provider.received.length = 0));

const yaml = () => `
upstreams:
  openai: { kind: openai, base_url: "${provider.baseUrl}", api_key: "\${KEY}" }
  house: { kind: house }
lists:
  chats: [{ model: house-echo, input: 1, output: 2 }]
  judges:
    - { model: omni-moderation-latest, free: true }
    - { model: judge, display_name: Judge, free: true, upstream_models: { openai: text-moderation-latest } }
endpoints:
  svc_chat: { name: Chat, type: chat_completion, lists: [chats], upstreams: [house] }
  moderation: { name: Moderation, type: moderation, lists: [judges], upstreams: [openai] }
  nobody: { name: Nobody, type: moderation, lists: [judges], upstreams: [house] }
aliases: { omni-moderation-latest: moderation/omni-moderation-latest }
`;

describe.each(Object.keys(STORES) as (keyof typeof STORES)[])('on %s', (store) => {
  let gateway: Gateway;
  let account: TestAccount;
  let client: OpenAI;

  beforeAll(async () => {
    const databaseUrl = await STORES[store]();
    const env = { KEY: provider.key };
    gateway = await Gateway.start({ yaml: yaml(), env, ...(databaseUrl !== undefined && { databaseUrl }) });
    account = await gateway.account('0');
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.token, maxRetries: 0 });
  }, 120_000);
  afterAll(async () => {
    expect((await gateway.verify()).breaches).toEqual([]);
    await gateway.stop();
  });

  const lastReceipt = async () => {
    await gateway.settled(account);
    return (await gateway.requests(account)).at(-1);
  };

  test('each text is judged, for nothing, on an account that has nothing', async () => {
    const { data, response } = await client.moderations
      .create({ model: 'omni-moderation-latest', input: ['hello', 'I attack you'] })
      .withResponse();
    expect(data.model).toBe('omni-moderation-latest');
    expect(data.results.map(({ flagged }) => flagged)).toEqual([false, true]);
    expect(data.results[1]?.categories.violence).toBe(true);
    expect(data.results[1]?.category_applied_input_types.violence).toEqual(['text']);
    expect(response.headers.get('x-tollgate-cost')).toBe('0.00');
    expect(response.headers.get('x-tollgate-held')).toBe('0.00');
    expect(provider.received.at(-1)?.body).toEqual({
      model: 'omni-moderation-latest',
      input: ['hello', 'I attack you'],
    });
    expect(provider.invoice).toEqual([]);
    expect(await lastReceipt()).toMatchObject({ charged: 0, outcome: 'completed', state: 'posted' });
  });

  test('without a model the first of the catalog judges', async () => {
    const { model, results } = await client.moderations.create({ input: 'hello' });
    expect([model, results.length]).toEqual(['moderation/omni-moderation-latest', 1]);
    expect(provider.received.at(-1)?.body).toMatchObject({ model: 'omni-moderation-latest' });
  });

  test('pictures and texts are judged together', async () => {
    const url = `data:image/png;base64,${PIXEL_BASE64}`;
    const { results } = await client.moderations.create({
      model: 'omni-moderation-latest',
      input: [
        { type: 'text', text: 'what is this?' },
        { type: 'image_url', image_url: { url } },
      ],
    });
    expect(results).toHaveLength(1);
    expect(results[0]?.category_applied_input_types.violence).toEqual(['text', 'image']);
  });

  test('a model has its own name at the backend, and the client sees the one that it asked for', async () => {
    const { model } = await client.moderations.create({ model: 'moderation/judge', input: 'hello' });
    expect(model).toBe('moderation/judge');
    expect(provider.received.at(-1)?.body).toMatchObject({ model: 'text-moderation-latest' });
  });

  test('what the provider refuses, and what it has not, is told', async () => {
    const ask = async (body: object) => {
      const response = await gateway.post('/v1/moderations', account.token, body);
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      return { status: response.status, ...error };
    };
    const picture = [{ type: 'image_url', image_url: { url: 'https://a.example/a.png' } }];
    const refused = await ask({ model: 'moderation/judge', input: picture });
    expect(refused.status).toBe(400);
    expect(refused.message).toContain('Image inputs are not supported by this model.');
    expect(await ask({ model: 'nobody/judge', input: 'hello' })).toMatchObject({
      status: 400,
      message: expect.stringContaining('This backend has no moderation') as string,
    });
    expect(await ask({ model: 'svc_chat/house-echo', input: 'hello' })).toMatchObject({
      status: 400,
      code: 'unsupported_endpoint',
    });
    expect(await ask({ input: [] })).toMatchObject({ status: 400, code: 'invalid_field' });
    expect(await ask({})).toMatchObject({ status: 400, code: 'missing_field' });
  });

  test('an unknown field is left out and named', async () => {
    const body = { input: 'hello', user: 'somebody' };
    const response = await gateway.post('/v1/moderations', account.token, body);
    expect([response.status, response.headers.get('x-tollgate-dropped')]).toEqual([200, 'user']);
  });

  test('it counts for the rate limit', async () => {
    const limited = await gateway.account('0', { chat: 1 });
    const ask = () => gateway.post('/v1/moderations', limited.token, { input: 'hello' });
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429]);
  });

  test('no chat client finds it among its endpoints, and the list of models has it', async () => {
    const spec = await gateway.fetch('/api/public/v1/models', { token: account.token });
    expect(await spec.text()).not.toContain('moderation');
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toContain('moderation/judge');
  });
});

test('where no backend has it, the client is told so', async () => {
  const gateway = await Gateway.start();
  const { token } = await gateway.account('0');
  const response = await gateway.post('/v1/moderations', token, { input: 'hello' });
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  expect([response.status, error.code]).toEqual([400, 'not_supported']);
  await gateway.stop();
});
