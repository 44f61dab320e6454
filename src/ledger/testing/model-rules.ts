import type { AdmissionRequest, Ceiling, ReachedLimit, RefusalReason } from '../port.ts';
import type { Price, Usage } from '../price.ts';

/**
 * The rules of the guide (docs/guide/money.md, docs/guide/limits-and-headers.md) written down a second time, for tests
 * only: big integers, and a search where the ledger divides. Nothing here may call the ledger, or a mistake would be on
 * both sides; types are all that is imported.
 */

const PRICED_TOKENS = 1_000_000n;
export const LARGEST_BALANCE = 1_000_000_000_000_000n;
/** Beyond every balance: a cost above it is shown as this. */
const LARGEST_COST = 8_000_000_000_000_000n;
const SMALLEST_CAP = 256;
const HELD_RETRY_MS = 1_000;
const MINUTE_US = 60_000_000n;

export interface ExpectedAccount {
  readonly balance: bigint;
  readonly held: bigint;
  /** Of refunds, until running requests release it. */
  readonly owed: bigint;
  readonly openHolds: number;
  readonly monthSpent: bigint;
  readonly monthlyLimit: bigint | undefined;
  /** What the account may spend of the money in a period. */
  readonly budget?: ExpectedBudget | undefined;
  /** What all accounts that spend the same money may do together. */
  readonly team?:
    | { readonly openHolds: number; readonly concurrent: number; readonly rate: ExpectedRate }
    | undefined;
}

export interface ExpectedBudget {
  readonly amount: bigint;
  readonly per: 'day' | 'week' | 'month' | 'total';
  readonly used: bigint;
  readonly held: bigint;
}

export interface ExpectedRate {
  readonly perMinute: number;
  /** How much of the limit is used up, in microseconds until it is whole again. */
  readonly backlogUs: bigint;
}

interface ExpectedRateState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

export type ExpectedDecision =
  | {
      readonly kind: 'admit';
      readonly hold: bigint;
      readonly output: number;
      readonly rate: ExpectedRateState;
    }
  | {
      readonly kind: 'refuse';
      readonly reason: RefusalReason;
      readonly retryAfterMs: number | undefined;
      readonly required: bigint;
      readonly rate: ExpectedRateState;
      readonly limit: ReachedLimit | undefined;
    };

/** In this order: rate, concurrency, whether the input must be counted, money. Only an admission changes anything. */
export function expectedDecision(
  account: ExpectedAccount,
  rate: ExpectedRate,
  concurrent: number,
  request: ExpectedRequest,
): ExpectedDecision {
  const { price, ceiling } = request;
  const asked = ceiling.kind === 'tokens' ? ceiling.output : 0;
  const least = Math.min(SMALLEST_CAP, asked);
  const required = expectedWorstCase(price, ceiling, least);
  const refuse = (
    reason: RefusalReason,
    retryAfterMs?: number,
    limit?: ReachedLimit,
    of = rate,
  ): ExpectedDecision => ({
    kind: 'refuse',
    reason,
    retryAfterMs,
    required,
    rate: expectedRateState(of),
    limit,
  });

  const { team, budget } = account;
  for (const one of team ? [rate, team.rate] : [rate]) {
    const waitUs = expectedWaitUs(one);
    if (waitUs > 0n) return refuse('rate_limit_exceeded', Number(roundedUp(waitUs, 1_000n)), undefined, one);
  }
  if (account.openHolds >= concurrent) return refuse('concurrency_limit_exceeded', HELD_RETRY_MS);
  if (team && team.openHolds >= team.concurrent) return refuse('concurrency_limit_exceeded', HELD_RETRY_MS);

  const monthLeft = expectedMonthLeft(account);
  const own = expectedOwn(account);
  const payable = monthLeft < own ? monthLeft : own;
  const budgetLeft = budget ? positive(budget.amount - budget.used) : LARGEST_COST;
  const owned = budgetLeft < payable ? budgetLeft : payable;
  if (request.counting !== undefined && owned > 0n && mustBeCounted(request, expectedAvailable(account)))
    return refuse('count_first');
  if (required > owned) {
    if (budget && budgetLeft < payable) return refuse('limit_reached', undefined, `budget_${budget.per}`);
    if (monthLeft < own) return refuse('limit_reached', undefined, 'month');
    return refuse(own === 0n ? 'insufficient_balance' : 'request_exceeds_balance');
  }
  const free = expectedAvailable(account);
  if (required > free) return refuse('funds_on_hold', HELD_RETRY_MS);

  const whole = largest(least, asked, (cap) => expectedWorstCase(price, ceiling, cap) <= free);
  const output = request.leastShare === undefined ? whole : Math.min(whole, expectedShare(request, free));
  return {
    kind: 'admit',
    hold: expectedWorstCase(price, ceiling, output),
    output,
    rate: expectedRateState({ ...rate, backlogUs: expectedBacklogAfter(rate) }),
  };
}

type ExpectedRequest = Pick<AdmissionRequest, 'price' | 'ceiling' | 'counting' | 'leastShare'>;

/**
 * Without a cap of its own a request leaves three quarters of what is free after its input to others. It may have so many
 * tokens all the same, as far as they can be paid.
 */
