import { periodEnd, type Period } from '../std/calendar.ts';
import { Fault } from '../std/fault.ts';
import { addNano, MAX_BALANCE, minNano, nanoUsd, subtractNano, ZERO, type NanoUsd } from '../std/money.ts';
import type {
  Admission,
  AdmissionRequest,
  Attempt,
  AttemptCost,
  Ceiling,
  Ending,
  NewEntry,
  Outcome,
  RateState,
  ReachedLimit,
  RefusalReason,
  WalletMove,
} from './port.ts';
import {
  affordableOutput,
  checkedUsage,
  costOf,
  MAX_COUNT,
  worstCase,
  type Price,
  type Usage,
} from './price.ts';
import { MAX_COST } from './priced-parts.ts';

/** An account as the decision sees it, read under the lock that will write it. */
export interface AccountState {
  readonly active: boolean;
  readonly balance: NanoUsd;
  readonly held: NanoUsd;
  /** What goes back to a payer as soon as running requests release it. */
  readonly owed: NanoUsd;
  readonly openHolds: number;
  /** Theoretical arrival time of the request's rate limit, microseconds. */
  readonly arrivalUs: number;
  readonly perMinute: number;
  readonly concurrent: number;
  /** Charges of the current month. */
  readonly monthSpent: NanoUsd;
  readonly monthlyLimit: NanoUsd | undefined;
  /** Of the account itself, whoever pays. */
  readonly budget?: BudgetState | undefined;
  /** What all accounts of a team may do together; absent where the account pays for itself. */
  readonly team?: TeamState | undefined;
}

/** What an account may spend in a period, and what it has spent and holds of it. */
export interface BudgetState {
  readonly amount: NanoUsd;
  readonly per: Period;
  readonly used: NanoUsd;
  readonly held: NanoUsd;
}

/** Of the team's limits. Its money is that of the {@link AccountState}. */
export type TeamState = Pick<AccountState, 'openHolds' | 'arrivalUs' | 'perMinute' | 'concurrent'>;

export type Decision =
  | {
      readonly kind: 'admit';
      readonly hold: NanoUsd;
      readonly output: number;
      readonly arrivalUs: number;
      /** The team's, where there is one. */
      readonly teamArrivalUs?: number | undefined;
      readonly rate: RateState;
    }
  | {
      readonly kind: 'refuse';
      readonly reason: RefusalReason;
      readonly retryAfterMs: number | undefined;
      readonly required: NanoUsd;
      readonly rate: RateState;
      /** Which limit is reached; absent for other reasons. */
      readonly limit?: ReachedLimit | undefined;
    };

/** A cap that the balance cannot afford is lowered, but never below this: a shorter answer would be useless. */
export const OUTPUT_FLOOR = 256;
/** Running requests release their holds within seconds; there is no better guess. */
export const HOLD_RETRY_MS = 1_000;

/**
 * The whole admission rule as a pure function. The order is fixed: status, rate, concurrency, money; the account's own
 * limits before its team's. The Postgres function mirrors it line by line, and the model test holds both against this one.
 */
export function decide(account: AccountState, request: AdmissionRequest, nowUs: number): Decision {
  const { team } = account;
  const rate = rateDecision(account, nowUs);
  const teamRate = team && rateDecision(team, nowUs);
  const required = cheapestUseful(request);
  const refuse = (
    reason: RefusalReason,
    retryAfterMs?: number,
    limit?: ReachedLimit,
    before = rate.before,
  ): Decision => ({ kind: 'refuse', reason, retryAfterMs, required, rate: before, limit });
  if (!account.active) return refuse('invalid_token');
  if (rate.waitUs > 0) return refuse('rate_limit_exceeded', Math.ceil(rate.waitUs / 1000));
  if (teamRate && teamRate.waitUs > 0)
    return refuse('rate_limit_exceeded', Math.ceil(teamRate.waitUs / 1000), undefined, teamRate.before);
  if (account.openHolds >= account.concurrent || (team && team.openHolds >= team.concurrent))
    return refuse('concurrency_limit_exceeded', HOLD_RETRY_MS);

  const share = shareOf(account, request);
  if (share.kind === 'count_first') return refuse('count_first');
  if (share.kind === 'short') return refuse(share.reason, share.retryAfterMs, share.limit);
  const { hold, output } = share;
  return {
    kind: 'admit',
    hold,
    output,
    arrivalUs: rate.nextUs,
    teamArrivalUs: teamRate?.nextUs,
    rate: rate.after,
  };
}

