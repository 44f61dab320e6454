import { expect, test } from 'bun:test';
import { slotsWithin } from './request-slots.ts';

test('a request takes two files, and some are kept for everything else', () => {
  expect(slotsWithin(20_000, undefined)).toBe(20_000);
  expect(slotsWithin(20_000, 1_048_576)).toBe(20_000);
  expect(slotsWithin(20_000, 256)).toBe(80);
  expect(slotsWithin(20, 256)).toBe(20);
  expect(slotsWithin(20_000, 64)).toBe(8);
});
