import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import {
  chunk,
  completion,
  DONE,
  openStream,
  PIXEL_BASE64,
  ScriptedBackend,
  usage,
  usageEvent,
} from '../support/scripted-backend.ts';

/** Attachments are taken by models that declare them, and held at what they cost at most. A token costs $0.001. */

const NANO_PER_TOKEN = 1_000_000;
const ALL_INPUTS =
  'inputs: { image: { max_tokens: 25501 }, audio: { tokens_per_second: 10 }, file: { max_tokens: 200000 } }';
let backend: ScriptedBackend;
let gateway: Gateway;

beforeAll(async () => {
  backend = new ScriptedBackend();
  const model = (name: string, keys: string): string =>
    `    - { model: ${name}, input: 1000, output: 1000, context: 400000, max_output: 1000, ${keys} }`;
  gateway = await Gateway.start({
    yaml: `
upstreams:
  b: { kind: openai, base_url: "${backend.baseUrl}" }
  claude: { kind: anthropic, base_url: "${backend.baseUrl}", api_key: "\${PROVIDER_KEY}" }
lists:
  models:
${model('text', 'tools: true')}
${model('vision', 'vision: true')}
${model('all', ALL_INPUTS)}
${model('stopping', `on_disconnect: stop, ${ALL_INPUTS}`)}
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [models], upstreams: [b] }
  svc_claude: { name: claude, type: chat_completion, lists: [models], upstreams: [claude] }
`,
    env: { PROVIDER_KEY: 'sk-of-the-operator' },
  });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});
afterEach(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
});

const ADDRESS = 'https://example.com/a';
const image = (url: string) => ({ type: 'image_url', image_url: { url, detail: 'high' } });
const audio = (data: string) => ({ type: 'input_audio', input_audio: { data, format: 'mp3' } });
const file = (file_data: string) => ({ type: 'file', file: { filename: 'a.pdf', file_data } });
const PDF = `data:application/pdf;base64,${Buffer.from('%PDF-1.7').toString('base64')}`;

const ask = (account: TestAccount, model: string, parts: object[], more: object = {}): Promise<Response> =>
  gateway.chat(account.token, {
    model,
    messages: [{ role: 'user', content: parts }],
    max_tokens: 100,
    ...more,
  });

async function heldFor(model: string, ...parts: object[]): Promise<number> {
  const account = await gateway.account('100000');
  backend.script(() => completion('ok', usage(1, 1)));
  expect((await ask(account, model, parts)).status).toBe(200);
  const [row] = await gateway.requests(account);
  return row!.held / NANO_PER_TOKEN;
}

test.each([
  ['text', image(ADDRESS), 'images'],
  ['text', audio('AAAA'), 'sound'],
  ['text', file(PDF), 'files'],
  ['vision', audio('AAAA'), 'sound'],
  ['vision', file(ADDRESS), 'files'],
])('%s: what the model does not declare is refused before anybody is called', async (model, part, what) => {
  const account = await gateway.account('100');
  const calls = backend.calls.length;
  const response = await ask(account, model, [part]);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { code: 'invalid_field', param: 'messages', message: `The model '${model}' takes no ${what}.` },
  });
  expect(backend.calls.length).toBe(calls);
});

describe('what the backend bills is held and charged', () => {
  test.each([
    ['four high-detail pictures', [1, 2, 3, 4].map(() => image(ADDRESS)), 102_004],
    ['a file by address', [file(ADDRESS)], 199_000],
    ['a file', [file(PDF)], 200_000],
  ])('%s', async (_, parts, billed) => {
    const account = await gateway.account('100000');
    backend.script(() => completion('ok', usage(billed, 10)));
    expect((await ask(account, 'all', parts)).status).toBe(200);
    const [row] = await gateway.requests(account);
    expect(row!.charged).toBe((billed + 10) * NANO_PER_TOKEN);
  });

  test('pictures of a model that declares no bound of its own', async () => {
    const account = await gateway.account('100000');
    backend.script(() => completion('ok', usage(102_004, 10)));
    expect(
      (
        await ask(
          account,
          'vision',
          [1, 2, 3, 4].map(() => image(ADDRESS)),
        )
      ).status,
    ).toBe(200);
    const [row] = await gateway.requests(account);
    expect(row!.charged).toBe(102_014 * NANO_PER_TOKEN);
  });

  test('several attachments that can take more together than the context: nobody has counted that they do', async () => {
    // Little enough money that the input is counted.
    const account = await gateway.account('900');
    backend.script(() => completion('ok', usage(1_200, 10)));
    expect((await ask(account, 'all', [file(PDF), file(PDF), file(PDF)])).status).toBe(200);
    const [row] = await gateway.requests(account);
    expect(row!.charged).toBe(1_210 * NANO_PER_TOKEN);
  });
});

/** Leaves a stream when it has read its first event. */
async function leave(account: TestAccount, pending: (stream: OpenStream) => Promise<Response>) {
  const stream = openStream();
  backend.script(() => stream.response);
  const reader = (await pending(stream)).body!.getReader();
  await reader.read();
  await reader.cancel();
  // The gateway sees the end of the connection no later than requests that come after it.
  for (let turn = 0; turn < 5; turn++) await (await gateway.fetch('/healthz')).text();
  return stream;
}

type OpenStream = ReturnType<typeof openStream>;

const leaveChat = (account: TestAccount, model: string, part: object): Promise<OpenStream> =>
  leave(account, async (stream) => {
    const before = backend.calls.length;
    const pending = ask(account, model, [part], { stream: true });
    await backend.called(before + 1);
    stream.send(chunk({ content: 'word' }));
    return await pending;
  });

