import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { PIXEL_BASE64, ScriptedBackend } from '../support/scripted-backend.ts';

/** A backend may send anything. It costs the client nothing that it did not get, and the server no memory. */

let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

beforeEach(async () => {
  backend = new ScriptedBackend();
  const base = backend.baseUrl;
  const yaml = `
upstreams:
  b: { kind: openai, base_url: "${base}" }
  claude: { kind: anthropic, base_url: "${base}", api_key: "\${KEY}" }
lists:
  models: [{ model: m, input: 1, output: 2, context: 1000, max_output: 100 }]
  images: [{ model: p, image: 0.01, sizes: [512x512] }]
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [models], upstreams: [b] }
  svc_claude: { name: claude, type: chat_completion, lists: [models], upstreams: [claude] }
  svc_image: { name: images, type: image_generation, lists: [images], upstreams: [b] }
`;
  gateway = await Gateway.start({ yaml, env: { KEY: 'a-key' } });
  account = await gateway.account('1');
});
afterEach(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
});

const spent = async (): Promise<number> => 1_000_000_000 - (await gateway.money(account)).balance;

describe('a compressed answer, which nobody asked for', () => {
  const inflated = new Uint8Array(50_000_000).fill(32);

  test.each([
    ['svc_chat', false, 200],
    ['svc_chat', true, 200],
    ['svc_claude', false, 200],
    ['svc_claude', true, 200],
    ['svc_chat', false, 400],
    ['svc_claude', false, 400],
  ])('of %s (stream: %p, status %i) is not unpacked, and costs nothing', async (endpoint, stream, status) => {
    const type = stream ? 'text/event-stream' : 'application/json';
    const body = Bun.gzipSync(inflated);
    backend.script(
      () => new Response(body, { status, headers: { 'content-encoding': 'gzip', 'content-type': type } }),
    );
    const before = process.memoryUsage.rss();
    const response = await gateway.chat(account.token, { endpoint, model: 'm', stream });
    expect(response.status).toBe(status === 200 ? 500 : 400);
    await response.text();
    expect(process.memoryUsage.rss() - before).toBeLessThan(inflated.length);
    expect(await spent()).toBe(0);
    const { attempts } = (await gateway.requests(account))[0]!;
    expect(attempts).toContain(status === 200 ? 'protocol' : 'rejected');
  });
});

describe('an image', () => {
  const paint = async (data: unknown[]): Promise<Response> => {
    backend.script(() => Response.json({ created: 1, data }));
    return await gateway.image(account.token, {
      endpoint_code: 'svc_image',
      model: 'p',
      prompt: 'x',
      size: '512x512',
      n: data.length,
    });
  };

  test.each(['!!!!', '', 'aGVsbG8gd29ybGQ=', Buffer.from('<html>error</html>').toString('base64')])(
    'that is none is not charged: %p',
    async (b64_json) => {
      const response = await paint([{ b64_json }]);
      expect(response.status).toBe(500);
      await response.text();
      expect(await spent()).toBe(0);
    },
  );

  test('that is none beside one that is leaves one to charge', async () => {
    const response = await paint([{ b64_json: '!!!!' }, { b64_json: PIXEL_BASE64 }]);
    expect(response.status).toBe(200);
    expect(((await response.json()) as { data: unknown[] }).data).toHaveLength(1);
    expect(await spent()).toBe(10_000_000);
  });
});

describe('a stream whose last event is broken and not even ended', () => {
  const first =
    'data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';
  const question = [{ role: 'user', content: 'hi' }];

  test.each([
    ['/v1/chat/completions', '{"cho', 'upstream_error'],
    ['/v1/messages', '{"choices":[null]}', 'event: error'],
    ['/v1/messages', '{"choices":[{"delta":{"tool_calls":{}}}]}', 'event: error'],
    ['/v1/responses', '{"choices":[null]}', 'response.failed'],
    ['/v1/responses', '{"choices":[{"delta":{"tool_calls":{}}}]}', 'response.failed'],
  ])(
    'ends at once with an error: %s, %s',
    async (path, last, error) => {
      backend.script(
        () => new Response(`${first}data: ${last}`, { headers: { 'content-type': 'text/event-stream' } }),
      );
      const response = await gateway.fetch(path, {
        method: 'POST',
        token: account.token,
        body: JSON.stringify({
          model: 'svc_chat/m',
          ...(path === '/v1/responses' ? { input: question } : { messages: question, max_tokens: 10 }),
          stream: true,
        }),
      });
      expect(await response.text()).toContain(error);
      await gateway.settled(account);
    },
    20_000,
  );
});
