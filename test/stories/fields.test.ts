import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import {
  CAP_SYNONYMS,
  CHOICES_SYNONYMS,
  IMAGE_COUNT_SYNONYMS,
  IMAGE_SIZE_SYNONYMS,
} from '../../src/std/held-fields.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { completion, images, ScriptedBackend, streamed, usage } from '../support/scripted-backend.ts';

const backend = new ScriptedBackend();
let gateway: Gateway;
let account: TestAccount;

const catalog = `
upstreams:
  hosted: { kind: openai, base_url: "${backend.baseUrl}" }
  own: { kind: openai, base_url: "${backend.baseUrl}", pass_fields: [lora, plugins] }
  claude: { kind: anthropic, base_url: "${backend.baseUrl}", api_key: "\${CLAUDE_KEY}" }
lists:
  chat_models:
    - { model: m, input: 1, output: 2 }
    - { model: rich, input: 1, output: 2, audio_output: 3, tool_calls: { web_search: 0.01 }, service_tiers: { flex: 0.5 } }
  image_models:
    - { model: p, image: 0.01, sizes: [1024x1024] }
    - { model: fine, image: { 1024x1024: { low: 0.01, high: 0.1 } }, sizes: [1024x1024] }
  embedding_models: [ { model: e, input: 1, output: 0 } ]
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [chat_models], upstreams: [hosted] }
  own_chat: { name: own, type: chat_completion, lists: [chat_models], upstreams: [own] }
  claude_chat: { name: claude, type: chat_completion, lists: [chat_models], upstreams: [claude] }
  svc_tgter: { name: images, type: image_generation, lists: [image_models], upstreams: [hosted] }
  svc_embed: { name: embeddings, type: embedding, lists: [embedding_models], upstreams: [hosted] }
`;

const MESSAGE = {
  id: 'msg_backend',
  type: 'message',
  role: 'assistant',
  model: 'backend-model',
  content: [{ type: 'text', text: 'ok' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 1 },
};

beforeAll(async () => {
  gateway = await Gateway.start({ yaml: catalog, env: { CLAUDE_KEY: 'key-of-the-operator' } });
  account = await gateway.account('100');
});

afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

beforeEach(() => {
  backend.calls.length = 0;
  backend.script(({ path, body }) => {
    if (path.endsWith('/messages')) return Response.json(MESSAGE);
    if (path.includes('/images/')) return images(1);
    if (path.endsWith('/embeddings'))
      return Response.json({ data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 2 } });
    if (body['stream'] === true) return streamed(['ok'], { prompt: 10, completion: 1 });
    return completion('ok', usage(10, 1));
  });
});

const ASKED = [{ role: 'user', content: 'hi' }];

function ask(path: string, body: Record<string, unknown>, headers: Record<string, string> = {}) {
  return gateway.post(path, account.token, body, { headers });
}

const asks: Record<string, (fields: Record<string, unknown>) => Promise<Response>> = {
  chat: (fields) => ask('/v1/chat/completions', { model: 'svc_chat/m', messages: ASKED, ...fields }),
  'the public chat': (fields) => gateway.chat(account.token, fields),
  responses: (fields) => ask('/v1/responses', { model: 'svc_chat/m', input: 'hi', ...fields }),
  images: (fields) => ask('/v1/images/generations', { model: 'svc_tgter/p', prompt: 'x', ...fields }),
  claude: (fields) =>
    ask('/v1/messages', { model: 'claude_chat/m', max_tokens: 100, messages: ASKED, ...fields }),
};

/** Refused with 400 that names the field, before anybody was called or anything was held. */
async function expectRefused(response: Response, param: string): Promise<string> {
  const text = await response.text();
  expect(`${response.status} ${text}`).toStartWith('400 ');
  const { error } = JSON.parse(text) as { error: { message: string; code?: string; param?: string } };
  if (error.code !== undefined) expect(error).toMatchObject({ code: 'invalid_field', param });
  expect(backend.calls).toHaveLength(0);
  expect((await gateway.money(account)).held).toBe(0 as never);
  return error.message;
}

