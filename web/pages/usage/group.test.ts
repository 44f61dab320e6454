import { expect, test } from 'bun:test';
import type { UsageRow } from '../../../src/console/contract.ts';
import { groupUsage } from './group.ts';

const row = (day: string, endpoint: string, model: string, chargedUsd: string): UsageRow => ({
  day,
  endpoint,
  model,
  chargedUsd,
  requests: 1,
  failures: 0,
  inputTokens: 10,
  cachedTokens: 4,
  outputTokens: 5,
  reasoningTokens: 0,
  images: 0,
});

const ROWS = [
  row('2026-11-01', 'svc_chat', 'a', '0.1'),
  row('2026-11-02', 'svc_chat', 'a', '0.2'),
  row('2026-11-02', 'svc_chat', 'b', '0.000000001'),
  row('2026-11-02', 'partner_chat', 'a', '5'),
];

test('groups hold exact sums, the dearest first', () => {
  expect(
    groupUsage(ROWS, 'model').map(({ endpoint, model, counts }) => [endpoint, model, counts.chargedUsd]),
  ).toEqual([
    ['partner_chat', 'a', '5'],
    ['svc_chat', 'a', '0.30'],
    ['svc_chat', 'b', '0.000000001'],
  ]);
  expect(groupUsage(ROWS, 'endpoint').map(({ key, counts }) => [key, counts.requests])).toEqual([
    ['partner_chat', 1],
    ['svc_chat', 3],
  ]);
});

test('days come newest first', () => {
  expect(groupUsage(ROWS, 'day').map(({ day, counts }) => [day, counts.inputTokens])).toEqual([
    ['2026-11-02', 30],
    ['2026-11-01', 10],
  ]);
});
