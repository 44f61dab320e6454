import { expect, test } from 'bun:test';
import type { Caller } from '../ledger/port.ts';
import { SeenGroups } from './seen-groups.ts';

const callerOf = (n: number): Caller => ({ kind: 'account', id: `acc_${n}` as never });

test('each caller’s group is remembered as it was seen last, and forgotten once the wallet is in none', () => {
  const seen = new SeenGroups((catalog) => catalog);
  seen.saw(callerOf(1), undefined);
  expect(seen.known.size).toBe(0);
  seen.saw(callerOf(1), 'partners');
  seen.saw(callerOf(2), 'schools');
  seen.saw(callerOf(1), 'schools');
  expect([seen.of(callerOf(1)), seen.of(callerOf(2)), seen.of(callerOf(3))]).toEqual([
    'schools',
    'schools',
    undefined,
  ]);
  seen.saw(callerOf(1), undefined);
  expect([seen.of(callerOf(1)), seen.of(callerOf(2))]).toEqual([undefined, 'schools']);
});

test('however many callers there are, a bounded number is remembered: those that were seen last', () => {
  const seen = new SeenGroups((catalog) => catalog);
  for (let n = 0; n < 20_001; n++) seen.saw(callerOf(n), 'partners');
  expect(seen.known.size).toBe(20_000);
  expect([seen.of(callerOf(0)), seen.of(callerOf(1)), seen.of(callerOf(20_000))]).toEqual([
    undefined,
    'partners',
    'partners',
  ]);
});
