import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { PIXEL_BASE64, ScriptedBackend } from '../support/scripted-backend.ts';

/** What an image model takes stands in the catalog: what it has passes, and whatever else is refused by what it has. */

let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

const catalog = (url: string): string => `
upstreams:
  b: { kind: openai, base_url: "${url}" }
lists:
  images:
    - model: able
      image: { default: { low: 0.01, high: 0.04 } }
      sizes: { default: 1024x1024, step: 16, min_edge: 256, max_edge: 2048, max_ratio: 3, max_pixels: 2097152 }
      abilities:
        max_n: 4
        background: [transparent, opaque]
        output_format: [png, webp]
        output_compression: true
        moderation: [auto, low]
        style: [vivid, natural]
        seed: true
        negative_prompt: true
        resolution:
          1K: { 1:1: 1024x1024, 16:9: 1280x720 }
          0.5K: { 1:1: 512x512 }
        reference_images: 2
        mask: true
    - { model: bare, image: 0.01, sizes: [512x512], abilities: { seed: true } }
    - { model: untold, image: 0.01, sizes: [512x512] }
endpoints:
  images: { name: Images, type: image_generation, lists: [images], upstreams: [b] }
`;

beforeAll(async () => {
  backend = new ScriptedBackend();
  gateway = await Gateway.start({ yaml: catalog(backend.baseUrl) });
  account = await gateway.account('10');
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});
beforeEach(() => {
  backend.calls.length = 0;
  backend.script(() => Response.json({ created: 1, data: [{ b64_json: PIXEL_BASE64 }] }));
});

const ask = (model: string, more: object): Promise<Response> =>
  gateway.post('/api/public/v1/images/generations', account.token, {
    endpoint: 'images',
    model,
    prompt: 'a gate',
    ...more,
  });

test('everything that the model lists reaches its backend, and nothing of it under another name', async () => {
  const fields = {
    quality: 'low',
    background: 'transparent',
    output_format: 'webp',
    output_compression: 80,
    moderation: 'low',
    style: 'vivid',
    seed: 7,
    negative_prompt: 'fog',
  };
  const response = await ask('able', { ...fields, aspect_ratio: '16:9', resolution: '1K' });
  expect(response.status).toBe(200);
  expect(response.headers.get('x-tollgate-cost')).toBe('0.01');
  expect(backend.calls[0]!.body).toEqual({
    model: 'able',
    prompt: 'a gate',
    size: '1280x720',
    response_format: 'b64_json',
    ...fields,
  });
});

test.each([
  [{ aspect_ratio: '1:1' }, '1024x1024'],
  [{ aspect_ratio: '1:1', resolution: '0.5K' }, '512x512'],
  [{ resolution: '0.5K', size: 'auto' }, '512x512'],
  [{ size: '2048x1024' }, '2048x1024'],
  [{ size: 'auto' }, '1024x1024'],
  [{}, '1024x1024'],
])('%j is the size %s', async (wanted, size) => {
  expect((await ask('able', wanted)).status).toBe(200);
  expect(backend.calls[0]!.body).toMatchObject({ size });
  expect(backend.calls[0]!.body).not.toContainAnyKeys(['aspect_ratio', 'resolution']);
});

const RANGE =
  'size must be one of 1024x1024, or <width>x<height> with edges from 256 to 2048, in multiples of 16, a ratio of at most 3:1, at most 2097152 pixels.';

