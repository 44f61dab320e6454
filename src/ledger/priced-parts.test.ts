import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { nanoUsd } from '../std/money.ts';
import type { ExtraTokenPrices, LongInputPrices } from '../std/price-dimensions.ts';
import { costOf } from './price.ts';
import {
  extraHoldPrices,
  pricedParts,
  unpricedKinds,
  type ExtraCeiling,
  type ExtraUsage,
  type ImagePrice,
  type TokenPrice,
} from './priced-parts.ts';
import { affordableOutput, worstCase } from './price.ts';
import type { Ceiling } from './port.ts';
import { isEmpty, isUsage, MAX_COUNT, NO_USAGE, type Price, type Usage } from './price.ts';

/**
 * A second bill, written from the rules of docs/prices.md alone: big integers over a common denominator, each token looked up
 * by its own kind.
 */
const MOST = 8_000_000_000_000_000n;

interface Named {
  [kind: string]: number | undefined;
}

function oracle(price: TokenPrice, usage: Usage): bigint {
  const named: Named = { ...(price.extra as Named), input: price.input, cachedInput: price.cachedInput };
  named['output'] = price.output;
  for (const tier of price.extra?.above ?? []) {
    if (usage.input <= tier.above) continue;
    for (const [kind, amount] of Object.entries(tier)) if (amount !== undefined) named[kind] = amount;
  }
  const [input, output] = [named['input'] ?? 0, named['output'] ?? 0];
  const of = (kind: string, otherwise: number): bigint => BigInt(named[kind] ?? otherwise);
  const extra = usage.extra ?? {};
  const factors = price.extra?.serviceTiers ?? {};
  const tier = extra.serviceTier ?? '';
  const factor = BigInt(Object.keys(factors).includes(tier) ? (factors[tier] ?? 0) : 1_000_000);
  const inputParts = [
    [usage.cached, of('cachedInput', input)],
    [extra.cacheWrite ?? 0, of('cacheWrite', Math.ceil((input * 5) / 4))],
    [extra.cacheWrite1h ?? 0, of('cacheWrite1h', input * 2)],
    [extra.audioInput ?? 0, of('audioInput', input)],
    [extra.imageInput ?? 0, of('imageInput', input)],
  ] as const;
  const outputParts = [
    [extra.audioOutput ?? 0, of('audioOutput', output)],
    [extra.imageOutput ?? 0, of('imageOutput', output)],
  ] as const;
  const plainInput = usage.input - inputParts.reduce((sum, [tokens]) => sum + tokens, 0);
  const otherOutput = usage.output - outputParts.reduce((sum, [tokens]) => sum + tokens, 0);
  const thought = Math.min(usage.reasoning, otherOutput);
  const tokens = [
    [plainInput, BigInt(input)],
    ...inputParts,
    ...outputParts,
    [thought, of('reasoning', output)],
    [otherOutput - thought, BigInt(output)],
  ] as const;
  let millionths = tokens.reduce((sum, [count, unit]) => sum + BigInt(count) * unit * factor, 0n);
  const fixed =
    BigInt(price.extra?.request ?? 0) + BigInt(price.extra?.webSearch ?? 0) * BigInt(extra.webSearches ?? 0);
  millionths += fixed * 10n ** 12n;
  const up = millionths / 10n ** 12n + (millionths % 10n ** 12n > 0n ? 1n : 0n);
  return up > MOST ? MOST : up;
}

