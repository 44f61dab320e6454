import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI, { toFile } from 'openai';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { openAi, refusal } from './openai-client.ts';

/** What only `openai` has, against the built-in catalog. */

let gateway: Gateway;
let account: TestAccount;
let client: OpenAI;

const MODEL = 'svc_chat/house-echo';

beforeAll(async () => {
  gateway = await Gateway.start();
  account = await gateway.account('10');
  client = openAi({ url: gateway.url, token: account.token, model: MODEL });
});
afterAll(async () => {
  await gateway.stop();
});

const PIXEL = new Bun.Image(
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
);
/** Of the same size, and transparent. */
const CLEAR = new Bun.Image(
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==',
    'base64',
  ),
);

const user = (content: string) => [{ role: 'user' as const, content }];

describe('models', () => {
  test('the list holds code/model and aliases', async () => {
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toContain('svc_chat/house-echo');
    expect(ids).toContain('svc_tgter/house-paint');
    expect(ids).toContain('house-echo');
  });

  test.each(['svc_chat/house-echo', 'house-echo'])(
    '%s can be asked for, though it may hold a slash',
    async (id) => {
      expect(await client.models.retrieve(id)).toMatchObject({ id, object: 'model', owned_by: 'svc_chat' });
    },
  );

  test('one that does not exist is NotFoundError', async () => {
    const error = await refusal(client.models.retrieve('svc_chat/none'));
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error.code).toBe('not_found');
  });
});

describe('chat', () => {
  test('the request id leads to the receipt, and the price is in the headers', async () => {
    const {
      data,
      response,
      request_id: requestId,
    } = await client.chat.completions.create({ model: MODEL, messages: user('hello') }).withResponse();
    expect(data).toMatchObject({ _request_id: requestId, id: requestId });
    const receipt = await gateway.receipt(String(requestId));
    expect(receipt).toMatchObject({
      account_id: account.id,
      state: 'posted',
      endpoint: 'svc_chat',
      model: 'house-echo',
    });
    expect(Number(response.headers.get('x-tollgate-cost')) * 1e9).toBeCloseTo(receipt.charged, 3);
    expect(response.headers.get('x-ratelimit-remaining-requests')).not.toBeNull();
  });

  test('the answer names the model as the request did', async () => {
    for (const model of [MODEL, 'house-echo']) {
      expect((await client.chat.completions.create({ model, messages: user('x') })).model).toBe(model);
    }
  });

  test('a stream has no usage unless it was asked for', async () => {
    const usages: unknown[] = [];
    const stream = await client.chat.completions.create({
      model: MODEL,
      messages: user('one two'),
      stream: true,
    });
    for await (const chunk of stream) if (chunk.usage) usages.push(chunk.usage);
    expect(usages).toEqual([]);
  });

  test('two tools in one answer are separate, streamed or not', async () => {
    const tools = ['first', 'second'].map((name) => ({
      type: 'function' as const,
      function: { name, parameters: { type: 'object' } },
    }));
    const body = { model: MODEL, messages: user('/tool first {"a":1}\n/tool second {"b":2}'), tools };
    const whole = await client.chat.completions.create(body);
    const streamed = await client.chat.completions.stream(body).finalChatCompletion();
    for (const { choices } of [whole, streamed]) {
      const calls = choices[0]?.message.tool_calls?.map((call) =>
        call.type === 'function' ? [call.function.name, call.function.arguments] : [],
      );
      expect(calls).toEqual([
        ['first', '{"a":1}'],
        ['second', '{"b":2}'],
      ]);
      expect(choices[0]?.finish_reason).toBe('tool_calls');
    }
  });

  test('several answers, developer messages and an output cap', async () => {
    const messages = [{ role: 'developer' as const, content: 'Be brief.' }, ...user('/long 50')];
    const answer = await client.chat.completions.create({
      model: MODEL,
      messages,
      n: 2,
      max_completion_tokens: 5,
    });
    expect(answer.choices.map(({ finish_reason: reason }) => reason)).toEqual(['length', 'length']);
    expect(answer.usage?.completion_tokens).toBe(10);
  });

  test('a wrong field is BadRequestError with its param', async () => {
    const error = await refusal(
      client.chat.completions.create({ model: MODEL, messages: user('x'), temperature: 3 }),
    );
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({
      code: 'invalid_field',
      param: 'temperature',
      type: 'invalid_request_error',
    });
  });

  test('leaving a stream is not an error, and is settled', async () => {
    const stream = await client.chat.completions.create({
      model: MODEL,
      messages: user('/slow 20\n/long 500'),
      stream: true,
    });
    for await (const _ of stream) break;
    await gateway.settled(account);
  });
});

