import { expect, test } from 'bun:test';
import { NO_USAGE } from './price.ts';
import { isUsage } from './price.ts';

test('a hundred million of anything is the most that one request can have used', () => {
  for (const count of ['input', 'output', 'reasoning', 'images'] as const) {
    expect(isUsage({ ...NO_USAGE, [count]: 100_000_000 })).toBe(true);
    expect(isUsage({ ...NO_USAGE, [count]: 100_000_001 })).toBe(false);
  }
  expect(isUsage({ ...NO_USAGE, input: 100_000_000, cached: 100_000_000 })).toBe(true);
  expect(isUsage({ ...NO_USAGE, input: 1, cached: 2 })).toBe(false);
});

test('an image has no negative number of pixels', () => {
  const withPixels = (pixels: number) => isUsage({ ...NO_USAGE, images: 1, extra: { pixels } });
  expect(withPixels(0)).toBe(true);
  expect(withPixels(-1)).toBe(false);
});
