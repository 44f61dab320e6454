import { describe, expect, test } from 'bun:test';
import type { Catalog } from './catalog.ts';
import { catalogText as file } from '../../test/support/marked-catalog.ts';
import { parseCatalog } from './parse.ts';

const ENV = { OPENAI_API_KEY: 'sk-from-the-environment', ANTHROPIC_API_KEY: 'sk-ant-1' };

function version(text: string, env: Record<string, string>): string {
  return parseCatalog(text, { fileName: 'f', env }).version;
}

function image(fields: string): Catalog {
  return parse(file({ models: `{ model: p, ${fields} }` }).replace('chat_completion', 'image_generation'));
}

function parse(text: string): Catalog {
  return parseCatalog(text, { fileName: 'tollgate.yaml', env: ENV });
}

/** The example of the design document, verbatim. */
const DESIGN = `
upstreams:
  openai: { kind: openai, base_url: https://api.openai.com/v1, api_key: \${OPENAI_API_KEY} }   # any OpenAI-compatible server
  claude: { kind: anthropic, api_key: \${ANTHROPIC_API_KEY} }
  house:  { kind: house }                                                                    # built in, no key
lists:                                    # the spec's source_table
  partner_models:
    - { model: gpt-5-mini, display_name: GPT-5 mini, input: 0.25, cached_input: 0.025, output: 2.00, context: 400000, max_output: 128000 }
  image_models:
    - { model: house-paint, display_name: House Paint, image: 0.01, sizes: [1024x1024, 512x512, 256x256] }
endpoints:
  partner_chat: { name: Partner chat, type: chat_completion, lists: [partner_models], upstreams: [openai] }
  svc_tgter:    { name: Image generation, type: image_generation, lists: [image_models], upstreams: [house] }
limits: { chat_per_minute: 600, images_per_minute: 60, concurrent: 50 }
`;

