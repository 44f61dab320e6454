import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import {
  chunk,
  completion,
  openStream,
  PIXEL_BASE64,
  ScriptedBackend,
  usage,
} from '../support/scripted-backend.ts';

/** Attachments are taken by models that declare them, and held at what they cost at most. A token costs $0.001. */

const NANO_PER_TOKEN = 1_000_000;
let backend: ScriptedBackend;
let gateway: Gateway;

beforeAll(async () => {
  backend = new ScriptedBackend();
  const model = (name: string, keys: string): string =>
    `    - { model: ${name}, input: 1000, output: 1000, context: 400000, max_output: 1000, ${keys} }`;
  gateway = await Gateway.start({
    yaml: `
upstreams: { b: { kind: openai, base_url: "${backend.baseUrl}" } }
lists:
  models:
${model('text', 'tools: true')}
${model('vision', 'vision: true')}
${model('all', 'inputs: { image: { max_tokens: 25501 }, audio: { tokens_per_second: 10 }, file: { max_tokens: 200000 } }')}
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [models], upstreams: [b] }
`,
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
  ['text', image(ADDRESS), 'pictures'],
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

  test('a stream that is left after a file of 200,000 tokens', async () => {
    const account = await gateway.account('100000');
    const stream = openStream();
    backend.script(() => stream.response);
    const before = backend.calls.length;
    const pending = ask(account, 'all', [file(PDF)], { stream: true });
    await backend.called(before + 1);
    stream.send(chunk({ content: 'word' }));
    const reader = (await pending).body!.getReader();
    await reader.read();
    await reader.cancel();
    await stream.cancelled;
    await gateway.settled(account);
    const [row] = await gateway.requests(account);
    expect(row!.charged).toBeGreaterThanOrEqual(200_000 * NANO_PER_TOKEN);
    expect(row!.charged).toBeLessThanOrEqual(200_020 * NANO_PER_TOKEN);
  });
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
