import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';

/** Each statement of the public interface, over real HTTP, on the catalog that everybody gets. */

const CHAT_CODES = ['svc_chat', 'svcv1_chat', 'svcv3_chat', 'svcv4_chat', 'svcv5_chat'];
const IMAGE_CODES = ['svc_tgter', 'svcv2_image'];
const ALL_CODES = [...CHAT_CODES, 'partner_chat', ...IMAGE_CODES];

let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await Gateway.start();
  account = await gateway.account('100');
});
afterAll(() => gateway.stop());

type Json = Record<string, unknown>;
const body = async (response: Response): Promise<Json> => (await response.json()) as Json;
const errorOf = async (response: Response) => (await body(response))['error'] as Json;
const chat = (more: Json = {}, token: string | undefined = account.token) =>
  gateway.chat(token, { model: 'house-echo', messages: [{ role: 'user', content: 'hello' }], ...more });
const image = (more: Json = {}, token: string | undefined = account.token) =>
  gateway.image(token, { model: 'house-paint', size: '256x256', ...more });

describe('2.1 endpoints', () => {
  test('all eight codes are listed with their fields', async () => {
    const { success, data } = (await body(await gateway.fetch('/api/public/v1/models'))) as {
      success: boolean;
      data: Json[];
    };
    expect(success).toBe(true);
    expect(data.map(({ endpoint }) => endpoint).sort()).toEqual([...ALL_CODES].sort());
    for (const entry of data) {
      expect(entry['name']).toBeString();
      const kind = IMAGE_CODES.includes(String(entry['endpoint'])) ? 'image_generation' : 'chat_completion';
      expect(entry['endpoint_type']).toBe(kind);
      for (const model of entry['models'] as Json[]) {
        expect(model['display_name']).toBeString();
        expect(model['model']).toBeString();
      }
    }
  });

  test.each(CHAT_CODES)('%s answers a chat with every model it lists', async (code) => {
    const models = (await (
      await gateway.fetch(`/api/public/v1/endpoints/${code}/models`, { token: account.token })
    ).json()) as Json[];
    expect(models.length).toBeGreaterThan(0);
    for (const { model } of models) {
      const response = await chat({ endpoint: code, model, max_tokens: 20 });
      expect(response.status).toBe(200);
      expect((await body(response))['model']).toBe(model);
    }
  });

  test.each(IMAGE_CODES)('%s answers with a valid image', async (code) => {
    const [first] = (await (
      await gateway.fetch(`/api/public/v1/endpoints/${code}/models`, { token: account.token })
    ).json()) as Json[];
    const response = await image({ endpoint_code: code, model: first?.['model'] });
    expect(response.status).toBe(200);
    const { data } = (await body(response)) as { data: { url: string }[] };
    const picture = await fetch(data[0]?.url ?? '');
    expect(picture.headers.get('content-type')).toBe('image/png');
    expect(
      Buffer.from(await picture.arrayBuffer())
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
  });

  test('partner_chat without a key lists no model and says which variable to set', async () => {
    const listed = await gateway.fetch('/api/public/v1/endpoints/partner_chat/models', {
      token: account.token,
    });
    expect(await listed.json()).toEqual([]);
    const response = await chat({ endpoint: 'partner_chat', model: 'any' });
    expect(response.status).toBe(400);
    const error = await errorOf(response);
    expect(error['code']).toBe('unsupported_endpoint');
    expect(String(error['message'])).toContain('OPENAI_API_KEY');
  });
});

describe('2.2 model entries', () => {
  test('an endpoint lists its models with id, name and the list they come from', async () => {
    const response = await gateway.fetch('/api/public/v1/endpoints/svc_chat/models', {
      token: account.token,
    });
    expect(response.status).toBe(200);
    const models = (await response.json()) as Json[];
    expect(models.map(({ model }) => model)).toContain('house-echo');
    for (const model of models) {
      expect(Object.keys(model).sort()).toEqual(['display_name', 'model', 'source_table']);
      for (const value of Object.values(model)) expect(value).toBeString();
    }
  });

  test('there are several lists, so that source_table is meaningful', async () => {
    const lists = new Set<string>();
    for (const code of ALL_CODES) {
      const response = await gateway.fetch(`/api/public/v1/endpoints/${code}/models`, {
        token: account.token,
      });
      for (const { source_table } of (await response.json()) as { source_table: string }[])
        lists.add(source_table);
    }
    expect(lists.size).toBeGreaterThan(2);
  });

  test('an unknown code is 400 unknown_endpoint, a missing token 401', async () => {
    const unknown = await gateway.fetch('/api/public/v1/endpoints/nope/models', { token: account.token });
    expect(unknown.status).toBe(400);
    expect((await errorOf(unknown))['code']).toBe('unknown_endpoint');
    expect((await gateway.fetch('/api/public/v1/endpoints/svc_chat/models')).status).toBe(401);
  });
});

describe('2.3–2.5 chat', () => {
  test('the answer has every documented field with its type', async () => {
    const answer = await body(await chat());
    expect(answer['id']).toBeString();
    expect(answer['object']).toBe('chat.completion');
    expect(answer['created']).toBeInteger();
    expect(answer['created'] as number).toBeGreaterThan(1_700_000_000);
    expect(answer['model']).toBe('house-echo');
    const [choice] = answer['choices'] as Json[];
    expect(choice?.['index']).toBe(0);
    expect((choice?.['message'] as Json)['role']).toBe('assistant');
    expect((choice?.['message'] as Json)['content']).toBeString();
    expect(choice?.['finish_reason']).toBe('stop');
    const usage = answer['usage'] as Record<string, number>;
    expect(usage['prompt_tokens']).toBeInteger();
    expect(usage['completion_tokens']).toBeInteger();
    expect(usage['total_tokens']).toBe((usage['prompt_tokens'] ?? 0) + (usage['completion_tokens'] ?? 0));
  });

  test('endpoint and endpoint_code are two names of one field', async () => {
    expect((await chat({ endpoint: undefined, endpoint_code: 'svc_chat' })).status).toBe(200);
    expect((await chat({ endpoint: 'svc_chat', endpoint_code: 'svc_chat' })).status).toBe(200);
    expect((await chat({ endpoint: 'svc_chat', endpoint_code: 'svcv1_chat' })).status).toBe(400);
  });

  test.each([['endpoint'], ['model'], ['messages']])('%s is required', async (field) => {
    const response = await chat({ [field]: undefined });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({
      code: 'missing_field',
      param: field,
      type: 'invalid_request_error',
    });
  });

  test('temperature and max_tokens are optional and bounded', async () => {
    expect((await chat({ temperature: 0 })).status).toBe(200);
    expect((await chat({ temperature: 2, max_tokens: 1 })).status).toBe(200);
    for (const wrong of [
      { temperature: 2.1 },
      { temperature: -1 },
      { temperature: 'hot' },
      { max_tokens: 0 },
      { max_tokens: -1 },
      { max_tokens: 1.5 },
      { max_tokens: 2 ** 53 },
      { max_tokens: '10' },
    ]) {
      const response = await chat(wrong);
      expect({ wrong, status: response.status }).toEqual({ wrong, status: 400 });
      expect(await errorOf(response)).toMatchObject({ code: 'invalid_field', param: Object.keys(wrong)[0] });
    }
  });

  test('max_tokens caps the answer', async () => {
    const answer = await body(
      await chat({ messages: [{ role: 'user', content: '/long 50' }], max_tokens: 3 }),
    );
    expect((answer['usage'] as Record<string, number>)['completion_tokens']).toBeLessThanOrEqual(3);
    expect((answer['choices'] as Json[])[0]?.['finish_reason']).toBe('length');
  });

  test.each([
    [{ top_p: 1.1 }],
    [{ frequency_penalty: 3 }],
    [{ presence_penalty: -3 }],
    [{ n: 0 }],
    [{ n: 9 }],
    [{ stop: ['a', 'b', 'c', 'd', 'e'] }],
    [{ stream: 'yes' }],
    [{ messages: [] }],
    [{ messages: 'hi' }],
    [{ messages: [{ role: 'robot', content: 'x' }] }],
    [{ messages: [{ role: 'user' }] }],
    [{ messages: [{ role: 'user', content: null }] }],
    [{ messages: [{ role: 'user', content: [{ type: 'smell' }] }] }],
    [{ max_tokens: 10_000_000 }],
  ])('%j is refused as invalid_field or missing_field', async (wrong) => {
    const response = await chat(wrong);
    expect(response.status).toBe(400);
    expect(['invalid_field', 'missing_field']).toContain(String((await errorOf(response))['code']));
  });

  test.each(['system', 'developer', 'user', 'assistant', 'tool'])('role %s is accepted', async (role) => {
    const extra = role === 'tool' ? { tool_call_id: 'call_1' } : {};
    const messages = [
      { role, content: 'words', ...extra },
      { role: 'user', content: 'hello' },
    ];
    expect((await chat({ messages })).status).toBe(200);
  });

  test('content may be parts, null with tool_calls, and null fields are absent ones', async () => {
    const parts = [
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    ];
    const calls = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }];
    expect((await chat({ messages: [{ role: 'user', content: parts }] })).status).toBe(200);
    expect(
      (
        await chat({
          messages: [
            { role: 'user', content: 'x' },
            { role: 'assistant', content: null, tool_calls: calls },
            { role: 'tool', tool_call_id: 'c1', content: '5' },
          ],
        })
      ).status,
    ).toBe(200);
    expect(
      (await chat({ temperature: null, max_tokens: null, stop: null, n: null, stream: null })).status,
    ).toBe(200);
  });

  test('unknown fields are accepted', async () => {
    expect((await chat({ brand_new_field: { deep: [1, 2] } })).status).toBe(200);
  });

  test('the model may contain the endpoint: code/model', async () => {
    expect((await chat({ endpoint: undefined, model: 'svc_chat/house-echo' })).status).toBe(200);
  });

  test('wrong selectors are distinguished: unknown code, wrong kind, unknown model', async () => {
    expect((await errorOf(await chat({ endpoint: 'svc_none' })))['code']).toBe('unknown_endpoint');
    expect((await errorOf(await chat({ endpoint: 'svc_tgter' })))['code']).toBe('unsupported_endpoint');
    expect((await errorOf(await chat({ model: 'no-such-model' })))['code']).toBe('unsupported_model');
    for (const wrong of [{ endpoint: 'svc_none' }, { endpoint: 'svc_tgter' }, { model: 'no-such-model' }]) {
      expect((await chat(wrong)).status).toBe(400);
    }
  });
});