describe('another name of the output cap never reaches a backend', () => {
  test.each([...CAP_SYNONYMS])('%s', async (field) => {
    expect(await expectRefused(await asks['chat']!({ [field]: 100_000 }), field)).toContain('max_tokens');
    await expectRefused(await asks['the public chat']!({ [field]: 100_000 }), field);
  });

  test('options.num_predict', async () => {
    await expectRefused(await asks['chat']!({ options: { num_predict: 100_000 } }), 'options');
  });

  test('max_tokens_to_sample of Claude', async () => {
    await expectRefused(await asks['claude']!({ max_tokens_to_sample: 9_999 }), 'max_tokens_to_sample');
  });
});

describe('another name of the number of answers never reaches a backend', () => {
  test.each([...CHOICES_SYNONYMS])('%s', async (field) => {
    expect(await expectRefused(await asks['chat']!({ [field]: 8 }), field)).toContain('Use n instead');
  });

  test.each([...IMAGE_COUNT_SYNONYMS])('%s of images', async (field) => {
    await expectRefused(await asks['images']!({ [field]: 8 }), field);
  });

  test.each([...IMAGE_SIZE_SYNONYMS])('%s of images, which stands for the size', async (field) => {
    await expectRefused(await asks['images']!({ [field]: 4096 }), field);
  });
});

describe('a field that costs extra is refused where the model has no price for it', () => {
  test.each([
    ['chat', 'models', ['dear/model']],
    ['chat', 'plugins', [{ id: 'web' }]],
    ['chat', 'service_tier', 'priority'],
    ['chat', 'prediction', { type: 'content', content: 'x' }],
    ['chat', 'web_search_options', {}],
    ['chat', 'search_parameters', { mode: 'on' }],
    ['chat', 'enable_search', true],
    ['chat', 'modalities', ['text', 'audio']],
    ['chat', 'audio', { voice: 'alloy', format: 'mp3' }],
    ['the public chat', 'service_tier', 'flex'],
    ['responses', 'service_tier', 'priority'],
    ['images', 'quality', 'high'],
    ['images', 'input_fidelity', 'high'],
    ['claude', 'speed', 'fast'],
    ['claude', 'mcp_servers', [{ type: 'url', url: 'https://tools.example', name: 'tools' }]],
    ['claude', 'container', 'container_1'],
    ['claude', 'inference_geo', 'us'],
    ['claude', 'fallbacks', [{ model: 'claude-dear' }]],
    ['claude', 'context_management', { edits: [{ type: 'compact_20260112' }] }],
    ['claude', 'tools', [{ type: 'web_search_20250305', name: 'web_search' }]],
    ['claude', 'tools', [{ type: 'code_execution_20250825', name: 'code_execution' }]],
    ['claude', 'tools', [{ type: 'computer_20250124', name: 'computer' }]],
  ])('%s: %s %j', async (operation, field, value) => {
    const message = await expectRefused(await asks[operation]!({ [field]: value }), field);
    expect(message).toContain(`${field} is not supported`);
  });

  test('a tool of a chat that the backend would run', async () => {
    const tools = [{ type: 'web_search' }];
    await expectRefused(await asks['chat']!({ tools }), 'tools.0.type');
    await expectRefused(await asks['chat']!({ tools: [{ type: 'code_interpreter' }] }), 'tools.0.type');
  });

  test('a detail of a picture that costs more than high', async () => {
    const image_url = { url: 'https://pictures.example/1.png', detail: 'original' };
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url }] }];
    const refused = await asks['chat']!({ messages });
    expect(await expectRefused(refused, 'messages')).toContain('auto, low or high');
  });
});

