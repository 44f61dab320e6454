import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import { generateImage, generateText, streamText } from 'ai';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import {
  chunk,
  DONE,
  eventStream,
  images,
  PIXEL_BASE64,
  ScriptedBackend,
  usage,
  usageEvent,
} from '../support/scripted-backend.ts';

/** The package `@openrouter/ai-sdk-provider` as it comes from npm, and the other fields that OpenRouter's clients send. */
globalThis.AI_SDK_LOG_WARNINGS = false;

let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  backend = new ScriptedBackend();
  const yaml = `
upstreams:
  b: { kind: openai, base_url: "${backend.baseUrl}" }
lists:
  models: [{ model: plain, input: 1, output: 2 }, { model: thinker, input: 1, output: 2, reasoning: true }]
  painters: [{ model: dall-e-3, image: 0.04, sizes: [1024x1024], abilities: { reference_images: 2, max_n: 4, seed: true } }]
endpoints:
  chat: { name: Chat, type: chat_completion, lists: [models], upstreams: [b] }
  images: { name: Images, type: image_generation, lists: [painters], upstreams: [b] }
`;
  gateway = await Gateway.start({ yaml });
  account = await gateway.account('10');
});
afterAll(async () => {
  await gateway.settled(account);
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
});
beforeEach(() => {
  backend.calls.length = 0;
  backend.script(({ path, body }) => {
    if (path.includes('/images/')) return images(Number(body['n'] ?? 1));
    if (body['stream'] !== true) return Response.json(THOUGHTFUL);
    const events = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ reasoning_content: 'Hm.' }),
      chunk({ content: 'Hello' }),
      chunk({}, 'stop'),
      usageEvent(10, 5),
      DONE,
    ];
    return eventStream(events.join(''));
  });
});

const THOUGHTFUL = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Hello', reasoning_content: 'Hm.', reasoning: 'Hm.' },
      finish_reason: 'stop',
    },
  ],
  usage: usage(10, 5),
};

const provider = () => createOpenRouter({ baseURL: `${gateway.url}/v1`, apiKey: account.token });
const sent = () => backend.calls.at(-1)!.body;
const prompt = 'hi';

