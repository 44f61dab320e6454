import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { PIXEL_BASE64 } from '../support/scripted-backend.ts';
import { anthropic } from './anthropic-client.ts';
import { RecordingProxy } from './recording-proxy.ts';

/** What only `@anthropic-ai/sdk` has, against the built-in catalog. */

let gateway: Gateway;
let account: TestAccount;
let client: Anthropic;

const MODEL = 'svc_chat/house-echo';
const ORDER = { model: MODEL, max_tokens: 200 };

beforeAll(async () => {
  gateway = await Gateway.start();
  account = await gateway.account('10');
  client = anthropic({ url: gateway.url, token: account.token, model: MODEL });
});
afterAll(async () => {
  await gateway.stop();
});

const user = (content: string | Anthropic.ContentBlockParam[]) => [{ role: 'user' as const, content }];

async function refusal(work: Promise<unknown>): Promise<APIError> {
  const thrown: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof APIError) return thrown;
  throw new Error(`expected an APIError, got ${String(thrown)}`);
}

describe('models', () => {
  test('the list is read page by page, and has one page', async () => {
    const ids: string[] = [];
    for await (const model of client.models.list({ limit: 1000 })) ids.push(model.id);
    expect(ids).toContain('svc_chat/house-echo');
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('one of them, by an id with a slash', async () => {
    const model = await client.models.retrieve(MODEL);
    expect(model).toMatchObject({ id: MODEL, type: 'model', display_name: 'House Echo' });
    expect(model.max_tokens).toBeGreaterThan(0);
  });
});

describe('either way to send a key', () => {
  test.each(['apiKey', 'authToken'])('%s', async (option) => {
    const key = option === 'apiKey' ? { apiKey: account.token } : { authToken: account.token, apiKey: null };
    const other = new Anthropic({ baseURL: gateway.url, ...key });
    const message = await other.messages.create({ ...ORDER, messages: user('hello') });
    expect(message.content).toMatchObject([{ type: 'text', text: 'hello' }]);
  });
});

describe('messages', () => {
  test('the request id leads to the receipt', async () => {
    const message = await client.messages.create({ ...ORDER, messages: user('hello') });
    const requestId = message._request_id ?? '';
    expect(message).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: MODEL,
      stop_reason: 'end_turn',
      stop_sequence: null,
    });
    expect(message.id).toBe(requestId.replace('req_', 'msg_'));
    const receipt = await gateway.receipt(requestId);
    expect(receipt).toMatchObject({
      state: 'posted',
      input_tokens: message.usage.input_tokens,
      output_tokens: message.usage.output_tokens,
    });
  });

  test('system blocks, cache marks, metadata and betas are accepted', async () => {
    const message = await client.beta.messages.create({
      ...ORDER,
      system: [{ type: 'text', text: 'Echo.', cache_control: { type: 'ephemeral' } }],
      metadata: { user_id: 'u1' },
      betas: ['context-management-2025-06-27'],
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hello', cache_control: { type: 'ephemeral' } }] },
      ],
    });
    expect(message.content).toMatchObject([{ type: 'text', text: 'hello' }]);
  });

  test('thinking is a block of its own, before the text, streamed or not', async () => {
    const body = { ...ORDER, messages: user('/think So?'), thinking: { type: 'adaptive' as const } };
    const whole = await client.messages.create(body);
    const streamed = await client.messages.stream(body).finalMessage();
    for (const { content } of [whole, streamed]) {
      expect(content.map(({ type }) => type)).toEqual(['thinking', 'text']);
      expect(content[1]).toMatchObject({ type: 'text', text: 'So?' });
    }
    expect(whole.usage.output_tokens_details?.thinking_tokens).toBeGreaterThan(0);
  });

  test('tools by hand: tool_use, tool_result, answer; thinking is sent back with them', async () => {
    const tools: Anthropic.Tool[] = [{ name: 'add', description: 'Adds.', input_schema: { type: 'object' } }];
    const ask = user('/think\n/tool add {"a":1}');
    const first = await client.messages.create({ ...ORDER, messages: ask, tools });
    expect(first.stop_reason).toBe('tool_use');
    const call = first.content.find((block) => block.type === 'tool_use');
    expect(call).toMatchObject({ name: 'add', input: { a: 1 } });
    const result = {
      type: 'tool_result' as const,
      tool_use_id: call?.id ?? '',
      content: [{ type: 'text' as const, text: '1' }],
      is_error: false,
    };
    const messages = [
      ...ask,
      { role: 'assistant' as const, content: first.content },
      { role: 'user' as const, content: [result] },
    ];
    const second = await client.messages.create({ ...ORDER, messages, tools });
    expect(second.content.at(-1)).toMatchObject({ type: 'text', text: 'The tool add answered: 1' });
  });

  test('a streamed tool call is one whole input at the end', async () => {
    const tools: Anthropic.Tool[] = [{ name: 'add', input_schema: { type: 'object' } }];
    const stream = client.messages.stream({
      ...ORDER,
      messages: user('/tool add {"numbers":[1,2,3]}'),
      tools,
      tool_choice: { type: 'any' },
    });
    const pieces: string[] = [];
    stream.on('inputJson', (piece) => pieces.push(piece));
    const { content, stop_reason: reason } = await stream.finalMessage();
    expect(content).toMatchObject([{ type: 'tool_use', name: 'add', input: { numbers: [1, 2, 3] } }]);
    expect(reason).toBe('tool_use');
    expect(JSON.parse(pieces.join(''))).toEqual({ numbers: [1, 2, 3] });
  });

  test('an image in a tool result reaches the model', async () => {
    const image = {
      type: 'image' as const,
      source: { type: 'base64' as const, media_type: 'image/png' as const, data: PIXEL_BASE64 },
    };
    const messages: Anthropic.MessageParam[] = [
      ...user('look'),
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'shot', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [image] }] },
    ];
    const { content } = await client.messages.create({ ...ORDER, messages });
    expect(content[0]).toMatchObject({ text: expect.stringContaining('image/png, 1x1') });
  });

  test('an answer that was cut off says so', async () => {
    const message = await client.messages.create({ model: MODEL, max_tokens: 5, messages: user('/long 50') });
    expect(message.stop_reason).toBe('max_tokens');
    expect(message.usage.output_tokens).toBe(5);
  });

  test('an error names its field', async () => {
    const error = await refusal(client.messages.create({ ...ORDER, max_tokens: 0, messages: user('x') }));
    expect(error).toBeInstanceOf(Anthropic.BadRequestError);
    expect(error).toMatchObject({
      type: 'invalid_request_error',
      errorCode: 'invalid_field',
      details: { param: 'max_tokens' },
    });
  });

  test('402 is a billing error with the amounts', async () => {
    const { token } = await gateway.account('0');
    const error = await refusal(
      anthropic({ url: gateway.url, token, model: MODEL }).messages.create({ ...ORDER, messages: user('x') }),
    );
    expect(error).toMatchObject({
      status: 402,
      type: 'billing_error',
      details: { reason: 'insufficient_balance', available_usd: 0 },
    });
  });
});

