import { expect, test } from 'bun:test';
import { balanceForecast } from './balance-days.ts';

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 10, 16, 12);
const week = [10, 11, 12, 13, 14, 15].map((day) => ({ day: 20261100 + day, charged: 10 }));

test('a balance lasts until the day on which the pace of the last week has used it up', () => {
  const days = [
    { day: 20261020, charged: 500 },
    { day: 20261109, charged: 10 },
    ...week,
    { day: 20261116, charged: 5 },
  ];
  // 75 in seven and a half days: 10 a day, so 40 last four days.
  expect(balanceForecast(40, days, NOON)).toEqual({ kind: 'until', at: NOON + 96 * HOUR });
});

test('who began during the week has the pace since then', () => {
  const days = [
    { day: 20261115, charged: 20 },
    { day: 20261116, charged: 10 },
  ];
  // 30 in a day and a half: 20 a day.
  expect(balanceForecast(10, days, NOON)).toEqual({ kind: 'until', at: NOON + 12 * HOUR });
});

test('no date is named that could not be believed', () => {
  expect(balanceForecast(40, [{ day: 20261116, charged: 10 }], NOON)).toEqual({ kind: 'too_early' });
  expect(balanceForecast(40, [{ day: 20261101, charged: 10 }], NOON)).toEqual({ kind: 'no_spending' });
  expect(balanceForecast(40, [{ day: 20261115, charged: 0 }], NOON)).toEqual({ kind: 'no_spending' });
  expect(balanceForecast(40, [], NOON)).toEqual({ kind: 'no_spending' });
  expect(balanceForecast(0, week, NOON)).toEqual({ kind: 'empty' });
  expect(balanceForecast(1_000_000, week, NOON)).toEqual({ kind: 'long' });
});
