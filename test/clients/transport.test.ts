import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';

/** What clients rely on below their SDKs: paths, headers, error shapes, in each dialect. */

let gateway: Gateway;
let account: TestAccount;
let poor: TestAccount;

type Json = Record<string, unknown>;

const MODEL = 'svc_chat/house-echo';
const messages = [{ role: 'user', content: 'hello' }];

const DIALECTS = [
  { name: 'chat', path: '/v1/chat/completions', body: { model: MODEL, messages } },
  { name: 'responses', path: '/v1/responses', body: { model: MODEL, input: 'hello' } },
  { name: 'messages', path: '/v1/messages', body: { model: MODEL, messages, max_tokens: 100 } },
  { name: 'public', path: '/api/public/v1/chat/completions', body: { model: MODEL, messages } },
] as const;

beforeAll(async () => {
  gateway = await Gateway.start();
  account = await gateway.account('10');
  poor = await gateway.account('0');
});
afterAll(async () => {
  await gateway.stop();
});

const json = async (response: Response): Promise<Json> => (await response.json()) as Json;

describe.each(DIALECTS)('$name', ({ name, path, body }) => {
  const send = (more: Json = {}, init: RequestInit = {}, token: string | undefined = account.token) =>
    gateway.post(path, token, { ...body, ...more }, init);

  test('every answer has both request id headers, with the same id', async () => {
    for (const response of [
      await send(),
      await send({ stream: true }),
      await send({ model: 7 }),
      await send({}, {}, 'sk-no'),
    ]) {
      const id = response.headers.get('x-request-id');
      expect(id).toStartWith('req_');
      expect(response.headers.get('request-id')).toBe(id);
      await response.body?.cancel();
    }
  });

  test('an error has the dialect’s own shape', async () => {
    const cases = [
      {
        response: await send({ model: undefined }),
        status: 400,
        code: 'missing_field',
        openAi: 'invalid_request_error',
        anthropic: 'invalid_request_error',
      },
      {
        response: await send({}, {}, 'sk-no'),
        status: 401,
        code: 'invalid_token',
        openAi: 'authentication_error',
        anthropic: 'authentication_error',
      },
      {
        response: await send({}, {}, poor.token),
        status: 402,
        code: 'payment_required',
        openAi: 'insufficient_quota',
        anthropic: 'billing_error',
      },
    ];
    for (const { response, status, code, openAi, anthropic } of cases) {
      expect(response.status).toBe(status);
      const shown = await json(response);
      if (name === 'messages') {
        expect(shown).toMatchObject({
          type: 'error',
          error: { type: anthropic, details: { error_code: code } },
          request_id: response.headers.get('x-request-id'),
        });
      } else {
        expect(shown).toMatchObject({ error: { type: openAi, code, message: expect.any(String) } });
        expect(Object.keys(shown)).toEqual(['error']);
        expect(shown['error']).toHaveProperty('param');
      }
    }
  });

  test('a 402 tells SDKs not to retry', async () => {
    const response = await send({}, {}, poor.token);
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect(response.headers.get('retry-after')).toBeNull();
  });

  test('a 429 says when to retry, in seconds and in milliseconds', async () => {
    const { token } = await gateway.account('1', { chat: 1 });
    await (await send({}, {}, token)).text();
    const response = await send({}, {}, token);
    expect(response.status).toBe(429);
    expect(response.headers.get('x-should-retry')).toBeNull();
    const ms = Number(response.headers.get('retry-after-ms'));
    expect(ms).toBeGreaterThan(0);
    expect(Number(response.headers.get('retry-after'))).toBe(Math.ceil(ms / 1000));
  });

  test('unknown fields, headers and query parameters are accepted', async () => {
    const headers = {
      'x-stainless-lang': 'js',
      'openai-beta': 'responses=v2',
      'anthropic-beta': 'tools-2024,other-2031',
      'x-new': '1',
    };
    const response = await gateway.post(
      `${path}?beta=true&api-version=1`,
      account.token,
      { ...body, brand_new: { deep: [1] } },
      { headers },
    );
    expect(response.status).toBe(200);
  });

  test('any version of the dialect is accepted', async () => {
    for (const version of ['2023-06-01', '2026-10-21', 'tomorrow']) {
      expect((await send({}, { headers: { 'anthropic-version': version } })).status).toBe(200);
    }
  });

  test('a key in either header', async () => {
    const response = await gateway.post(path, undefined, body, { headers: { 'x-api-key': account.token } });
    expect(response.status).toBe(200);
  });

  test('repeated slashes are collapsed', async () => {
    expect((await gateway.post(`/${path.replace('/v1/', '//v1//')}`, account.token, body)).status).toBe(200);
  });

  test('a browser may call from any origin and read every header', async () => {
    const headers = {
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers':
        'authorization,x-stainless-os,anthropic-dangerous-direct-browser-access',
    };
    const preflight = await gateway.fetch(path, { method: 'OPTIONS', headers });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-methods')).toContain('POST');
    const allowed = preflight.headers.get('access-control-allow-headers') ?? '';
    // The wildcard does not cover this one, by the standard.
    expect(allowed.split(', ')).toEqual(expect.arrayContaining(['*', 'authorization']));
    for (const response of [await send(), await send({ model: 7 })]) {
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(response.headers.get('access-control-expose-headers')).toBe('*');
    }
  });

  test('a stream is neither compressed nor buffered on the way', async () => {
    const response = await send({ stream: true }, { headers: { 'accept-encoding': 'gzip, br' } });
    expect(response.headers.get('content-type')).toStartWith('text/event-stream');
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(response.headers.get('cache-control')).toContain('no-store');
    await response.text();
  });

  test('GET is the wrong method, in JSON', async () => {
    const response = await gateway.fetch(path, { token: account.token });
    expect(response.status).toBe(405);
    expect(await json(response)).toHaveProperty('error');
  });
});

