import { expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { nanoUsd } from '../std/money.ts';
import { chatAdmission, FREE, IMAGE_PRICE, TOKEN_PRICE } from './testing/contract-harness.ts';
import { availableOf, decide, possibleCost, type AccountState, type Decision } from './decide.ts';
import {
  expectedAvailable,
  expectedBacklogAfter,
  expectedBacklogUs,
  expectedDecision,
} from './testing/model-rules.ts';
import type { AdmissionRequest } from './port.ts';
import { MAX_COUNT, type Price } from './price.ts';
import { MAX_TOKEN_PRICE } from '../std/price-dimensions.ts';

/** The rule against the rules on paper, where amounts, counts and clocks are at their bounds. */

const RUNS = 3_000;
const NOW_US = 1_900_000_000_000_000;
const TESTER = { id: 'acc_1' as never, hash: 'hash' as never };

const amount = fc.oneof(
  fc.nat(20_000),
  fc.constantFrom(0, 1, 255, 256, 257, 512, 612, 613, 2_099, 2_100, 2_101),
  fc.constant(1_000_000_000_000_000),
);

const state: fc.Arbitrary<AccountState> = fc
  .record({
    balance: amount,
    heldShare: fc.constantFrom(0, 0, 0.3, 1),
    owed: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, amount),
    openHolds: fc.nat(5),
    concurrent: fc.integer({ min: 1, max: 12 }),
    perMinute: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(1, 600, 777, 1_000_000)),
    aheadUs: fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom(-1, 0, 1) },
      fc.integer({ min: -1_000_000, max: 90_000_000 }),
      fc.nat(25).map((steps) => steps * 6_000_000),
    ),
    monthSpent: amount,
    monthlyLimit: fc.option(amount, { nil: undefined }),
    budget: fc.option(
      fc.record({
        amount,
        per: fc.constantFrom('day' as const, 'week' as const, 'month' as const, 'total' as const),
        used: fc.oneof(fc.constant(0), amount),
        held: fc.oneof(fc.constant(0), amount),
      }),
      { nil: undefined, freq: 2 },
    ),
    team: fc.option(
      fc.record({
        openHolds: fc.nat(8),
        concurrent: fc.integer({ min: 1, max: 30 }),
        perMinute: fc.constantFrom(1, 600, 1_000_000),
        arrivalUs: fc.integer({ min: NOW_US - 1_000_000, max: NOW_US + 70_000_000 }),
      }),
      { nil: undefined, freq: 2 },
    ),
  })
  .map(({ balance, heldShare, owed, aheadUs, monthSpent, monthlyLimit, budget, ...rest }) => ({
    ...rest,
    active: true,
    balance: nanoUsd(balance),
    held: nanoUsd(Math.floor(balance * heldShare)),
    owed: nanoUsd(owed),
    arrivalUs: NOW_US + aheadUs,
    monthSpent: nanoUsd(monthSpent),
    monthlyLimit: monthlyLimit === undefined ? undefined : nanoUsd(monthlyLimit),
    budget: budget && {
      per: budget.per,
      amount: nanoUsd(budget.amount),
      used: nanoUsd(budget.used),
      held: nanoUsd(budget.held),
    },
  }));

const DEAREST: Price = { kind: 'tokens', input: MAX_TOKEN_PRICE, cachedInput: 1, output: MAX_TOKEN_PRICE };
const CACHED_DEARER: Price = { kind: 'tokens', input: 7, cachedInput: 1_500_001, output: 333_333 };
const FREE_OUTPUT: Price = { kind: 'tokens', input: 3_000_001, cachedInput: 0, output: 0 };

const DEFAULT_CAP = 16_384;

const tokens: fc.Arbitrary<Partial<AdmissionRequest>> = fc
  .record({
    price: fc.constantFrom(TOKEN_PRICE, TOKEN_PRICE, CACHED_DEARER, DEAREST, FREE_OUTPUT, FREE),
    input: fc.oneof(fc.nat(500), fc.constantFrom(0, 100, MAX_COUNT)),
    output: fc.oneof(
      fc.integer({ min: 1, max: 3_000 }),
      fc.constantFrom(1, 255, 256, 257, DEFAULT_CAP, MAX_COUNT),
    ),
    choices: fc.integer({ min: 1, max: 3 }),
    counting: fc.constantFrom(undefined, 'if_dear' as const, 'if_dear' as const, 'first' as const),
    leastShare: fc.constantFrom(undefined, 256, 8_192),
  })
  .map(({ price, counting, leastShare, ...counts }) => ({
    price,
    counting,
    // The cap of a request without one of its own is never higher.
    leastShare: counts.output <= DEFAULT_CAP ? leastShare : undefined,
    ceiling: { kind: 'tokens', ...counts },
  }));
const images: fc.Arbitrary<Partial<AdmissionRequest>> = fc
  .integer({ min: 1, max: 10 })
  .map((count) => ({ price: IMAGE_PRICE, ceiling: { kind: 'images', images: count } }));
const request = fc.oneof({ weight: 4, arbitrary: tokens }, images).map((wish) => chatAdmission(TESTER, wish));

const SOLD = { kind: 'tokens', input: 1_000_000, cachedInput: 500_000, output: 2_000_000 } as const;