describe('a field that costs extra passes where the model has a price for it', () => {
  test.each([
    ['chat', { model: 'svc_chat/rich', service_tier: 'flex' }, 'service_tier'],
    ['responses', { model: 'svc_chat/rich', service_tier: 'flex' }, 'service_tier'],
    ['chat', { model: 'svc_chat/rich', web_search_options: {} }, 'web_search_options'],
    ['chat', { model: 'svc_chat/rich', modalities: ['text', 'audio'] }, 'modalities'],
    ['claude', { model: 'claude_chat/rich', tools: [{ type: 'web_search_20250305', name: 's' }] }, 'tools'],
    ['images', { model: 'svc_tgter/fine', quality: 'high' }, 'quality'],
  ])('%s: %j', async (operation, fields, field) => {
    const response = await asks[operation]!(fields);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-tollgate-dropped')).toBeNull();
    expect(backend.calls[0]?.body[field]).toEqual(Reflect.get(fields, field));
  });

  test('and no other value of it', async () => {
    await expectRefused(
      await asks['chat']!({ model: 'svc_chat/rich', service_tier: 'priority' }),
      'service_tier',
    );
    await expectRefused(
      await asks['chat']!({ model: 'svc_chat/rich', modalities: ['audio', 'image'] }),
      'modalities',
    );
    await expectRefused(await asks['images']!({ model: 'svc_tgter/fine', quality: 'best' }), 'quality');
  });
});

describe('values that cost nothing pass', () => {
  test.each([
    ['chat', 'service_tier', 'auto'],
    ['chat', 'modalities', ['text']],
    ['chat', 'enable_search', false],
    ['chat', 'chat_template_kwargs', { enable_thinking: false }],
    ['chat', 'top_k', 40],
    ['chat', 'min_p', 0.1],
    ['chat', 'repetition_penalty', 1.1],
    ['images', 'quality', 'auto'],
    ['claude', 'speed', 'standard'],
    ['claude', 'top_k', 40],
    ['claude', 'cache_control', { type: 'ephemeral' }],
    ['claude', 'context_management', { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] }],
    ['claude', 'tools', [{ type: 'bash_20250124', name: 'bash' }]],
  ])('%s: %s %j', async (operation, field, value) => {
    const response = await asks[operation]!({ [field]: value });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-tollgate-dropped')).toBeNull();
    expect(backend.calls[0]?.body[field]).toEqual(value);
  });

  test('null is absent, whatever the field', async () => {
    const response = await asks['chat']!({ n_predict: null, plugins: null, brand_new: null });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-tollgate-dropped')).toBeNull();
    expect(Object.keys(backend.calls[0]!.body).sort()).toEqual(['max_tokens', 'messages', 'model']);
  });
});

