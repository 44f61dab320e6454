import { afterAll, beforeAll, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { ScriptedBackend } from '../support/scripted-backend.ts';

/** Counting the tokens of a conversation before it is sent. */

let claude: ScriptedBackend;
let gateway: Gateway;

beforeAll(async () => {
  claude = new ScriptedBackend();
  const upstream = `kind: anthropic, base_url: "${claude.baseUrl}", api_key: "\${KEY}"`;
  const yaml = catalogFor(['http://127.0.0.1:9/v1'])
    .replace(
      'lists:',
      `  claude: { ${upstream} }
  slow: { ${upstream}, timeouts: { first_byte_ms: 100 } }
lists:
  claude_models: [{ model: claude-x, input: 3, output: 15, upstream_models: { claude: claude-x-20260101 } }]`,
    )
    .replace(
      'endpoints:',
      `endpoints:
  svc_claude: { name: Claude, type: chat_completion, lists: [claude_models], upstreams: [claude] }
  svc_slow: { name: Claude, type: chat_completion, lists: [claude_models], upstreams: [slow] }`,
    );
  gateway = await Gateway.start({ yaml, env: { KEY: 'backend-key' } });
});
afterAll(async () => {
  await gateway.stop();
  await claude.stop();
});

const ask = (token: string, content: string, model = 'svc_chat/m', more: object = {}): Promise<Response> =>
  gateway.post('/v1/messages/count_tokens', token, { model, messages: [{ role: 'user', content }], ...more });

test('the count is that of a real tokenizer', async () => {
  const { token } = await gateway.account('0');
  const text = 'Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. 今天天气很好。 1234567890';
  const answer = await ask(token, text);
  expect(await answer.json()).toEqual({ input_tokens: 3 + 4 + countTokens(text) });
});

test('counting 18 MB does not stop the event loop: everything else goes on', async () => {
  const { token } = await gateway.account('0');
  await ask(token, 'so that the tokenizer is loaded');
  let [last, longestGap] = [performance.now(), 0];
  const startedAt = last;
  const timer = setInterval(() => {
    const now = performance.now();
    longestGap = Math.max(longestGap, now - last);
    last = now;
  }, 1);
  const answer = await ask(token, 'It was the best of times, it was the worst of times. '.repeat(340_000));
  clearInterval(timer);
  expect(answer.status).toBe(200);
  expect(longestGap).toBeLessThan((performance.now() - startedAt) / 2);
});

test('counting has the rate limit of chats: who is too fast is told when to come back', async () => {
  const { token } = await gateway.account('0', { chat: 3 });
  const other = await gateway.account('0', { chat: 3 });
  for (let count = 0; count < 3; count++) expect((await ask(token, 'hi')).status).toBe(200);
  const refused = await ask(token, 'hi');
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(await refused.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
  expect((await ask(other.token, 'hi')).status).toBe(200);
});

test('chats leave less to count', async () => {
  const { token } = await gateway.account('1', { chat: 3 });
  // Nobody answers, and the request has still been made.
  for (let chat = 0; chat < 3; chat++) await (await gateway.chat(token, { max_tokens: 5 })).text();
  expect((await ask(token, 'hi')).status).toBe(429);
});

test('Claude counts where it serves the model, with the fields that count', async () => {
  const { token } = await gateway.account('0');
  claude.calls.length = 0;
  claude.script(() => Response.json({ input_tokens: 4_242 }));
  const answer = await ask(token, 'hi', 'svc_claude/claude-x', { system: 'Be brief.', max_tokens: 5 });
  expect(await answer.json()).toEqual({ input_tokens: 4_242 });
  expect(answer.headers.get('x-ratelimit-remaining-requests')).not.toBeNull();
  const [call] = claude.calls;
  expect(call?.path).toBe('/v1/messages/count_tokens');
  expect(call?.headers.get('x-api-key')).toBe('backend-key');
  expect(call?.body).toEqual({
    model: 'claude-x-20260101',
    messages: [{ role: 'user', content: 'hi' }],
    system: 'Be brief.',
  });
});

test.each([
  ['fails', () => new Response('{}', { status: 500 })],
  ['refuses', () => Response.json({ error: { message: 'no' } }, { status: 400 })],
  ['says nonsense', () => new Response('<html>')],
  ['tells no number', () => Response.json({ input_tokens: 'many' })],
] as const)('a Claude that %s leaves the count to us, and stays in use', async (_, script) => {
  const { token } = await gateway.account('0');
  claude.script(script);
  const text = 'How many tokens are these?';
  for (let round = 0; round < 2; round++) {
    const answer = await ask(token, text, 'svc_claude/claude-x');
    expect(await answer.json()).toEqual({ input_tokens: 3 + 4 + countTokens(text) });
  }
  claude.script(() => Response.json({ input_tokens: 7 }));
  expect(await (await ask(token, text, 'svc_claude/claude-x')).json()).toEqual({ input_tokens: 7 });
});

test('a Claude that does not answer in time is not waited for', async () => {
  const { token } = await gateway.account('0');
  claude.script(({ signal }) => untilAborted(signal));
  const answer = await ask(token, 'hi', 'svc_slow/claude-x');
  expect(await answer.json()).toEqual({ input_tokens: 3 + 4 + countTokens('hi') });
});

test('counting at Claude has the rate limit of chats', async () => {
  const { token } = await gateway.account('0', { chat: 2 });
  claude.script(() => Response.json({ input_tokens: 7 }));
  for (let count = 0; count < 2; count++)
    expect((await ask(token, 'hi', 'svc_claude/claude-x')).status).toBe(200);
  const before = claude.calls.length;
  expect((await ask(token, 'hi', 'svc_claude/claude-x')).status).toBe(429);
  expect(claude.calls.length).toBe(before);
});

function untilAborted(signal: AbortSignal): Promise<Response> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(new Response('late'))));
}
