import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Gateway } from '../support/gateway.ts';
import { PIXEL_BASE64 } from '../support/scripted-backend.ts';
import { StrictOpenAi } from './openai.ts';

/** The name of the output cap and the format of images, for models whose name does and does not tell what they take. */

const provider = new StrictOpenAi({
  'our-thinker': 'gpt-5-mini',
  'our-painter': 'gpt-image-1-mini',
  'openai/gpt-5-mini': 'gpt-5-mini',
  'gpt-image-ours': 'dall-e-3',
});
/** One backend, list and endpoint per test, so that none learns from another what the provider refuses. */
const routes: Route[] = [];
let gateway: Gateway;
let token: string;

beforeAll(async () => {
  gateway = await Gateway.start({ yaml: catalog(), env: { OPENAI_API_KEY: provider.key } });
  ({ token } = await gateway.account('10'));
});
afterAll(async () => {
  await gateway.stop();
  await provider.stop();
});

describe('chat', () => {
  describe.each([
    ['gpt-5-mini-2025-08-07', '', ''],
    ['gpt-6-luna', '', ''],
    ['o3', '', ''],
    ['ft:o4-mini-2025-04-16:team::one', '', ''],
    ['openai/gpt-5-mini', '', ''],
    ['gpt-4o-mini', '', ''],
    ['ft:gpt-4o-mini-2024-07-18:team::two', '', ''],
    ['our-thinker', ', cap_field: max_completion_tokens', ''],
    ['our-thinker', '', ', options: { cap_field: max_completion_tokens }'],
    ['our-thinker', ', cap_field: max_completion_tokens', ', options: { cap_field: max_tokens }'],
    ['m', ', upstream_models: { BACKEND: o4-mini }', ''],
  ])('%s with entry "%s" and upstream "%s"', (model, entry, upstream) => {
    const endpoint = routeTo({ type: 'chat_completion', model, entry, upstream });

    test('is answered under either name of the cap', async () => {
      for (const cap of [{}, { max_tokens: 100 }, { max_completion_tokens: 100 }]) {
        const response = await gateway.chat(token, { endpoint, model, ...cap });
        expect({ cap, status: response.status }).toEqual({ cap, status: 200 });
      }
    });
  });

  describe.each([
    ['', ''],
    [', cap_field: max_tokens', ', options: { cap_field: max_completion_tokens }'],
  ])('a name that tells nothing, with entry "%s" and upstream "%s"', (entry, upstream) => {
    const model = 'our-thinker';
    const endpoint = routeTo({ type: 'chat_completion', model, entry, upstream });

    test('is asked as these say, and under the other name once that is refused', async () => {
      const calls = provider.received.length;
      for (const cap of [{ max_tokens: 70 }, {}]) {
        const response = await gateway.chat(token, { endpoint, model, ...cap });
        expect(response.status).toBe(200);
      }
      const [first, ...others] = provider.received.slice(calls);
      expect(first?.refusal?.message).toContain("'max_tokens' is not supported with this model");
      expect(others.map(({ refusal }) => refusal)).toEqual([undefined, undefined]);
      expect(others[0]?.body).toMatchObject({ max_completion_tokens: 70 });
    });
  });

  describe('an upstream’s option', () => {
    const model = 'gpt-5-mini';
    const upstream = ', options: { cap_field: max_tokens }';
    const endpoint = routeTo({ type: 'chat_completion', model, upstream });

    test('overrides the model’s name', async () => {
      await gateway.chat(token, { endpoint, model, max_completion_tokens: 70 });
      expect(provider.received.at(-2)?.body).toMatchObject({ max_tokens: 70 });
    });
  });
});

