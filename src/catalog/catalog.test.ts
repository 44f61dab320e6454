import { describe, expect, test } from 'bun:test';
import type { Model } from './catalog.ts';
import { parseCatalog } from './parse.ts';
import { priceFor } from './catalog.ts';

function model(fields: string, type: string): Model {
  const text = `upstreams: { house: { kind: house } }
lists: { list: [{ model: m, ${fields} }] }
endpoints: { e: { name: E, type: ${type}, lists: [list], upstreams: [house] } }`;
  return parseCatalog(text, { fileName: 'test', env: {} }).endpoints.get('e')!.models[0]!;
}

describe('the price of a request', () => {
  test('by the token: all three prices', () => {
    expect(priceFor(model('input: 1, cached_input: 0.1, output: 4', 'chat_completion'))).toEqual({
      kind: 'tokens',
      input: 1_000_000_000,
      cachedInput: 100_000_000,
      output: 4_000_000_000,
    });
  });

  test('by the image: of the size that was asked for, else of the first', () => {
    const paint = model('image: { default: 0.01, 128x64: 0.02 }, sizes: [64x64, 128x64]', 'image_generation');
    expect(priceFor(paint, { size: '128x64' })).toEqual({ kind: 'images', image: 20_000_000 as never });
    expect(priceFor(paint, { size: '64x64' })).toEqual({ kind: 'images', image: 10_000_000 as never });
    expect(priceFor(paint)).toEqual({ kind: 'images', image: 10_000_000 as never });
  });

  test('a size that is not offered is refused, even if there is a default price', () => {
    const paint = model('image: 0.01, sizes: [64x64]', 'image_generation');
    expect(() => priceFor(paint, { size: '4096x4096' })).toThrow(
      expect.objectContaining({ code: 'invalid_field', param: 'size' }),
    );
  });
});
