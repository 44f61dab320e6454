import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Browser, PASSWORD } from '../../src/console/testing/harness.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { eventStream, ScriptedBackend } from '../support/scripted-backend.ts';

/** A provider's words about a request may name its keys and its servers. The operator reads them, customers do not. */

const HELLO = [{ role: 'user', content: 'hi' }];
const MASKED = 'sk-evil-***…wq7~';
const SERVER = 'gpu-7.internal:8000';
const OWNER = 'ops-4711@provider.example';
const SECRETS = [MASKED, 'wq7~', 'gpu-7', OWNER, '10.11.12.13'];
const FIRST = 'The tool choice is not supported.';
const TELLING = `${FIRST} Key ${MASKED} of ${OWNER} was used at ${SERVER} (10.11.12.13).`;
const TELLING_AT_ONCE = `Key ${MASKED} of ${OWNER} was used at ${SERVER} (10.11.12.13): wrong tool choice.`;

let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;
let admin: Browser;

beforeAll(async () => {
  backend = new ScriptedBackend();
  const base = backend.baseUrl;
  const models = (fields: string) =>
    Array.from({ length: 40 }, (_, index) => `{ model: m${index}, ${fields} }`).join();
  const chatFields = 'input: 1, output: 2, context: 1000, max_output: 100';
  const yaml = `
upstreams:
  open: { kind: openai, base_url: "${base}" }
  claude: { kind: anthropic, base_url: "${base}", api_key: "\${KEY}" }
  gemini: { kind: google, base_url: "${base}beta", api_key: "\${KEY}" }
  stable: { kind: stability, base_url: "${base}", api_key: "\${KEY}" }
lists:
  models: [${models(chatFields)}]
  painters: [${models('image: 0.01, partial_image: 0.001, sizes: [512x512], abilities: { partial_images: 1 }')}]
  vectors: [${models('input: 1, output: 0')}]
endpoints:
  svc_open: { name: open, type: chat_completion, lists: [models], upstreams: [open] }
  svc_claude: { name: claude, type: chat_completion, lists: [models], upstreams: [claude] }
  svc_gemini: { name: gemini, type: chat_completion, lists: [models], upstreams: [gemini] }
  svc_images: { name: images, type: image_generation, lists: [painters], upstreams: [open] }
  svc_stable: { name: stable, type: image_generation, lists: [painters], upstreams: [stable] }
  svc_embed: { name: embed, type: embedding, lists: [vectors], upstreams: [open] }
`;
  gateway = await Gateway.start({ yaml, env: { KEY: 'a-key-of-the-operator' } });
  account = await gateway.account('1');
  admin = new Browser(gateway.url, '127.0.0.1');
  const token = gateway.tollgate.setupLink?.split('/').at(-1);
  await admin.must('POST', '/api/console/setup', { token, email: 'admin@example.com', password: PASSWORD });
}, 60_000);
afterAll(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
});

let asked = 0;
const nextModel = (endpoint: string): string => `${endpoint}/m${asked++ % 40}`;
const answerTo = async (path: string, body: object): Promise<string> => {
  const response = await gateway.post(path, account.token, body);
  return await response.text();
};

type Ask = () => Promise<string>;

const chat =
  (endpoint: string, stream: boolean): Ask =>
  () =>
    answerTo('/v1/chat/completions', { model: nextModel(endpoint), messages: HELLO, max_tokens: 9, stream });
const messages =
  (endpoint: string, stream: boolean): Ask =>
  () =>
    answerTo('/v1/messages', { model: nextModel(endpoint), messages: HELLO, max_tokens: 9, stream });
const responses =
  (endpoint: string, stream: boolean): Ask =>
  () =>
    answerTo('/v1/responses', { model: nextModel(endpoint), input: 'hi', stream });
const gemini =
  (endpoint: string, stream: boolean): Ask =>
  () => {
    const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
    const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
    return answerTo(`/v1beta/models/${nextModel(endpoint)}:${method}`, { contents });
  };
const completions: Ask = () =>
  answerTo('/v1/completions', { model: nextModel('svc_open'), prompt: 'hi', max_tokens: 9 });
