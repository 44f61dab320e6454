import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { parseUsd } from '../../src/std/money.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { completion, images, ScriptedBackend, usage } from '../support/scripted-backend.ts';

const backend = new ScriptedBackend();
let gateway: Gateway;
let account: TestAccount;

/** One dollar for a thousand tokens of output, ten cents for a thousand of input. */
const catalog = `
upstreams:
  hosted: { kind: openai, base_url: "${backend.baseUrl}" }
lists:
  chat_models: [ { model: m, input: 100, output: 1000, context: 200000, max_output: 50000 } ]
  image_models: [ { model: p, image: 0.04, sizes: [1024x1024] } ]
  embedding_models: [ { model: e, input: 100, output: 0 } ]
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [chat_models], upstreams: [hosted] }
  svc_tgter: { name: images, type: image_generation, lists: [image_models], upstreams: [hosted] }
  svc_embed: { name: embeddings, type: embedding, lists: [embedding_models], upstreams: [hosted] }
`;

beforeAll(async () => {
  gateway = await Gateway.start({ yaml: catalog });
  account = await gateway.account('10000');
});

afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

beforeEach(() => {
  backend.calls.length = 0;
  backend.script(({ path }) => {
    if (path.includes('/images/')) return images(1);
    if (path.endsWith('/embeddings'))
      return Response.json({ data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 2 } });
    return completion('ok', usage(10, 1));
  });
});

const ASKED = [{ role: 'user', content: 'hi' }];

/** The chat in each dialect; `fields` may hold `max_cost_usd`. */
const CHATS: Record<string, (fields: object, headers?: Record<string, string>) => Promise<Response>> = {
  'the public API': (fields, headers = {}) => gateway.chat(account.token, { ...fields }, { headers }),
  'chat completions': (fields, headers = {}) =>
    post('/v1/chat/completions', { model: 'svc_chat/m', messages: ASKED, ...fields }, headers),
  responses: (fields, headers = {}) =>
    post('/v1/responses', { model: 'svc_chat/m', input: 'hi', ...fields }, headers),
  messages: (fields, headers = {}) =>
    post('/v1/messages', { model: 'svc_chat/m', max_tokens: 50_000, messages: ASKED, ...fields }, headers),
};

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return gateway.post(path, account.token, body, { headers });
}

async function reasonOf(response: Response): Promise<Record<string, unknown>> {
  const body = (await response.json()) as { error: Record<string, unknown> & { details?: object } };
  return { status: response.status, ...body.error, ...body.error.details };
}

describe.each(Object.keys(CHATS))('max_cost_usd in %s', (dialect) => {
  const ask = CHATS[dialect]!;

  test.each([
    ['in the body', { max_cost_usd: 2 }, {}],
    ['in the body as text', { max_cost_usd: '2.00' }, {}],
    ['in the header', {}, { 'x-tollgate-max-cost': '2' }],
    ['in both, the lower counts', { max_cost_usd: 5 }, { 'x-tollgate-max-cost': '2' }],
  ])('%s lowers the output cap to fit', async (_, fields, headers) => {
    const response = await ask(fields, headers);
    expect(response.status).toBe(200);
    const sent = Number(backend.calls[0]!.body['max_tokens']);
    expect(sent).toBeWithin(256, 2_000);
    expect(response.headers.get('x-tollgate-max-tokens')).toBe(String(sent));
    expect(parseUsd(response.headers.get('x-tollgate-held')!)).toBeLessThanOrEqual(2e9);
    expect(backend.calls[0]!.text).not.toContain('max_cost');
    expect(response.headers.get('x-tollgate-dropped')).toBeNull();
  });

  test('too low for a useful answer is 402 with the cost that is enough, and that cost is enough', async () => {
    const refused = await reasonOf(await ask({ max_cost_usd: 0.01 }));
    expect(refused).toMatchObject({ status: 402, reason: 'max_cost_too_low' });
    expect(backend.calls).toHaveLength(0);
    const required = Number(refused['required_usd']);
    expect(required).toBeWithin(0.256, 0.4);
    expect((await ask({ max_cost_usd: required })).status).toBe(200);
    expect((await ask({ max_cost_usd: required - 0.001 })).status).toBe(402);
  });

  test('one that is high enough changes nothing', async () => {
    const response = await ask({ max_cost_usd: 1_000 });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-tollgate-max-tokens')).toBeNull();
  });

  test.each([[-1], ['dear'], ['1e3'], [true], [[1]], ['1.0000000001']])('%j is 400', async (value) => {
    const refused = await reasonOf(await ask({ max_cost_usd: value }));
    expect(refused).toMatchObject({ status: 400, param: 'max_cost_usd' });
    expect(backend.calls).toHaveLength(0);
  });
});

test('a bad token is told first', async () => {
  const response = await gateway.chat('sk-wrong', { max_cost_usd: 0.01 });
  expect(response.status).toBe(401);
});

test('a long input is counted before the cap is lowered for it', async () => {
  const content = 'The quick brown fox jumps over the lazy dog. '.repeat(2_000);
  // 20,000 tokens, which is 2 dollars; by its bytes it would be 9.
  const response = await gateway.chat(account.token, {
    messages: [{ role: 'user', content }],
    max_cost_usd: 3,
  });
  expect(response.status).toBe(200);
  expect(parseUsd(response.headers.get('x-tollgate-held')!)).toBeLessThanOrEqual(3e9);
});