describe('the provider of the AI SDK', () => {
  test('gets the usage and the cost of its streams although it does not ask for them', async () => {
    const result = streamText({ model: provider()('chat/plain'), prompt });
    expect(await result.text).toBe('Hello');
    expect(await result.totalUsage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
    const metadata = (await result.providerMetadata)?.['openrouter'] as { usage: { cost: number } };
    expect(metadata.usage.cost).toBe(0.00002);
  });

  test('can ask for usage, which no backend sees', async () => {
    const model = provider()('chat/plain', { usage: { include: true } });
    const { usage: used } = await generateText({ model, prompt });
    expect(used).toMatchObject({ inputTokens: 10, outputTokens: 5 });
    expect(sent()).not.toContainKey('usage');
  });

  test.each([
    [{ effort: 'high' as const }, 'high'],
    [{ max_tokens: 2_000 }, 'low'],
    [{ max_tokens: 9_000 }, 'medium'],
    [{ enabled: true, max_tokens: 30_000 }, 'high'],
  ])('says %j about reasoning in words that every backend knows', async (reasoning, effort) => {
    const model = provider()('chat/thinker', { reasoning });
    await generateText({ model, prompt });
    expect(sent()).toMatchObject({ reasoning_effort: effort });
    expect(sent()).not.toContainKey('reasoning');
  });

  test('paints, and paints from pictures', async () => {
    const model = provider().imageModel('images/dall-e-3');
    const painted = await generateImage({ model, prompt: 'a gate', n: 2, seed: 7 });
    expect(painted.images.map(({ base64 }) => base64)).toEqual([PIXEL_BASE64, PIXEL_BASE64]);
    expect(backend.calls.at(-1)).toMatchObject({ path: '/v1/images/generations', body: { n: 2, seed: 7 } });
    const picture = Buffer.from(PIXEL_BASE64, 'base64');
    const edited = await generateImage({ model, prompt: { text: 'in winter', images: [picture] } });
    expect(edited.image.base64).toBe(PIXEL_BASE64);
    expect(backend.calls.at(-1)).toMatchObject({ path: '/v1/images/edits' });
    await gateway.settled(account);
    expect((await gateway.requests(account)).slice(-2).map(({ charged }) => charged)).toEqual([
      80_000_000, 40_000_000,
    ]);
  });

  test('shows the message of a refusal', async () => {
    const model = provider()('chat/nobody');
    const thrown: unknown = await generateText({ model, prompt }).catch((error: unknown) => error);
    expect(String(thrown)).toContain("has no model 'nobody'");
  });
});

const messages = [{ role: 'user', content: prompt }];
const ask = (fields: object) =>
  gateway.post('/v1/chat/completions', account.token, { model: 'chat/thinker', messages, ...fields });

describe('of what OpenRouter takes in a chat', () => {
  test.each([
    [{ enabled: true }, 'medium'],
    [{ enabled: false }, 'none'],
    [{ max_tokens: 0 }, 'none'],
    [{ exclude: true }, undefined],
    [{ effort: 'low', max_tokens: 30_000 }, 'low'],
  ])('reasoning %j is the effort %s', async (reasoning, effort) => {
    const response = await ask({ reasoning });
    expect(response.status).toBe(200);
    expect(sent()['reasoning_effort']).toBe(effort as never);
    expect(response.headers.get('x-tollgate-dropped')).toBeNull();
  });

  test('reasoning at a model that does not reason is left out and named, unless it only hides', async () => {
    const model = 'chat/plain';
    const told = async (reasoning: object) =>
      (await ask({ model, reasoning })).headers.get('x-tollgate-dropped');
    expect(await told({ effort: 'high' })).toBe('reasoning');
    expect(sent()).not.toContainAnyKeys(['reasoning', 'reasoning_effort']);
    expect(await told({ exclude: true })).toBeNull();
  });

  test('what concerns nobody else reaches no backend, and is not named', async () => {
    const fields = { usage: { include: true }, include_reasoning: true, session_id: 's', transforms: [] };
    const response = await ask(fields);
    expect(response.headers.get('x-tollgate-dropped')).toBeNull();
    expect(sent()).not.toContainAnyKeys(Object.keys(fields));
  });

  test.each([{ reasoning: { exclude: true } }, { include_reasoning: false }])(
    '%j keeps thoughts out of the answer, which are charged all the same',
    async (fields) => {
      const whole = await ask(fields);
      const { choices } = (await whole.json()) as { choices: { message: object }[] };
      expect(choices[0]?.message).toEqual({ role: 'assistant', content: 'Hello' });

      const streamed = await ask({ ...fields, stream: true, usage: { include: true } });
      const text = await streamed.text();
      expect(text).not.toContain('Hm.');
      expect(text).not.toContain('reasoning_content');
      expect(text).toContain('"content":"Hello"');
      expect(text).toContain('"finish_reason":"stop"');
      expect(text).toContain('"cost":0.00002');
      expect(text).toEndWith(DONE);
      const receipt = await gateway.receipt(streamed.headers.get('x-request-id') ?? '');
      expect(receipt).toMatchObject({ output_tokens: 5, charged: 20_000 });
    },
  );

  test('a stream has usage only where it is asked for, or its client counts on it', async () => {
    expect(await (await ask({ stream: true })).text()).not.toContain('"usage":{');
    expect(await (await ask({ stream: true, usage: { include: true } })).text()).toContain('"usage":{');
  });

  test.each([{ reasoning: 'high' }, { reasoning: { max_tokens: 'many' } }, { usage: true }])(
    '%j is refused by its name',
    async (fields) => {
      const response = await ask(fields);
      const { error } = (await response.json()) as { error: { code: string; param: string } };
      expect([response.status, error.code]).toEqual([400, 'invalid_field']);
      expect(error.param).toStartWith(Object.keys(fields)[0] ?? '');
    },
  );
});

describe('POST /v1/images', () => {
  const paint = (fields: object) =>
    gateway.post('/v1/images', account.token, { model: 'images/dall-e-3', prompt: 'a gate', ...fields });

  test('answers with base64, the tokens under the names of a chat, and the cost', async () => {
    const used = { input_tokens: 9, output_tokens: 1056, total_tokens: 1065 };
    backend.script(() => Response.json({ created: 1, data: [{ b64_json: PIXEL_BASE64 }], usage: used }));
    const response = await paint({});
    expect(await response.json()).toMatchObject({
      data: [{ b64_json: PIXEL_BASE64 }],
      usage: { prompt_tokens: 9, completion_tokens: 1056, total_tokens: 1065, cost: 0.04 },
    });
  });

  test('takes pictures as data URLs alone', async () => {
    const reference = (url: string) => ({ type: 'image_url', image_url: { url } });
    const refused = await paint({ input_references: [reference('https://elsewhere.example/a.png')] });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('nothing is fetched from elsewhere');
    expect((await paint({ input_references: {} })).status).toBe(400);
    expect(backend.calls).toEqual([]);
  });

  test('a repeated key answers once', async () => {
    const headers = { 'idempotency-key': 'a-gate' };
    const body = { model: 'images/dall-e-3', prompt: 'a gate' };
    const first = await gateway.post('/v1/images', account.token, body, { headers });
    const again = await gateway.post('/v1/images', account.token, body, { headers });
    expect(await again.json()).toEqual(await first.json());
    expect(backend.calls).toHaveLength(1);
  });
});