/** What a request would hold of an account's money. */
export type HeldShare =
  | { readonly kind: 'fits'; readonly hold: NanoUsd; readonly output: number }
  | { readonly kind: 'count_first' }
  | {
      readonly kind: 'short';
      readonly reason: RefusalReason;
      readonly retryAfterMs?: number | undefined;
      readonly limit?: ReachedLimit | undefined;
    };

/** The part of the admission rule that is about money. */
export function shareOf(account: Money, request: SharedRequest): HeldShare {
  const money = spendable(account);
  const { full, fullFrom, required, uncounted } = holdRange(request);
  if (money.withoutHolds > 0 && uncounted > money.now) return { kind: 'count_first' };
  if (fullFrom <= money.now) return { kind: 'fits', hold: full, output: outputOf(request.ceiling) };
  const output = affordableCap(request, money.now);
  if (output !== undefined) return { kind: 'fits', hold: holdFor(request, output), output };
  if (required <= money.withoutHolds)
    return { kind: 'short', reason: 'funds_on_hold', retryAfterMs: HOLD_RETRY_MS };
  if (money.bound === undefined) return { kind: 'short', reason: shortReason(money.withoutHolds) };
  return { kind: 'short', reason: 'limit_reached', limit: money.bound };
}

/** GCRA with a burst of one minute's worth. A clock that jumped back can block for at most that burst. */
export function rateDecision(account: Pick<AccountState, 'arrivalUs' | 'perMinute'>, nowUs: number) {
  const limit = account.perMinute;
  const stepUs = Math.ceil(60_000_000 / limit);
  const burstUs = stepUs * limit;
  const arrivalUs = Math.min(Math.max(account.arrivalUs, nowUs), nowUs + burstUs);
  const nextUs = arrivalUs + stepUs;
  return {
    nextUs,
    waitUs: Math.max(0, nextUs - nowUs - burstUs),
    before: rateState(limit, arrivalUs, nowUs),
    after: rateState(limit, nextUs, nowUs),
  };
}

export function rateState(limit: number, arrivalUs: number, nowUs: number): RateState {
  const stepUs = Math.ceil(60_000_000 / limit);
  const backlogUs = Math.min(Math.max(0, arrivalUs - nowUs), stepUs * limit);
  return {
    limit,
    remaining: Math.floor((stepUs * limit - backlogUs) / stepUs),
    resetMs: Math.ceil(backlogUs / 1000),
  };
}

/** What an account could spend at this moment: balance without what is owed, or the month's rest, less what is held. */
export function availableOf(account: Money): NanoUsd {
  return spendable(account).now;
}

/** What no running request holds and nobody is owed, whatever the month's limit says. */
export function freeOf({ balance, held, owed }: Pick<Money, 'balance' | 'held' | 'owed'>): NanoUsd {
  return nanoUsd(Math.max(0, balance - held - owed));
}

/** Whose money it is, and how much of it the account may spend. */
export type Money = Pick<
  AccountState,
  'balance' | 'held' | 'owed' | 'monthSpent' | 'monthlyLimit' | 'budget'
>;

interface Spendable {
  readonly now: NanoUsd;
  readonly withoutHolds: NanoUsd;
  /** What leaves less than the balance does. */
  readonly bound: ReachedLimit | undefined;
}