describe.each(['/api/public/v1/images/generations', '/api/public/v1/quotes'])('%s', (path) => {
  test.each([
    ['able', { quality: 'medium' }, 'quality', 'quality must be one of low, high.'],
    ['able', { background: 'pink' }, 'background', 'background must be one of transparent, opaque.'],
    ['able', { output_format: 'gif' }, 'output_format', 'output_format must be one of png, webp.'],
    ['able', { moderation: 'none' }, 'moderation', 'moderation must be one of auto, low.'],
    ['able', { style: 'oil' }, 'style', 'style must be one of vivid, natural.'],
    ['able', { n: 5 }, 'n', 'n must be at most 4 for this model.'],
    ['able', { aspect_ratio: '2:1' }, 'aspect_ratio', 'aspect_ratio must be one of 1:1, 16:9.'],
    [
      'able',
      { aspect_ratio: '16:9', resolution: '0.5K' },
      'aspect_ratio',
      'aspect_ratio must be one of 1:1.',
    ],
    ['able', { resolution: '4K' }, 'resolution', 'resolution must be one of 1K, 0.5K.'],
    [
      'able',
      { resolution: '1K', size: '512x512' },
      'size',
      'size and resolution both say how large the image is. Use one of them.',
    ],
    ['able', { size: '1024x1000' }, 'size', RANGE],
    ['able', { size: '240x240' }, 'size', RANGE],
    ['able', { size: '2064x1024' }, 'size', RANGE],
    ['able', { size: '2048x512' }, 'size', RANGE],
    ['able', { size: '2048x1040' }, 'size', RANGE],
    ['bare', { style: 'vivid' }, 'style', 'style is not supported by this model, which takes n, size, seed.'],
    [
      'bare',
      { negative_prompt: 'fog' },
      'negative_prompt',
      'negative_prompt is not supported by this model, which takes n, size, seed.',
    ],
    [
      'bare',
      { aspect_ratio: '1:1' },
      'aspect_ratio',
      'aspect_ratio is not supported by this model. Use size instead.',
    ],
    [
      'untold',
      { resolution: '1K' },
      'resolution',
      'resolution is not supported by this model. Use size instead.',
    ],
  ])('%s refuses %j', async (model, more, param, message) => {
    const body = { endpoint: 'images', model, prompt: 'a gate', ...more };
    const response = await gateway.post(path, account.token, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_field', param, message } });
    expect(backend.calls).toEqual([]);
  });
});

test('what says no more than its absence is taken by every model, and not sent to one that has no such field', async () => {
  const response = await ask('bare', {
    quality: 'auto',
    background: 'auto',
    moderation: 'auto',
    size: 'auto',
  });
  expect(response.status).toBe(200);
  expect(backend.calls[0]!.body).not.toContainAnyKeys(['quality', 'background', 'moderation']);
});

test('a model of which the catalog says nothing gets the fields as the client wrote them', async () => {
  const fields = { background: 'pink', output_format: 'gif', style: 'oil', seed: 1, n: 10 };
  expect((await ask('untold', fields)).status).toBe(200);
  expect(backend.calls[0]!.body).toMatchObject(fields);
});

test.each([
  ['able', ['image', 'image'], 200, ''],
  ['able', ['image', 'mask'], 200, ''],
  ['able', ['image', 'image', 'image'], 400, 'This model takes at most 2 images.'],
  ['bare', ['image'], 400, 'This model makes images from words only; it takes no images.'],
])('an edit with %s and the pictures %j', async (model, pictures, status, message) => {
  const form = new FormData();
  form.set('model', `images/${model}`);
  form.set('prompt', 'a gate');
  for (const name of pictures) form.append(name, new Blob([Buffer.from(PIXEL_BASE64, 'base64')]), 'a.png');
  const response = await gateway.fetch('/v1/images/edits', {
    method: 'POST',
    body: form,
    token: account.token,
  });
  expect(response.status).toBe(status);
  if (status === 400) expect(await response.json()).toMatchObject({ error: { param: 'image', message } });
  expect(backend.calls).toHaveLength(status === 200 ? 1 : 0);
});

const ABLE = {
  sizes: ['1024x1024'],
  size_range: {
    step: 16,
    min_edge: 256,
    max_edge: 2048,
    max_ratio: 3,
    min_pixels: 1,
    max_pixels: 2_097_152,
  },
  shapes: [
    { size: '1024x1024', aspect_ratio: '1:1', resolution: '1K' },
    { size: '1280x720', aspect_ratio: '16:9', resolution: '1K' },
    { size: '512x512', aspect_ratio: '1:1', resolution: '0.5K' },
  ],
  max_n: 4,
  quality: ['low', 'high'],
  background: ['transparent', 'opaque'],
  output_format: ['png', 'webp'],
  output_compression: true,
  moderation: ['auto', 'low'],
  style: ['vivid', 'natural'],
  seed: true,
  negative_prompt: true,
  reference_images: 2,
  mask: true,
  partial_images: 0,
};

test('both lists of models show what each image model takes', async () => {
  const read = async (path: string) =>
    (await (await gateway.fetch(path, { token: account.token })).json()) as {
      data: { id?: string; models?: object[]; abilities?: object; supported_parameters?: string[] }[];
    };
  const v1 = await read('/v1/models');
  expect(v1.data.map(({ id, abilities }) => ({ id, abilities }))).toMatchObject([
    { id: 'images/able', abilities: ABLE },
    { id: 'images/bare', abilities: { sizes: ['512x512'], seed: true, style: [], mask: false, max_n: 10 } },
    { id: 'images/untold', abilities: { sizes: ['512x512'], seed: null, style: null, mask: null } },
  ]);
  expect(v1.data.map((one) => one.supported_parameters!.join(' '))).toEqual([
    'n size aspect_ratio resolution image quality background output_format output_compression moderation style seed negative_prompt mask response_format stream',
    'n size seed response_format stream',
    'n size quality response_format stream',
  ]);
  const { data } = await read('/api/public/v1/models');
  expect(data[0]!.models![0]).toEqual({ model: 'able', display_name: 'able', abilities: ABLE });
  const one = await gateway.fetch('/api/public/v1/endpoints/images/models', { token: account.token });
  expect(await one.json()).toContainEqual({
    model: 'able',
    display_name: 'able',
    source_table: 'images',
    abilities: ABLE,
  });
});
