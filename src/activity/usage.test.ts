import { expect, test } from 'bun:test';
import { DAY_MS, dayOf } from '../std/calendar.ts';
import { spendBefore, spendOf } from './usage.ts';

const NOW = Date.UTC(2026, 2, 3, 15);
/** A power of two for the last days, so that a sum tells which days are in it; 1 for each of the older ones. */
const rows = Array.from({ length: 60 }, (_, back) => ({
  day: dayOf(NOW - back * DAY_MS),
  charged: back < 14 ? 2 ** (back + 10) : 1,
}));
const sumOf = (from: number, to: number): number =>
  rows.slice(from, to).reduce((sum, { charged }) => sum + charged, 0);

test('what was spent is compared with the days just before, each of which counts once', () => {
  expect(spendOf(rows, NOW)).toEqual({ today: sumOf(0, 1), days7: sumOf(0, 7), days30: sumOf(0, 30) });
  expect(spendBefore(rows, NOW)).toEqual({
    today: sumOf(1, 2),
    days7: sumOf(7, 14),
    days30: sumOf(30, 60),
  });
});

test('an account that is younger than the time before has spent nothing in it', () => {
  expect(spendBefore(rows.slice(0, 7), NOW)).toEqual({ today: sumOf(1, 2), days7: 0, days30: 0 });
});
