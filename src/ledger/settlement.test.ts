import { expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { MAX_BALANCE, nanoUsd } from '../std/money.ts';
import type { Outcome } from './port.ts';
import { MAX_COUNT, NO_USAGE, type Usage } from './price.ts';
import { bookableOverrun, chargeFor, isFailure, OVERRUN_CEILING } from './decide.ts';
import { balanceAfter } from './entries.ts';
import { checkedUsage, isEmpty, isUsage } from './price.ts';

const FIELDS = ['input', 'cached', 'output', 'reasoning', 'images'] as const;
const count = fc.oneof(fc.constantFrom(0, 0, 1, 5), fc.nat(MAX_COUNT));
const usage: fc.Arbitrary<Usage> = fc.record({
  input: count,
  cached: count,
  output: count,
  reasoning: count,
  images: count,
});

test('only a usage of which every number is zero is empty', () => {
  fc.assert(fc.property(usage, (one) => isEmpty(one) === FIELDS.every((field) => one[field] === 0)));
  // Numbers that would cancel each other out.
  for (const [one, other] of FIELDS.flatMap((a) => FIELDS.map((b) => [a, b] as const)))
    expect(isEmpty({ ...NO_USAGE, [one]: 5, [other]: 5 })).toBe(false);
});

test('a usage is whole numbers from zero to the largest count, no more of it cached than there is', () => {
  const full = { input: 5, cached: 5, output: 5, reasoning: 5, images: 5 };
  expect(isUsage(full)).toBe(true);
  expect(isUsage({ ...full, cached: 6 })).toBe(false);
  for (const field of FIELDS) {
    const most = { ...full, input: MAX_COUNT };
    expect(isUsage({ ...most, [field]: MAX_COUNT })).toBe(true);
    for (const wrong of [-1, 0.5, MAX_COUNT + 1, Number.NaN])
      expect({ field, wrong, is: isUsage({ ...most, [field]: wrong }) }).toEqual({ field, wrong, is: false });
  }
  expect(() => checkedUsage({ ...full, cached: 6 })).toThrow('went wrong on our side');
});

test('a charge is never more than its hold, and what exceeds it is the operator’s loss', () => {
  const price = { kind: 'images', image: nanoUsd(10) } as const;
  const charge = (held: number) => chargeFor(price, nanoUsd(held), { ...NO_USAGE, images: 3 });
  expect(charge(29)).toEqual({ charged: nanoUsd(29), overrun: nanoUsd(1) });
  expect(charge(30)).toEqual({ charged: nanoUsd(30), overrun: nanoUsd(0) });
  expect(charge(31)).toEqual({ charged: nanoUsd(30), overrun: nanoUsd(0) });
});

test('the books of losses stop at their ceiling', () => {
  expect(bookableOverrun(nanoUsd(5), OVERRUN_CEILING - 6)).toBe(nanoUsd(5));
  expect(bookableOverrun(nanoUsd(5), OVERRUN_CEILING - 4)).toBe(nanoUsd(4));
  expect(bookableOverrun(nanoUsd(5), OVERRUN_CEILING)).toBe(nanoUsd(0));
  expect(bookableOverrun(nanoUsd(5), OVERRUN_CEILING + 1)).toBe(nanoUsd(0));
});

test('a balance stays between what is held or owed and the largest one, and only an adjustment takes away', () => {
  const after = (amount: number, kind: 'credit' | 'adjustment' = 'adjustment', balance = 100, owed = 0) =>
    balanceAfter(
      { balance: nanoUsd(balance), held: nanoUsd(40), owed: nanoUsd(owed), isRemoved: false },
      { kind, amount },
    );
  const removed = { balance: nanoUsd(100), held: nanoUsd(0), owed: nanoUsd(0), isRemoved: true };
  expect(() => balanceAfter(removed, { kind: 'credit', amount: 1 })).toThrow('removed');
  expect(balanceAfter(removed, { kind: 'adjustment', amount: -1 })).toBe(nanoUsd(99));
  expect(after(-50, 'adjustment', 100, 10)).toBe(nanoUsd(50));
  expect(() => after(-51, 'adjustment', 100, 10)).toThrow('fall below');
  expect(after(5, 'credit', 40, 1_000)).toBe(nanoUsd(45));
  expect(after(1)).toBe(nanoUsd(101));
  expect(after(-60)).toBe(nanoUsd(40));
  expect(() => after(-61)).toThrow('fall below');
  expect(after(MAX_BALANCE - 100)).toBe(MAX_BALANCE);
  expect(() => after(MAX_BALANCE - 99)).toThrow('exceed');
  expect(() => after(-1, 'credit')).toThrow('cannot take money away');
  expect(after(1, 'credit')).toBe(nanoUsd(101));
  for (const wrong of [0, 0.5, Number.NaN, 2 ** 53]) expect(() => after(wrong)).toThrow('not a valid amount');
});

test('a client that left is no failure, and everything else that did not complete is', () => {
  const failures: Record<Outcome, boolean> = {
    completed: false,
    client_left: false,
    upstream_failed: true,
    cut_short: true,
    expired: true,
    shed: true,
  };
  for (const [outcome, failed] of Object.entries(failures))
    expect(isFailure(outcome as Outcome)).toBe(failed);
});