describe('count_tokens', () => {
  test('counts close to what the call is charged for, and is free', async () => {
    const messages = user('How many tokens are in this sentence, if one may ask?');
    const own = await gateway.account('1');
    const other = anthropic({ url: gateway.url, token: own.token, model: MODEL });
    const { input_tokens: counted } = await other.messages.countTokens({ model: MODEL, messages });
    expect(await gateway.requests(own)).toEqual([]);
    const { usage } = await other.messages.create({ ...ORDER, messages });
    expect(counted).toBeGreaterThanOrEqual(usage.input_tokens);
    expect(counted).toBeLessThan(usage.input_tokens + 20);
  });

  test('tools and system prompts count', async () => {
    const plain = await client.messages.countTokens({ model: MODEL, messages: user('x') });
    const more = await client.messages.countTokens({
      model: MODEL,
      messages: user('x'),
      system: 'Be kind.',
      tools: [{ name: 'add', input_schema: { type: 'object' } }],
    });
    expect(more.input_tokens).toBeGreaterThan(plain.input_tokens + 5);
  });
});

describe('a tool loop whose conversation the SDK would keep at the server', () => {
  test('is answered from the whole conversation, and the attempts in between cost nothing', async () => {
    const own = await gateway.account('1');
    const proxy = new RecordingProxy(gateway.url);
    const other = anthropic({ url: proxy.url, token: own.token, model: MODEL });
    const thread = other.beta.messages.thread({ ...ORDER, messages: [] });
    expect((await thread.send({ role: 'user', content: 'first' })).content).toMatchObject([
      { text: 'first' },
    ]);
    expect((await thread.send({ role: 'user', content: 'second' })).content).toMatchObject([
      { text: 'second' },
    ]);
    expect(proxy.statuses).toEqual([200, 404, 200]);
    expect(JSON.parse(proxy.exchanges[2]?.body ?? '')).toMatchObject({
      messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'user' }],
    });
    expect(await gateway.requests(own)).toHaveLength(2);
    await proxy.stop();
  });
});