function spendable(account: Money): Spendable {
  const limit = account.monthlyLimit ?? MAX_BALANCE;
  const monthLeft = Math.max(0, limit - account.monthSpent);
  const own = Math.max(0, account.balance - account.owed);
  const limitBinds = monthLeft < own;
  const whole = limitBinds ? monthLeft : own;
  const now = Math.max(0, whole - account.held);
  const { budget } = account;
  if (budget === undefined)
    return { withoutHolds: nanoUsd(whole), now: nanoUsd(now), bound: limitBinds ? 'month' : undefined };
  const budgetLeft = Math.max(0, budget.amount - budget.used);
  const budgetNow = Math.max(0, budgetLeft - budget.held);
  if (budgetLeft < whole)
    return {
      withoutHolds: nanoUsd(budgetLeft),
      now: lesser(now, budgetNow),
      bound: BUDGET_LIMITS[budget.per],
    };
  return {
    withoutHolds: nanoUsd(whole),
    now: lesser(now, budgetNow),
    bound: limitBinds ? 'month' : undefined,
  };
}

function lesser(one: number, other: number): NanoUsd {
  return nanoUsd(Math.min(one, other));
}

/** When the next period of a limit begins. */
export function limitEnd(limit: ReachedLimit, nowMs: number): number | undefined {
  const [, per = limit] = limit.split('_');
  return periodEnd(per as Period, nowMs);
}

const BUDGET_LIMITS: Readonly<Record<Period, ReachedLimit>> = {
  day: 'budget_day',
  week: 'budget_week',
  month: 'budget_month',
  total: 'budget_total',
};

/** An account without any balance is told to top up; one with some is told to ask for less. */
function shortReason(balance: NanoUsd): RefusalReason {
  return balance === 0 ? 'insufficient_balance' : 'request_exceeds_balance';
}

/** What a request may use, and at what price. */
type Priced = Pick<AdmissionRequest, 'price' | 'ceiling' | 'leastShare'>;

/** What the money of an account is asked for. */
type SharedRequest = Priced & Pick<AdmissionRequest, 'counting'>;

/** A request without a cap of its own leaves the rest of what is free to others. */
export const SHARE_PARTS = 4;

/** The output cap that fits into `available`, or `undefined` when even the smallest useful one does not. */
export function affordableCap(request: Priced, available: NanoUsd): number | undefined {
  const { ceiling, price } = request;
  // Without output there is nothing to lower.
  if (ceiling.kind === 'images' || ceiling.output === 0)
    return holdFor(request, 0) <= available ? outputOf(ceiling) : undefined;
  const affordable = Math.floor(affordableOutput(price, ceiling, available) / ceiling.choices);
  if (affordable < Math.min(OUTPUT_FLOOR, ceiling.output)) return undefined;
  const share = Math.max(leastShareOf(request), Math.floor(affordable / SHARE_PARTS));
  return Math.min(affordable, share, ceiling.output);
}

/** A request with a cap of its own may hold all of it. */
export function leastShareOf({ leastShare }: Pick<AdmissionRequest, 'leastShare'>): number {
  return leastShare ?? MAX_COUNT;
}

/** The amounts of a request that do not depend on the account. */
export function holdRange(request: SharedRequest): HoldRange {
  const output = outputOf(request.ceiling);
  const full = holdFor(request, output);
  return {
    full,
    fullFrom: output > leastShareOf(request) ? holdFor(request, output * SHARE_PARTS) : full,
    required: cheapestUseful(request),
    uncounted: neededUncounted(request),
  };
}

export interface HoldRange {
  /** The hold for its full output cap. */
  readonly full: NanoUsd;
  /** What must be free so that it gets its full output cap. */
  readonly fullFrom: NanoUsd;
  /** The smallest useful hold. */
  readonly required: NanoUsd;
  /** What must be free so that the input need not be counted; 0 if it was counted, or cannot be. */
  readonly uncounted: number;
}

/**
 * The share of what is free that a loose bound on the input may hold: a larger hold would refuse honest requests
 * beside it.
 */
const LOOSE_PARTS = 20;

function neededUncounted(request: SharedRequest): number {
  if (request.counting === undefined) return 0;
  if (request.counting === 'first') return Number.MAX_SAFE_INTEGER;
  const input = Math.min(holdFor(request, 0) * LOOSE_PARTS, Number.MAX_SAFE_INTEGER);
  return Math.max(holdFor(request, Math.min(outputOf(request.ceiling), leastShareOf(request))), input);
}

