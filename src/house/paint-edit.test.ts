import { afterAll, describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { systemClock } from '../std/clock.ts';
import { sniffMime } from '../upstream/image-response.ts';
import { UpstreamFailure, type GeneratedImage, type UpstreamImageCall } from '../upstream/port.ts';
import { makeHouse } from './house.ts';
import { PaintPool } from './paint-pool.ts';
import type { PaintOrder } from './paint/brief.ts';
import { paint } from './paint/paint.ts';
import { encodePng, readRgbaPng } from './paint/png.ts';
import { readSources } from './paint/sources.ts';

/** What house-paint makes of pictures, masks, formats and backgrounds. */

const SIDE = 48;
const ORDER: PaintOrder = { prompt: 'dunes at sunset', index: 0, width: SIDE, height: SIDE };

type Pixel = readonly [number, number, number, number];

function drawn(pixel: (x: number, y: number) => Pixel, width = SIDE, height = SIDE): Uint8Array<ArrayBuffer> {
  const rgba = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rgba.set(pixel(x, y), (y * width + x) * 4);
  return encodePng(rgba, width, height);
}

const stripes = drawn((x) => (x % 16 < 8 ? [240, 240, 240, 255] : [10, 10, 10, 255]));
const checks = drawn((x, y) => (((x >> 4) + (y >> 4)) % 2 === 0 ? [250, 20, 20, 255] : [20, 20, 250, 255]));
/** Transparent in its left half, half transparent in one column. */
const mask = drawn((x) => [0, 0, 0, x < SIDE / 2 ? 0 : x === SIDE / 2 ? 128 : 255]);

/** Independent of the code under test, except for the reader of what Bun writes. */
async function pixels(file: Uint8Array): Promise<Uint8Array> {
  return readRgbaPng(await new Bun.Image(file).png().bytes()).rgba;
}

async function edited(more: Partial<PaintOrder>): Promise<Uint8Array> {
  const order = { ...ORDER, ...more };
  return await pixels(paint(order, await readSources(order)).png);
}

/** How much two pictures rise and fall together, −1 to 1. */
function likeness(one: Uint8Array, other: Uint8Array): number {
  const light = (rgba: Uint8Array): number[] =>
    Array.from(
      { length: rgba.length / 4 },
      (_, pixel) => (rgba[pixel * 4] ?? 0) + (rgba[pixel * 4 + 1] ?? 0),
    );
  const [a, b] = [light(one), light(other)];
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanA, meanB] = [mean(a), mean(b)];
  const sum = (value: (index: number) => number): number =>
    a.reduce((total, _, index) => total + value(index), 0);
  const covariance = sum((index) => ((a[index] ?? 0) - meanA) * ((b[index] ?? 0) - meanB));
  const spread = Math.sqrt(sum((i) => ((a[i] ?? 0) - meanA) ** 2) * sum((i) => ((b[i] ?? 0) - meanB) ** 2));
  return covariance / spread;
}