describe('images', () => {
  describe.each([
    ['gpt-image-1.5', '', '', undefined],
    ['gpt-image-2', '', '', undefined],
    ['dall-e-2', '', '', 'b64_json'],
    ['dall-e-3', '', '', 'b64_json'],
    ['dall-e-3', ', image_format: default', ', options: { image_path: /files/ }', undefined],
    ['our-painter', ', image_format: default', '', undefined],
    ['our-painter', '', ', options: { image_format: default }', undefined],
    ['our-painter', ', image_format: default', ', options: { image_format: b64_json }', undefined],
    ['gpt-image-ours', ', image_format: b64_json', '', 'b64_json'],
    ['p', ', upstream_models: { BACKEND: gpt-image-2 }', '', undefined],
  ])('%s with entry "%s" and upstream "%s"', (model, entry, upstream, asked) => {
    const endpoint_code = routeTo({ type: 'image_generation', model, entry, upstream });

    test(`is asked for format ${asked}, and arrives`, async () => {
      for (const response_format of ['url', 'b64_json']) {
        const response = await gateway.image(token, { endpoint_code, model, response_format });
        const answer = (await response.json()) as { data?: { url?: string; b64_json?: string }[] };
        expect({ response_format, status: response.status }).toEqual({ response_format, status: 200 });
        const one = answer.data?.[0];
        const bytes = one?.url
          ? await (await fetch(one.url)).arrayBuffer()
          : Buffer.from(one?.b64_json ?? '', 'base64');
        expect(Buffer.from(bytes as ArrayBuffer).toString('base64')).toBe(PIXEL_BASE64);
        expect(provider.received.at(-1)?.body['response_format']).toBe(asked as never);
      }
    });
  });

  describe('a model with an unknown name', () => {
    const model = 'our-painter';
    const endpoint_code = routeTo({ type: 'image_generation', model });

    test('is asked for base64, which most servers accept, and without it once refused', async () => {
      expect((await gateway.image(token, { endpoint_code, model })).status).toBe(200);
      expect(provider.received.at(-2)?.refusal?.param).toBe('response_format');
      expect(provider.received.at(-1)?.refusal).toBeUndefined();
    });
  });

  describe.each([
    ['dall-e-2', 'b64_json'],
    ['gpt-image-2', undefined],
  ])('an edit with %s', (model, asked) => {
    const endpoint = routeTo({ type: 'image_generation', model });

    test(`is asked for format ${asked}, and arrives`, async () => {
      const form = new FormData();
      form.set('model', `${endpoint}/${model}`);
      form.set('prompt', 'a bird');
      form.set('image', new Blob([Buffer.from(PIXEL_BASE64, 'base64')], { type: 'image/png' }), 'a.png');
      const response = await gateway.fetch('/v1/images/edits', { method: 'POST', body: form, token });
      expect({ status: response.status, body: await response.json() }).toMatchObject({ status: 200 });
      expect(provider.received.at(-1)?.body['response_format']).toBe(asked as never);
    });
  });
});

interface Route {
  readonly type: 'chat_completion' | 'image_generation';
  readonly model: string;
  /** More of the model's entry; `BACKEND` stands for the backend's name. */
  readonly entry?: string;
  /** More of the backend's entry. */
  readonly upstream?: string;
}

/** The endpoint at which the model will be. */
function routeTo(route: Route): string {
  return `endpoint_${routes.push(route) - 1}`;
}

function catalog(): string {
  const lines = (line: (route: Route, index: number) => string): string => routes.map(line).join('\n');
  const price = ({ type }: Route): string =>
    type === 'chat_completion' ? 'input: 1, output: 2' : 'image: 0.01, sizes: [1024x1024]';
  const key = 'api_key: "${OPENAI_API_KEY}"';
  return `
upstreams:
${lines(({ upstream = '' }, index) => `  backend_${index}: { kind: openai, base_url: "${provider.baseUrl}", ${key}${upstream} }`)}
lists:
${lines((route, index) => `  list_${index}: [ { model: '${route.model}'${(route.entry ?? '').replace('BACKEND', `backend_${index}`)}, ${price(route)} } ]`)}
endpoints:
${lines(({ type }, index) => `  endpoint_${index}: { name: number ${index}, type: ${type}, lists: [list_${index}], upstreams: [backend_${index}] }`)}
`;
}
