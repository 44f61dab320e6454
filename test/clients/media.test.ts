import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { OpenAIEmbeddings } from '@langchain/openai';
import { embedMany, generateImage } from 'ai';
import { toFile } from 'openai';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { images, PIXEL_BASE64, ScriptedBackend, type RecordedCall } from '../support/scripted-backend.ts';
import { openAi, refusal } from './openai-client.ts';

/** Images and embeddings through a backend: what the SDKs send, what arrives, what is returned, what it costs. */

let backend: ScriptedBackend;
let gateway: Gateway;

const EMBEDDING = `
  svc_embed: { name: embeddings, type: embedding, lists: [embedding_models], upstreams: [b0] }
`;

beforeAll(async () => {
  backend = new ScriptedBackend();
  const yaml = catalogFor([backend.baseUrl], { extra: EMBEDDING }).replace(
    'endpoints:',
    '  embedding_models:\n    - { model: e, display_name: Embedder, input: 1, output: 0, context: 8000 }\nendpoints:',
  );
  gateway = await Gateway.start({ yaml });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

const PIXEL = Buffer.from(PIXEL_BASE64, 'base64');
const VECTORS = [
  [0.5, -0.25, 1],
  [0, 0.125, -1],
];

/** As OpenAI does: floats, or their bytes in base64 where that was asked for. */
function embeddings({ body }: RecordedCall): Response {
  const count = Array.isArray(body['input']) ? body['input'].length : 1;
  const data = VECTORS.slice(0, count).map((vector, index) => ({
    object: 'embedding',
    index,
    embedding:
      body['encoding_format'] === 'base64'
        ? Buffer.from(new Float32Array(vector).buffer).toString('base64')
        : vector,
  }));
  return Response.json({
    object: 'list',
    data,
    model: 'backend-model',
    usage: { prompt_tokens: 7, total_tokens: 7 },
  });
}

async function chargeOf(
  account: TestAccount,
): Promise<{ charged: number; input_tokens: number; images: number }[]> {
  await gateway.settled(account);
  return (await gateway.requests(account)).map(({ charged, input_tokens, images }) => ({
    charged,
    input_tokens,
    images,
  }));
}

describe('embeddings', () => {
  const ways: [string, (token: string) => Promise<number[][]>][] = [
    [
      'openai',
      async (token) => {
        const { data } = await openAi({ url: gateway.url, token, model: '' }).embeddings.create({
          model: 'svc_embed/e',
          input: ['a', 'b'],
        });
        return data.map(({ embedding }) => embedding);
      },
    ],
    [
      'ai + openai-compatible',
      async (token) => {
        const provider = createOpenAICompatible({
          name: 'tollgate',
          baseURL: `${gateway.url}/v1`,
          apiKey: token,
        });
        return (await embedMany({ model: provider.embeddingModel('e'), values: ['a', 'b'] })).embeddings;
      },
    ],
    [
      'ai + openai',
      async (token) => {
        const provider = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: token });
        return (await embedMany({ model: provider.embedding('svc_embed/e'), values: ['a', 'b'] })).embeddings;
      },
    ],
    [
      'langchain',
      async (token) => {
        const model = new OpenAIEmbeddings({
          model: 'svc_embed/e',
          apiKey: token,
          configuration: { baseURL: `${gateway.url}/v1` },
        });
        return await model.embedDocuments(['a', 'b']);
      },
    ],
  ];

  test.each(ways)('%s: the vectors arrive and the backend’s count is charged', async (_name, embed) => {
    backend.script(embeddings);
    const account = await gateway.account('1');
    expect(await embed(account.token)).toEqual(VECTORS);
    expect(backend.calls.at(-1)).toMatchObject({
      path: '/v1/embeddings',
      body: { model: 'e', input: ['a', 'b'] },
    });
    expect(await chargeOf(account)).toEqual([{ charged: 7_000, input_tokens: 7, images: 0 }]);
  });

  test('a chat model makes none, and an embedding model does not chat', async () => {
    const { token } = await gateway.account('1');
    const client = openAi({ url: gateway.url, token, model: '' });
    const messages = [{ role: 'user' as const, content: 'a' }];
    expect(await refusal(client.embeddings.create({ model: 'svc_chat/m', input: 'a' }))).toMatchObject({
      status: 400,
      code: 'unsupported_endpoint',
    });
    expect(await refusal(client.chat.completions.create({ model: 'svc_embed/e', messages }))).toMatchObject({
      status: 400,
      code: 'unsupported_endpoint',
    });
  });
});

describe('images', () => {
  test.each([
    [
      'openai-compatible',
      (token: string) =>
        createOpenAICompatible({ name: 'tollgate', baseURL: `${gateway.url}/v1`, apiKey: token }).imageModel(
          'svc_tgter/p',
        ),
    ],
    [
      'openai',
      (token: string) => createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: token }).image('svc_tgter/p'),
    ],
  ] as const)('ai + %s: generateImage', async (_name, model) => {
    backend.script(({ body }) => images(Number(body['n'] ?? 1)));
    const account = await gateway.account('1');
    const { images: made } = await generateImage({
      model: model(account.token),
      prompt: 'a gate',
      n: 2,
      size: '512x512',
    });
    expect(made.map(({ base64, mediaType }) => ({ base64, mediaType }))).toEqual([
      { base64: PIXEL_BASE64, mediaType: 'image/png' },
      { base64: PIXEL_BASE64, mediaType: 'image/png' },
    ]);
    const charged = (await chargeOf(account)).reduce((sum, row) => sum + row.charged, 0);
    expect(charged).toBe(20_000_000);
  });

  test('openai: an edit sends its images and its mask to the backend', async () => {
    const forms: FormData[] = [];
    backend.script(async (call) => {
      const { headers, text } = call;
      forms.push(await new Response(text, { headers }).formData());
      return images(1);
    });
    const account = await gateway.account('1');
    const client = openAi({ url: gateway.url, token: account.token, model: '' });
    const file = (name: string) => toFile(PIXEL, name, { type: 'image/png' });
    const one = await client.images.edit({
      model: 'svc_tgter/p',
      prompt: 'add a bird',
      image: await file('a.png'),
      mask: await file('m.png'),
      size: '512x512',
      response_format: 'b64_json',
    });
    expect(one.data?.[0]?.b64_json).toBe(PIXEL_BASE64);
    expect(backend.calls.at(-1)?.path).toBe('/v1/images/edits');
    expect([...(forms[0]?.keys() ?? [])].sort()).toEqual(['image', 'mask', 'model', 'prompt', 'size']);
    expect(forms[0]?.get('model')).toBe('p');
    const two = await client.images.edit({
      model: 'svc_tgter/p',
      prompt: 'join them',
      image: [await file('a.png'), await file('b.png')],
    });
    expect(two.data?.[0]?.b64_json).toBe(PIXEL_BASE64);
    expect(forms[1]?.getAll('image[]')).toHaveLength(2);
    expect(await chargeOf(account)).toEqual([
      { charged: 10_000_000, input_tokens: 0, images: 1 },
      { charged: 10_000_000, input_tokens: 0, images: 1 },
    ]);
  });
});
