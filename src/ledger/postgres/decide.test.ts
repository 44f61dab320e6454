import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { postgresHarness, type PostgresHarness } from '../../../test/support/postgres-ledger.ts';
import { addNano, nanoUsd } from '../../std/money.ts';
import {
  addAccount,
  addTeam,
  chatAdmission,
  FREE,
  IMAGE_PRICE,
  nth,
  TOKEN_PRICE,
  type TestAccount,
} from '../testing/contract-harness.ts';
import { availableOf, decide, type AccountState } from '../decide.ts';
import type { Admission, AdmissionRequest } from '../port.ts';
import { MAX_COUNT, type Price } from '../price.ts';
import { MAX_TOKEN_PRICE } from '../../std/price-dimensions.ts';

const RUNS = 500;
/** For each that is decided in one batch. */
const MOST_IN_PARTS = 20;
const DEADLINE_MS = 180_000;

describe('a batch in the database', () => {
  let harness: PostgresHarness;
  beforeAll(async () => {
    harness = await postgresHarness();
  }, DEADLINE_MS);
  afterAll(() => harness.close(), DEADLINE_MS);

  test(
    'is decided as the rule decides its requests one after another, whatever the accounts and the requests',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(party, { minLength: 1, maxLength: 3 }), async (parties) => {
          const lists = await Promise.all(
            parties.map(async ({ before, wishes }) => {
              const account = await addAccountLike(harness, before);
              return wishes.map((wish) => chatAdmission(account, wish));
            }),
          );
          // Those of different accounts come mixed, each account's own in their order.
          const all = lists.flatMap((list) => list.map((request, turn) => ({ request, turn })));
          const mixed = all.toSorted((one, other) => one.turn - other.turn).map(({ request }) => request);
          const sentBefore = batchesSent(harness);
          const answers = await Promise.all(mixed.map((request) => harness.ledger().admit(request)));
          // A slow database is asked less at a time, and by the next batch the rate has recovered a little.
          fc.pre(batchesSent(harness) === sentBefore + 1);
          for (const [index, { before }] of parties.entries()) {
            const requests = lists[index] ?? [];
            const own = requests.map((request) => answers[mixed.indexOf(request)]);
            expect(own.map((answer) => answer && withoutTime(answer))).toEqual(
              oneAfterAnother(before, requests),
            );
          }
        }),
        { numRuns: RUNS, maxSkipsPerRun: MOST_IN_PARTS },
      );
    },
    DEADLINE_MS,
  );
});

function batchesSent(harness: PostgresHarness): number {
  const { batches } = harness.ledger().load();
  return batches.find(({ name }) => name === 'admissions')?.sizes.count ?? 0;
}

async function addAccountLike(harness: PostgresHarness, state: AccountState): Promise<TestAccount> {
  if (state.team) return await addMemberLike(harness, state, state.team);
  const account = await addAccount(harness);
  await harness.store.db
    .updateTable('account')
    .set({
      ...budgetColumns(state),
      balance: state.balance,
      held: state.held,
      owed: state.owed,
      open_holds: state.openHolds,
      monthly_limit: state.monthlyLimit ?? null,
      month: 203_005,
      month_spent: state.monthSpent,
      chat_per_minute: state.perMinute,
      images_per_minute: state.perMinute,
      concurrent: state.concurrent,
    })
    .where('id', '=', account.id)
    .execute();
  return account;
}

async function addMemberLike(
  harness: PostgresHarness,
  state: AccountState,
  team: NonNullable<AccountState['team']>,
): Promise<TestAccount> {
  const { id, apps } = await addTeam(harness, 0, 1);
  const app = nth(apps, 0);
  const limits = ({ perMinute, concurrent }: Pick<AccountState, 'perMinute' | 'concurrent'>) => ({
    chat_per_minute: perMinute,
    images_per_minute: perMinute,
    concurrent,
  });
  await harness.store.db
    .updateTable('account')
    .set({ ...budgetColumns(state), ...limits(state), open_holds: state.openHolds })
    .where('id', '=', app.id)
    .execute();
  await harness.store.db
    .updateTable('account')
    .set({
      ...limits(team),
      balance: state.balance,
      held: state.held,
      owed: state.owed,
      open_holds: team.openHolds,
      monthly_limit: state.monthlyLimit ?? null,
      month: 203_005,
      month_spent: state.monthSpent,
    })
    .where('id', '=', id)
    .execute();
  return app;
}

/** Of a period that no clock of the test reaches the end of. */
function budgetColumns({ budget }: AccountState) {
  if (!budget) return {};
  const { amount, per, used, held } = budget;
  const from = Date.UTC(2031, 0, 1);
  return { budget: amount, budget_per: per, budget_from: from, budget_used: used, budget_held: held };
}