describe('streaming', () => {
  test('chunks, then [DONE]; usage only on request', async () => {
    const plain = await (await chat({ stream: true })).text();
    const events = plain
      .split('\n\n')
      .filter((event) => event.startsWith('data: '))
      .map((event) => event.slice(6));
    expect(events.at(-1)).toBe('[DONE]');
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event) as Json);
    for (const chunk of chunks) expect(chunk['object']).toBe('chat.completion.chunk');
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    const first = (chunks[0]?.['choices'] as Json[])[0]?.['delta'] as Json;
    expect(first['role']).toBe('assistant');
    expect(chunks.some((chunk) => chunk['usage'] != null)).toBe(false);

    const asked = await chat({ stream: true, stream_options: { include_usage: true } });
    expect(asked.headers.get('content-type')).toStartWith('text/event-stream');
    expect(asked.headers.get('x-accel-buffering')).toBe('no');
    const last = (await asked.text()).split('\n\n').findLast((event) => event.startsWith('data: {')) ?? '';
    const usage = JSON.parse(last.slice(6)) as Json;
    expect(usage['choices']).toEqual([]);
    expect((usage['usage'] as Json)['total_tokens']).toBeInteger();
  });
});

describe('2.6 images', () => {
  test('the default answer is a link, b64_json is the bytes themselves', async () => {
    const linked = (await body(await image())) as { created: number; data: Json[] };
    expect(linked.created).toBeInteger();
    expect(linked.data[0]?.['url']).toStartWith(`${gateway.url}/`);
    expect(linked.data[0]).not.toHaveProperty('b64_json');
    const inline = (await body(await image({ response_format: 'b64_json' }))) as { data: Json[] };
    expect(Buffer.from(String(inline.data[0]?.['b64_json']), 'base64').subarray(1, 4).toString()).toBe('PNG');
  });

  test('n images in the requested size', async () => {
    const { data } = (await body(await image({ n: 2, size: '512x512', response_format: 'b64_json' }))) as {
      data: { b64_json: string }[];
    };
    expect(data).toHaveLength(2);
    const png = Buffer.from(data[0]?.b64_json ?? '', 'base64');
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([512, 512]);
  });

  test.each([
    [{ prompt: undefined }, 'prompt'],
    [{ model: undefined }, 'model'],
    [{ prompt: '' }, 'prompt'],
    [{ prompt: 'x'.repeat(32_001) }, 'prompt'],
    [{ n: 0 }, 'n'],
    [{ n: 11 }, 'n'],
    [{ n: 1.5 }, 'n'],
    [{ size: '10x10' }, 'size'],
    [{ size: '1024×1024' }, 'size'],
    [{ size: 'big' }, 'size'],
    [{ response_format: 'gif' }, 'response_format'],
  ])('%# is refused with its param', async (wrong, param) => {
    const response = await image(wrong);
    expect(response.status).toBe(400);
    expect((await errorOf(response))['param']).toBe(param);
  });

  test('a chat endpoint does not generate images', async () => {
    const response = await image({ endpoint_code: 'svc_chat' });
    expect(response.status).toBe(400);
    expect((await errorOf(response))['code']).toBe('unsupported_endpoint');
  });

  test('a link is signed and invalid once it is changed', async () => {
    const { data } = (await body(await image())) as { data: { url: string }[] };
    const url = new URL(data[0]?.url ?? '');
    url.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 1));
    expect((await fetch(url)).status).toBe(404);
  });
});

