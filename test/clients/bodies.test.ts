import { afterAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Gateway } from '../support/gateway.ts';
import { completion, images, ScriptedBackend, streamed, usage } from '../support/scripted-backend.ts';

/**
 * What clients really send: those of the coding agents were recorded by `scripts/agents.ts`, with their prompts
 * shortened; those of Open WebUI and LibreChat follow the source files that `bodies/README.md` names.
 */
interface RecordedBody {
  readonly client: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Record<string, unknown>;
}

const FOLDER = join(import.meta.dir, 'bodies');
/**
 * Codex always offers OpenAI's own search beside its functions, and goes on without it. Open WebUI sends the settings of
 * an Ollama server to whichever server a model has, where they mean nothing.
 */
const NOT_NEEDED: Readonly<Record<string, string>> = {
  codex: 'tools.web_search',
  'open-webui-server-settings':
    'use_mmap, use_mlock, think, format, keep_alive, num_keep, num_ctx, num_batch, num_thread, num_gpu',
};

const backend = new ScriptedBackend();
const MESSAGE_START = { id: 'msg_1', type: 'message', role: 'assistant', model: 'x', content: [] };
const MESSAGE_EVENTS = [
  { type: 'message_start', message: { ...MESSAGE_START, usage: { input_tokens: 9, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
];

backend.script(({ path, body }) => {
  if (path.endsWith('/messages')) {
    const events = MESSAGE_EVENTS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } });
  }
  if (path.includes('/images/')) return images(1);
  if (body['stream'] === true) return streamed(['ok'], { prompt: 9, completion: 1 });
  return completion('ok', usage(9, 1));
});

const gateway = await Gateway.start({
  yaml: `
upstreams:
  hosted: { kind: openai, base_url: "${backend.baseUrl}" }
  claude: { kind: anthropic, base_url: "${backend.baseUrl}", api_key: "\${CLAUDE_KEY}" }
lists:
  chat_models: [ { model: m, input: 1, output: 2, context: 200000, max_output: 64000, vision: true, tools: true, reasoning: true } ]
  image_models: [ { model: p, image: 0.01, sizes: [1024x1024, 512x512] } ]
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [chat_models], upstreams: [hosted] }
  claude_chat: { name: claude, type: chat_completion, lists: [chat_models], upstreams: [claude] }
  svc_tgter: { name: images, type: image_generation, lists: [image_models], upstreams: [hosted] }
`,
  env: { CLAUDE_KEY: 'key-of-the-operator' },
});
const account = await gateway.account('100');

afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

const names = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.replace(/\.json$/, ''));

function recorded(name: string): RecordedBody {
  return JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8')) as RecordedBody;
}

test.each(names)('nothing that %s needs is dropped', async (name) => {
  const { path, headers, body } = recorded(name);
  const response = await gateway.post(path, account.token, body, { headers });
  const text = await response.text();
  expect(`${response.status} ${text}`).toStartWith('200 ');
  expect(response.headers.get('x-tollgate-dropped')).toBe(NOT_NEEDED[name] ?? null);
});

test.each(['open-webui', 'librechat', 'opencode'])('every field of %s reaches its backend', async (name) => {
  const { path, body } = recorded(name);
  backend.calls.length = 0;
  await (await gateway.post(path, account.token, body)).text();
  expect(backend.calls[0]?.body).toEqual({ ...body, model: 'm' });
});

test('what Claude Code sends reaches Claude as it is, with all its beta features', async () => {
  const { path, headers, body } = recorded('claude-code');
  backend.calls.length = 0;
  const asked = { ...body, model: 'claude_chat/m' };
  const response = await gateway.post(`${path}?beta=true`, account.token, asked, { headers });
  expect(await response.text()).toContain('message_stop');
  expect(response.headers.get('x-tollgate-dropped')).toBeNull();
  expect(backend.calls[0]?.body).toEqual({ ...body, model: 'm' });
  expect(backend.calls[0]?.headers.get('anthropic-beta')).toBe(headers['anthropic-beta'] ?? '');
});
