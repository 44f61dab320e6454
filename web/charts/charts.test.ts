import { expect, test } from 'bun:test';
import type { UsageRow } from '../../src/console/contract.ts';
import { barsByModel, daysBetween } from './byModel.ts';
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
  const { series, bars } = barsByModel(rows, {
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

function usage(model: string, requests: number): UsageRow {
  const zeros = {
    failures: 0,
    inputTokens: 0,
    cachedTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    images: 0,
  };
  return { day: '2026-11-01', endpoint: 'svc_chat', model, requests, chargedUsd: '0', ...zeros };
}
