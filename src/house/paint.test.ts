import { afterAll, describe, expect, test } from 'bun:test';
import { crc32, inflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { builtinCatalog } from '../catalog/builtin.ts';
import type { UpstreamConfig } from '../catalog/catalog.ts';
import { parseCatalog } from '../catalog/parse.ts';
import { systemClock } from '../std/clock.ts';
import { UpstreamFailure, type UpstreamImageCall } from '../upstream/port.ts';
import { makeHouse } from './house.ts';
import { PaintPool } from './paint-pool.ts';
import { describe as describeBrief, readBrief } from './paint/brief.ts';
import { paint } from './paint/paint.ts';

const config: UpstreamConfig = {
  name: 'house',
  kind: 'house',
  baseUrl: undefined,
  apiKey: undefined,
  headers: new Map(),
  timeouts: { firstByteMs: 1_000, idleMs: 1_000, totalMs: 5_000 },
  options: new Map(),
};
const pool = new PaintPool({ workers: 1, queue: 3, idleMs: 20, timeoutMs: 30_000 });
const house = makeHouse(config, { clock: systemClock, pool });
afterAll(() => pool.close());

function call(
  prompt: string,
  more: Partial<UpstreamImageCall['request']> = {},
  size = '64x64',
  signal = new AbortController().signal,
): UpstreamImageCall {
  return {
    model: 'house-paint',
    request: { model: 'house-paint', prompt, ...more },
    size,
    signal,
    requestId: 'req_1',
  };
}

/** Reads a PNG strictly: every checksum, every length, every filter byte. */
function readPng(bytes: Uint8Array): { width: number; height: number; pixels: Uint8Array } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  expect([...bytes.subarray(0, 8)]).toEqual([137, 80, 78, 71, 13, 10, 26, 10]);
  const chunks: { type: string; data: Uint8Array }[] = [];
  for (let at = 8; at < bytes.length;) {
    const length = view.getUint32(at);
    expect(view.getUint32(at + 8 + length)).toBe(crc32(bytes.subarray(at + 4, at + 8 + length)));
    chunks.push({
      type: new TextDecoder().decode(bytes.subarray(at + 4, at + 8)),
      data: bytes.subarray(at + 8, at + 8 + length),
    });
    at += length + 12;
  }
  expect(chunks[0]?.type).toBe('IHDR');
  expect(chunks.at(-1)).toMatchObject({ type: 'IEND', data: new Uint8Array(0) });
  const header = Buffer.from(chunks[0]?.data ?? []);
  expect([...header.subarray(8)]).toEqual([8, 2, 0, 0, 0]);
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const raw = inflateSync(
    Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)),
  );
  expect(raw.length).toBe((width * 3 + 1) * height);
  return { width, height, pixels: unfilter(raw, width, height) };
}

function unfilter(raw: Uint8Array, width: number, height: number): Uint8Array {
  const stride = width * 3;
  const pixels = new Uint8Array(stride * height);
  for (let y = 0; y < height; y++) {
    expect(raw[y * (stride + 1)]).toBe(1);
    for (let at = 0; at < stride; at++) {
      const left = at < 3 ? 0 : (pixels[y * stride + at - 3] ?? 0);
      pixels[y * stride + at] = (raw[y * (stride + 1) + 1 + at] ?? 0) + left;
    }
  }
  return pixels;
}

/** Sums of red, green and blue. */
function sumsOf(prompt: string): number[] {
  const { pixels } = readPng(paint({ prompt, index: 0, width: 64, height: 64 }).png);
  return [0, 1, 2].map((channel) =>
    pixels.filter((_, at) => at % 3 === channel).reduce((sum, value) => sum + value, 0),
  );
}

const SCENES = [
  'mountains',
  'desert dunes',
  'forest',
  'sea',
  'city',
  'flowers',
  'space',
  'abstract',
  'silk',
  'geometric',
];

async function failureOf(attempt: Promise<unknown>): Promise<UpstreamFailure> {
  const thrown = await attempt.catch((reason: unknown) => reason);
  if (thrown instanceof UpstreamFailure) return thrown;
  throw new Error('expected an UpstreamFailure');
}

