import { expect, test } from 'bun:test';
import { DAY_MS, dayOf } from '../std/calendar.ts';
import { nextLimit } from './next-limit.ts';

const NOW = Date.UTC(2026, 10, 18, 12);
/** Ten dollars a day. */
const spent = Array.from({ length: 20 }, (_, days) => ({
  day: dayOf(NOW - days * DAY_MS),
  charged: 10_000_000_000,
}));
const balance = (usd: number) => ({
  kind: 'balance' as const,
  per: null,
  left: usd * 1e9,
  limit: undefined,
  resetsAt: undefined,
  spent,
});
const budget = (usd: number, resetsAt: number | undefined) => ({
  kind: 'budget' as const,
  per: 'month' as const,
  left: usd * 1e9,
  limit: 300e9,
  resetsAt,
  spent,
});

test('the next limit is the one that ends first at the pace of the week, never one that starts again before', () => {
  const endOfMonth = Date.UTC(2026, 11, 1);
  const first = nextLimit([balance(100), budget(50, endOfMonth)], NOW);
  expect(first).toMatchObject({ kind: 'budget', per: 'month', leftUsd: '50.00', limitUsd: '300.00' });
  expect(dayOf(first?.reachedAt ?? 0)).toBeLessThanOrEqual(dayOf(NOW + 6 * DAY_MS));
  // Less is left of the budget, but it starts again tomorrow, before it is used up.
  expect(nextLimit([balance(100), budget(50, NOW + DAY_MS)], NOW)).toMatchObject({ kind: 'balance' });
  expect(nextLimit([balance(100), budget(0, NOW + DAY_MS)], NOW)).toMatchObject({
    kind: 'budget',
    reachedAt: NOW,
  });
  const nothingSpent = [balance(100), budget(50, undefined)].map((one) => ({ ...one, spent: [] }));
  expect(nextLimit(nothingSpent, NOW)).toMatchObject({ kind: 'budget', reachedAt: null });
  expect(nextLimit([], NOW)).toBeNull();
});
