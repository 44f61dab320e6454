import { afterEach, beforeEach, expect, test } from 'bun:test';
import { createServer, type Server } from 'node:net';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { attemptsOf, receiptOf } from '../../src/ledger/receipt.ts';
import { nanoUsd } from '../../src/std/money.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { ScriptedBackend } from '../support/scripted-backend.ts';

/**
 * What providers report beyond plain tokens is charged by its price, what a request cost us is booked beside it, and
 * customers see the first but never the second. Shapes: OpenAI's chat completion object (`service_tier`,
 * `prompt_tokens_details`) and OpenRouter's `usage.cost` (https://openrouter.ai/docs/use-cases/usage-accounting).
 */

let backend: ScriptedBackend;
let broken: Server;
let gateway: Gateway;
let account: TestAccount;

beforeEach(async () => {
  backend = new ScriptedBackend();
  broken = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => socket.resetAndDestroy());
  });
  await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve));
  const address = broken.address();
  const port = typeof address === 'object' ? address?.port : 0;
  gateway = await Gateway.start({ yaml: catalog(backend.baseUrl, `http://127.0.0.1:${port}/v1`) });
  account = await gateway.account('10');
});
afterEach(async () => {
  await gateway.settled(account);
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
  broken.close();
});

function catalog(good: string, bad: string): string {
  return `
upstreams:
  good: { kind: openai, base_url: ${good}, daily_cost_limit_usd: 0.0003 }
  bad: { kind: openai, base_url: ${bad} }
lists:
  models:
    - model: rich
      input: 1
      cached_input: 0.5
      output: 10
      audio_input: 40
      request: 0.001
      service_tiers: { priority: 2 }
      context: 10000
      max_output: 100
      cost:
        good: { input: 0.8, cached_input: 0.4, output: 8 }
        bad: { input: 0.8, output: 8 }
endpoints:
  one: { name: One, type: chat_completion, lists: [models], upstreams: [good] }
  two: { name: Two, type: chat_completion, lists: [models], upstreams: [bad, good] }
`;
}

const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 10,
  total_tokens: 110,
  prompt_tokens_details: { cached_tokens: 20, audio_tokens: 30 },
};
const LABELS = { id: 'chatcmpl-1', created: 1, model: 'rich' };

function whole(more: object, usage: object = USAGE): Response {
  const message = { role: 'assistant', content: 'Hi' };
  return Response.json({
    ...LABELS,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage,
    ...more,
  });
}

function stream(usage: object): Response {
  const chunk = { ...LABELS, object: 'chat.completion.chunk' };
  const events = [
    { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { ...chunk, choices: [], usage },
  ];
  const body = [...events.map((event) => JSON.stringify(event)), '[DONE]'].map((data) => `data: ${data}\n\n`);
  return new Response(body.join(''), { headers: { 'content-type': 'text/event-stream' } });
}

async function ask(endpoint: string, more: object = {}) {
  const response = await gateway.post('/api/public/v1/chat/completions', account.token, {
    endpoint,
    model: 'rich',
    max_tokens: 50,
    messages: [{ role: 'user', content: 'Hello there, how are you today? '.repeat(20) }],
    ...more,
  });
  const text = await response.text();
  await gateway.settled(account);
  const id = response.headers.get('x-request-id') ?? '';
  const row = await gateway.receipt(id);
  const shown = await gateway.fetch(`/api/public/v1/requests/${id}`, { token: account.token });
  return { status: response.status, text, row, shown: await shown.text() };
}

test('audio, the request itself and the service tier that answered are charged at their prices', async () => {
  backend.script(() => whole({ service_tier: 'priority' }));
  const { row } = await ask('one', { service_tier: 'priority' });
  const receipt = receiptOf(row);
  expect(receipt.lines.map(({ item, quantity, factor }) => [item, quantity, factor])).toEqual([
    ['input', 50, 2_000_000],
    ['cached_input', 20, 2_000_000],
    ['audio_input', 30, 2_000_000],
    ['output', 10, 2_000_000],
    ['request', 1, undefined],
  ]);
  // 2 × (50 × 1 + 20 × 0.5 + 30 × 40 + 10 × 10) millionths of a dollar, and the tenth of a cent.
  expect(receipt.total).toBe(nanoUsd(3_720_000));
  expect(row.charged).toBe(Math.min(3_720_000, row.held));
});

test.each([false, true])(
  'a provider’s own cost is booked and never reaches the customer (streamed: %p)',
  async (streamed) => {
    const usage = {
      ...USAGE,
      cost: 0.000123456,
      cost_details: { upstream_inference_cost: null },
      is_byok: false,
    };
    backend.script(() => (streamed ? stream(usage) : whole({}, usage)));
    const options = streamed ? { stream: true, stream_options: { include_usage: true } } : {};
    const { text, row, shown } = await ask('one', options);
    expect(text).toContain('"prompt_tokens":100');
    expect(text).not.toMatch(/cost|byok/);
    expect(shown).not.toMatch(/cost|possible/);
    expect(row).toMatchObject({ cost: 123_456, possible_cost: 0 });
    expect(attemptsOf(row)[0]?.cost).toEqual({ amount: nanoUsd(123_456), basis: 'reported' });
  },
);

test('without one, what a request cost is the catalog’s cost price × usage', async () => {
  backend.script(() => whole({}));
  const { row } = await ask('one');
  // 80 × 0.8 + 20 × 0.4 + 10 × 8: audio has no cost price, and costs as input.
  expect(row.cost).toBe(152_000);
  expect(attemptsOf(row)[0]?.cost?.basis).toBe('priced');
});

test('a first attempt that may be billed is booked apart, on its own backend', async () => {
  backend.script(() => whole({}));
  const { row } = await ask('two');
  const [first, second] = attemptsOf(row);
  expect([first?.upstream, first?.result, first?.cost?.basis]).toEqual(['bad', 'failed', 'possible']);
  expect([second?.upstream, second?.cost?.basis]).toEqual(['good', 'priced']);
  expect(row.possible_cost).toBeGreaterThan(50 * 8_000);
  expect(row.cost).toBe(152_000);
});

test('what it may cost at most is its input, counted, and the output that the backend was told to stay within', async () => {
  backend.script(() => whole({}));
  const { row } = await ask('two');
  const counted = countTokens('Hello there, how are you today? '.repeat(20));
  const output = row.output_cap * 8_000;
  // The bytes are four times as many. What is put around the text is held too, and the tokenizer is not known to be the model's.
  const most = Math.ceil(1.15 * counted + 40);
  expect(row.possible_cost).toBeWithin(counted * 800 + output, most * 800 + output + 1);
});

test('an upstream that has cost its limit of the day is not asked again until tomorrow', async () => {
  backend.script(() => whole({}));
  // 152 millionths of a dollar each, of at most 300.
  for (const status of [200, 200, 500]) expect((await ask('one')).status).toBe(status);
  expect(backend.calls).toHaveLength(2);
  const { row } = await ask('one');
  expect(row).toMatchObject({ charged: 0, cost: null });
  for (const attempt of attemptsOf(row))
    expect(attempt).toMatchObject({ upstream: 'good', result: 'skipped', reason: 'daily_cost_limit' });
  expect(attemptsOf(row).length).toBeGreaterThan(0);
});