export function cheapestUseful(request: Priced): NanoUsd {
  return holdFor(request, Math.min(OUTPUT_FLOOR, outputOf(request.ceiling)));
}

export function holdFor({ price, ceiling }: Priced, output: number): NanoUsd {
  return worstCase(price, ceiling, output);
}

function outputOf(ceiling: Ceiling): number {
  return ceiling.kind === 'tokens' ? ceiling.output : 0;
}

/** What closing a hold means in money, the same for both stores. */
export interface Charge {
  readonly charged: NanoUsd;
  /** What the backend used beyond the hold. */
  readonly overrun: NanoUsd;
}

export const NO_CHARGE: Charge = { charged: ZERO, overrun: ZERO };

/** Price snapshot × usage, never more than the hold: the account promised no more. */
export function chargeFor(price: Price, held: NanoUsd, usage: Usage): Charge {
  const cost = costOf(price, checkedUsage(usage));
  const charged = minNano(cost, held);
  return { charged, overrun: subtractNano(cost, charged) };
}

/** The account under which the sums of all accounts together are kept. */
export const EVERYBODY = '';
/**
 * The account of the operator's losses. What is booked is rounded down to what is left below its ceiling, so that no
 * sum exceeds 2^53.
 */
export const OVERRUN_ACCOUNT = 'acc_overrun';
export const OVERRUN_CEILING = 8_000_000_000_000_000;

export function bookableOverrun(overrun: NanoUsd, bookedSoFar: number): NanoUsd {
  return nanoUsd(Math.min(overrun, Math.max(0, OVERRUN_CEILING - bookedSoFar)));
}

/** A client that leaves is no failure of the service; everything else that did not complete is. */
export function isFailure(outcome: Outcome): boolean {
  return outcome !== 'completed' && outcome !== 'client_left';
}

const MAX_STORED_MS = 2_147_483_647;

/** The ledger stores whole milliseconds, however times were measured. */
export function storedMs(ms: number): number {
  return Math.min(Math.max(0, Math.round(ms)), MAX_STORED_MS);
}

/**
 * What a receipt says besides its columns: rarely needed, so it is one short JSON text. Absent when there is nothing.
 */
interface StoredDetail {
  readonly error?: string | undefined;
  readonly finish?: string | undefined;
  readonly attempts?: readonly StoredAttempt[] | undefined;
}

/** The upstream is left out (0) where it is the receipt's own, as it nearly always is. */
export type StoredAttempt = readonly [
  result: number,
  durationMs: number,
  upstream?: string | 0,
  reason?: string | 0,
  cost?: number,
  basis?: number,
];

export const ATTEMPT_RESULTS: readonly Attempt['result'][] = ['served', 'failed', 'skipped'];

export const COST_BASES: readonly AttemptCost['basis'][] = ['reported', 'priced', 'possible'];

export function detailText({ errorCode, finishReason, attempts, upstream }: Ending): string | null {
  if (errorCode === undefined && finishReason === undefined && attempts.length === 0) return null;
  const detail: StoredDetail = {
    error: errorCode,
    finish: finishReason,
    attempts: attempts.length === 0 ? undefined : attempts.map((attempt) => stored(attempt, upstream)),
  };
  return JSON.stringify(detail);
}

function stored(attempt: Attempt, receiptUpstream: string | undefined): StoredAttempt {
  const { result, durationMs, reason } = attempt;
  const upstream = attempt.upstream === receiptUpstream ? 0 : attempt.upstream;
  const code = ATTEMPT_RESULTS.indexOf(result);
  if (attempt.cost !== undefined) {
    const { amount, basis } = attempt.cost;
    return [code, durationMs, upstream, reason ?? 0, amount, COST_BASES.indexOf(basis)];
  }
  if (reason !== undefined) return [code, durationMs, upstream, reason];
  return upstream === 0 ? [code, durationMs] : [code, durationMs, upstream];
}