const amount = fc.oneof(fc.nat(20), fc.nat(10_000_000_000_000));
const maybe = fc.option(amount, { nil: undefined });
const rare = {
  cacheWrite: maybe,
  cacheWrite1h: maybe,
  reasoning: maybe,
  audioInput: maybe,
  audioOutput: maybe,
  imageInput: maybe,
  imageOutput: maybe,
};
const tier: fc.Arbitrary<LongInputPrices> = fc.record({
  above: fc.constantFrom(10, 100, 200_000),
  input: maybe,
  cachedInput: maybe,
  output: maybe,
  ...rare,
});
const extraPrices: fc.Arbitrary<ExtraTokenPrices> = fc.record({
  ...rare,
  request: fc.option(fc.nat(1_000_000_000).map(nanoUsd), { nil: undefined }),
  webSearch: fc.option(fc.nat(1_000_000_000).map(nanoUsd), { nil: undefined }),
  above: fc.option(
    fc
      .uniqueArray(tier, { selector: ({ above }) => above, maxLength: 3 })
      .map((tiers) => tiers.toSorted((one, other) => one.above - other.above)),
    { nil: undefined },
  ),
  serviceTiers: fc.option(
    fc.record({ priority: fc.integer({ min: 1, max: 100_000_000 }), flex: fc.constant(500_000) }),
    { nil: undefined },
  ),
});
const price: fc.Arbitrary<TokenPrice> = fc.record({
  kind: fc.constant('tokens' as const),
  input: amount,
  cachedInput: amount,
  output: amount,
  extra: fc.option(extraPrices, { nil: undefined }),
});
const part = fc.oneof(fc.nat(200), fc.nat(1_000_000));
const parts = fc.record({
  plain: part,
  cached: part,
  cacheWrite: part,
  cacheWrite1h: part,
  audioInput: part,
  imageInput: part,
  answer: part,
  reasoning: part,
  audioOutput: part,
  imageOutput: part,
  webSearches: fc.nat(20),
  serviceTier: fc.constantFrom(undefined, 'priority', 'flex', 'toString', 'batch'),
});
const usage = parts.map((one): Usage => {
  const { plain, cached, answer, reasoning, ...extra } = one;
  const { cacheWrite, cacheWrite1h, audioInput, imageInput, audioOutput, imageOutput } = extra;
  return {
    ...NO_USAGE,
    input: plain + cached + cacheWrite + cacheWrite1h + audioInput + imageInput,
    cached,
    output: answer + reasoning + audioOutput + imageOutput,
    reasoning,
    extra,
  };
});

describe('cost of every dimension', () => {
  test('is the exact sum of all parts, rounded up once', () => {
    fc.assert(
      fc.property(price, usage, (price, usage) => {
        expect(BigInt(costOf(price, usage))).toBe(oracle(price, usage));
      }),
      { numRuns: 500 },
    );
  });

  test('does not change when the price has been in the store', () => {
    fc.assert(
      fc.property(price, usage, (price, usage) => {
        const stored = JSON.parse(JSON.stringify(price)) as Price;
        expect(costOf(stored, usage)).toBe(costOf(price, usage));
      }),
    );
  });

  test('names its lines', () => {
    const price = {
      kind: 'tokens',
      input: 1,
      cachedInput: 1,
      output: 1,
      extra: { reasoning: 1, request: nanoUsd(1) },
    } as const;
    const extra = {
      cacheWrite: 1,
      cacheWrite1h: 1,
      audioInput: 1,
      imageInput: 1,
      audioOutput: 1,
      imageOutput: 1,
      webSearches: 1,
    };
    const used = { ...NO_USAGE, input: 9, cached: 1, output: 9, reasoning: 1, extra };
    expect(pricedParts(price, used).map(({ item }) => item)).toEqual([
      'input',
      'cached_input',
      'cache_write',
      'cache_write_1h',
      'audio_input',
      'image_input',
      'output',
      'reasoning',
      'audio_output',
      'image_output',
      'web_search',
      'request',
    ]);
  });

  test('has a line for each kind that was used, and the lines are the whole cost', () => {
    fc.assert(
      fc.property(price, usage, (price, usage) => {
        const lines = pricedParts(price, usage);
        const exact = lines.reduce(
          (sum, { quantity, unitPrice, per, factor }) =>
            sum + (BigInt(quantity) * BigInt(unitPrice) * BigInt(factor) * 1_000_000n) / BigInt(per),
          0n,
        );
        const up = (exact + 10n ** 12n - 1n) / 10n ** 12n;
        expect(up > MOST ? MOST : up).toBe(oracle(price, usage));
        expect(new Set(lines.map(({ item }) => item)).size).toBe(lines.length);
      }),
    );
  });

  test('never exceeds the hold of a request that asked for what it used', () => {
    const asked: ExtraCeiling = {
      cacheWrite: true,
      cacheWrite1h: true,
      audioInput: true,
      imageInput: true,
      audioOutput: true,
    };
    fc.assert(
      fc.property(price, usage, (price, usage) => {
        const { serviceTier, webSearches } = usage.extra as ExtraUsage;
        // What a catalog does not price as image output cannot be held as such, and costs the same as other output.
        const ceiling: Ceiling = {
          kind: 'tokens',
          input: usage.input,
          output: usage.output,
          choices: 1,
          extra: { ...asked, serviceTier, webSearches },
        };
        expect(costOf(price, usage)).toBeLessThanOrEqual(worstCase(price, ceiling, usage.output));
      }),
      { numRuns: 500 },
    );
  });

  test('what is affordable can be paid, and one token more cannot', () => {
    fc.assert(
      fc.property(price, part, fc.nat(1_000_000_000_000), (price, input, available) => {
        const ceiling: Ceiling = { kind: 'tokens', input, output: 1, choices: 1, extra: { webSearches: 3 } };
        const output = affordableOutput(price, ceiling, nanoUsd(available));
        if (output === 0 || output === MAX_COUNT) return;
        expect(worstCase(price, ceiling, output)).toBeLessThanOrEqual(available);
        expect(worstCase(price, ceiling, output + 1)).toBeGreaterThan(available);
      }),
    );
  });
});

