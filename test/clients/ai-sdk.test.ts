import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  generateImage,
  generateText,
  hasToolCall,
  Output,
  stepCountIs,
  streamText,
  tool,
  type ModelMessage,
} from 'ai';
import { z } from 'zod';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { RecordingProxy } from './recording-proxy.ts';

/** What the page on the AI SDK promises, provider by provider. */
globalThis.AI_SDK_LOG_WARNINGS = false;

let gateway: Gateway;
let account: TestAccount;

const MODEL = 'svc_chat/house-echo';

beforeAll(async () => {
  gateway = await Gateway.start();
  account = await gateway.account('10');
});
afterAll(async () => {
  await gateway.stop();
});

const settings = (more: { url?: string } = {}) => ({
  baseURL: `${more.url ?? gateway.url}/v1`,
  apiKey: account.token,
});
const weather = tool({
  description: 'Weather',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `Rain in ${city}`,
});

describe('openai-compatible', () => {
  test('a stream reports its usage only with includeUsage', async () => {
    const used = async (includeUsage: boolean): Promise<number | undefined> => {
      const provider = createOpenAICompatible({ name: 'tollgate', includeUsage, ...settings() });
      const result = streamText({ model: provider(MODEL), prompt: 'one two three' });
      await result.consumeStream();
      return (await result.totalUsage).outputTokens;
    };
    expect(await used(true)).toBeGreaterThan(0);
    expect(await used(false)).toBeUndefined();
  });

  test('an agent that demands a call each time comes to the tool with its answer', async () => {
    const provider = createOpenAICompatible({ name: 'tollgate', ...settings() });
    const final_result = tool({
      inputSchema: z.object({ forecast: z.string() }),
      execute: ({ forecast }) => forecast,
    });
    const { steps } = await generateText({
      model: provider(MODEL),
      prompt: 'What is the weather in Oslo?',
      tools: { weather, final_result },
      toolChoice: 'required',
      stopWhen: [hasToolCall('final_result'), stepCountIs(5)],
    });
    expect(steps.flatMap(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName))).toEqual([
      'weather',
      'final_result',
    ]);
  });

  test('an answer by a schema follows the results of tools', async () => {
    const provider = createOpenAICompatible({
      name: 'tollgate',
      supportsStructuredOutputs: true,
      ...settings(),
    });
    const { output } = await generateText({
      model: provider(MODEL),
      prompt: '/tool weather {"city":"Oslo"}',
      tools: { weather },
      stopWhen: stepCountIs(3),
      output: Output.object({ schema: z.object({ forecast: z.string() }) }),
    });
    expect(output).toEqual({ forecast: 'forecast' });
  });

  test('generateImage paints', async () => {
    const provider = createOpenAICompatible({ name: 'tollgate', ...settings() });
    const { image } = await generateImage({
      model: provider.imageModel('svc_tgter/house-paint'),
      prompt: 'a gate',
      size: '256x256',
    });
    expect(image.mediaType).toBe('image/png');
  });
});

