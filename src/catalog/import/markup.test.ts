import { expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { markUp } from './markup.ts';
import { nanoPerMillion } from './price-list.ts';

test.each([
  [0.1, 100_000_000],
  [0.25, 250_000_000],
  [2, 2_000_000_000],
  [1e-9, 1],
  [4e-10, 0],
  [5e-10, 1],
  [0.30000000000000004, 300_000_000],
  [0, 0],
  [10_000, 10_000_000_000_000],
])('a listed price of %d dollars is %d nano-dollars', (usd, nano) => {
  expect(nanoPerMillion(usd)).toBe(nano);
});

test.each([-1, Number.NaN, Infinity, 10_001, 1e300, '0.5', null, undefined])(
  'a listed price of %p is none',
  (usd) => {
    expect(nanoPerMillion(usd)).toBeUndefined();
  },
);

test('a marked-up price is exact, and rounded up to a nano-dollar once', () => {
  const amount = fc.integer({ min: 0, max: 10_000_000_000_000 });
  fc.assert(
    fc.property(amount, fc.integer({ min: 1, max: 100_000_000 }), (nano, factor) => {
      const { input } = markUp({ input: nano, output: 0 }, factor);
      // input is the least integer that is not below nano × factor ÷ 10⁶.
      const wanted = BigInt(nano) * BigInt(factor);
      expect(BigInt(input) * 1_000_000n >= wanted).toBe(true);
      expect((BigInt(input) - 1n) * 1_000_000n < wanted).toBe(true);
    }),
  );
});

test('every part of a price is marked up, and what is absent stays absent', () => {
  const above = { 200_000: { input: 3, output: 5 } };
  expect(markUp({ input: 10, cached_input: 1, output: 20, above }, 1_500_000)).toEqual({
    input: 15,
    cached_input: 2,
    output: 30,
    above: { 200_000: { input: 5, output: 8 } },
  });
});
