import { expect, test } from 'bun:test';
import { parseCatalog } from '../catalog/parse.ts';
import { nanoUsd } from '../std/money.ts';
import { imagesMeasured, type MadeImages } from './image-terms.ts';
import { quoteImages, type ImageQuote } from './images.ts';
import type { ImageCall, RelayParts } from './call.ts';

/** What images by the token are held at, and what is charged for them whatever their backend reports. */

const MAX_OUTPUT = 5_000;
const picture = { mime: 'image/png', load: () => Promise.reject(new Error('not yet')) };

const catalog = parseCatalog(
  `
upstreams: { b: { kind: house } }
lists:
  images:
    - { model: m, input: 5, output: 10, image_output: 40, max_output: ${MAX_OUTPUT}, sizes: [1024x1024], abilities: { max_n: 2, reference_images: 2, mask: true, quality: [low] } }
    - { model: finer, image: { 1024x1024: { low: 0.04, high: 0.08 } }, sizes: [1024x1024] }
    - { model: each, image: 0.04, input_image: 0.003, sizes: [1024x1024], abilities: { reference_images: 2 } }
endpoints:
  e: { name: E, type: image_generation, lists: [images], upstreams: [b] }
`,
  { fileName: 'test', env: {} },
);

function quote(more: Partial<ImageCall['request']> = {}): ImageQuote {
  const call = {
    selector: { code: 'e', model: more.model ?? 'm', type: 'image_generation' },
    request: { model: 'm', prompt: 'dé', ...more },
  } as ImageCall;
  return quoteImages(call, { catalog: () => catalog } as RelayParts);
}

test('a byte of the prompt is held as a token, a picture and a mask at the most that they take', () => {
  expect(quote().ceiling).toEqual({ kind: 'images', images: 1, input: 3, output: MAX_OUTPUT });
  expect(quote({ image: [picture, picture], mask: picture, n: 2 }).ceiling).toEqual({
    kind: 'images',
    images: 2,
    input: 3 + 3 * 8_000,
    output: 2 * MAX_OUTPUT,
    extra: { imageInput: true },
  });
});

const measured = (made: Partial<MadeImages>) =>
  imagesMeasured(quote({ quality: 'low' }), { images: 1, partialImages: 0, usages: [], ...made });

test('what the backend reports is charged', () => {
  const usages = [{ input_tokens: 7, output_tokens: 100 }];
  expect(measured({ usages })).toMatchObject({ usage: { input: 7, output: 100 }, source: 'upstream' });
});

test('what the backend says that each image cost is added up, as far as it says it', () => {
  const cost = (...costs: (number | undefined)[]) =>
    measured({
      images: costs.length,
      usages: costs.map((one) => ({
        input_tokens: 7,
        output_tokens: 100,
        ...(one !== undefined && { cost: one }),
      })),
    }).cost;
  expect(cost(0.01, 0.02)).toBe(nanoUsd(30_000_000));
  expect(cost(undefined, 0.02)).toBe(nanoUsd(20_000_000));
  expect(cost(0.01, undefined)).toBe(nanoUsd(10_000_000));
  expect(cost(undefined)).toBeUndefined();
});

test('a report without output counts only where nothing was made', () => {
  const usages = [{ input_tokens: 7, output_tokens: 0 }];
  expect(measured({ usages })).toMatchObject({ usage: { input: 7, output: 272 }, source: 'mixed' });
  expect(measured({ usages, images: 0 })).toMatchObject({ usage: { output: 0 }, source: 'upstream' });
});

test('without any report the images and their input are counted by us', () => {
  const input = { text: 20, pictures: 300 };
  expect(measured({ input, partialImages: 2 })).toMatchObject({
    usage: { input: 320, output: 272 + 2 * 100, extra: { imageInput: 300 } },
    source: 'counted',
  });
});

test('pictures that were sent along are paid as soon as any image came of them, and not before', () => {
  const asked = quote({ model: 'each', image: [picture, picture] });
  const sent = (images: number, partialImages: number) =>
    imagesMeasured(asked, { images, partialImages, usages: [] }).usage.extra?.inputImages;
  expect(sent(0, 0)).toBeUndefined();
  expect(sent(1, 0)).toBe(2);
  expect(sent(0, 1)).toBe(2);
});

test('the quality that a backend made is noted where it has a price, if it is a word', () => {
  const noted = (model: string, quality: string | undefined) =>
    imagesMeasured(quote({ model }), { images: 1, partialImages: 0, usages: [], quality }).usage.extra
      ?.quality;
  expect(noted('finer', 'high')).toBe('high');
  expect(noted('finer', 'very high!')).toBeUndefined();
  expect(noted('finer', undefined)).toBeUndefined();
  expect(noted('each', 'high')).toBeUndefined();
});
