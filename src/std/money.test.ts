import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  addNano,
  formatUsd,
  MAX_BALANCE,
  minNano,
  nanoUsd,
  parseUsd,
  subtractNano,
  toUsdNumber,
} from './money.ts';

const amount = fc.integer({ min: 0, max: MAX_BALANCE }).map(nanoUsd);

test('an amount survives the round trip through its text', () => {
  fc.assert(fc.property(amount, (value) => parseUsd(formatUsd(value)) === value));
});

test('a number of dollars is read as its decimal text', () => {
  expect(parseUsd(0.1)).toBe(100_000_000 as never);
  expect(parseUsd(0.000000001)).toBe(1 as never);
  expect(parseUsd('12.5')).toBe(12_500_000_000 as never);
  expect(parseUsd(12.5)).toBe(12_500_000_000 as never);
  expect(parseUsd(0)).toBe(0 as never);
  expect(parseUsd(' 7 ')).toBe(7_000_000_000 as never);
  expect(parseUsd(0.1234567891)).toBeUndefined();
  expect(parseUsd('1000000')).toBe(MAX_BALANCE);
  expect(parseUsd('1000000.000000001')).toBeUndefined();
  expect(toUsdNumber(nanoUsd(1))).toBe(0.000000001);
  expect(formatUsd(nanoUsd(1_500_000_000))).toBe('1.50');
  expect(formatUsd(nanoUsd(1))).toBe('0.000000001');
  expect(formatUsd(nanoUsd(0))).toBe('0.00');
  expect(formatUsd(nanoUsd(20_100_000_000))).toBe('20.10');
  expect(formatUsd(nanoUsd(1_234_500_000))).toBe('1.2345');
});

test('text that is not an amount is refused, never rounded or guessed', () => {
  for (const wrong of [
    '',
    '-1',
    '1e3',
    '1.0000000001',
    '1,5',
    'NaN',
    'Infinity',
    '1000000.01',
    ' ',
    '.5',
    '5.',
    '0x10',
  ]) {
    expect(parseUsd(wrong)).toBeUndefined();
  }
  for (const wrong of [Number.NaN, Infinity, -1, 1e21, 2 ** 60]) expect(parseUsd(wrong)).toBeUndefined();
  for (const wrong of [-1, 0.5, Number.NaN, 2 ** 53]) expect(() => nanoUsd(wrong)).toThrow(RangeError);
});

test('sums and differences stay amounts', () => {
  fc.assert(
    fc.property(amount, amount, (a, b) => {
      expect(BigInt(addNano(a, b))).toBe(BigInt(a) + BigInt(b));
      expect(subtractNano(addNano(a, b), b)).toBe(a);
      expect([a, b].sort((one, other) => one - other)[0]).toBe(minNano(a, b));
      if (a < b) expect(() => subtractNano(a, b)).toThrow(RangeError);
    }),
  );
});