const ORDINARY: TokenPrice = { kind: 'tokens', input: 4_000_000, cachedInput: 1_000_000, output: 8_000_000 };
const used = (extra: ExtraUsage, more: Partial<Usage> = {}): Usage => ({
  ...NO_USAGE,
  input: 1_000,
  output: 100,
  ...more,
  extra,
});

describe('without a price of its own', () => {
  test('a cache write costs 1.25 × input, and 2 × input for an hour', () => {
    const items = pricedParts(ORDINARY, used({ cacheWrite: 100, cacheWrite1h: 200 }));
    expect(items.map(({ item, quantity, unitPrice }) => [item, quantity, unitPrice])).toEqual([
      ['input', 700, 4_000_000],
      ['cache_write', 100, 5_000_000],
      ['cache_write_1h', 200, 8_000_000],
      ['output', 100, 8_000_000],
    ]);
  });

  test('a cache write is held only where the request asks for caching', () => {
    const hold = (extra?: ExtraCeiling) =>
      worstCase(ORDINARY, { kind: 'tokens', input: 1_000, output: 0, choices: 1, extra }, 0);
    expect([hold(), hold({ cacheWrite: true }), hold({ cacheWrite: true, cacheWrite1h: true })]).toEqual(
      [4_000, 5_000, 8_000].map(nanoUsd),
    );
  });

  test('audio and images cost what their side costs, and the operator is told', () => {
    const usage = used({
      audioInput: 10,
      imageInput: 20,
      audioOutput: 30,
      imageOutput: 40,
      serviceTier: 'flex',
    });
    expect(costOf(ORDINARY, usage)).toBe(costOf(ORDINARY, { ...NO_USAGE, input: 1_000, output: 100 }));
    expect(unpricedKinds(ORDINARY, usage)).toEqual([
      'audio_input',
      'image_input',
      'audio_output',
      'image_output',
      'service_tiers.flex',
    ]);
    const priced = { ...ORDINARY, extra: { audioInput: 1, serviceTiers: { flex: 500_000 } } };
    expect(unpricedKinds(priced, used({ audioInput: 10, serviceTier: 'flex' }))).toEqual([]);
  });
});