describe('5 authentication', () => {
  test('header, x-api-key and query all work', async () => {
    const path = '/api/public/v1/account';
    expect((await gateway.fetch(path, { token: account.token })).status).toBe(200);
    expect((await gateway.fetch(path, { headers: { 'x-api-key': account.token } })).status).toBe(200);
    expect((await gateway.fetch(`${path}?token=${account.token}`)).status).toBe(200);
  });

  test('a missing token and a wrong one have different codes, both 401', async () => {
    const missing = await chat({}, undefined);
    const none = await gateway.chat(undefined, { model: 'house-echo' });
    expect(none.status).toBe(401);
    expect(await errorOf(none)).toMatchObject({ code: 'missing_token', type: 'authentication_error' });
    expect(missing.status).toBe(200);
    for (const wrong of ['sk-nope', 'x', `${account.token}x`, account.token.slice(0, -1)]) {
      const response = await chat({}, wrong);
      expect(response.status).toBe(401);
      expect((await errorOf(response))['code']).toBe('invalid_token');
    }
  });

  test('a bad token is 401 whatever else is wrong', async () => {
    const stranger = await strangerToken();
    for (const token of ['sk-nope', stranger]) {
      const attempts = [
        gateway.fetch('/api/public/v1/chat/completions', { method: 'POST', token, body: '{not json' }),
        chat({ messages: undefined, endpoint: 'nope', max_tokens: -4 }, token),
        image({ prompt: undefined }, token),
        gateway.fetch('/api/public/v1/endpoints/nope/models', { token }),
        gateway.fetch('/api/public/v1/models', { token }),
        gateway.fetch('/api/public/v1/requests/nope', { token }),
        gateway.fetch('/api/public/v1/account', { token }),
      ];
      for (const response of await Promise.all(attempts)) expect(response.status).toBe(401);
    }
  });

  test('two different tokens are refused, two equal ones count as one', async () => {
    const path = '/api/public/v1/account';
    expect(
      (await gateway.fetch(path, { token: account.token, headers: { 'x-api-key': account.token } })).status,
    ).toBe(200);
    expect(
      (await gateway.fetch(path, { token: account.token, headers: { 'x-api-key': 'sk-other' } })).status,
    ).toBe(401);
    expect((await gateway.fetch(`${path}?token=sk-other`, { token: account.token })).status).toBe(401);
  });

  test('a new token replaces the old one at once', async () => {
    const owner = await gateway.account('1');
    const fresh = await gateway.tollgate.services.accounts.replaceToken(owner.id);
    expect((await chat({}, owner.token)).status).toBe(401);
    expect((await chat({}, fresh)).status).toBe(200);
  });

  test('GET /models works without a token', async () => {
    expect((await gateway.fetch('/api/public/v1/models')).status).toBe(200);
  });

  async function strangerToken(): Promise<string> {
    const owner = await gateway.account('0');
    await gateway.tollgate.services.accounts.replaceToken(owner.id);
    return owner.token;
  }
});

