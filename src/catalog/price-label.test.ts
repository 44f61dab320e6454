import { expect, test } from 'bun:test';
import type { Model } from './catalog.ts';
import { parseCatalog } from './parse.ts';
import { priceLabel } from './price-label.ts';

function model(fields: string, type: string): Model {
  const text = `upstreams: { house: { kind: house } }
lists: { list: [{ model: m, ${fields} }] }
endpoints: { e: { name: E, type: ${type}, lists: [list], upstreams: [house] } }`;
  return parseCatalog(text, { fileName: 'test', env: {} }).endpoints.get('e')!.models[0]!;
}

test('a price is shown in dollars', () => {
  expect(priceLabel(model('input: 1, cached_input: 0.1, output: 4', 'chat_completion'))).toBe(
    '1.00 in, 0.10 cached, 4.00 out (USD per million tokens)',
  );
  expect(
    priceLabel(model('image: { default: 0.01, 128x64: 0.02 }, sizes: [64x64, 128x64]', 'image_generation')),
  ).toBe('128x64: 0.02, 0.01 (USD per image)');
  expect(
    priceLabel(
      model('image: 0.04, input_image: 0.003, partial_image: 0.001, sizes: [64x64]', 'image_generation'),
    ),
  ).toBe('0.04, 0.003 per input image, 0.001 per partial image (USD per image)');
  expect(priceLabel(model('free: true', 'chat_completion'))).toBe('free');
});