describe('an edit', () => {
  test('shows the picture that it starts from, changed by the words', async () => {
    const [plain, given] = [await edited({}), await pixels(stripes)];
    const result = await edited({ pictures: [stripes] });
    expect(likeness(result, given)).toBeGreaterThan(0.8);
    expect(Math.abs(likeness(plain, given))).toBeLessThan(0.3);
    expect(result).not.toEqual(given);
    expect(await edited({ pictures: [stripes], prompt: 'a snowy forest' })).not.toEqual(result);
    expect(await edited({ pictures: [stripes], style: 'oil' })).not.toEqual(result);
  });

  test('shows every one of several pictures', async () => {
    const both = await edited({ pictures: [stripes, checks] });
    expect(await edited({ pictures: [stripes, stripes] })).not.toEqual(both);
    expect(await edited({ pictures: [checks, checks] })).not.toEqual(both);
  });

  test('paints the scene where the picture is transparent', async () => {
    const hole = drawn((x) => (x < SIDE / 2 ? [0, 0, 0, 0] : [255, 255, 255, 255]));
    const [scene, result] = [await edited({}), await edited({ pictures: [hole] })];
    for (let y = 0; y < SIDE; y++) {
      const left = (y * SIDE + 4) * 4;
      const right = (y * SIDE + SIDE - 4) * 4;
      // Bloom lets a little light across.
      expect(Math.abs((result[left] ?? 0) - (scene[left] ?? 0))).toBeLessThan(40);
      expect(result[right] ?? 0).toBeGreaterThan(120);
    }
  });

  test('with a mask changes only where that is transparent, and not the last bit elsewhere', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.constantFrom('low' as const, 'high' as const),
        async (seed, quality) => {
          const picture = drawn((x, y) => [(x * seed) & 255, (y * seed) & 255, (x ^ y ^ seed) & 255, 255]);
          const before = await pixels(picture);
          const after = await edited({ pictures: [picture], mask, seed, quality });
          let changed = 0;
          for (let pixel = 0; pixel < SIDE * SIDE; pixel++) {
            const at = pixel * 4;
            const isKept = pixel % SIDE > SIDE / 2;
            const isSame = [0, 1, 2, 3].every((channel) => before[at + channel] === after[at + channel]);
            if (isKept) expect(isSame).toBe(true);
            else if (!isSame) changed++;
          }
          expect(changed).toBeGreaterThan(SIDE * (SIDE / 2) * 0.8);
        },
      ),
      { numRuns: 8 },
    );
  });

  test('with a mask keeps what is transparent outside of it', async () => {
    const faint = drawn((_, y) => [9, 99, 199, y < 8 ? 0 : 200]);
    const after = await edited({ pictures: [faint], mask });
    expect([...after.subarray((SIDE - 1) * 4, SIDE * 4)][3]).toBe(0);
    expect(after[(SIDE * SIDE - 1) * 4 + 3]).toBe(200);
    const opaque = await edited({ pictures: [faint], mask, background: 'opaque' });
    expect([...opaque.subarray((SIDE - 1) * 4, SIDE * 4)]).toEqual([255, 255, 255, 255]);
  });

  test('fits a picture of another size, and a damaged or endless one is refused by its field', async () => {
    const wide = drawn(() => [200, 100, 50, 255], 90, 30);
    expect((await edited({ pictures: [wide] })).length).toBe(SIDE * SIDE * 4);
    const refused = (more: Partial<PaintOrder>): Promise<unknown> =>
      readSources({ ...ORDER, ...more }).catch((thrown: unknown) => thrown);
    expect(await refused({ pictures: [new Uint8Array([1, 2, 3])] })).toMatchObject({ param: 'image' });
    expect(await refused({ pictures: [stripes], mask: wide })).toMatchObject({
      param: 'mask',
      message: 'mask must have the size of the first image, 48x48, not 90x30.',
    });
    const solid = drawn(() => [0, 0, 0, 255]);
    expect(await refused({ pictures: [stripes], mask: solid })).toMatchObject({ param: 'mask' });
    const huge = Buffer.from(stripes);
    huge.writeUInt32BE(30_000, 16);
    huge.writeUInt32BE(30_000, 20);
    expect(await refused({ pictures: [huge] })).toMatchObject({ param: 'image' });
    const thin = drawn(() => [0, 0, 0, 255], 3_000, 1);
    expect(await refused({ pictures: [thin], width: 512, height: 512 })).toMatchObject({ param: 'image' });
  });
});

describe('a background', () => {
  const alphas = (rgba: Uint8Array): number[] =>
    Array.from({ length: rgba.length / 4 }, (_, pixel) => rgba[pixel * 4 + 3] ?? -1);

  test('that is transparent is so in the corners and not in the middle; any other is opaque', async () => {
    const seen = alphas(await edited({ background: 'transparent' }));
    for (const corner of [0, SIDE - 1, SIDE * (SIDE - 1), SIDE * SIDE - 1]) expect(seen[corner]).toBe(0);
    expect(seen[(SIDE * SIDE) / 2 + SIDE / 2]).toBe(255);
    for (const background of ['auto', 'opaque'] as const)
      expect(new Set(alphas(await edited({ background })))).toEqual(new Set([255]));
  });

  test('of an edit is the outline of a picture that has one', async () => {
    const cut = drawn((x) => [90, 90, 90, x < 20 ? 0 : 255]);
    const seen = alphas(await edited({ pictures: [cut], background: 'transparent' }));
    expect(seen).toEqual(alphas(await pixels(cut)));
  });
});