describe('7 errors', () => {
  test('402 is payment_required with a reason and amounts, and is not to be retried', async () => {
    const poor = await gateway.account('0');
    const response = await chat({}, poor.token);
    expect(response.status).toBe(402);
    expect(await errorOf(response)).toMatchObject({
      code: 'payment_required',
      type: 'insufficient_quota',
      reason: 'insufficient_balance',
      available_usd: 0,
    });
    expect(response.headers.get('retry-after')).toBeNull();
    expect(response.headers.get('x-should-retry')).toBe('false');
  });

  test('a monthly limit is 402 too, for another reason', async () => {
    const limited = await gateway.account('5');
    await gateway.tollgate.services.accounts.setLimits(limited.id, { monthlyLimit: 0 as never });
    const response = await chat({}, limited.token);
    expect(response.status).toBe(402);
    expect((await errorOf(response))['reason']).toBe('limit_reached');
  });

  test('429 comes with a Retry-After', async () => {
    const slow = await gateway.account('5', { chat: 1 });
    expect((await chat({}, slow.token)).status).toBe(200);
    const response = await chat({}, slow.token);
    expect(response.status).toBe(429);
    expect(await errorOf(response)).toMatchObject({ code: 'rate_limit_exceeded', type: 'rate_limit_error' });
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });

  test('500 when the backend fails, with our own message', async () => {
    const response = await chat({ messages: [{ role: 'user', content: '/error 500' }] });
    expect(response.status).toBe(500);
    expect(await errorOf(response)).toMatchObject({ code: 'upstream_error', type: 'server_error' });
  });

  test('a wrong path is 404 and a wrong method 405, in the same shape', async () => {
    const path = await gateway.fetch('/api/public/v1/nope', { token: account.token });
    expect(path.status).toBe(404);
    expect((await errorOf(path))['message']).toBeString();
    const method = await gateway.fetch('/api/public/v1/chat/completions', { token: account.token });
    expect(method.status).toBe(405);
    expect((await errorOf(method))['code']).toBe('method_not_allowed');
  });

  test('every answer has an x-request-id, and the receipt is found by it', async () => {
    const response = await chat();
    const id = response.headers.get('x-request-id') ?? '';
    expect((await body(response))['id']).toBe(id);
    const receipt = await gateway.fetch(`/api/public/v1/requests/${id}`, { token: account.token });
    expect(await receipt.json()).toMatchObject({
      id,
      state: 'posted',
      endpoint: 'svc_chat',
      model: 'house-echo',
      usage: { source: 'upstream' },
    });
    for (const other of [
      await chat({ messages: [] }),
      await chat({}, 'sk-x'),
      await gateway.fetch('/nope'),
    ]) {
      expect(other.headers.get('x-request-id')).toStartWith('req_');
    }
  });

  test("another account's receipt does not exist", async () => {
    const id = (await chat()).headers.get('x-request-id') ?? '';
    const other = await gateway.account('1');
    expect((await gateway.fetch(`/api/public/v1/requests/${id}`, { token: other.token })).status).toBe(404);
  });
});

