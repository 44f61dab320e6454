import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { MAX_BALANCE, nanoUsd, type NanoUsd } from '../std/money.ts';
import { costOf } from './price.ts';
import { affordableOutput, worstCase } from './price.ts';
import type { Ceiling } from './port.ts';
import { MAX_COUNT, NO_USAGE, type Price } from './price.ts';
import { MAX_TOKEN_PRICE } from '../std/price-dimensions.ts';

const price = fc.record({
  kind: fc.constant('tokens' as const),
  input: fc.nat(MAX_TOKEN_PRICE),
  cachedInput: fc.nat(MAX_TOKEN_PRICE),
  output: fc.nat(MAX_TOKEN_PRICE),
});
const count = fc.oneof(fc.nat(10_000), fc.nat(MAX_COUNT));
const usage = fc
  .record({ input: count, cached: count, output: count })
  .map(({ input, cached, output }) =>
    Object.assign({ ...NO_USAGE }, { input, cached: Math.min(input, cached), output }),
  );

const ceiling = (input: number): Ceiling => ({ kind: 'tokens', input, output: 1, choices: 1 });

describe('cost of tokens', () => {
  test('is the exact product rounded up once, for every price and usage in range', () => {
    fc.assert(
      fc.property(price, usage, (price, usage) => {
        const exact =
          BigInt(usage.input - usage.cached) * BigInt(price.input) +
          BigInt(usage.cached) * BigInt(price.cachedInput) +
          BigInt(usage.output) * BigInt(price.output);
        const up = exact / 1_000_000n + (exact % 1_000_000n > 0n ? 1n : 0n);
        const most = BigInt(MAX_BALANCE) * 8n;
        expect(BigInt(costOf(price, usage))).toBe(up > most ? most : up);
      }),
    );
  });

  test('never exceeds the worst case of the same counts', () => {
    fc.assert(
      fc.property(price, usage, (price, usage) => {
        expect(costOf(price, usage)).toBeLessThanOrEqual(
          worstCase(price, ceiling(usage.input), usage.output),
        );
      }),
    );
  });

  test('what is affordable can be paid, and one token more cannot', () => {
    fc.assert(
      fc.property(price, count, fc.nat(MAX_BALANCE), (price, input, available) => {
        const output = affordableOutput(price, ceiling(input), nanoUsd(available));
        if (output === 0 || output === MAX_COUNT) return;
        expect(worstCase(price, ceiling(input), output)).toBeLessThanOrEqual(available);
        expect(worstCase(price, ceiling(input), output + 1)).toBeGreaterThan(available);
      }),
    );
  });
});

test('images cost their number times the price of one', () => {
  const image: Price = { kind: 'images', image: 40_000_000 as NanoUsd };
  expect(costOf(image, { ...NO_USAGE, images: 3 })).toBe(nanoUsd(120_000_000));
  expect(costOf(image, NO_USAGE)).toBe(nanoUsd(0));
});

test('of an image whose output is not priced by tokens, only the input is held', () => {
  const price = { kind: 'tokens', input: 2_000_000, cachedInput: 0, output: 3_000_000 } as const;
  expect(worstCase(price, { kind: 'images', images: 1, input: 10 }, 5)).toBe(nanoUsd(20));
  expect(worstCase(price, { kind: 'images', images: 1, input: 10, output: 4 }, 5)).toBe(nanoUsd(32));
});
