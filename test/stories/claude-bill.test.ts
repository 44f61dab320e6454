import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { openStream, ScriptedBackend } from '../support/scripted-backend.ts';

/** What Claude bills beyond plain text, on the native path of the Messages API. A token costs $0.001. */

const NANO_PER_TOKEN = 1_000_000;
let backend: ScriptedBackend;
let gateway: Gateway;

beforeAll(async () => {
  backend = new ScriptedBackend();
  gateway = await Gateway.start({
    yaml: `
upstreams: { claude: { kind: anthropic, base_url: "${backend.baseUrl}", api_key: "\${KEY}" } }
lists: { models: [ { model: claude-x, display_name: X, input: 1000, output: 1000, context: 200000, max_output: 64000 } ] }
endpoints: { svc_chat: { name: Chat, type: chat_completion, lists: [models], upstreams: [claude] } }
`,
    env: { KEY: 'backend-key' },
  });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});
afterEach(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
});

const ask = (account: TestAccount, more: object): Promise<Response> =>
  gateway.post('/v1/messages', account.token, {
    model: 'svc_chat/claude-x',
    max_tokens: 5_000,
    messages: [{ role: 'user', content: 'hi' }],
    ...more,
  });

async function chargedTokens(account: TestAccount): Promise<number> {
  await gateway.settled(account);
  const [row, ...others] = await gateway.requests(account);
  expect(others).toEqual([]);
  return (row?.charged ?? 0) / NANO_PER_TOKEN;
}

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', stop_sequence: null };
const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

test('thinking that was sent is charged although the client left before any text', async () => {
  const thought = 'one two three four five six seven eight';
  const thinkingBlock = { type: 'thinking', thinking: '', signature: '' };
  const usage = { input_tokens: 900, output_tokens: 1 };
  const account = await gateway.account('1000');
  const stream = openStream();
  backend.script(() => stream.response);
  const before = backend.calls.length;
  const pending = ask(account, { stream: true, thinking: { type: 'enabled', budget_tokens: 2_000 } });
  await backend.called(before + 1);
  stream.send(
    event('message_start', { message: { ...MESSAGE, content: [], stop_reason: null, usage } }) +
      event('content_block_start', { index: 0, content_block: thinkingBlock }) +
      thought
        .split(/(?= )/)
        .map((word) =>
          event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: word } }),
        )
        .join(''),
  );
  const reader = (await pending).body!.getReader();
  const decoder = new TextDecoder();
  for (let text = ''; !text.includes(' eight');)
    text += decoder.decode((await reader.read()).value, { stream: true });
  await reader.cancel();
  await stream.cancelled;
  expect(await chargedTokens(account)).toBe(900 + countTokens(thought));
});

test('input that is written to a cache costs 1.25 × input for five minutes and 2 × input for an hour', async () => {
  const cache_creation = { ephemeral_5m_input_tokens: 600, ephemeral_1h_input_tokens: 400 };
  const usage = {
    input_tokens: 10,
    cache_creation_input_tokens: 1_000,
    cache_creation,
    cache_read_input_tokens: 0,
    output_tokens: 2,
  };
  backend.script(() =>
    Response.json({ ...MESSAGE, content: [{ type: 'text', text: 'ok' }], stop_reason: 'end_turn', usage }),
  );
  const account = await gateway.account('1000');
  const kept = (ttl: string) => ({
    type: 'text',
    text: 'It was the best of times. '.repeat(200),
    cache_control: { type: 'ephemeral', ttl },
  });
  const response = await ask(account, { system: [kept('1h'), kept('5m')] });
  expect(response.status).toBe(200);
  expect(await chargedTokens(account)).toBe(10 + 600 * 1.25 + 400 * 2 + 2);
});
