import { expect, test } from 'bun:test';
import { heatRows, hourSpan, levelOf, LEVELS, nextPlace, weekdayName } from './heat.ts';

test('every hour of the week has its place, and hours without requests are zero', () => {
  const counts = {
    failures: 0,
    inputTokens: 0,
    cachedTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    images: 0,
    chargedUsd: '0',
    savedUsd: '0',
  };
  const rows = heatRows(
    { missing: 0, cells: [{ weekday: 6, hour: 23, requests: 4, ...counts }] },
    (cell) => cell.requests,
  );
  expect(rows.map((row) => row.length)).toEqual([24, 24, 24, 24, 24, 24, 24]);
  expect(rows[6]?.[23]).toBe(4);
  expect(rows.flat().filter((value) => value > 0)).toEqual([4]);
});

test('whatever is not nothing has a shade, and the busiest hour the strongest', () => {
  expect([levelOf(0, 1_000_000), levelOf(1, 1_000_000), levelOf(1_000_000, 1_000_000)]).toEqual([
    0,
    1,
    LEVELS,
  ]);
  expect(levelOf(0, 0)).toBe(0);
});

test('arrow keys walk the hours and days and stop at the edges', () => {
  expect(nextPlace('ArrowRight', undefined)).toEqual({ weekday: 0, hour: 0 });
  expect(nextPlace('ArrowRight', { weekday: 2, hour: 23 })).toEqual({ weekday: 2, hour: 23 });
  expect(nextPlace('ArrowDown', { weekday: 2, hour: 5 })).toEqual({ weekday: 3, hour: 5 });
  expect(nextPlace('ArrowDown', { weekday: 6, hour: 5 })).toEqual({ weekday: 6, hour: 5 });
  expect(nextPlace('ArrowUp', { weekday: 0, hour: 5 })).toEqual({ weekday: 0, hour: 5 });
  expect(nextPlace('End', { weekday: 4, hour: 5 })).toEqual({ weekday: 4, hour: 23 });
  expect(nextPlace('a', { weekday: 4, hour: 5 })).toBeUndefined();
});

test('the week begins on Monday, and the last hour ends at midnight', () => {
  expect([weekdayName(0, 'en', 'long'), weekdayName(6, 'de', 'long')]).toEqual(['Monday', 'Sonntag']);
  expect([hourSpan(23, 'de'), hourSpan(0, 'en')].map((text) => text.replaceAll(/\s/g, ' '))).toEqual([
    '23:00 – 0:00',
    '12:00 AM – 1:00 AM',
  ]);
});
