import { afterAll, beforeAll, expect, test } from 'bun:test';
import { StrictOpenAi } from './openai.ts';

/** The stand-in itself: a lenient one would hide what customers of the real provider meet. */

let provider: StrictOpenAi;

beforeAll(() => void (provider = new StrictOpenAi()));
afterAll(async () => await provider.stop());

const MESSAGES = [{ role: 'user', content: 'hi' }];
const CHAT = { model: 'gpt-5-mini', messages: MESSAGES };
const PLAIN = { model: 'gpt-4o-mini', messages: MESSAGES };
const IMAGE = { model: 'gpt-image-1-mini', prompt: 'a gate' };
const CHATS = '/chat/completions';
const IMAGES = '/images/generations';
const MODERATIONS = '/moderations';

test.each([
  [CHATS, { ...CHAT, max_tokens: 10 }, 'unsupported_parameter', 'max_tokens'],
  [
    CHATS,
    { ...PLAIN, max_tokens: 10, max_completion_tokens: 10 },
    'invalid_parameter_combination',
    'max_tokens',
  ],
  [CHATS, { ...PLAIN, max_tokens: 20_000 }, 'invalid_value', 'max_tokens'],
  [CHATS, { ...CHAT, endpoint: 'svc_chat' }, 'unknown_parameter', 'endpoint'],
  [CHATS, { ...CHAT, temperature: 0 }, 'unsupported_value', 'temperature'],
  [CHATS, { ...CHAT, stream_options: { include_usage: true } }, null, 'stream_options'],
  [CHATS, { ...PLAIN, reasoning_effort: 'low' }, null, 'reasoning_effort'],
  [CHATS, { ...CHAT, model: 'o3', stop: ['.'] }, 'unsupported_parameter', 'stop'],
  [CHATS, { model: 'gpt-5-mini' }, 'missing_required_parameter', 'messages'],
  [CHATS, { ...CHAT, model: 'gpt-9' }, 'model_not_found', null],
  [IMAGES, { ...IMAGE, response_format: 'b64_json' }, 'unknown_parameter', 'response_format'],
  [IMAGES, { ...IMAGE, style: 'vivid' }, 'unknown_parameter', 'style'],
  [IMAGES, { ...IMAGE, size: '512x512' }, 'invalid_value', 'size'],
  [IMAGES, { ...IMAGE, model: 'gpt-image-2', size: '1000x1000' }, 'invalid_value', 'size'],
  [IMAGES, { ...IMAGE, model: 'dall-e-3', n: 2 }, 'invalid_value', 'n'],
  [IMAGES, { ...IMAGE, model: 'dall-e-2', style: 'vivid' }, 'unknown_parameter', 'style'],
  [IMAGES, { ...IMAGE, model: 'dall-e-3', background: 'opaque' }, 'unknown_parameter', 'background'],
  [IMAGES, { ...IMAGE, model: 'gpt-image-1' }, 'model_not_found', null],
  [IMAGES, { ...IMAGE, stream: true, partial_images: 4 }, 'invalid_value', 'partial_images'],
  [IMAGES, { ...IMAGE, model: 'dall-e-3', stream: true }, 'unknown_parameter', 'stream'],
  [MODERATIONS, {}, 'missing_required_parameter', 'input'],
  [MODERATIONS, { input: 'hi', model: 'gpt-5-mini' }, 'invalid_value', 'model'],
  [MODERATIONS, { input: 'hi', user: 'u' }, 'unknown_parameter', 'user'],
])('%s refuses %j with code %p at %p, and bills nothing', async (path, body, code, param) => {
  const billed = provider.invoice.length;
  const response = await post(path, body);
  expect(response.status).toBe(code === 'model_not_found' ? 404 : 400);
  expect(await response.json()).toMatchObject({ error: { code, param } });
  expect(provider.invoice).toHaveLength(billed);
});

test('without a key there is no answer', async () => {
  expect((await post(CHATS, CHAT, 'sk-of-somebody-else')).status).toBe(401);
});

test('a stream reports its usage only when asked to', async () => {
  const silent = await (await post(CHATS, { ...CHAT, stream: true })).text();
  expect(silent).not.toContain('usage');
  const told = await (
    await post(CHATS, { ...CHAT, stream: true, stream_options: { include_usage: true } })
  ).text();
  expect(told).toContain('"reasoning_tokens":48');
  expect(provider.invoice.at(-1)).toMatchObject({ model: 'gpt-5-mini', output: 60 });
});

test('an image link can be fetched without the key', async () => {
  const response = await post(IMAGES, { ...IMAGE, model: 'dall-e-3', response_format: 'url' });
  const { data } = (await response.json()) as { data: [{ url: string }] };
  expect((await fetch(data[0].url)).headers.get('content-type')).toBe('image/png');
});

function post(path: string, body: unknown, key = provider.key): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return fetch(provider.baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
}
