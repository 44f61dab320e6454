import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { newRequestId, randomPart, requestIdAt } from './ids.ts';

test('ids sort by their time as text', () => {
  const moment = fc.integer({ min: 1_600_000_000_000, max: 4_000_000_000_000 });
  fc.assert(
    fc.property(moment, moment, (a, b) => {
      fc.pre(a < b);
      expect(newRequestId(a) < newRequestId(b)).toBe(true);
      expect(requestIdAt(b) > newRequestId(a)).toBe(true);
      expect(requestIdAt(b) <= newRequestId(b)).toBe(true);
    }),
  );
});

test('a hundred thousand ids of one millisecond are all different', () => {
  const ids = new Set(Array.from({ length: 100_000 }, () => newRequestId(1_700_000_000_000)));
  expect(ids.size).toBe(100_000);
});

test('random characters are Base62 and evenly spread', () => {
  const counts = new Map<string, number>();
  for (const letter of randomPart(62_000)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  expect(counts.size).toBe(62);
  for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(250);
});
