import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { attemptsOf } from '../../src/ledger/receipt.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** What decides which backend is asked: its price, the account, the client's own choice, and the day's costs. */

let backends: ScriptedBackend[];
let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  backends = Array.from({ length: 4 }, () => new ScriptedBackend());
  const upstreams = backends.map(
    ({ baseUrl }, index) =>
      `  b${index}: { kind: openai, base_url: "${baseUrl}", timeouts: { first_byte_ms: 20000 }${index === 3 ? ', daily_cost_limit_usd: 0.00001' : ''} }`,
  );
  const endpoint = (more: string) => `{ name: Chat, type: chat_completion, lists: [models], ${more} }`;
  gateway = await Gateway.start({
    yaml: `
upstreams:
${upstreams.join('\n')}
lists:
  models:
    - { model: m, input: 1, output: 2, cost: { b0: { input: 0.5, output: 1 }, b2: { input: 0.1, output: 0.1 }, b3: { input: 0.6, output: 0.6 } } }
    - { model: other, input: 1, output: 2, cost: { b0: { input: 0.1, output: 0.1 }, b2: { input: 0.5, output: 1 } } }
endpoints:
  by_price: ${endpoint('upstreams: [b1, b0, b2], sort: price')}
  sticky: ${endpoint('upstreams: [{ name: b0, weight: 1 }, { name: b1, weight: 1 }, { name: b2, weight: 1 }], sticky: account')}
  choose: ${endpoint('upstreams: [b0, b1, b2], selectable: [b0, b1]')}
  plain: ${endpoint('upstreams: [b0, b1]')}
  limited: ${endpoint('upstreams: [b3, b0]')}
`,
  });
  account = await gateway.account('100');
});
beforeEach(() => {
  for (const backend of backends) {
    backend.calls.length = 0;
    backend.script(() => completion('ok', usage(10, 5)));
  }
});
afterAll(async () => {
  await gateway.settled(account);
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await Promise.all(backends.map((backend) => backend.stop()));
});

const messages = [{ role: 'user', content: 'hi' }];
const chat = (endpoint: string, more: Record<string, unknown> = {}, { token } = account) =>
  gateway.post('/v1/chat/completions', token, { model: `${endpoint}/m`, messages, ...more });
const calls = (): number[] => backends.map(({ calls: made }) => made.length);
const attempts = async () => attemptsOf((await gateway.requests(account)).at(-1)!);
/** Not the backend's own words, so that it is not asked again. */
const fails = () => new Response('no', { status: 500 });

interface ErrorBody {
  readonly error: { readonly code: string; readonly param: string; readonly message: string };
}

async function refused(response: Response): Promise<ErrorBody['error']> {
  expect(response.status).toBe(400);
  return ((await response.json()) as ErrorBody).error;
}

describe('sort: price', () => {
  test('asks the cheapest for the model first, and the one without a known cost last', async () => {
    expect((await chat('by_price')).status).toBe(200);
    expect(calls()).toEqual([0, 0, 1, 0]);
    expect((await chat('by_price', { model: 'by_price/other' })).status).toBe(200);
    expect(calls()).toEqual([1, 0, 1, 0]);
    backends[0]!.script(fails);
    backends[2]!.script(fails);
    expect((await chat('by_price')).status).toBe(200);
    expect(await attempts()).toMatchObject([
      { upstream: 'b2', result: 'failed', reason: 'server' },
      { upstream: 'b0', result: 'failed', reason: 'server' },
      { upstream: 'b1', result: 'served' },
    ]);
  });
});