describe('models', () => {
  test.each(['/v1/models', '/v1//models', '//v1/models/', '/v1/models?limit=1000'])('%s', async (path) => {
    const body = await json(await gateway.fetch(path, { token: account.token }));
    expect(body).toMatchObject({ object: 'list', has_more: false });
    for (const entry of body['data'] as Json[]) {
      expect(entry).toMatchObject({
        id: expect.any(String),
        name: expect.any(String),
        context_length: expect.any(Number),
      });
      expect(entry['pricing']).toMatchObject({ prompt: expect.any(String), completion: expect.any(String) });
    }
  });

  test.each(['svc_chat/house-echo', 'svc_chat%2Fhouse-echo'])('/v1/models/%s', async (id) => {
    expect(await json(await gateway.fetch(`/v1/models/${id}`, { token: account.token }))).toMatchObject({
      id: 'svc_chat/house-echo',
    });
  });

  test('need a key', async () => {
    for (const path of ['/v1/models', '/v1/models/house-echo']) {
      expect((await gateway.fetch(path)).status).toBe(401);
      expect((await gateway.fetch(path, { token: 'sk-no' })).status).toBe(401);
    }
  });
});

test('a client that only probes the server gets a success', async () => {
  for (const method of ['HEAD', 'GET'])
    expect((await gateway.fetch('/api/hello', { method })).status).toBe(200);
});

test('a Responses body on the chat path is understood and answered as one, streamed or not', async () => {
  const whole = await gateway.post('/v1/chat/completions', account.token, { model: MODEL, input: 'hello' });
  expect(await json(whole)).toMatchObject({ object: 'response', status: 'completed' });
  const streamed = await gateway.post('/v1/chat/completions', account.token, {
    model: MODEL,
    input: 'hello',
    stream: true,
  });
  expect(await streamed.text()).toContain('event: response.completed');
});

test('an unknown path is a 404 in the usual error shape', async () => {
  for (const path of ['/v1/nothing', '/v1/chat/completions/1']) {
    const response = await gateway.post(path, account.token, {});
    expect(response.status).toBe(404);
    expect(await json(response)).toMatchObject({
      error: { code: 'not_found', type: 'invalid_request_error' },
    });
  }
});