describe('responses', () => {
  test('a string is enough, and the answer is stored', async () => {
    const response = await client.responses.create({ model: MODEL, input: 'hello', instructions: 'Echo.' });
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      output_text: 'hello',
      store: true,
      model: MODEL,
    });
    expect(response._request_id).toStartWith('req_');
  });

  test('a tool round trip by hand: the call and its output are items', async () => {
    const tools: OpenAI.Responses.Tool[] = [
      { type: 'function', name: 'add', parameters: { type: 'object' }, strict: false },
    ];
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: '/tool add {"a":1,"b":2}' }];
    const first = await client.responses.create({ model: MODEL, input, tools, store: false });
    const [call] = first.output;
    if (call?.type !== 'function_call') throw new Error('no call');
    expect(JSON.parse(call.arguments)).toEqual({ a: 1, b: 2 });
    const second = await client.responses.create({
      model: MODEL,
      input: [...input, call, { type: 'function_call_output', call_id: call.call_id, output: '3' }],
      tools,
      store: false,
    });
    expect(second.output_text).toBe('The tool add answered: 3');
  });

  test('an answer that was cut is incomplete, and says why', async () => {
    const response = await client.responses.create({ model: MODEL, input: '/long 50', max_output_tokens: 5 });
    expect(response.status).toBe('incomplete');
    expect(response.incomplete_details).toEqual({ reason: 'max_output_tokens' });
  });

  test('what is stored is continued, read, listed and deleted, also in a conversation and in the background', async () => {
    const first = await client.responses.create({ model: MODEL, input: 'hello' });
    const next = { model: MODEL, input: 'again', previous_response_id: first.id };
    expect((await client.responses.create(next)).output_text).toBe('again');
    expect(await client.responses.retrieve(first.id)).toMatchObject({ id: first.id, output: first.output });
    const input = await Array.fromAsync(client.responses.inputItems.list(first.id));
    expect(input).toMatchObject([{ role: 'user', content: [{ text: 'hello' }] }]);
    await client.responses.delete(first.id);
    expect((await refusal(client.responses.retrieve(first.id))).status).toBe(404);
    const conversation = await client.conversations.create({ metadata: { topic: 'tests' } });
    await client.responses.create({ model: MODEL, input: 'hello', conversation: conversation.id });
    const said = await Array.fromAsync(client.conversations.items.list(conversation.id, { order: 'asc' }));
    expect(said).toMatchObject([{ role: 'user' }, { role: 'assistant' }]);
    await client.conversations.delete(conversation.id);
    let job = await client.responses.create({ model: MODEL, input: 'later', background: true });
    while (job.status === 'queued' || job.status === 'in_progress')
      job = await client.responses.retrieve(job.id);
    expect([job.status, job.output_text]).toEqual(['completed', 'later']);
    expect((await client.responses.cancel(job.id)).status).toBe('completed');
  });

  test('an id that is not stored is refused by name', async () => {
    const error = await refusal(
      client.responses.create({ model: MODEL, input: 'hi', previous_response_id: 'resp_1' }),
    );
    expect(error).toMatchObject({ status: 400, param: 'previous_response_id' });
    expect(error).toMatchObject({ code: 'previous_response_not_found' });
    expect(error.message).toContain('Send the whole conversation');
    expect((await refusal(client.responses.retrieve('resp_1'))).status).toBe(404);
  });
});