describe('openai', () => {
  /** Two turns, the second of which holds the answer of the first as the SDK gave it. */
  const twoTurns = async (url: string, store: boolean | undefined): Promise<string> => {
    const model = createOpenAI(settings({ url }))(MODEL);
    const options = store === undefined ? {} : { providerOptions: { openai: { store } } };
    const opening = [{ role: 'user' as const, content: 'one' }];
    const { response } = await generateText({ model, messages: opening, ...options });
    const messages = [...opening, ...response.messages, { role: 'user' as const, content: 'two' }];
    return (await generateText({ model, messages, ...options })).text;
  };

  test('with store: false a conversation is sent whole', async () => {
    const proxy = new RecordingProxy(gateway.url);
    expect(await twoTurns(proxy.url, false)).toBe('two');
    expect(proxy.exchanges.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses']);
    expect(proxy.exchanges[1]?.body).toContain('"role":"assistant"');
    await proxy.stop();
  });

  test('with its default settings three turns with tools go on by references to what is stored', async () => {
    const proxy = new RecordingProxy(gateway.url);
    const model = createOpenAI(settings({ url: proxy.url }))(MODEL);
    const messages: ModelMessage[] = [];
    const texts: string[] = [];
    for (const city of ['Oslo', 'Bergen', 'Voss']) {
      messages.push({ role: 'user', content: `/think\n/tool get_weather {"city":"${city}"}` });
      const { text, response } = await generateText({
        model,
        messages,
        tools: { get_weather: weather },
        stopWhen: stepCountIs(3),
      });
      messages.push(...response.messages);
      texts.push(text);
    }
    expect(texts).toEqual(
      ['Oslo', 'Bergen', 'Voss'].map((city) => expect.stringContaining(`Rain in ${city}`)),
    );
    const last = proxy.exchanges.at(-1)?.body ?? '';
    expect(last).toContain('item_reference');
    expect(last).not.toContain('"role":"assistant"');
    await proxy.stop();
  });

  test('where nothing is stored they are refused with a message that says what to do', async () => {
    const keepsNothing = await Gateway.start({
      yaml: `
upstreams: { house: { kind: house } }
lists: { models: [{ model: house-echo, input: 0.05, output: 0.20 }] }
endpoints: { svc_chat: { name: chat, type: chat_completion, lists: [models], upstreams: [house] } }
responses: { keep_hours: 0 }
`,
    });
    account = await keepsNothing.account('10');
    const thrown: unknown = await twoTurns(keepsNothing.url, undefined).catch((error: unknown) => error);
    expect(APICallError.isInstance(thrown)).toBe(true);
    expect(thrown).toMatchObject({ statusCode: 400, message: expect.stringContaining('store: false') });
    account = await gateway.account('10');
    await keepsNothing.stop();
  });

  test('a tool loop needs no such setting, with or without thoughts', async () => {
    const { text } = await generateText({
      model: createOpenAI(settings())(MODEL),
      prompt: '/think\n/tool get_weather {"city":"Oslo"}',
      tools: { get_weather: weather },
      stopWhen: stepCountIs(3),
    });
    expect(text).toContain('The tool get_weather answered: Rain in Oslo');
  });

  test('.chat() goes to chat completions', async () => {
    const proxy = new RecordingProxy(gateway.url);
    const { text } = await generateText({
      model: createOpenAI(settings({ url: proxy.url })).chat(MODEL),
      prompt: 'hello',
    });
    expect(text).toBe('hello');
    expect(proxy.exchanges[0]?.path).toBe('/v1/chat/completions');
    await proxy.stop();
  });
});

describe('anthropic', () => {
  test('sends its key as x-api-key, and its version is accepted', async () => {
    const proxy = new RecordingProxy(gateway.url);
    const { text, finishReason } = await generateText({
      model: createAnthropic(settings({ url: proxy.url }))(MODEL),
      prompt: 'hello',
      maxOutputTokens: 50,
    });
    expect([text, finishReason]).toEqual(['hello', 'stop']);
    expect(proxy.exchanges[0]?.headers.get('x-api-key')).toBe(account.token);
    expect(proxy.exchanges[0]?.path).toBe('/v1/messages');
    await proxy.stop();
  });
});

test('the request id of an answer leads to its receipt', async () => {
  const provider = createOpenAICompatible({ name: 'tollgate', ...settings() });
  const { response } = await generateText({ model: provider(MODEL), prompt: 'hello' });
  expect(await gateway.receipt(response.headers?.['x-request-id'] ?? '')).toMatchObject({
    account_id: account.id,
  });
});

test('the parts of a stream come in order, ending with the finish', async () => {
  const models = {
    chat: createOpenAICompatible({ name: 'tollgate', includeUsage: true, ...settings() })(MODEL),
    responses: createOpenAI(settings())(MODEL),
    messages: createAnthropic(settings())(MODEL),
  };
  for (const model of Object.values(models)) {
    const kinds: string[] = [];
    for await (const { type } of streamText({ model, prompt: '/think one two' }).fullStream) {
      // A provider's own metadata, and the second of two deltas, do not matter for the order.
      if (type !== 'custom' && kinds.at(-1) !== type) kinds.push(type);
    }
    expect(kinds).toEqual([
      'start',
      'start-step',
      'reasoning-start',
      'reasoning-delta',
      'reasoning-end',
      'text-start',
      'text-delta',
      'text-end',
      'finish-step',
      'finish',
    ]);
  }
});