async function receiptOf(account: TestAccount) {
  await gateway.settled(account);
  const [row] = await gateway.requests(account);
  return row!;
}

describe('a stream with an attachment that is left', () => {
  test.each([
    ['all', file(PDF), 1_234],
    ['all', image(ADDRESS), 765],
    ['vision', image(ADDRESS), 765],
    ['all', audio('A'.repeat(13_360)), 50],
  ])('%s: is finished, and charged at what the backend took for it', async (model, part, billed) => {
    const account = await gateway.account('100000');
    const stream = await leaveChat(account, model, part);
    expect((await gateway.money(account)).open).toBe(1);
    stream.send(chunk({ content: ' two' }) + chunk({}, 'stop') + usageEvent(billed, 2) + DONE);
    stream.end();
    expect((await receiptOf(account)).charged).toBe((billed + 2) * NANO_PER_TOKEN);
  });

  test('is stopped where the model says so, and its input is charged at what was held for it', async () => {
    const account = await gateway.account('100000');
    const stream = await leaveChat(account, 'stopping', file(PDF));
    await stream.cancelled;
    const { charged } = await receiptOf(account);
    expect(charged).toBeGreaterThanOrEqual(200_000 * NANO_PER_TOKEN);
    expect(charged).toBeLessThanOrEqual(200_020 * NANO_PER_TOKEN);
  });

  test('a picture without a declared bound is charged no less than a backend can bill, if nobody counted', async () => {
    const account = await gateway.account('100000');
    backend.script(() => completion('ok'));
    expect((await ask(account, 'vision', [image(ADDRESS)])).status).toBe(200);
    const { charged, held } = await receiptOf(account);
    expect(charged).toBeGreaterThanOrEqual(48_169 * NANO_PER_TOKEN);
    expect(charged).toBeLessThanOrEqual(held);
  });
});

/** The events of https://platform.claude.com/docs/en/build-with-claude/streaming. */
const messagesEvent = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

const DOCUMENT = {
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: PDF.slice(PDF.indexOf(',') + 1) },
};

describe('on the native path of the Messages API', () => {
  const askMessages = (account: TestAccount, model: string, block: object): Promise<Response> =>
    gateway.post('/v1/messages', account.token, {
      model: `svc_claude/${model}`,
      max_tokens: 100,
      stream: true,
      messages: [{ role: 'user', content: [block, { type: 'text', text: 'What does it say?' }] }],
    });

  const begin = (usageFields: object | undefined): string =>
    messagesEvent('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'all',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: usageFields,
      },
    }) + messagesEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });

  const word = messagesEvent('content_block_delta', {
    index: 0,
    delta: { type: 'text_delta', text: 'word ' },
  });

  test('a file of 200,000 tokens, left after 90 of 100 words: stopped, and charged with its input as the backend reported it', async () => {
    const account = await gateway.account('100000');
    const stream = await leave(account, async (opened) => {
      const before = backend.calls.length;
      const pending = askMessages(account, 'all', DOCUMENT);
      await backend.called(before + 1);
      opened.send(begin({ input_tokens: 199_500, output_tokens: 1 }) + word.repeat(90));
      return await pending;
    });
    await stream.cancelled;
    expect(backend.calls.at(-1)?.body['messages']).toMatchObject([{ content: [DOCUMENT, {}] }]);
    const { charged } = await receiptOf(account);
    expect(charged).toBeGreaterThanOrEqual((199_500 + 90) * NANO_PER_TOKEN);
    expect(charged).toBeLessThanOrEqual((199_500 + 182) * NANO_PER_TOKEN);
  });

  test('where the backend reports no input, the stream is finished and the input charged at its bound', async () => {
    const account = await gateway.account('100000');
    const stream = await leave(account, async (opened) => {
      const before = backend.calls.length;
      const pending = askMessages(account, 'all', DOCUMENT);
      await backend.called(before + 1);
      opened.send(begin(undefined) + word);
      return await pending;
    });
    expect((await gateway.money(account)).open).toBe(1);
    stream.send(
      messagesEvent('content_block_stop', { index: 0 }) +
        messagesEvent('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null } }) +
        messagesEvent('message_stop', {}),
    );
    stream.end();
    const { charged } = await receiptOf(account);
    expect(charged).toBeGreaterThanOrEqual(200_000 * NANO_PER_TOKEN);
    expect(charged).toBeLessThanOrEqual(200_030 * NANO_PER_TOKEN);
  });

  test.each([
    ['text', DOCUMENT, 'files'],
    ['vision', DOCUMENT, 'files'],
    ['text', { type: 'image', source: { type: 'url', url: ADDRESS } }, 'images'],
  ])(
    '%s: what the model does not declare is refused before anybody is called',
    async (model, block, what) => {
      const account = await gateway.account('100');
      const calls = backend.calls.length;
      const response = await askMessages(account, model, block);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: expect.stringContaining(`takes no ${what}.`) as string,
        },
      });
      expect(backend.calls.length).toBe(calls);
    },
  );
});

test('a small picture is held by its dimensions, one by address at the most', async () => {
  const small = await heldFor('all', image(`data:image/png;base64,${PIXEL_BASE64}`));
  const far = await heldFor('all', image(ADDRESS));
  expect(small).toBeLessThan(6_500);
  expect(far).toBeGreaterThanOrEqual(25_501);
});

test('sound is held by its bytes', async () => {
  const second = 'A'.repeat(1_336);
  const [one, ten] = [await heldFor('all', audio(second)), await heldFor('all', audio(second.repeat(10)))];
  expect(ten - one).toBeWithin(89, 93);
});