describe('house-paint', () => {
  test.each([
    ...SCENES,
    'oil painting of a lake',
    'starry night with aurora',
    'stormy sea',
    'snowy alps under the moon',
  ])('paints a valid image with content: %s', (prompt) => {
    const { width, height, pixels } = readPng(paint({ prompt, index: 0, width: 120, height: 72 }).png);
    expect([width, height]).toEqual([120, 72]);
    expect(new Set(pixels).size).toBeGreaterThan(60);
  });

  test('a seed repeats a picture, another one changes it, and neither changes what it shows', () => {
    const painted = (seed?: number) =>
      paint({ prompt: 'a lake at dusk', index: 0, width: 64, height: 64, seed });
    expect(Buffer.from(painted(7).png).equals(painted(7).png)).toBe(true);
    const files = [undefined, 7, 8].map((seed) => Buffer.from(painted(seed).png).toString('base64'));
    expect(new Set(files).size).toBe(3);
    expect(painted(7).description).toContain('at dusk');
    expect(painted(7).description).toBe(painted(8).description);
  });

  test('every style of the built-in catalog gives the same scene another look', () => {
    const { endpoints } = parseCatalog(builtinCatalog({}), { fileName: 'built-in', env: {} });
    const styles = endpoints.get('svc_tgter')!.models[0]!.abilities!.values.style!;
    const painted = [undefined, ...styles].map((style) =>
      paint({ prompt: 'mountains at dawn', index: 0, width: 64, height: 64, style }),
    );
    expect(styles.length).toBeGreaterThanOrEqual(5);
    expect(new Set(painted.map(({ png }) => Buffer.from(png).toString('base64'))).size).toBe(
      styles.length + 1,
    );
    for (const { description } of painted) expect(description).toStartWith('Layered mountains');
  });

  test('what a negative prompt names is not painted, whatever it is called in the prompt', () => {
    const describe = (avoid?: string) =>
      paint({ prompt: 'a misty lake with birds and snow', index: 0, width: 32, height: 32, avoid })
        .description;
    expect(describe()).toMatch(/soft mist.*water.*birds|soft mist.*birds/);
    const without = describe('fog, bird, pond');
    for (const word of ['mist', 'fog', 'birds', 'water'])
      expect(without.split('. Painted')[0]).not.toContain(word);
    expect(without).toContain('snow');
    fc.assert(
      fc.property(fc.constantFrom(...SCENES), fc.integer({ min: 0, max: 99 }), (scene, seed) => {
        const avoided = paint({ prompt: scene, index: 0, width: 16, height: 16, avoid: scene, seed });
        const wanted = paint({ prompt: scene, index: 0, width: 16, height: 16, seed });
        expect(avoided.description.split(/ at | in | under |\./)[0]).not.toBe(
          wanted.description.split(/ at | in | under |\./)[0],
        );
      }),
      { numRuns: 20 },
    );
  });

  test('any prompt in any size gives a valid PNG of that size and a description', () => {
    const side = fc.integer({ min: 16, max: 90 });
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 80 }),
        side,
        side,
        (prompt, width, height) => {
          const painting = paint({ prompt, index: 0, width, height });
          expect(readPng(painting.png)).toMatchObject({ width, height });
          expect(painting.description).toEndWith('.');
        },
      ),
      { numRuns: 25 },
    );
  });

  test('the same prompt gives the same bytes; another prompt or another place in the request does not', () => {
    const order = { prompt: 'a lake at dawn', index: 0, width: 64, height: 64 };
    const bytes = paint(order).png;
    expect(paint(order).png).toEqual(bytes);
    expect(paint({ ...order, index: 1 }).png).not.toEqual(bytes);
    expect(paint({ ...order, prompt: 'a lake at dawn!' }).png).not.toEqual(bytes);
  });

  test('the words of the prompt choose scenery, light, details and colours', () => {
    const brief = readBrief({
      prompt: 'Snowy mountains at sunset with birds, in teal and orange, as an oil painting',
      index: 0,
    });
    expect(brief).toMatchObject({ scene: 'mountains', daytime: 'dusk', colours: ['teal', 'orange'] });
    expect([...brief.details].sort()).toEqual(['birds', 'brush', 'snow']);
    expect(describeBrief(brief)).toContain('mountains at dusk, coloured by “teal”, “orange”');
  });

  test('a colour word colours the image', () => {
    const [red = 0, , blueOfRed = 0] = sumsOf('red silk');
    const [redOfBlue = 0, , blue = 0] = sumsOf('blue silk');
    expect(red).toBeGreaterThan(blueOfRed * 1.3);
    expect(blue).toBeGreaterThan(redOfBlue * 1.3);
  });
});