function expectedShare({ price, ceiling, leastShare = 0 }: ExpectedRequest, free: bigint): number {
  if (price.kind !== 'tokens' || ceiling.kind !== 'tokens') return 0;
  const leavesEnough = (cap: number): boolean => {
    const afterInput = free * PRICED_TOKENS - expectedInput(price, ceiling);
    return 4n * BigInt(cap) * BigInt(ceiling.choices) * BigInt(price.output) <= afterInput;
  };
  return Math.max(leastShare, largest(0, ceiling.output, leavesEnough));
}

/** In millionths of a nano-USD. */
function expectedInput(
  price: Extract<Price, { kind: 'tokens' }>,
  { input }: { readonly input: number },
): bigint {
  return BigInt(input) * BigInt(price.input > price.cachedInput ? price.input : price.cachedInput);
}

/** The bound on the input may take 5 % of what is free, and only if the output cap fits beside it. */
function mustBeCounted({ price, ceiling, counting, leastShare }: ExpectedRequest, free: bigint): boolean {
  if (counting === 'first') return true;
  const most = ceiling.kind === 'tokens' ? ceiling.output : 0;
  const asked = leastShare !== undefined && leastShare < most ? leastShare : most;
  return (
    expectedWorstCase(price, ceiling, asked) > free || expectedWorstCase(price, ceiling, 0) * 100n > free * 5n
  );
}

/** What may be spent at this moment. */
export function expectedAvailable(account: Omit<ExpectedAccount, 'openHolds'>): bigint {
  const monthLeft = expectedMonthLeft(account);
  const own = expectedOwn(account);
  const owned = monthLeft < own ? monthLeft : own;
  const free = positive(owned - account.held);
  const { budget } = account;
  const ofBudget = budget ? positive(positive(budget.amount - budget.used) - budget.held) : free;
  return ofBudget < free ? ofBudget : free;
}

function positive(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}

/** The balance without what goes back to a payer. */
function expectedOwn({ balance, owed }: Pick<ExpectedAccount, 'balance' | 'owed'>): bigint {
  return balance > owed ? balance - owed : 0n;
}

function expectedMonthLeft({
  monthSpent,
  monthlyLimit,
}: Pick<ExpectedAccount, 'monthSpent' | 'monthlyLimit'>): bigint {
  const limit = monthlyLimit ?? LARGEST_BALANCE;
  return limit > monthSpent ? limit - monthSpent : 0n;
}

/** The price of what was used, rounded up once. */
export function expectedCost(price: Price, usage: Usage): bigint {
  if (price.kind === 'images') return shown(BigInt(price.image) * BigInt(usage.images));
  const fresh = BigInt(usage.input) - BigInt(usage.cached);
  const total =
    fresh * BigInt(price.input) +
    BigInt(usage.cached) * BigInt(price.cachedInput) +
    BigInt(usage.output) * BigInt(price.output);
  return shown(roundedUp(total, PRICED_TOKENS));
}

/** All of the ceiling, whichever of the two input prices is the higher one. */
function expectedWorstCase(price: Price, ceiling: Ceiling, cap: number): bigint {
  if (price.kind === 'images')
    return shown(BigInt(price.image) * BigInt(ceiling.kind === 'images' ? ceiling.images : 0));
  if (ceiling.kind === 'images') return 0n;
  const output = BigInt(cap) * BigInt(ceiling.choices);
  return shown(roundedUp(expectedInput(price, ceiling) + output * BigInt(price.output), PRICED_TOKENS));
}

/** One request comes back every step; a minute's worth may come at once. */
function stepUs(perMinute: number): bigint {
  return roundedUp(MINUTE_US, BigInt(perMinute));
}

function burstUs(perMinute: number): bigint {
  return stepUs(perMinute) * BigInt(perMinute);
}

/** How long until one more request fits. */
function expectedWaitUs({ perMinute, backlogUs }: ExpectedRate): bigint {
  const over = backlogUs + stepUs(perMinute) - burstUs(perMinute);
  return over > 0n ? over : 0n;
}

/** The backlog once a request was admitted. */
export function expectedBacklogAfter({ perMinute, backlogUs }: ExpectedRate): bigint {
  return backlogUs + stepUs(perMinute);
}

function expectedRateState({ perMinute, backlogUs }: ExpectedRate): ExpectedRateState {
  const fits = (count: number): boolean =>
    backlogUs + BigInt(count) * stepUs(perMinute) <= burstUs(perMinute);
  return {
    limit: perMinute,
    remaining: largest(0, perMinute, fits),
    resetMs: Number(roundedUp(backlogUs, 1_000n)),
  };
}

/** What is left of a backlog after some time. It can be no more than the whole limit. */
export function expectedBacklogUs(perMinute: number, backlogUs: bigint, elapsedUs: bigint): bigint {
  const left = backlogUs - elapsedUs;
  if (left < 0n) return 0n;
  return left > burstUs(perMinute) ? burstUs(perMinute) : left;
}

function roundedUp(amount: bigint, unit: bigint): bigint {
  return amount / unit + (amount % unit === 0n ? 0n : 1n);
}

function shown(cost: bigint): bigint {
  return cost > LARGEST_COST ? LARGEST_COST : cost;
}

/** The largest number from `low` to `high` that fits, where `low` does and whatever fits makes all below it fit. */
function largest(low: number, high: number, fits: (value: number) => boolean): number {
  let [fitting, above] = [low, high + 1];
  while (above - fitting > 1) {
    const middle = Math.floor((fitting + above) / 2);
    if (fits(middle)) fitting = middle;
    else above = middle;
  }
  return fitting;
}