/** Accounts of all kinds: rich, poor, limited, busy. Amounts up to the largest, so that products exceed 2^63. */
const state: fc.Arbitrary<AccountState> = fc
  .record({
    balance: fc.oneof(fc.nat(20_000), fc.constantFrom(0, 612, 2_100), fc.constant(1_000_000_000_000_000)),
    heldPart: fc.constantFrom(0, 0, 0.3, 1),
    owed: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(10_000)),
    openHolds: fc.nat(4),
    perMinute: fc.constantFrom(1, 2, 3, 4, 600, 1_000_000),
    concurrent: fc.integer({ min: 1, max: 10 }),
    monthSpent: fc.nat(5_000),
    monthlyLimit: fc.option(fc.oneof(fc.nat(30_000), fc.constant(1_000_000_000_000_000)), { nil: undefined }),
    budget: fc.option(
      fc.record({
        amount: fc.oneof(fc.nat(30_000), fc.constant(1_000_000_000_000_000)),
        per: fc.constantFrom('day' as const, 'total' as const),
        used: fc.oneof(fc.constant(0), fc.nat(10_000)),
        held: fc.oneof(fc.constant(0), fc.nat(10_000)),
      }),
      { nil: undefined, freq: 2 },
    ),
    team: fc.option(
      fc.record({
        openHolds: fc.nat(8),
        concurrent: fc.integer({ min: 1, max: 20 }),
        perMinute: fc.constantFrom(2, 3, 600, 1_000_000),
        arrivalUs: fc.constant(0),
      }),
      { nil: undefined, freq: 2 },
    ),
  })
  .map(({ heldPart, balance, owed, monthSpent, monthlyLimit, budget, ...rest }) => ({
    ...rest,
    active: true,
    balance: nanoUsd(balance),
    held: nanoUsd(Math.floor(balance * heldPart)),
    owed: nanoUsd(owed),
    monthSpent: nanoUsd(monthSpent),
    monthlyLimit: monthlyLimit === undefined ? undefined : nanoUsd(monthlyLimit),
    arrivalUs: 0,
    budget: budget && {
      per: budget.per,
      amount: nanoUsd(budget.amount),
      used: nanoUsd(budget.used),
      held: nanoUsd(budget.held),
    },
  }));

const DEAREST: Price = { kind: 'tokens', input: MAX_TOKEN_PRICE, cachedInput: 1, output: MAX_TOKEN_PRICE };
const CACHED_DEARER: Price = { kind: 'tokens', input: 7, cachedInput: 1_500_001, output: 333_333 };

const plain: fc.Arbitrary<Partial<AdmissionRequest>> = fc
  .record({
    input: fc.constantFrom(0, 10, 100, 333),
    output: fc.constantFrom(1, 256, 1_000, 16_384),
    counting: fc.constantFrom(undefined, 'if_dear' as const),
    leastShare: fc.constantFrom(undefined, 256, 8_192),
  })
  .map(({ counting, leastShare, ...counts }) => ({
    counting,
    leastShare,
    ceiling: { kind: 'tokens', choices: 1, ...counts },
  }));

const extreme: fc.Arbitrary<Partial<AdmissionRequest>> = fc
  .record({
    price: fc.constantFrom<Price>(TOKEN_PRICE, CACHED_DEARER, DEAREST, FREE),
    input: fc.oneof(fc.nat(500), fc.constant(MAX_COUNT)),
    output: fc.oneof(fc.integer({ min: 1, max: 3_000 }), fc.constantFrom(1, 255, 256, 257, MAX_COUNT)),
    choices: fc.integer({ min: 1, max: 3 }),
    model: fc.constantFrom('a', 'b'),
    counting: fc.constantFrom(undefined, 'if_dear' as const, 'first' as const),
    leastShare: fc.constantFrom(undefined, 256, 8_192),
  })
  .map(({ price, model, counting, leastShare, ...counts }) => ({
    price,
    model,
    counting,
    leastShare,
    ceiling: { kind: 'tokens', ...counts },
  }));

const images: fc.Arbitrary<Partial<AdmissionRequest>> = fc
  .integer({ min: 1, max: 10 })
  .map((count) => ({ price: IMAGE_PRICE, ceiling: { kind: 'images', images: count } }));

const wishes = fc.oneof(
  fc.array(plain, { minLength: 1, maxLength: 6 }),
  fc.array(fc.oneof(plain, extreme, images), { minLength: 1, maxLength: 12 }),
);

/** An account and what it asks for. */
const party = fc.record({ before: state, wishes });

function oneAfterAnother(before: AccountState, requests: readonly AdmissionRequest[]): object[] {
  let account = before;
  return requests.map((request) => {
    const decision = decide(account, request, 0);
    if (decision.kind === 'refuse') {
      const { reason, required, rate, limit } = decision;
      return {
        kind: 'refused',
        reason,
        limit,
        required,
        remaining: rate.remaining,
        available: availableOf(account),
      };
    }
    account = {
      ...account,
      held: addNano(account.held, decision.hold),
      openHolds: account.openHolds + 1,
      arrivalUs: decision.arrivalUs,
      budget: account.budget && { ...account.budget, held: addNano(account.budget.held, decision.hold) },
      team: account.team && {
        ...account.team,
        openHolds: account.team.openHolds + 1,
        arrivalUs: decision.teamArrivalUs ?? 0,
      },
    };
    const { hold: held, output, rate } = decision;
    return { kind: 'admitted', held, output, remaining: rate.remaining, available: availableOf(account) };
  });
}

/** All that does not depend on the microsecond in which the database decided. */
function withoutTime(admission: Admission): object {
  const { kind, available, rate } = admission;
  const remaining = rate?.remaining;
  if (admission.kind === 'admitted')
    return { kind, held: admission.held, output: admission.output, remaining, available };
  const { reason, required, limit } = admission;
  return { kind, reason, limit, required, remaining, available };
}