describe('a valid catalog', () => {
  test('the documented example is read as documented', () => {
    const catalog = parse(DESIGN);
    expect([...catalog.endpoints.keys()]).toEqual(['partner_chat', 'svc_tgter']);
    const [mini] = catalog.endpoints.get('partner_chat')!.models;
    expect(mini).toMatchObject({
      id: 'gpt-5-mini',
      displayName: 'GPT-5 mini',
      list: 'partner_models',
      price: { kind: 'tokens', input: 250_000_000, cachedInput: 25_000_000, output: 2_000_000_000 },
      contextTokens: 400_000,
      maxOutput: 128_000,
      free: false,
    });
    const [paint] = catalog.endpoints.get('svc_tgter')!.models;
    expect(paint!.price).toMatchObject({ kind: 'images', otherwise: 10_000_000 });
    expect(paint!.sizes).toEqual(['1024x1024', '512x512', '256x256']);
    expect(catalog.upstreams.get('openai')).toMatchObject({
      apiKey: 'sk-from-the-environment',
      baseUrl: 'https://api.openai.com/v1',
      timeouts: { firstByteMs: 60_000, idleMs: 60_000, totalMs: 600_000 },
    });
    expect(catalog.limits).toEqual({ chatPerMinute: 600, imagesPerMinute: 60, concurrent: 50 });
  });

  test('absent fields get their documented defaults', () => {
    const catalog = parse(file({ models: '{ model: m, input: 1, output: 2 }' }));
    const [model] = catalog.endpoints.get('chat')!.models;
    expect(model).toMatchObject({
      displayName: 'm',
      contextTokens: 128_000,
      maxOutput: 16_384,
      vision: false,
      tools: false,
    });
    expect(model!.price).toEqual({
      kind: 'tokens',
      input: 1_000_000_000,
      cachedInput: 1_000_000_000,
      output: 2_000_000_000,
    });
    expect(catalog.limits).toEqual({ chatPerMinute: 600, imagesPerMinute: 60, concurrent: 50 });
  });

  test('a small context lowers the default output limit', () => {
    const [model] = parse(file({ models: '{ model: m, input: 1, output: 2, context: 4096 }' })).endpoints.get(
      'chat',
    )!.models;
    expect(model!.maxOutput).toBe(4096);
  });

  test('consecutive weighted entries are one place, plain names one each', () => {
    const upstreams = ['a', 'b', 'c', 'd', 'e'].map((name) => `  ${name}: { kind: house }`).join('\n');
    const order = '[a, { name: b, weight: 2 }, { name: c, weight: 1 }, d, { name: e, weight: 5 }]';
    const text = file({})
      .replace('  house: { kind: house }', upstreams)
      .replace('upstreams: [house]', `upstreams: ${order}`);
    expect(parse(text).endpoints.get('chat')!.places).toEqual([
      [{ upstream: 'a', weight: 1 }],
      [
        { upstream: 'b', weight: 2 },
        { upstream: 'c', weight: 1 },
      ],
      [{ upstream: 'd', weight: 1 }],
      [{ upstream: 'e', weight: 5 }],
    ]);
  });

  test('image prices by size name the sizes, and a default covers the rest', () => {
    const [named] = image('image: { 512x512: 0.02, 1024x1024: 0.04 }').endpoints.get('chat')!.models;
    expect(named!.sizes).toEqual(['512x512', '1024x1024']);
    const [rest] = image(
      'image: { default: 0.02, 1024x1024: 0.04 }, sizes: [512x512, 1024x1024]',
    ).endpoints.get('chat')!.models;
    expect(rest!.price).toMatchObject({ kind: 'images', otherwise: 20_000_000 });
    const [gift] = image('free: true, sizes: [512x512]').endpoints.get('chat')!.models;
    expect(gift!.price).toMatchObject({ kind: 'images', otherwise: 0 });
  });

  test('the version changes with the text and with a secret it uses', () => {
    const keys = { OPENAI_API_KEY: 'one', ANTHROPIC_API_KEY: 'x' };
    expect(version(DESIGN, keys)).toBe(version(DESIGN, { ...keys, OTHER: '1' }));
    expect(version(DESIGN, keys)).not.toBe(version(`${DESIGN}\n`, keys));
    expect(version(DESIGN, keys)).not.toBe(version(DESIGN, { ...keys, OPENAI_API_KEY: 'two' }));
  });
});

test('a decimal where a text belongs is the text as it is written', () => {
  const azure =
    'az: { kind: azure, api_key: "${OPENAI_API_KEY}", options: { resource: mine, api_version: 1.10 }, headers: { x-v: 2.0 } }';
  const models =
    '{ model: 4.10, display_name: 4.10, input: 1.10, output: 1, upstream_models: { house: 4.1 } }';
  const text = file({ models }).replace('upstreams:\n', `upstreams:\n  ${azure}\n`);
  const { upstreams, endpoints } = parse(text);
  expect(endpoints.get('chat')!.models[0]).toMatchObject({
    id: '4.10',
    displayName: '4.10',
    price: { input: 1_100_000_000 },
    upstreamModels: new Map([['house', '4.1']]),
  });
  expect(upstreams.get('az')).toMatchObject({
    options: new Map([
      ['resource', 'mine'],
      ['api_version', '1.10'],
    ]),
    headers: new Map([['x-v', '2.0']]),
  });
});

describe('prices are exact', () => {
  test.each([
    ['0.1', 100_000_000],
    ['0.10', 100_000_000],
    ['"0.10"', 100_000_000],
    ['3', 3_000_000_000],
    ['0.000000001', 1],
    ['1.123456789', 1_123_456_789],
    ['9999.999999999', 9_999_999_999_999],
    ['10000', 10_000_000_000_000],
  ])('%s USD per million tokens', (written, nano) => {
    const [model] = parse(file({ models: `{ model: m, input: ${written}, output: 1 }` })).endpoints.get(
      'chat',
    )!.models;
    expect(model!.price).toMatchObject({ input: nano });
  });
});
