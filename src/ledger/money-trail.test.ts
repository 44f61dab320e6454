import { expect, test } from 'bun:test';
import * as fc from 'fast-check';
import type { AccountId } from '../std/ids.ts';
import { nanoUsd, ZERO } from '../std/money.ts';
import { MoneyTrail, returnedMoves, type Moved } from './money-trail.ts';

/** The payer is the first of them. */
const WALLETS = ['a', 'b', 'c', 'd', 'e'] as AccountId[];
const PAYER = 'a' as AccountId;

const amount = fc.integer({ min: 1, max: 50 }).map(nanoUsd);
const wallet = fc.constantFrom(...WALLETS);
const histories = fc.record({
  moved: fc.array(
    fc.record({ fromId: wallet, toId: wallet, amount }).filter(({ fromId, toId }) => fromId !== toId),
    { maxLength: 14 },
  ),
  own: fc.array(fc.nat(60).map(nanoUsd), { minLength: WALLETS.length, maxLength: WALLETS.length }),
  wanted: amount,
});

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, one) => total + one, 0);
}

function net(moved: readonly Moved[], from: AccountId, to: AccountId): number {
  const between = (one: AccountId, other: AccountId): number =>
    sum(moved.filter(({ fromId, toId }) => fromId === one && toId === other).map((move) => move.amount));
  return Math.max(0, between(from, to) - between(to, from));
}

/**
 * The most that can come to the payer: whichever wallets are on the payer's side, no more than these have and what moved
 * from them to the others. The least of it over all divisions is the answer.
 */
function most(moved: readonly Moved[], own: ReadonlyMap<AccountId, number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (let sides = 0; sides < 2 ** (WALLETS.length - 1); sides++) {
    const isNear = (id: AccountId): boolean =>
      id === PAYER || ((sides >> (WALLETS.indexOf(id) - 1)) & 1) === 1;
    const near = WALLETS.filter(isNear);
    const far = WALLETS.filter((id) => !isNear(id));
    const crossing = near.flatMap((from) => far.map((to) => net(moved, from, to)));
    least = Math.min(least, sum(near.map((id) => own.get(id) ?? 0)) + sum(crossing));
  }
  return least;
}

/** What each wallet has after moves. */
function after(moves: readonly Moved[], before: ReadonlyMap<AccountId, number>): Map<AccountId, number> {
  const balances = new Map(before);
  for (const { fromId, toId, amount: moved } of moves) {
    balances.set(fromId, (balances.get(fromId) ?? 0) - moved);
    balances.set(toId, (balances.get(toId) ?? 0) + moved);
  }
  return balances;
}

test('all that can come back comes back, no more than moved or than a wallet has', () => {
  fc.assert(
    fc.property(histories, ({ moved, own: amounts, wanted }) => {
      const own = new Map(WALLETS.map((id, index) => [id, amounts[index] ?? ZERO]));
      const { given, moves, total } = new MoneyTrail(moved).collect(PAYER, wanted, own);
      expect(Number(total)).toBe(Math.min(wanted, most(moved, own)));
      expect(sum([...given.values()])).toBe(total);
      const left = after(moves, own);
      for (const id of WALLETS) {
        const gave = given.get(id) ?? 0;
        expect(gave).toBeLessThanOrEqual(own.get(id) ?? 0);
        expect(left.get(id) ?? 0).toBe((own.get(id) ?? 0) - gave + (id === PAYER ? total : 0));
      }
      for (const move of moves) expect(move.amount).toBeLessThanOrEqual(net(moved, move.toId, move.fromId));
      expect(new Set(moves.map(({ fromId, toId }) => `${fromId} ${toId}`)).size).toBe(moves.length);
    }),
    { numRuns: 2_000 },
  );
});

test('what goes back reaches who gave it, and an ended wallet keeps nothing', () => {
  fc.assert(
    fc.property(histories, fc.subarray(WALLETS.slice(1)), ({ moved, own: amounts, wanted }, ended) => {
      const own = new Map(WALLETS.map((id, index) => [id, amounts[index] ?? ZERO]));
      const { given, moves, total } = new MoneyTrail(moved).collect(PAYER, wanted, own);
      const changes = after(
        returnedMoves(moves, (id) => ended.includes(id)),
        new Map([[PAYER, total]]),
      );
      expect(sum([...changes.values()])).toBe(total);
      for (const id of WALLETS) {
        const got = changes.get(id) ?? 0;
        expect(got).toBeGreaterThanOrEqual(0);
        if (ended.includes(id)) expect(got).toBe(0);
        else if (ended.length === 0) expect(got).toBe(given.get(id) ?? 0);
      }
    }),
    { numRuns: 2_000 },
  );
});

test('the nearest give first', () => {
  const move = (fromId: string, toId: string): Moved => ({
    fromId: fromId as AccountId,
    toId: toId as AccountId,
    amount: nanoUsd(10),
  });
  const own = new Map([
    ['b' as AccountId, nanoUsd(4)],
    ['c' as AccountId, nanoUsd(9)],
  ]);
  const trail = new MoneyTrail([move('a', 'b'), move('b', 'c')]);
  expect([...trail.collect(PAYER, nanoUsd(6), own).given]).toEqual([
    ['b' as AccountId, nanoUsd(4)],
    ['c' as AccountId, nanoUsd(2)],
  ]);
});
