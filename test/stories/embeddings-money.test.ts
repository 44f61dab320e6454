import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { ScriptedBackend, type Script } from '../support/scripted-backend.ts';

/** What embeddings hold and cost: their input, by the backend's count or ours, and nothing else. */

let backend: ScriptedBackend;
let gateway: Gateway;

beforeAll(async () => {
  backend = new ScriptedBackend();
  const endpoint = '  svc_embed: { name: e, type: embedding, lists: [embedding_models], upstreams: [b0] }';
  // One nano-USD a token, and an output price that nobody may ever pay.
  const yaml = catalogFor([backend.baseUrl], { extra: endpoint }).replace(
    'endpoints:',
    '  embedding_models:\n    - { model: e, display_name: E, input: 0.001, output: 1, context: 8000 }\nendpoints:',
  );
  gateway = await Gateway.start({ yaml });
});
afterEach(async () => expect((await gateway.verify()).breaches).toEqual([]));
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

const DATA = [{ object: 'embedding', index: 0, embedding: [0.5] }];
const answering =
  (usage?: unknown): Script =>
  () =>
    Response.json({ object: 'list', data: DATA, model: 'theirs', ...(usage === undefined ? {} : { usage }) });

async function embed(input: unknown, script: Script, usd = '1') {
  backend.script(script);
  const account = await gateway.account(usd);
  const response = await gateway.post('/v1/embeddings', account.token, { model: 'svc_embed/e', input });
  const body = (await response.json()) as Record<string, unknown>;
  await gateway.settled(account);
  const [receipt] = await gateway.requests(account);
  return { status: response.status, body, receipt };
}

test('the backend’s input count is charged, whatever output it reports', async () => {
  const { body, receipt } = await embed('hi', answering({ prompt_tokens: 7, total_tokens: 7 }));
  expect(receipt).toMatchObject({ charged: 7, input_tokens: 7, output_tokens: 0, usage_source: 'upstream' });
  expect(receipt).toMatchObject({ outcome: 'completed', stream: 0, state: 'posted' });
  expect(body).toMatchObject({ model: 'svc_embed/e', data: DATA });
  expect(body['usage']).toEqual({ prompt_tokens: 7, total_tokens: 7 });
  const odd = await embed(
    'hi',
    answering({
      prompt_tokens: 7,
      completion_tokens: 3,
      completion_tokens_details: { reasoning_tokens: 2 },
    }),
  );
  expect(odd.receipt).toMatchObject({ charged: 7, output_tokens: 0, reasoning_tokens: 0 });
});

test.each([
  ['none', undefined],
  ['null', null],
  ['text', 'many'],
  ['a negative one', { prompt_tokens: -1 }],
  ['zero', { prompt_tokens: 0, total_tokens: 0 }],
])('where the backend’s usage is %s, ours is charged: of a text, of texts, of tokens', async (_, usage) => {
  const texts = ['How long is a piece of string?', 'Grüße'];
  const counted = texts.map((text) => countTokens(text));
  const cost = async (input: unknown) => (await embed(input, answering(usage))).receipt;
  expect(await cost(texts[0])).toMatchObject({ input_tokens: counted[0], usage_source: 'counted' });
  const both = (counted[0] ?? 0) + (counted[1] ?? 0);
  expect(await cost(texts)).toMatchObject({ input_tokens: both, charged: both });
  expect(await cost([11, 12, 13])).toMatchObject({ input_tokens: 3 });
  expect(await cost([[11, 12, 13], [14]])).toMatchObject({ input_tokens: 4 });
});

test('a token for each byte of the body is held, and four around each text', async () => {
  for (const input of ['abcd', 'abcde', ['ä', '世界', '🚪'], ['', 'x']]) {
    const bytes = Buffer.byteLength(JSON.stringify({ model: 'svc_embed/e', input }));
    const { receipt } = await embed(input, answering({ prompt_tokens: 1 }));
    expect(Number(receipt?.held)).toBe(bytes + 4 * [input].flat().length);
  }
});

test('tokens given as numbers are held for what they are', async () => {
  expect((await embed([1, 2, 3, 4, 5], answering({ prompt_tokens: 1 }))).receipt).toMatchObject({ held: 5 });
  expect((await embed([[1, 2], [3]], answering({ prompt_tokens: 1 }))).receipt).toMatchObject({ held: 3 });
});

test.each([
  ['no JSON', () => new Response('vectors')],
  ['no embeddings', () => Response.json({ object: 'list' })],
  ['null', () => new Response('null')],
  ['a text', () => Response.json('data')],
])('an answer that is %s is an error of the backend, and costs nothing', async (_, script) => {
  const { status, body, receipt } = await embed('hi', script);
  expect(status).toBe(500);
  expect(body).toMatchObject({ error: { code: 'upstream_error' } });
  expect(receipt).toMatchObject({ charged: 0, state: 'void', outcome: 'upstream_failed' });
  expect(String(receipt?.attempts)).toContain('"protocol"');
});

test('a client that left is charged for the vectors that were made', async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  backend.script(async () => {
    asked.resolve();
    await answer.promise;
    return Response.json({ object: 'list', data: DATA, usage: { prompt_tokens: 4 } });
  });
  const account = await gateway.account('1');
  const leave = new AbortController();
  const gone = gateway
    .post('/v1/embeddings', account.token, { model: 'svc_embed/e', input: 'hi' }, { signal: leave.signal })
    .catch(() => undefined);
  await asked.promise;
  leave.abort();
  await gone;
  // The server hears of it before the backend answers.
  for (let turn = 0; turn < 20; turn++) await gateway.fetch('/health');
  answer.resolve();
  await gateway.settled(account);
  expect(await gateway.requests(account)).toMatchObject([{ charged: 4, outcome: 'client_left' }]);
});

test('embeddings that the balance cannot pay are refused before anybody is called', async () => {
  const before = backend.calls.length;
  const { status, body, receipt } = await embed(
    'x'.repeat(10_000),
    answering({ prompt_tokens: 7 }),
    '0.000001',
  );
  expect(status).toBe(402);
  expect(body).toMatchObject({ error: { reason: 'request_exceeds_balance' } });
  expect(receipt).toBeUndefined();
  expect(backend.calls).toHaveLength(before);
});

test('what a backend says that it cost us is booked, and not shown', async () => {
  const { body, receipt } = await embed('hi', answering({ prompt_tokens: 7, total_tokens: 7, cost: 0.0001 }));
  expect(body['usage']).toEqual({ prompt_tokens: 7, total_tokens: 7 });
  expect(await gateway.receipt(String(receipt?.id))).toMatchObject({ cost: 100_000 });
});