/** A second bill of images, from the rules of docs/prices.md alone. */
function imageOracle(price: ImagePrice, usage: Usage): bigint {
  const { request, megapixel, inputImage, partialImage, qualities } = price.extra ?? {};
  const extra = usage.extra ?? {};
  const told = Object.entries(qualities ?? {}).find(([quality]) => quality === extra.quality);
  const perImage = BigInt(told ? told[1] : price.image);
  let millionths = 0n;
  if (megapixel === undefined) millionths += perImage * BigInt(usage.images) * 1_000_000n;
  else millionths += BigInt(megapixel) * BigInt(extra.pixels ?? 0);
  millionths += BigInt(inputImage ?? 0) * BigInt(extra.inputImages ?? 0) * 1_000_000n;
  millionths += BigInt(partialImage ?? 0) * BigInt(extra.partialImages ?? 0) * 1_000_000n;
  millionths += BigInt(request ?? 0) * 1_000_000n;
  const up = millionths / 1_000_000n + (millionths % 1_000_000n > 0n ? 1n : 0n);
  return up > MOST ? MOST : up;
}

const unit = fc.nat(1_000_000_000_000).map(nanoUsd);
const maybeUnit = fc.option(unit, { nil: undefined });
const imagePrice: fc.Arbitrary<ImagePrice> = fc.record({
  kind: fc.constant('images' as const),
  image: unit,
  extra: fc.option(
    fc.record({
      request: maybeUnit,
      megapixel: fc.option(fc.nat(1_000_000_000_000), { nil: undefined }),
      inputImage: maybeUnit,
      partialImage: maybeUnit,
      qualities: fc.option(fc.record({ low: unit, high: unit }), { nil: undefined }),
    }),
    { nil: undefined },
  ),
});
/** What a request asks for: so many images, of so many pixels, from so many pictures, with so many partial ones. */
const asked = fc.record({
  images: fc.integer({ min: 1, max: 10 }),
  pixels: fc.nat(10_000_000),
  inputImages: fc.nat(16),
  partialImages: fc.nat(30),
});