describe('8 limits and headers', () => {
  test('rate-limit headers in both dialects, on good and bad answers alike', async () => {
    const owner = await gateway.account('5', { chat: 600 });
    for (const response of [
      await chat({}, owner.token),
      await chat({ messages: [] }, owner.token),
      await gateway.fetch('/api/public/v1/account', { token: owner.token }),
    ]) {
      expect(response.headers.get('x-ratelimit-limit-requests')).toBe('600');
      expect(Number(response.headers.get('x-ratelimit-remaining-requests'))).toBeLessThanOrEqual(600);
      expect(response.headers.get('x-ratelimit-reset-requests')).toMatch(/^\d+(\.\d+)?(ms|s|m\d+s)$/);
      expect(response.headers.get('ratelimit-policy')).toBe('"requests";q=600;w=60');
      expect(response.headers.get('ratelimit')).toMatch(/^"requests";r=\d+;t=\d+$/);
    }
  });

  test('the account shows balance, holds, limits and usage', async () => {
    const owner = await gateway.account('5');
    await chat({}, owner.token);
    const view = await body(await gateway.fetch('/api/public/v1/account', { token: owner.token }));
    expect(view).toMatchObject({ email: owner.email, held_usd: 0 });
    expect(view['balance_usd'] as number).toBeLessThan(5);
    expect((view['usage'] as Json)['month_usd']).toBeCloseTo(5 - (view['balance_usd'] as number), 9);
  });

  test('the defaults are 600 chats and 60 images a minute and 50 at once', async () => {
    const { accounts } = gateway.tollgate.services;
    const { token } = await accounts.create('defaults@example.com', { actor: 'test' });
    const view = await body(await gateway.fetch('/api/public/v1/account', { token }));
    expect(view['limits']).toEqual({
      chat_per_minute: 600,
      images_per_minute: 60,
      concurrent: 50,
      monthly_usd: null,
      budget: null,
    });
  });

  test('openapi.json is OpenAPI 3.1 and names every operation', async () => {
    const document = (await body(await gateway.fetch('/api/public/v1/openapi.json'))) as {
      openapi: string;
      paths: Json;
    };
    expect(document.openapi).toStartWith('3.1');
    for (const path of [
      '/chat/completions',
      '/images/generations',
      '/endpoints/{code}/models',
      '/models',
      '/account',
      '/requests/{id}',
    ]) {
      expect(Object.keys(document.paths).some((known) => known.endsWith(path))).toBe(true);
    }
  });

  test('a continued thread is not found, as openapi.json says of /v1/messages', async () => {
    const { paths } = (await body(await gateway.fetch('/api/public/v1/openapi.json'))) as {
      paths: Record<string, Record<string, { 'x-error-codes': string[]; responses: Json }>>;
    };
    const response = await gateway.post('/v1/messages', account.token, {
      model: 'svc_chat/house-echo',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hello' }],
      thread: { type: 'continue', id: 'thread_1' },
    });
    expect(response.status).toBe(404);
    expect((await errorOf(response))['details']).toMatchObject({ error_code: 'thread_not_found' });
    expect(paths['/v1/messages']?.['post']?.['x-error-codes']).toContain('not_found');
    expect(paths['/v1/messages']?.['post']?.responses).toHaveProperty('404');
  });

  test('every operation of openapi.json is served, under its method and under no other', async () => {
    const { paths } = (await body(await gateway.fetch('/api/public/v1/openapi.json'))) as {
      paths: Record<string, Record<string, Json>>;
    };
    expect(Object.keys(paths).length).toBeGreaterThan(15);
    for (const [path, methods] of Object.entries(paths)) {
      const address = path.replace(/\{\w+\}/g, 'none');
      const [method = ''] = Object.keys(methods);
      const served = await gateway.fetch(address, { method: method.toUpperCase() });
      const isFree = methods[method]?.['security'] !== undefined;
      // A link to an image needs no token, and this one leads nowhere.
      const expected = path.endsWith('/images/{id}') ? 404 : isFree ? 200 : 401;
      expect({ path, status: served.status }).toEqual({ path, status: expected });
      await served.body?.cancel();
      const other = await gateway.fetch(address, { method: 'delete' in methods ? 'PATCH' : 'DELETE' });
      expect({ path, status: other.status }).toEqual({ path, status: 405 });
      await other.body?.cancel();
    }
  });
});

