import { expect, test } from 'bun:test';
import type { UsageChartRow } from '../lib/answers.ts';
import { chosenBars, daysBetween, usageBars } from './usageBars.ts';
import { axisTicks, signedTicks } from './size.ts';

test('axes end at a round number above the largest value', () => {
  expect(axisTicks(0.163)).toEqual([0, 0.05, 0.1, 0.15000000000000002, 0.2]);
  expect(axisTicks(7)).toEqual([0, 2, 4, 6, 8]);
  expect(axisTicks(0)).toEqual([0, 1]);
});

test('an axis reaches below zero only as far as there are losses', () => {
  expect(signedTicks(-3, 7)).toEqual([-4, -2, 0, 2, 4, 6, 8]);
  expect(signedTicks(0, 0)).toEqual([0, 1]);
  expect(signedTicks(-0.5, 0)).toEqual([-0.6000000000000001, -0.4, -0.2, 0]);
});

test('a range has every day once, across months, and is bounded', () => {
  expect(daysBetween('2026-02-27', '2026-03-01')).toEqual(['2026-02-27', '2026-02-28', '2026-03-01']);
  expect(daysBetween('2000-01-01', '2026-01-01')).toHaveLength(366);
});

test('the largest models have colours of their own and the rest are one', () => {
  const rows = Array.from({ length: 12 }, (_, index) => usage(`model-${index}`, 12 - index));
  const { series, bars } = usageBars(rows, {
    days: ['2026-11-01', '2026-11-02'],
    measure: { value: (row) => row.requests, format: String },
    otherLabel: 'Other',
    dayLabel: (day) => day,
  });
  expect(series.map(({ label }) => label)).toEqual([
    ...Array.from({ length: 7 }, (_, index) => `model-${index}`),
    'Other',
  ]);
  expect(bars.map(({ total }) => total)).toEqual(['78', '0']);
  expect(bars[0]?.parts.at(-1)).toEqual({ series: 'other', value: 15, text: '15' });
});

test('a client without a name is a series of its own, and one series can be shown alone', () => {
  const rows = [usage('', 3), usage('curl', 2), { ...usage('', 9), name: null }];
  const drawn = usageBars(rows, {
    days: ['2026-11-01'],
    measure: { value: (row) => row.requests, format: String },
    otherLabel: 'Other',
    emptyLabel: 'Unknown',
    dayLabel: (day) => day,
  });
  expect(drawn.series.map(({ label }) => label)).toEqual(['Unknown', 'curl', 'Other']);
  expect(drawn.bars[0]?.total).toBe('14');
  const [unknown] = drawn.series;
  expect(chosenBars(drawn, unknown?.id)).toMatchObject([
    { total: '3', parts: [{ series: unknown?.id, value: 3 }] },
  ]);
  expect(chosenBars(drawn, 'gone')).toEqual(drawn.bars);
});

function usage(name: string, requests: number): UsageChartRow {
  const zeros = {
    failures: 0,
    inputTokens: 0,
    cachedTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    images: 0,
  };
  return { day: '2026-11-01', name, requests, chargedUsd: '0', ...zeros };
}