describe('sticky: account', () => {
  test('an account keeps its backend, others have others, and a failing one is left', async () => {
    const homes = new Set<number>();
    for (let person = 0; person < 12; person++) {
      const someone = await gateway.account('1');
      for (let round = 0; round < 5; round++) expect((await chat('sticky', {}, someone)).status).toBe(200);
      const [home = -1, ...others] = calls().flatMap((count, index) => (count > 0 ? [index] : []));
      expect(others).toEqual([]);
      homes.add(home);
      for (const backend of backends) backend.calls.length = 0;
    }
    expect(homes.size).toBeGreaterThan(1);
    for (const backend of backends.slice(0, 2)) backend.script(fails);
    expect((await chat('sticky')).status).toBe(200);
  });
});

describe('provider', () => {
  test('order is tried first, then the others', async () => {
    backends[1]!.script(fails);
    const response = await chat('choose', { provider: { order: ['b1'] } });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-tollgate-dropped')).toBeNull();
    expect(calls()).toEqual([1, 1, 0, 0]);
    expect(backends[0]!.calls[0]?.body).not.toHaveProperty('provider');
  });

  test('only, and no fallbacks, keep to what was chosen', async () => {
    backends[1]!.script(fails);
    expect((await chat('choose', { provider: { only: ['b1'] } })).status).toBe(500);
    expect((await chat('choose', { provider: { order: ['b1'], allow_fallbacks: false } })).status).toBe(500);
    expect(calls()).toEqual([0, 2, 0, 0]);
    backends[0]!.script(fails);
    expect((await chat('choose', { provider: { allow_fallbacks: false } })).status).toBe(500);
    expect(calls()).toEqual([1, 2, 0, 0]);
  });

  test('also under the public API, streamed, and for completions', async () => {
    const provider = { only: ['b1'] };
    const fields = { endpoint: 'choose', model: 'm', messages, provider };
    expect((await gateway.post('/api/public/v1/chat/completions', account.token, fields)).status).toBe(200);
    const text = { model: 'choose/m', prompt: 'hi', provider };
    expect((await gateway.post('/v1/completions', account.token, text)).status).toBe(200);
    expect(calls()).toEqual([0, 2, 0, 0]);
  });

  test('a backend that may not be chosen is refused like one that does not exist', async () => {
    const hidden = await refused(await chat('choose', { provider: { only: ['b0', 'b2'] } }));
    const unknown = await refused(await chat('choose', { provider: { only: ['b0', 'nobody'] } }));
    expect(hidden).toEqual(unknown);
    expect(hidden).toMatchObject({ code: 'invalid_field', param: 'provider.only.1' });
    expect(hidden.message).toBe('provider.only may name these backends: b0, b1.');
    expect(calls()).toEqual([0, 0, 0, 0]);
  });

  test('what nobody would keep, what contradicts itself and what is no choice is refused', async () => {
    const param = async (provider: unknown) => (await refused(await chat('choose', { provider }))).param;
    expect(await param({ data_collection: 'deny' })).toBe('provider.data_collection');
    expect(await param({ order: ['b0'], only: ['b1'] })).toBe('provider');
    expect(await param({ order: 'b0' })).toBe('provider.order');
    expect(await param('b0')).toBe('provider');
    expect(calls()).toEqual([0, 0, 0, 0]);
  });

  test('is refused where nothing is selectable, and names no backend', async () => {
    const { message } = await refused(await chat('plain', { provider: { order: ['b1'] } }));
    expect(message).toBe(
      'provider is not supported here: the catalog decides which model and backend serve a request.',
    );
  });
});

describe('daily_cost_limit_usd', () => {
  test('rests the backend for the day once its costs have reached it, and tells the operator', async () => {
    // Each costs 15 tokens at 0.6 dollars a million: the second one reaches ten millionths.
    for (let round = 0; round < 4; round++) expect((await chat('limited')).status).toBe(200);
    expect(calls()).toEqual([2, 0, 0, 2]);
    expect(await attempts()).toMatchObject([
      { upstream: 'b3', result: 'skipped', reason: 'daily_cost_limit' },
      { upstream: 'b0', result: 'served' },
    ]);
    expect(gateway.log.filter((line) => line.includes('daily_cost_limit_reached'))).toHaveLength(1);
  });
});