describe('image requests', () => {
  test('n images come in order, each different and described', async () => {
    const { images } = await house.images(call('dunes at sunset', { n: 3 }));
    expect(images.map(({ mime }) => mime)).toEqual(['image/png', 'image/png', 'image/png']);
    for (const [index, { bytes, revisedPrompt }] of images.entries()) {
      expect(
        Buffer.from(bytes).equals(paint({ prompt: 'dunes at sunset', index, width: 64, height: 64 }).png),
      ).toBe(true);
      expect(revisedPrompt).toStartWith('Desert dunes at dusk');
    }
    expect(new Set(images.map(({ bytes }) => Buffer.from(bytes).toString('base64'))).size).toBe(3);
  });

  test.each([
    ['another model', { ...call('x'), model: 'dall-e-3' }],
    ['a size beyond its canvas', call('x', {}, '9000x9000')],
    ['a size that is none', call('x', {}, 'auto')],
    ['another file format', call('x', { output_format: 'gif' })],
    ['another quality', call('x', { quality: 'ultra' })],
    ['a transparent JPEG', call('x', { output_format: 'jpeg', background: 'transparent' })],
    ['a compressed PNG', call('x', { output_compression: 50 })],
  ])('%s is rejected with a message for the client', async (_what, wrong) => {
    const failure = await failureOf(house.images(wrong));
    expect(failure).toMatchObject({ kind: 'rejected', publicMessage: expect.any(String) });
  });

  test('painting does not block the event loop', async () => {
    let isPainted = false;
    const painting = house.images(call('misty forest', {}, '512x512')).then(() => (isPainted = true));
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(isPainted).toBe(false);
    await painting;
  });
});

describe('the paint pool', () => {
  const order = { prompt: 'sea', index: 0, width: 48, height: 48 };
  const never = new AbortController().signal;

  test('starts with the first order, stays within its threads, and ends when idle', async () => {
    const own = new PaintPool({ workers: 2, queue: 10, idleMs: 5, timeoutMs: 30_000 });
    expect(own.workers).toBe(0);
    const jobs = Array.from({ length: 6 }, (_, index) => own.paint({ ...order, index }, never));
    expect(own.workers).toBe(2);
    await Promise.all(jobs);
    while (own.workers > 0) await Bun.sleep(5);
    expect((await own.paint(order, never)).bytes.length).toBeGreaterThan(100);
    own.close();
  });

  test('a full queue refuses at once with a retry time, and does not count against the backend', async () => {
    const own = new PaintPool({ workers: 1, queue: 1, idleMs: 1_000, timeoutMs: 30_000 });
    const accepted = [own.paint(order, never), own.paint(order, never)];
    expect(await failureOf(own.paint(order, never))).toMatchObject({
      kind: 'rate_limited',
      retryAfterMs: 2_000,
      blameless: true,
    });
    await Promise.all(accepted);
    own.close();
  });

  test('an abort rejects at once and frees its place in the queue', async () => {
    const own = new PaintPool({ workers: 1, queue: 1, idleMs: 1_000, timeoutMs: 30_000 });
    const first = own.paint(order, never);
    const stop = new AbortController();
    const waiting = own.paint(order, stop.signal);
    stop.abort();
    await failureOf(waiting);
    const next = own.paint({ ...order, index: 7 }, never);
    await Promise.all([first, next]);
    await failureOf(own.paint(order, stop.signal));
    own.close();
  });

  test('an image that takes too long is abandoned, and the next one is painted by another thread', async () => {
    const own = new PaintPool({ workers: 1, queue: 2, idleMs: 1_000, timeoutMs: 1 });
    expect(await failureOf(own.paint({ ...order, width: 1024, height: 1024 }, never))).toMatchObject({
      kind: 'timeout',
    });
    expect(own.workers).toBe(0);
    own.close();
  });

  test('closing rejects waiting and running orders', async () => {
    const own = new PaintPool({ workers: 1, queue: 2, idleMs: 1_000, timeoutMs: 30_000 });
    const jobs = [own.paint(order, never), own.paint(order, never)].map((job) =>
      job.catch((thrown: unknown) => thrown),
    );
    own.close();
    for (const job of jobs) expect(await job).toBeInstanceOf(UpstreamFailure);
  });
});