/** What the attempts of a request cost the operator. */
export interface RequestCost {
  /** Of the attempt that served; `undefined`: not known. */
  readonly spent: NanoUsd | undefined;
  /** Of each failed attempt that may be billed all the same, and of all of them together. */
  readonly lost: readonly { readonly upstream: string; readonly amount: NanoUsd }[];
  readonly possible: NanoUsd;
}

const NOTHING_SPENT: RequestCost = { spent: undefined, lost: [], possible: ZERO };

export function requestCost({ attempts }: Pick<Ending, 'attempts'>): RequestCost {
  if (attempts.every(({ cost }) => cost === undefined)) return NOTHING_SPENT;
  const served = attempts.find(({ result }) => result === 'served');
  const lost = attempts.flatMap(({ upstream, result, cost }) =>
    cost === undefined || result === 'served' ? [] : [{ upstream, amount: cost.amount }],
  );
  return {
    spent: served?.cost?.amount,
    lost,
    possible: lost.reduce((sum, { amount }) => minNano(addNano(sum, amount), MAX_COST), ZERO),
  };
}

/** Of a request whose end nobody saw, at a backend that nobody knows any more. */
export function possibleCost(amount: NanoUsd): RequestCost {
  return amount === 0
    ? NOTHING_SPENT
    : { spent: undefined, lost: [{ upstream: '', amount }], possible: amount };
}

/** Entries of requests say what was sold. */
export function causeOf(request: { readonly endpoint: string; readonly model: string }): string {
  return `${request.endpoint}/${request.model}`;
}

export const REQUEST_ACTOR = 'request';

/** Of the address of an account that was removed; addresses of this domain exist nowhere. */
export const REMOVED_DOMAIN = '@removed.invalid';

export function removedEmail(accountId: string): string {
  return `${accountId}${REMOVED_DOMAIN}`;
}

/** The balance after an entry from outside a request, or the fault that says why it cannot be. */
export function balanceAfter(
  account: Pick<AccountState, 'balance' | 'held' | 'owed'> & { readonly isRemoved: boolean },
  { kind, amount }: Pick<NewEntry, 'kind' | 'amount'>,
): NanoUsd {
  if (!Number.isSafeInteger(amount) || amount === 0)
    throw refused('The amount is not a valid amount of money.');
  if (amount < 0 && kind !== 'adjustment') throw refused(`A ${kind} cannot take money away.`);
  if (account.isRemoved && amount > 0)
    throw new Fault('invalid_field', 'This account was removed.', { param: 'account' });
  if (account.balance + amount > MAX_BALANCE)
    throw refused('The balance would exceed the largest balance allowed.');
  if (amount < 0 && account.balance + amount < account.held + account.owed) {
    throw refused('The balance would fall below zero or below what running requests hold.');
  }
  return nanoUsd(account.balance + amount);
}

/** The two entries of a move of money. */
export function moveEntries({
  id,
  fromId,
  toId,
  amount,
  outCause,
  inCause,
  actor,
}: WalletMove): readonly [NewEntry, NewEntry] {
  const kind = 'adjustment';
  return [
    { accountId: fromId, kind, amount: 0 - amount, cause: outCause, actor, once: `move:${id}:out` },
    { accountId: toId, kind, amount, cause: inCause, actor, once: `move:${id}:in` },
  ];
}

/** The texts in the entry of a redeemed code; `once` prevents that a code is credited twice. */
export function redeemedEntry(codeHash: string, batch: string): Pick<NewEntry, 'once' | 'cause' | 'actor'> {
  return { once: `code:${codeHash}`, cause: `code of ${batch}`, actor: `code:${codeHash.slice(0, 12)}` };
}

function refused(message: string): Fault {
  return new Fault('invalid_field', message, { param: 'amount' });
}

/** A disabled account gets the same answer as an unknown token. */
export const UNKNOWN_CALLER: Extract<Admission, { kind: 'refused' }> = {
  kind: 'refused',
  reason: 'invalid_token',
  retryAfterMs: undefined,
  available: ZERO,
  required: ZERO,
  rate: undefined,
};