test('images and embeddings cannot be lowered, and are refused', async () => {
  const image = await gateway.image(account.token, { n: 2, max_cost_usd: 0.05 });
  expect(await reasonOf(image)).toMatchObject({
    status: 402,
    reason: 'max_cost_too_low',
    required_usd: 0.08,
  });
  const embed = { model: 'svc_embed/e', input: 'x'.repeat(1_000), max_cost_usd: 0.000001 };
  expect(await reasonOf(await post('/v1/embeddings', embed))).toMatchObject({
    status: 402,
    reason: 'max_cost_too_low',
  });
  expect(backend.calls).toHaveLength(0);
  expect((await gateway.image(account.token, { max_cost_usd: 0.04 })).status).toBe(200);
  expect((await post('/v1/embeddings', { ...embed, max_cost_usd: 1 })).status).toBe(200);
});

test('an edit takes it as a field of the form', async () => {
  const form = new FormData();
  form.set('model', 'svc_tgter/p');
  form.set('prompt', 'a gate');
  form.set('max_cost_usd', '0.01');
  form.set('image', new Blob([new Uint8Array([1])], { type: 'image/png' }), 'a.png');
  const refused = await gateway.fetch('/v1/images/edits', {
    method: 'POST',
    body: form,
    token: account.token,
  });
  expect(await reasonOf(refused)).toMatchObject({ status: 402, reason: 'max_cost_too_low' });
  form.set('max_cost_usd', '0.04');
  const taken = await gateway.fetch('/v1/images/edits', { method: 'POST', body: form, token: account.token });
  expect(taken.status).toBe(200);
  expect(backend.calls[0]!.text).not.toContain('max_cost');
});

describe('a quote', () => {
  const QUOTES = '/api/public/v1/quotes';

  test.each([
    ['a quote', QUOTES, { endpoint: 'svc_chat', model: 'm', messages: ASKED }],
    ['a count of tokens', '/v1/messages/count_tokens', { model: 'svc_chat/m', messages: ASKED }],
  ])('%s takes part in the rate limit, though it is free', async (_, path, body) => {
    const busy = await gateway.account('0', { chat: 2 });
    const ask = () => gateway.post(path, busy.token, body);
    const [first, second, third] = [await ask(), await ask(), await ask()];
    expect([first.status, second.status, third.status]).toEqual([200, 200, 429]);
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('1');
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0);
    const { error } = (await third.json()) as { error: { code?: string; type?: string } };
    expect([error.code, error.type]).toContain(path === QUOTES ? 'rate_limit_exceeded' : 'rate_limit_error');
  });

  test('is refused while chats are at their limit', async () => {
    const busy = await gateway.account('1000', { chat: 1 });
    expect((await gateway.chat(busy.token, { max_tokens: 10 })).status).toBe(200);
    const quoted = await gateway.post(QUOTES, busy.token, {
      endpoint: 'svc_chat',
      model: 'm',
      messages: ASKED,
    });
    expect(quoted.status).toBe(429);
  });

  test('is the most that the same request can cost, and its parts; nobody is called and nothing is held', async () => {
    const body = { endpoint: 'svc_chat', model: 'm', messages: ASKED, max_tokens: 300, n: 2 };
    const before = await gateway.money(account);
    const quoted = await post(QUOTES, body);
    expect(quoted.status).toBe(200);
    const quote = (await quoted.json()) as {
      max_cost_usd: string;
      lines: { dimension: string; usd: string }[];
    };
    expect(quote).toMatchObject({ object: 'quote', endpoint: 'svc_chat', model: 'm', max_tokens: 300 });
    expect(quote.lines.map(({ dimension }) => dimension)).toEqual(['input', 'output']);
    expect(quote.lines[1]).toMatchObject({ quantity: 600, price: '1000.00', usd: '0.60' });
    const sum = quote.lines.reduce((total, { usd }) => total + Number(usd), 0);
    expect(Number(quote.max_cost_usd)).toBeCloseTo(sum, 8);
    expect(backend.calls).toHaveLength(0);
    expect(await gateway.money(account)).toEqual(before);

    backend.script(() => completion('ok', usage(10, 600)));
    const paid = await gateway.chat(account.token, { ...body, max_cost_usd: quote.max_cost_usd });
    expect(paid.headers.get('x-tollgate-max-tokens')).toBeNull();
    expect(Number(paid.headers.get('x-tollgate-cost'))).toBeLessThanOrEqual(Number(quote.max_cost_usd));
  });

  test('of an image request', async () => {
    const quoted = await post(QUOTES, { endpoint_code: 'svc_tgter', model: 'p', prompt: 'a gate', n: 3 });
    expect(await quoted.json()).toMatchObject({
      max_cost_usd: '0.12',
      lines: [{ dimension: 'image', quantity: 3, price: '0.04', usd: '0.12' }],
    });
  });

  test('keeps to max_cost_usd', async () => {
    const body = { endpoint: 'svc_chat', model: 'm', messages: ASKED, max_cost_usd: 1 };
    const quote = (await (await post(QUOTES, body)).json()) as { max_cost_usd: string; max_tokens: number };
    expect(Number(quote.max_cost_usd)).toBeLessThanOrEqual(1);
    expect(quote.max_tokens).toBeWithin(256, 1_000);
  });

  test('needs a token, and a body that would be served', async () => {
    expect((await gateway.post(QUOTES, undefined, { model: 'svc_chat/m', messages: ASKED })).status).toBe(
      401,
    );
    expect((await post(QUOTES, { model: 'svc_chat/none', messages: ASKED })).status).toBe(400);
    expect((await post(QUOTES, { model: 'svc_chat/m', messages: ASKED, n_predict: 9 })).status).toBe(400);
  });
});