describe('transport', () => {
  test('extra slashes, trailing slashes and unknown query parameters are accepted', async () => {
    expect((await gateway.fetch('//api/public//v1/models?beta=true')).status).toBe(200);
    expect((await gateway.fetch('/api/public/v1/models/')).status).toBe(200);
  });

  test('browsers may call from any origin', async () => {
    const preflight = await gateway.fetch('/api/public/v1/chat/completions', {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
    expect((await chat()).headers.get('access-control-allow-origin')).toBe('*');
  });

  test('a body over 20 MB, nested too deeply or not UTF-8 is 400', async () => {
    const send = (raw: string | Uint8Array<ArrayBuffer>) =>
      gateway.fetch('/api/public/v1/chat/completions', { method: 'POST', token: account.token, body: raw });
    expect((await errorOf(await send('x'.repeat(20 * 1_048_576 + 1))))['code']).toBe('request_too_large');
    expect((await errorOf(await send('['.repeat(100_000))))['code']).toBe('invalid_json');
    expect((await errorOf(await send(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]))))['code']).toBe(
      'invalid_json',
    );
    expect((await errorOf(await send('[1]')))['code']).toBe('invalid_json');
  });

  test('the token is in no log line', () => {
    expect(gateway.log.join('\n')).not.toContain(account.token);
  });

  test('afterwards the ledger is consistent and nothing is held', async () => {
    expect((await gateway.verify()).breaches).toEqual([]);
    expect((await gateway.money(account)).held).toBe(0 as never);
  });
});