describe('every dimension of an image price', () => {
  test('is charged exactly, rounded up once, with a line for each', () => {
    fc.assert(
      fc.property(
        imagePrice,
        asked,
        fc.constantFrom(undefined, 'low', 'high', 'x'),
        (price, made, quality) => {
          const { images, ...counts } = made;
          const usage: Usage = { ...NO_USAGE, images, extra: { ...counts, quality } };
          expect(BigInt(costOf(price, usage))).toBe(imageOracle(price, usage));
          const items = new Set(pricedParts(price, usage).map(({ item }) => item));
          expect(items.has('input_image')).toBe(
            price.extra?.inputImage !== undefined && made.inputImages > 0,
          );
          expect(items.has('partial_image')).toBe(
            price.extra?.partialImage !== undefined && made.partialImages > 0,
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  test('is held at the worst case: whatever part of it is delivered never costs more', () => {
    const delivered = fc.record({ images: fc.nat(10), partials: fc.nat(30) });
    fc.assert(
      fc.property(imagePrice, asked, delivered, (price, ceiling, { images, partials }) => {
        const held = BigInt(worstCase(price, { kind: 'images', ...ceiling }, 0));
        const made = Math.min(images, ceiling.images);
        const usage: Usage = {
          ...NO_USAGE,
          images: made,
          extra: {
            pixels: Math.floor((ceiling.pixels * made) / ceiling.images),
            inputImages: ceiling.inputImages,
            partialImages: Math.min(partials, ceiling.partialImages),
            quality: 'low',
          },
        };
        expect(imageOracle(price, usage)).toBeLessThanOrEqual(held);
        const dearest = Object.values(price.extra?.qualities ?? {}).reduce(
          (most, one) => Math.max(most, one),
          Number(price.image),
        );
        const { images: count, ...counts } = ceiling;
        const whole: Usage = { ...NO_USAGE, images: count, extra: counts };
        expect(held).toBe(imageOracle({ ...price, image: nanoUsd(dearest) }, whole));
      }),
      { numRuns: 500 },
    );
  });

  test('a usage of anything is not empty, whatever else is in it', () => {
    const counts = ['input', 'cached', 'output', 'reasoning', 'images'] as const;
    expect(isEmpty(NO_USAGE)).toBe(true);
    for (const one of counts)
      for (const other of counts) expect(isEmpty({ ...NO_USAGE, [one]: 1, [other]: 1 })).toBe(false);
    for (const one of counts)
      expect(isEmpty({ ...NO_USAGE, [one]: 1, extra: { partialImages: 1 } })).toBe(false);
  });

  test('what was shown of an image before it was finished is something, although no image is', () => {
    expect(isEmpty({ ...NO_USAGE, extra: { partialImages: 1 } })).toBe(false);
    expect(isEmpty({ ...NO_USAGE, extra: { inputImages: 1 } })).toBe(true);
    expect(isUsage({ ...NO_USAGE, extra: { partialImages: -1 } })).toBe(false);
    expect(isUsage({ ...NO_USAGE, extra: { inputImages: 0.5 } })).toBe(false);
  });
});

describe('images', () => {
  const qualities = { low: nanoUsd(10), high: nanoUsd(170) };
  const byQuality: Price = { kind: 'images', image: nanoUsd(170), extra: { qualities } };

  test('without a quality are held at the dearest and charged at what the backend reports', () => {
    expect(worstCase(byQuality, { kind: 'images', images: 2 }, 0)).toBe(nanoUsd(340));
    expect(costOf(byQuality, { ...NO_USAGE, images: 2, extra: { quality: 'low' } })).toBe(nanoUsd(20));
    expect(costOf(byQuality, { ...NO_USAGE, images: 2 })).toBe(nanoUsd(340));
    expect(costOf(byQuality, { ...NO_USAGE, images: 2, extra: { quality: 'toString' } })).toBe(nanoUsd(340));
  });

  test('by the megapixel cost their pixels, rounded up once for all of them', () => {
    const price: Price = { kind: 'images', image: nanoUsd(0), extra: { megapixel: 30_000_001 } };
    const pixels = 3 * 1024 * 1024;
    const cost = nanoUsd(Math.ceil((pixels * 30_000_001) / 1_000_000));
    expect(costOf(price, { ...NO_USAGE, images: 3, extra: { pixels } })).toBe(cost);
    expect(worstCase(price, { kind: 'images', images: 3, pixels }, 0)).toBe(cost);
    expect(costOf(price, { ...NO_USAGE, images: 3 })).toBe(nanoUsd(0));
    expect(pricedParts(price, { ...NO_USAGE, images: 3 })).toMatchObject([
      { item: 'megapixel', quantity: 0 },
    ]);
  });
});

test('the prices of a long input begin above its length, not at it', () => {
  const price: TokenPrice = {
    kind: 'tokens',
    input: 1_000_000,
    cachedInput: 1_000_000,
    output: 0,
    extra: { above: [{ above: 200_000, input: 2_000_000 }] },
  };
  const cost = (input: number): number => costOf(price, { ...NO_USAGE, input });
  expect(cost(200_000)).toBe(200_000);
  expect(cost(200_001)).toBe(400_002);
});

test('what is held at a service tier is its exact price, rounded up to a nano-USD per million tokens', () => {
  const held = (price: number, factor: number): number =>
    extraHoldPrices({ ...ORDINARY, output: price, extra: { serviceTiers: { priority: factor } } }, 0, {
      serviceTier: 'priority',
    }).output;
  expect(held(2_000_000, 1_500_001)).toBe(3_000_002);
  expect(held(1, 1_000_001)).toBe(2);
  expect(held(1, 1_999_999)).toBe(2);
});