describe('a field that nobody knows is dropped and named', () => {
  test.each(['chat', 'the public chat', 'responses', 'images', 'claude'])('%s', async (operation) => {
    const response = await asks[operation]!({ brand_new: { deep: 1 }, 'x.y-z': 2 });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-tollgate-dropped')).toBe('brand_new, x.y-z');
    expect(backend.calls[0]!.text).not.toContain('brand_new');
  });

  test('in streams too', async () => {
    const response = await asks['chat']!({ stream: true, brand_new: 1 });
    expect(response.headers.get('x-tollgate-dropped')).toBe('brand_new');
    expect(await response.text()).toContain('[DONE]');
  });

  test.each(['chat', 'the public chat'])(
    '%s: what LiteLLM keeps in an answer and sends back with it',
    async (operation) => {
      const kept = { provider_specific_fields: { refusal: null } };
      const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
      const bare = [
        { role: 'user', content: 'How is the weather?' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'Fine.' },
        { role: 'assistant', content: 'It is fine.' },
        { role: 'user', content: 'And now?' },
      ];
      const messages = bare.map((message) => {
        if (message.role !== 'assistant') return message;
        const calls = message.tool_calls?.map((one) => ({ ...one, ...kept }));
        return { ...message, ...kept, ...(calls && { tool_calls: calls }) };
      });
      const response = await asks[operation]!({ messages });
      expect(response.status).toBe(200);
      expect(response.headers.get('x-tollgate-dropped')).toBe('messages.provider_specific_fields');
      expect(backend.calls[0]!.body['messages']).toEqual(bare);
    },
  );

  test('100 KB of messages in embeddings', async () => {
    const messages = [{ role: 'user', content: 'x'.repeat(100_000) }];
    const response = await ask('/v1/embeddings', { model: 'svc_embed/e', input: 'hi', messages });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-tollgate-dropped')).toBe('messages');
    expect(backend.calls[0]!.body).toEqual({ model: 'e', input: 'hi' });
  });

  test('at most 20 names, and none that could not stand in a header', async () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`new_${index}`, 1]));
    const odd = { 'a\r\nset-cookie: x': 1, ['x'.repeat(65)]: 1, grüß: 1, __proto__: null };
    const response = await asks['chat']!({ ...odd, ...JSON.parse('{"__proto__":{"n":8}}'), ...many });
    expect(response.status).toBe(200);
    const names = response.headers.get('x-tollgate-dropped')!.split(', ');
    expect(names).toHaveLength(20);
    expect(names.every((name) => /^(?:new_\d+|__proto__)$/.test(name))).toBeTrue();
    expect(Object.keys(backend.calls[0]!.body).sort()).toEqual(['max_tokens', 'messages', 'model']);
  });
});

test('beta features of Claude pass when they are known, and are dropped and named otherwise', async () => {
  const beta = 'interleaved-thinking-2025-05-14, fast-mode-2026-02-01,files-api-2025-04-14,effort-2025-11-24';
  const body = { model: 'claude_chat/m', max_tokens: 100, messages: ASKED };
  const response = await ask('/v1/messages', body, { 'anthropic-beta': beta });
  expect(response.headers.get('x-tollgate-dropped')).toBe('fast-mode-2026-02-01, files-api-2025-04-14');
  expect(backend.calls[0]!.headers.get('anthropic-beta')).toBe(
    'interleaved-thinking-2025-05-14,effort-2025-11-24',
  );
});

test("tools of Claude's own are left out and named where the backend is another's", async () => {
  const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
  const body = { model: 'svc_chat/m', max_tokens: 100, messages: ASKED, tools };
  const response = await ask('/v1/messages', body);
  expect(response.status).toBe(200);
  expect(response.headers.get('x-tollgate-dropped')).toBe('tools.web_search');
  expect(backend.calls[0]!.body['tools']).toBeUndefined();
});

describe('pass_fields', () => {
  test('lets one upstream have more fields, unknown ones and such as cost extra', async () => {
    const fields = { model: 'own_chat/m', lora: 'fox', plugins: [{ id: 'own' }], brand_new: 1 };
    const response = await asks['chat']!(fields);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-tollgate-dropped')).toBe('brand_new');
    expect(backend.calls[0]!.body).toMatchObject({ lora: 'fox', plugins: [{ id: 'own' }] });
    expect(backend.calls[0]!.body['brand_new']).toBeUndefined();
  });

  test('never another name of what the hold is computed from', async () => {
    const hostile = catalog.replace('[lora, plugins]', '[lora, n_predict, best_of, n, stream, model]');
    const started = Gateway.start({ yaml: hostile, env: { CLAUDE_KEY: 'k' } });
    await expect(started).rejects.toThrow(/pass_fields\[1\]: n_predict is never passed/);
    await expect(started).rejects.toThrow(/pass_fields\[5\]: model is never passed/);
  });

  test('has no use where requests are translated', async () => {
    const yaml = `
upstreams: { house: { kind: house, pass_fields: [lora] } }
lists: { l: [ { model: house-echo, free: true } ] }
endpoints: { c: { name: c, type: chat_completion, lists: [l], upstreams: [house] } }
`;
    await expect(Gateway.start({ yaml })).rejects.toThrow(/no use for kind house/);
  });
});
