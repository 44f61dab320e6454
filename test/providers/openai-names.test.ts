import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Gateway } from '../support/gateway.ts';
import { PIXEL_BASE64 } from '../support/scripted-backend.ts';
import { StrictOpenAi } from './openai.ts';

/** The name of the output cap and the format of images, for models whose name does and does not tell what they take. */

let provider: StrictOpenAi;

beforeAll(() => {
  provider = new StrictOpenAi({
    'our-thinker': 'gpt-5-mini',
    'our-painter': 'gpt-image-1-mini',
    'openai/gpt-5-mini': 'gpt-5-mini',
    'gpt-image-ours': 'dall-e-3',
  });
});
afterAll(async () => await provider.stop());

describe('chat', () => {
  test.each([
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
    ['m', ', upstream_models: { openai: o4-mini }', ''],
  ])(
    '%s with entry "%s" and upstream "%s" is answered under either name of the cap',
    async (model, entry, upstream) => {
      await withGateway(catalog({ chat: `model: '${model}'${entry}`, upstream }), async (gateway) => {
        const { token } = await gateway.account('10');
        for (const cap of [{}, { max_tokens: 100 }, { max_completion_tokens: 100 }]) {
          const response = await gateway.chat(token, { model, ...cap });
          expect({ cap, status: response.status }).toEqual({ cap, status: 200 });
        }
      });
    },
  );

  test.each([
    ['', ''],
    [', cap_field: max_tokens', ', options: { cap_field: max_completion_tokens }'],
  ])(
    'a name that tells nothing, with entry "%s" and upstream "%s", is asked as these say, and under the other name once that is refused',
    async (entry, upstream) => {
      await withGateway(catalog({ chat: `model: our-thinker${entry}`, upstream }), async (gateway) => {
        const { token } = await gateway.account('10');
        const calls = provider.received.length;
        for (const cap of [{ max_tokens: 70 }, {}]) {
          const response = await gateway.chat(token, { model: 'our-thinker', ...cap });
          expect(response.status).toBe(200);
        }
        const [first, ...others] = provider.received.slice(calls);
        expect(first?.refusal?.message).toContain("'max_tokens' is not supported with this model");
        expect(others.map(({ refusal }) => refusal)).toEqual([undefined, undefined]);
        expect(others[0]?.body).toMatchObject({ max_completion_tokens: 70 });
      });
    },
  );

  test('an upstream’s option overrides the model’s name', async () => {
    const upstream = ', options: { cap_field: max_tokens }';
    await withGateway(catalog({ chat: 'model: gpt-5-mini', upstream }), async (gateway) => {
      const { token } = await gateway.account('10');
      await gateway.chat(token, { model: 'gpt-5-mini', max_completion_tokens: 70 });
      expect(provider.received.at(-2)?.body).toMatchObject({ max_tokens: 70 });
    });
  });
});

describe('images', () => {
  test.each([
    ['gpt-image-1.5', '', '', undefined],
    ['gpt-image-2', '', '', undefined],
    ['dall-e-2', '', '', 'b64_json'],
    ['dall-e-3', '', '', 'b64_json'],
    ['dall-e-3', ', image_format: default', ', options: { image_path: /files/ }', undefined],
    ['our-painter', ', image_format: default', '', undefined],
    ['our-painter', '', ', options: { image_format: default }', undefined],
    ['our-painter', ', image_format: default', ', options: { image_format: b64_json }', undefined],
    ['gpt-image-ours', ', image_format: b64_json', '', 'b64_json'],
    ['p', ', upstream_models: { openai: gpt-image-2 }', '', undefined],
  ])(
    '%s with entry "%s" and upstream "%s" is asked for format %p, and arrives',
    async (model, entry, upstream, asked) => {
      await withGateway(catalog({ image: `model: ${model}${entry}`, upstream }), async (gateway) => {
        const { token } = await gateway.account('10');
        for (const response_format of ['url', 'b64_json']) {
          const response = await gateway.image(token, { model, response_format });
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
    },
  );

  test('a model with an unknown name is asked for base64, which most servers accept, and without it once refused', async () => {
    await withGateway(catalog({ image: 'model: our-painter' }), async (gateway) => {
      const { token } = await gateway.account('10');
      expect((await gateway.image(token, { model: 'our-painter' })).status).toBe(200);
      expect(provider.received.at(-2)?.refusal?.param).toBe('response_format');
      expect(provider.received.at(-1)?.refusal).toBeUndefined();
    });
  });

  test.each([
    ['dall-e-2', 'b64_json'],
    ['gpt-image-2', undefined],
  ])('an edit with %s is asked for format %p, and arrives', async (model, asked) => {
    await withGateway(catalog({ image: `model: ${model}` }), async (gateway) => {
      const { token } = await gateway.account('10');
      const form = new FormData();
      for (const [key, value] of Object.entries({ model, prompt: 'a bird' })) form.set(key, value);
      form.set('image', new Blob([Buffer.from(PIXEL_BASE64, 'base64')], { type: 'image/png' }), 'a.png');
      const response = await gateway.fetch('/v1/images/edits', { method: 'POST', body: form, token });
      expect({ status: response.status, body: await response.json() }).toMatchObject({ status: 200 });
      expect(provider.received.at(-1)?.body['response_format']).toBe(asked as never);
    });
  });
});

async function withGateway(yaml: string, use: (gateway: Gateway) => Promise<void>): Promise<void> {
  const gateway = await Gateway.start({ yaml, env: { OPENAI_API_KEY: provider.key } });
  try {
    await use(gateway);
  } finally {
    await gateway.stop();
  }
}

function catalog({ chat = 'model: m', image = 'model: p', upstream = '' }): string {
  return `
upstreams:
  openai: { kind: openai, base_url: "${provider.baseUrl}", api_key: "\${OPENAI_API_KEY}"${upstream} }
lists:
  chat_models:
    - { ${chat}, input: 1, output: 2 }
  image_models:
    - { ${image}, image: 0.01, sizes: [1024x1024] }
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [chat_models], upstreams: [openai] }
  svc_tgter: { name: images, type: image_generation, lists: [image_models], upstreams: [openai] }
`;
}