const embeddings: Ask = () => answerTo('/v1/embeddings', { model: nextModel('svc_embed'), input: 'hi' });
const image =
  (endpoint: string, stream = false): Ask =>
  () =>
    answerTo('/v1/images/generations', {
      model: nextModel(endpoint),
      prompt: 'a gate',
      size: '512x512',
      ...(stream && { stream, partial_images: 1, response_format: 'b64_json' }),
    });
const playground: Ask = async () => {
  const [endpoint = '', model = ''] = nextModel('svc_open').split('/');
  const response = await admin.raw('POST', '/api/console/playground/chat', {
    body: { endpoint, model, messages: HELLO },
  });
  return await response.text();
};

const errorIn = (message: string): object => ({
  type: 'error',
  error: { type: 'invalid_request_error', message, code: 400, status: 'INVALID_ARGUMENT', param: SERVER },
  message,
  errors: [message],
});

async function shown(ask: Ask, message: string, form: 'status' | 'event'): Promise<string> {
  const event = `event: error\ndata: ${JSON.stringify(errorIn(message))}\n\n`;
  backend.script(() =>
    form === 'event' ? eventStream(event) : Response.json(errorIn(message), { status: 400 }),
  );
  const text = await ask();
  for (const secret of SECRETS) expect(text).not.toContain(secret);
  return text;
}

describe('of a provider’s words about a rejected request, a customer reads the sentence before what they reveal', () => {
  test.each<[string, Ask]>([
    ['chat', chat('svc_open', false)],
    ['a streamed chat', chat('svc_open', true)],
    ['chat with Claude', chat('svc_claude', false)],
    ['a streamed chat with Claude', chat('svc_claude', true)],
    ['chat with Gemini', chat('svc_gemini', false)],
    ['messages', messages('svc_open', false)],
    ['messages to Claude', messages('svc_claude', false)],
    ['streamed messages to Claude', messages('svc_claude', true)],
    ['responses', responses('svc_open', false)],
    ['streamed responses', responses('svc_open', true)],
    ['Gemini’s dialect', gemini('svc_open', false)],
    ['a stream of Gemini’s dialect', gemini('svc_open', true)],
    ['text completions', completions],
    ['embeddings', embeddings],
    ['images', image('svc_images')],
    ['streamed images', image('svc_images', true)],
    ['the playground', playground],
  ])('%s', async (_, ask) => {
    expect(await shown(ask, TELLING, 'status')).toContain(FIRST);
    expect(await shown(ask, TELLING_AT_ONCE, 'status')).toContain('The backend rejected the request.');
    expect(await shown(ask, 'The tool choice is wrong. Use auto.', 'status')).toContain(
      'The tool choice is wrong. Use auto.',
    );
  });

  test('the operator’s log has the whole of it', async () => {
    await shown(chat('svc_open', false), TELLING, 'status');
    await shown(chat('svc_claude', false), TELLING, 'status');
    const lines = gateway.log.join('\n');
    for (const part of [SERVER, OWNER, FIRST]) expect(lines).toContain(part);
  });
});

test.each<[string, Ask]>([
  ['a chat', chat('svc_open', true)],
  ['a chat with Claude', chat('svc_claude', true)],
  ['a chat with Gemini', chat('svc_gemini', true)],
  ['messages', messages('svc_open', true)],
  ['messages to Claude', messages('svc_claude', true)],
  ['responses', responses('svc_open', true)],
  ['Gemini’s dialect', gemini('svc_open', true)],
  ['images', image('svc_images', true)],
  ['the playground', playground],
])('an error event in the stream reveals as little: %s', async (_, ask) => {
  for (const message of [TELLING, TELLING_AT_ONCE])
    expect(await shown(ask, message, 'event')).toMatch(/backend|tool choice/);
});

test.each([400, 401, 403, 404, 413, 422, 429, 500, 503])('a status of %i reveals no more', async (status) => {
  for (const ask of [chat('svc_open', false), chat('svc_gemini', false), image('svc_stable'), embeddings]) {
    backend.script(() => Response.json(errorIn(TELLING_AT_ONCE), { status }));
    const text = await ask();
    for (const secret of SECRETS) expect(text).not.toContain(secret);
  }
});