describe('the quality', () => {
  test('of less detail is another picture of the same size, and without a word it is the best', async () => {
    const [low, medium, high] = await Promise.all(
      (['low', 'medium', 'high'] as const).map((quality) => edited({ quality })),
    );
    expect(high).toEqual(await edited({}));
    expect(low).not.toEqual(high!);
    expect(medium).not.toEqual(high!);
    expect(low).not.toEqual(medium!);
    expect(likeness(low!, high!)).toBeGreaterThan(0.8);
  });
});

describe('through the backend', () => {
  const pool = new PaintPool({ workers: 1, queue: 20, idleMs: 20, timeoutMs: 60_000 });
  const timeouts = { firstByteMs: 1_000, idleMs: 1_000, totalMs: 5_000 };
  const config = { name: 'house', kind: 'house', baseUrl: undefined, apiKey: undefined } as const;
  const house = makeHouse(
    { ...config, headers: new Map(), timeouts, options: new Map() },
    { clock: systemClock, pool },
  );
  afterAll(() => pool.close());

  const call = (more: Partial<UpstreamImageCall['request']>): UpstreamImageCall => ({
    model: 'house-paint',
    request: { model: 'house-paint', prompt: 'dunes', ...more },
    size: `${SIDE}x64`,
    signal: new AbortController().signal,
    requestId: 'req_1',
  });
  const image = async (more: Partial<UpstreamImageCall['request']>): Promise<GeneratedImage> => {
    const { images } = await house.images(call(more));
    return images[0]!;
  };

  test.each(['png', 'jpeg', 'webp'])(
    'a %s is one by its bytes, in the size that was asked for',
    async (format) => {
      const made = await image({ output_format: format });
      expect([made.mime, sniffMime(made.bytes)]).toEqual([`image/${format}`, `image/${format}`]);
      expect(await new Bun.Image(made.bytes).metadata()).toMatchObject({ width: SIDE, height: 64, format });
      expect((await image({ output_format: format })).bytes).toEqual(made.bytes);
    },
  );

  test('more compression makes a smaller file; a WebP may be transparent', async () => {
    for (const output_format of ['jpeg', 'webp']) {
      const small = await image({ output_format, output_compression: 5 });
      const large = await image({ output_format, output_compression: 100 });
      expect(small.bytes.length).toBeLessThan(large.bytes.length);
    }
    const clear = await image({ output_format: 'webp', background: 'transparent' });
    expect((await pixels(clear.bytes))[3]).toBe(0);
  });

  test('an edit reaches the painter, with its mask and its seed', async () => {
    const picture = { bytes: stripes, mime: 'image/png' };
    const seeded = (seed: number) => image({ image: [picture], seed });
    const one = await seeded(1);
    expect((await seeded(1)).bytes).toEqual(one.bytes);
    expect((await seeded(2)).bytes).not.toEqual(one.bytes);
    const masked = await image({ image: [picture], mask: { bytes: mask, mime: 'image/png' } });
    expect(masked.bytes).not.toEqual(one.bytes);
    expect(masked.revisedPrompt).toContain('in the masked part of the given picture');
  });

  test('a picture that is none is the client’s fault, by its field', async () => {
    const failure = await image({ image: [{ bytes: new Uint8Array([1]), mime: 'image/png' }] }).catch(
      (thrown: unknown) => thrown,
    );
    expect(failure).toBeInstanceOf(UpstreamFailure);
    expect(failure).toMatchObject({ kind: 'rejected', param: 'image', publicMessage: expect.any(String) });
  });
});