describe('images', () => {
  test('a link that works without a token for an hour', async () => {
    const { data } = await client.images.generate({
      model: 'svc_tgter/house-paint',
      prompt: 'a red gate',
      size: '256x256',
      response_format: 'url',
    });
    const picture = await fetch(data?.[0]?.url ?? '');
    expect(picture.headers.get('content-type')).toBe('image/png');
    expect((await picture.bytes()).subarray(1, 4)).toEqual(new TextEncoder().encode('PNG'));
  });

  test('the bytes themselves, several at once', async () => {
    const { data } = await client.images.generate({
      model: 'house-paint',
      prompt: 'a blue gate',
      size: '256x256',
      n: 2,
      response_format: 'b64_json',
    });
    expect(data).toHaveLength(2);
    for (const image of data ?? [])
      expect(
        Buffer.from(image.b64_json ?? '', 'base64')
          .subarray(1, 4)
          .toString(),
      ).toBe('PNG');
  });

  test('402 is not retried', async () => {
    const { token } = await gateway.account('0');
    const error = await refusal(
      openAi({ url: gateway.url, token, model: '' }).images.generate({ model: 'house-paint', prompt: 'x' }),
    );
    expect(error).toMatchObject({
      status: 402,
      code: 'payment_required',
      error: { reason: 'insufficient_balance', available_usd: 0, required_usd: 0.01 },
    });
  });

  test('the built-in painter edits a picture, in its mask alone, at the price of an edit', async () => {
    const { token } = await gateway.account('1');
    const painter = openAi({ url: gateway.url, token, model: '' });
    const picture = await toFile(await PIXEL.png().bytes(), 'a.png', { type: 'image/png' });
    const hole = await toFile(await CLEAR.png().bytes(), 'mask.png', { type: 'image/png' });
    const asked = {
      model: 'house-paint',
      prompt: 'dunes',
      size: '256x256',
      image: [picture, picture],
    } as const;
    const more = { quality: 'low', output_format: 'webp', output_compression: 90, mask: hole } as const;
    const { data } = await painter.images.edit({
      ...asked,
      ...more,
      image: [picture, picture],
      response_format: 'b64_json',
    });
    const made = new Bun.Image(Buffer.from(data?.[0]?.b64_json ?? '', 'base64'));
    expect(await made.metadata()).toEqual({ width: 256, height: 256, format: 'webp' });
    const account = await gateway.fetch('/api/public/v1/account', { token });
    // One image of low quality, and two pictures that it started from.
    expect(await account.json()).toMatchObject({ balance_usd: 0.993, held_usd: 0 });
    const damaged = await toFile(new Uint8Array([1]), 'a.png', { type: 'image/png' });
    const error = await refusal(painter.images.edit({ ...asked, image: damaged }));
    expect(error).toMatchObject({ status: 400, code: 'invalid_field', param: 'image' });
  });

  test.each([
    ['quality', 'ultra', 'quality must be one of high, medium, low.'],
    ['background', 'green', 'background must be one of auto, opaque, transparent.'],
    ['style', 'cubist', /style must be one of vivid, natural, pastel/],
    ['moderation', 'low', /takes n, size, resolution, .*output_compression, .*mask, partial_images/],
  ])(
    '%s: what the built-in painter does not have is refused with what it has',
    async (field, value, text) => {
      const asked = { model: 'house-paint', prompt: 'dunes', [field]: value };
      const error = await refusal(client.images.generate(asked));
      expect(error).toMatchObject({ status: 400, code: 'invalid_field', param: field });
      expect(error.message).toMatch(text);
    },
  );

  test('the alternative painter takes any size of its range, at a price by the pixel', async () => {
    const { token } = await gateway.account('1');
    const painter = openAi({ url: gateway.url, token, model: '' });
    const paintIn = (size: string) =>
      painter.images.generate({ model: 'svcv2_image/house-paint', prompt: 'sea', size });
    const { data } = await paintIn('264x512');
    const made = new Bun.Image(Buffer.from(data?.[0]?.b64_json ?? '', 'base64'));
    expect(await made.metadata()).toMatchObject({ width: 264, height: 512 });
    const account = await gateway.fetch('/api/public/v1/account', { token });
    expect(await account.json()).toMatchObject({ balance_usd: 1 - 264 * 512 * 0.01e-6 });
    const error = await refusal(paintIn('260x512'));
    expect(error).toMatchObject({ status: 400, param: 'size' });
    expect(error.message).toContain('edges from 256 to 2048, in multiples of 8, a ratio of at most 4:1');
  });

  test('a transparent JPEG is refused before anything is held', async () => {
    const { token } = await gateway.account('0');
    const asked = {
      model: 'house-paint',
      prompt: 'x',
      background: 'transparent',
      output_format: 'jpeg',
    } as const;
    const error = await refusal(openAi({ url: gateway.url, token, model: '' }).images.generate(asked));
    expect(error).toMatchObject({ status: 400, code: 'invalid_field', param: 'background' });
  });

  test('a form without its image is refused by field name', async () => {
    const image = await toFile(new Uint8Array([1]), 'a.png', { type: 'image/png' });
    const error = await refusal(client.images.edit({ model: 'svc_tgter/house-paint', prompt: '', image }));
    expect(error).toMatchObject({ status: 400, param: 'prompt' });
  });
});

test('what is not served is refused with a code, and not retried', async () => {
  const error = await refusal(client.batches.list());
  expect(error).toBeInstanceOf(OpenAI.BadRequestError);
  expect(error).toMatchObject({ code: 'not_supported', type: 'invalid_request_error' });
});
