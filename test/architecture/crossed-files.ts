/**
 * Run under `bun test --coverage` by crossed-files.test.ts: a real gateway, a real backend, and as many small chats as
 * `CHATS` says. What another chat adds to the coverage is what one chat runs through. It lasts for `AT_LEAST_MS`, and
 * how long it took is written to `TOOK_FILE`.
 */
import { expect, test } from 'bun:test';
import { Gateway } from '../support/gateway.ts';
import { ScriptedBackend } from '../support/scripted-backend.ts';

test('small chats', async () => {
  const backend = new ScriptedBackend();
  const streamed = process.env['STREAMED'] === '1';
  backend.script(() => (streamed ? stream() : whole()));
  const gateway = await Gateway.start({ yaml: catalog(backend.baseUrl) });
  const account = await gateway.account('5');
  const startedAt = performance.now();
  for (let chat = 0; chat < Number(process.env['CHATS']); chat++) {
    const response = await gateway.post('/api/public/v1/chat/completions', account.token, {
      endpoint: 'small_chat',
      model: 'small',
      stream: streamed,
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('Hi');
  }
  await Bun.sleep(Math.max(0, Number(process.env['AT_LEAST_MS']) - (performance.now() - startedAt)));
  await Bun.write(process.env['TOOK_FILE'] ?? '', String(performance.now() - startedAt));
  await gateway.stop();
  await backend.stop();
});

const USAGE = { prompt_tokens: 8, completion_tokens: 1, total_tokens: 9 };
const LABELS = { id: 'chatcmpl-1', created: 1, model: 'small' };

function whole(): Response {
  const message = { role: 'assistant', content: 'Hi' };
  return Response.json({
    ...LABELS,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: USAGE,
  });
}

function stream(): Response {
  const chunk = (delta: object, finish: string | null = null) => ({
    ...LABELS,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const events = [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'Hi' }),
    chunk({ content: ' there' }),
    chunk({}, 'stop'),
    { ...LABELS, object: 'chat.completion.chunk', choices: [], usage: USAGE },
  ];
  const body = [...events.map((event) => JSON.stringify(event)), '[DONE]'].map((data) => `data: ${data}\n\n`);
  return new Response(body.join(''), { headers: { 'content-type': 'text/event-stream' } });
}

function catalog(baseUrl: string): string {
  return `
upstreams:
  backend: { kind: openai, base_url: ${baseUrl} }
lists:
  small: [{ model: small, display_name: Small, input: 1, output: 2, context: 8000, max_output: 1000 }]
endpoints:
  small_chat: { name: Small, type: chat_completion, lists: [small], upstreams: [backend] }
`;
}
