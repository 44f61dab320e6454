import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { oneModel, modelsList, type ModelEntry } from './models-list.ts';

const tiny: ModelEntry = {
  id: 'demo/tiny',
  name: 'Tiny',
  owner: 'demo',
  kind: 'chat_completion',
  contextTokens: 2_048,
  maxOutput: 1_024,
  price: { kind: 'tokens', input: 150_000_000, cachedInput: 0, output: 600_000_000 },
  prices: [],
  serviceTiers: {},
  vision: false,
  tools: true,
  reasoning: false,
};
const paint: ModelEntry = {
  ...tiny,
  id: 'demo/paint',
  kind: 'image_generation',
  price: { kind: 'images', image: 10_000_000 },
};

describe('the list of models', () => {
  test('has what OpenAI, Anthropic and OpenRouter clients each read', () => {
    expect(modelsList([tiny, paint])).toMatchObject({
      object: 'list',
      has_more: false,
      first_id: 'demo/tiny',
      last_id: 'demo/paint',
      data: [
        {
          id: 'demo/tiny',
          object: 'model',
          type: 'model',
          created: 1_700_000_000,
          created_at: '2023-11-14T22:13:20Z',
          owned_by: 'demo',
          name: 'Tiny',
          display_name: 'Tiny',
          context_length: 2_048,
          max_output_tokens: 1_024,
          architecture: { input_modalities: ['text'], output_modalities: ['text'] },
          pricing: { prompt: '0.00000015', completion: '0.0000006', request: '0', image: '0' },
        },
        {
          id: 'demo/paint',
          architecture: { output_modalities: ['image'] },
          pricing: { prompt: '0', image: '0.01' },
        },
      ],
    });
    expect(modelsList([])).toMatchObject({ first_id: null, last_id: null, data: [] });
  });

  test('gives every entry the prices and the window that LibreChat requires', () => {
    for (const { pricing, context_length, name } of modelsList([tiny, paint]).data) {
      expect(Object.values(pricing).every((price) => /^\d+(\.\d*[1-9])?$/.test(price))).toBe(true);
      expect(context_length).toBeNumber();
      expect(name).not.toBeEmpty();
    }
  });

  test('has every price, and those that OpenRouter’s clients know under their names', () => {
    const { pricing, prices, service_tiers } = oneModel({
      ...tiny,
      prices: [
        { dimension: 'cache_write_1h', amount: 300_000_000, per: 1_000_000 },
        { dimension: 'reasoning', amount: 900_000_000, per: 1_000_000 },
        { dimension: 'web_search', amount: 10_000_000, per: 1 },
        { dimension: 'request', amount: 1_000_000, per: 1 },
        { dimension: 'reasoning', amount: 1_800_000_000, per: 1_000_000, above: 200_000 },
      ],
      serviceTiers: { priority: 2 },
    });
    expect(pricing).toMatchObject({
      // A quarter more than the input, as it is charged where the catalog has no price.
      input_cache_write: '0.0000001875',
      internal_reasoning: '0.0000009',
      web_search: '0.01',
      request: '0.001',
    });
    expect(prices[0]).toEqual({
      dimension: 'cache_write_1h',
      usd: '0.3',
      per: 1_000_000,
      above_input_tokens: null,
      quality: null,
    });
    expect(prices.at(-1)).toMatchObject({ usd: '1.8', above_input_tokens: 200_000 });
    expect(service_tiers).toEqual({ priority: 2 });
  });

  test('lists tools and reasoning only for models that have them', () => {
    expect(oneModel(tiny).supported_parameters).toContain('tools');
    expect(oneModel({ ...tiny, tools: false }).supported_parameters).not.toContain('tools');
    expect(oneModel({ ...tiny, reasoning: true }).supported_parameters).toContain('reasoning_effort');
    expect(oneModel({ ...tiny, vision: true }).architecture.input_modalities).toEqual(['text', 'image']);
  });

  test('any price is exact', () => {
    fc.assert(
      fc.property(fc.nat(10_000_000_000_000), (input) => {
        const { prompt } = oneModel({
          ...tiny,
          price: { kind: 'tokens', input, cachedInput: 0, output: 0 },
        }).pricing;
        const [whole = '', fraction = ''] = prompt.split('.');
        expect(BigInt(whole) * 10n ** 15n + BigInt(fraction.padEnd(15, '0'))).toBe(BigInt(input));
      }),
    );
  });
});