/** Nothing but the balance is in the way, and it is enough for the input and a part of the output. */
const nearlyEnough = fc
  .tuple(
    state,
    fc.nat(500),
    fc.integer({ min: 257, max: DEFAULT_CAP }),
    fc.constantFrom(undefined, 256),
    fc.nat(99),
  )
  .map(([account, input, output, leastShare, percent]): [AccountState, AdmissionRequest] => {
    const ceiling = { kind: 'tokens' as const, input, output, choices: 1 };
    const balance = (input * SOLD.input + (output * SOLD.output * percent) / 100) / 1_000_000;
    const free = {
      openHolds: 0,
      concurrent: 12,
      arrivalUs: NOW_US,
      monthlyLimit: undefined,
      budget: undefined,
      team: undefined,
    };
    return [
      { ...account, ...free, balance: nanoUsd(Math.ceil(balance)), held: nanoUsd(0), owed: nanoUsd(0) },
      chatAdmission(TESTER, { price: SOLD, ceiling, leastShare }),
    ];
  });
const asked = fc.oneof({ weight: 4, arbitrary: fc.tuple(state, request) }, nearlyEnough);

test('every decision is the one that the rules on paper make, with its amounts, its cap and its wait', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(asked, ([account, wanted]) => {
      const decision = decide(account, wanted, NOW_US);
      expect(decision).toEqual(onPaper(account, wanted));
      expect(BigInt(availableOf(account))).toBe(expectedAvailable(inBigInts(account)));
      const refusal = decision.kind === 'refuse' ? (decision.limit ?? decision.reason) : '';
      const name = decision.kind === 'admit' ? loweredOrNot(decision.output, wanted) : refusal;
      seen.set(name, (seen.get(name) ?? 0) + 1);
    }),
    { numRuns: RUNS },
  );
  // A property that never meets a case says nothing about it.
  expect([...seen.keys()].sort()).toEqual([
    'admitted',
    'budget_day',
    'budget_month',
    'budget_total',
    'budget_week',
    'concurrency_limit_exceeded',
    'count_first',
    'funds_on_hold',
    'insufficient_balance',
    'lowered',
    'month',
    'rate_limit_exceeded',
    'request_exceeds_balance',
    'shared',
  ]);
});

test('a request without a cap of its own leaves three quarters of what is free after its input, or has its least share', () => {
  fc.assert(
    fc.property(asked, ([account, wanted]) => {
      const decision = decide(account, wanted, NOW_US);
      const { ceiling, price, leastShare } = wanted;
      if (decision.kind === 'refuse' || leastShare === undefined) return;
      if (ceiling.kind !== 'tokens' || price.kind !== 'tokens') return;
      const free = BigInt(availableOf(account)) * 1_000_000n;
      const input = BigInt(ceiling.input) * BigInt(Math.max(price.input, price.cachedInput));
      const output = BigInt(decision.output) * BigInt(ceiling.choices) * BigInt(price.output);
      expect(decision.output).toBeLessThanOrEqual(ceiling.output);
      expect(decision.output).toBeGreaterThanOrEqual(Math.min(256, ceiling.output));
      if (decision.output > leastShare) expect(4n * output <= free - input).toBe(true);
    }),
    { numRuns: RUNS },
  );
});

test('an account that is closed is refused before all else', () => {
  fc.assert(
    fc.property(state, request, (account, wanted) => {
      const decision = decide({ ...account, active: false }, wanted, NOW_US);
      expect(decision).toMatchObject({ kind: 'refuse', reason: 'invalid_token', retryAfterMs: undefined });
    }),
  );
});

function loweredOrNot(output: number, { ceiling, leastShare }: AdmissionRequest): string {
  if (ceiling.kind !== 'tokens' || output === ceiling.output) return 'admitted';
  return leastShare === undefined ? 'lowered' : 'shared';
}

function onPaper(account: AccountState, wanted: AdmissionRequest): Decision {
  const { concurrent } = account;
  const { perMinute, backlogUs } = rateOf(account);
  const decision = expectedDecision(inBigInts(account), { perMinute, backlogUs }, concurrent, wanted);
  return decision.kind === 'refuse'
    ? { ...decision, required: nanoUsd(Number(decision.required)) }
    : {
        ...decision,
        hold: nanoUsd(Number(decision.hold)),
        arrivalUs: NOW_US + Number(expectedBacklogAfter({ perMinute, backlogUs })),
        teamArrivalUs: account.team && NOW_US + Number(expectedBacklogAfter(rateOf(account.team))),
      };
}

/** A clock that jumped back blocks for no longer than the whole limit. */
function rateOf({ perMinute, arrivalUs }: Pick<AccountState, 'perMinute' | 'arrivalUs'>) {
  return { perMinute, backlogUs: expectedBacklogUs(perMinute, BigInt(arrivalUs - NOW_US), 0n) };
}

function inBigInts({ balance, held, owed, openHolds, monthSpent, monthlyLimit, budget, team }: AccountState) {
  return {
    balance: BigInt(balance),
    held: BigInt(held),
    owed: BigInt(owed),
    openHolds,
    monthSpent: BigInt(monthSpent),
    monthlyLimit: monthlyLimit === undefined ? undefined : BigInt(monthlyLimit),
    budget: budget && {
      per: budget.per,
      amount: BigInt(budget.amount),
      used: BigInt(budget.used),
      held: BigInt(budget.held),
    },
    team: team && { openHolds: team.openHolds, concurrent: team.concurrent, rate: rateOf(team) },
  };
}

test('what cannot have cost anything is no cost, and the smallest amount is one', () => {
  expect(possibleCost(nanoUsd(0))).toMatchObject({ spent: undefined, lost: [], possible: nanoUsd(0) });
  const lost = [{ upstream: '', amount: nanoUsd(1) }];
  expect(possibleCost(nanoUsd(1))).toEqual({ spent: undefined, lost, possible: nanoUsd(1) });
});
