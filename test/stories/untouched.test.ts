import { afterAll, beforeAll, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { eventStream, ScriptedBackend } from '../support/scripted-backend.ts';

/** A Messages request to a backend that speaks the dialect itself: nothing is translated there or back. */

let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  backend = new ScriptedBackend();
  const yaml = `
upstreams: { claude: { kind: anthropic, base_url: "${backend.baseUrl}", api_key: "\${KEY}" } }
lists: { models: [ { model: claude-x, display_name: X, input: 3, cached_input: 0.3, output: 15, context: 200000, max_output: 64000, reasoning: true } ] }
endpoints: { svc_chat: { name: Chat, type: chat_completion, lists: [models], upstreams: [claude] } }
`;
  gateway = await Gateway.start({ yaml, env: { KEY: 'backend-key' } });
  account = await gateway.account('100');
});
afterAll(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
});

const body = {
  model: 'svc_chat/claude-x',
  max_tokens: 500,
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  messages: [{ role: 'user', content: 'hi' }],
  thinking: { type: 'enabled', budget_tokens: 200 },
};

const usage = {
  input_tokens: 10,
  cache_read_input_tokens: 90,
  cache_creation_input_tokens: 0,
  output_tokens: 7,
};

test('a whole answer is returned as the backend wrote it but for the model’s name, and is charged by its own usage', async () => {
  const answer = {
    id: 'msg_backend',
    type: 'message',
    role: 'assistant',
    model: 'claude-x',
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'SIGNED' },
      { type: 'text', text: 'Hello' },
    ],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage,
    brand_new: 1,
  };
  backend.script(() => Response.json(answer));
  const response = await gateway.post('/v1/messages?beta=true', account.token, body, {
    headers: {
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'interleaved-thinking-2025-05-14,context-management-2025-06-27',
    },
  });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ ...answer, model: body.model });

  const sent = backend.calls.at(-1)!;
  expect(sent.path).toEndWith('/messages');
  expect(sent.headers.get('anthropic-version')).toBe('2026-10-21');
  expect(sent.headers.get('anthropic-beta')).toBe(
    'interleaved-thinking-2025-05-14,context-management-2025-06-27',
  );
  expect(sent.body).toEqual({ ...body, model: 'claude-x' });
  expect(sent.text + JSON.stringify([...sent.headers])).not.toContain(account.token);

  const receipt = await gateway.receipt(response.headers.get('x-request-id') ?? '');
  // 10 fresh × $3 + 90 cached × $0.30 + 7 × $15 per million.
  expect(receipt).toMatchObject({
    state: 'posted',
    usage_source: 'upstream',
    input_tokens: 100,
    cached_tokens: 90,
    output_tokens: 7,
    charged: 30_000 + 27_000 + 105_000,
  });
});

const events = [
  [
    'message_start',
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-x',
        content: [],
        stop_reason: null,
        usage: { ...usage, output_tokens: 1 },
      },
    },
  ],
  [
    'content_block_start',
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ],
  ['ping', { type: 'ping' }],
  [
    'content_block_delta',
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Grüße 🚪' } },
  ],
  ['content_block_stop', { type: 'content_block_stop', index: 0 }],
  [
    'message_delta',
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 7 },
    },
  ],
  ['message_stop', { type: 'message_stop' }],
] as const;
const wire = events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join('');

test('a stream is returned event for event, and is charged by its own usage', async () => {
  backend.script(() => eventStream(wire));
  const response = await gateway.post('/v1/messages', account.token, { ...body, stream: true });
  expect(await response.text()).toBe(wire.replace('"model":"claude-x"', `"model":"${body.model}"`));
  await gateway.settled(account);
  const receipt = await gateway.receipt(response.headers.get('x-request-id') ?? '');
  expect(receipt).toMatchObject({
    state: 'posted',
    outcome: 'completed',
    usage_source: 'upstream',
    charged: 162_000,
  });
});

test('a stream that breaks off ends in one error event of the dialect, charged for what was delivered', async () => {
  const cut = wire.slice(0, wire.indexOf('event: content_block_stop'));
  backend.script(() => eventStream(cut));
  const response = await gateway.post('/v1/messages', account.token, { ...body, stream: true });
  const text = await response.text();
  expect(text.match(/event: error/g)).toHaveLength(1);
  expect(text).not.toContain('[DONE]');
  await gateway.settled(account);
  const receipt = await gateway.receipt(response.headers.get('x-request-id') ?? '');
  // The input as the backend told it at the start: 10 fresh and 90 cached; the output is ours.
  expect(receipt).toMatchObject({
    state: 'posted',
    outcome: 'upstream_failed',
    usage_source: 'mixed',
    input_tokens: 100,
    cached_tokens: 90,
    output_tokens: countTokens('Grüße 🚪'),
  });
});

test('a cap above the hold is lowered before the backend sees it', async () => {
  backend.script(() =>
    Response.json({
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [{ type: 'text', text: 'x' }],
      stop_reason: 'end_turn',
      usage,
    }),
  );
  const poor = await gateway.account('0.02');
  const response = await gateway.post('/v1/messages', poor.token, {
    ...body,
    max_tokens: 64_000,
    thinking: undefined,
  });
  expect(response.status).toBe(200);
  const lowered = Number(response.headers.get('x-tollgate-max-tokens'));
  expect(lowered).toBeLessThan(64_000);
  expect(backend.calls.at(-1)!.body['max_tokens']).toBe(lowered);
});

test('the same backend answers OpenAI’s dialect by translation, for the same charge', async () => {
  backend.script(() =>
    Response.json({
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      usage,
    }),
  );
  const response = await gateway.post('/v1/chat/completions', account.token, {
    model: 'svc_chat/claude-x',
    max_tokens: 500,
    messages: [{ role: 'user', content: 'hi' }],
  });
  expect(await response.json()).toMatchObject({
    object: 'chat.completion',
    choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }],
  });
  expect(response.headers.get('x-tollgate-cost')).toBe('0.000162');
});
