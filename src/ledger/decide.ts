import type { Period } from '../std/calendar.ts';
import type { AccountId } from '../std/ids.ts';
import { addNano, MAX_BALANCE, minNano, nanoUsd, subtractNano, ZERO, type NanoUsd } from '../std/money.ts';
import type {
  Caller,
  Admission,
  AdmissionRequest,
  Attempt,
  AttemptCost,
  Ceiling,
  Ending,
  Outcome,
  RateState,
  ReachedLimit,
  RefusalReason,
  TokenLimits,
  Limits,
  RateKind,
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
import type { AccountRow } from '../store/schema.ts';
import { Budget } from './budget.ts';
import { tokenLimitsOf } from './token-limits.ts';

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
  /** The account's own budget, whether it or its team pays. */
  readonly budget?: BudgetState | undefined;
  /** What all accounts of a team may do together; absent where the account pays for itself. */
  readonly team?: TeamState | undefined;
}

/** What an account may spend in a period, and what it has spent and holds of it. */
interface BudgetState {
  readonly amount: NanoUsd;
  readonly per: Period;
  readonly used: NanoUsd;
  readonly held: NanoUsd;
}

/** The limits of the team; its money is in the {@link AccountState}. */
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
  const limited = limitedBy(account, rate, teamRate, nowUs);
  const share = limited ?? shareOf(account, request);
  if (share.kind === 'fits')
    return {
      kind: 'admit',
      hold: share.hold,
      output: share.output,
      arrivalUs: rate.nextUs,
      teamArrivalUs: teamRate?.nextUs,
      rate: rateState(account.perMinute, rate.nextUs, nowUs),
    };
  const refused = share.kind === 'short' ? share : COUNT_FIRST;
  return {
    kind: 'refuse',
    reason: refused.reason,
    retryAfterMs: refused.retryAfterMs,
    required: cheapestUseful(request),
    rate: limited?.teamRate ?? rateState(account.perMinute, rate.arrivalUs, nowUs),
    limit: refused.limit,
  };
}

type Short = Extract<HeldShare, { kind: 'short' }>;

const COUNT_FIRST: Short = { kind: 'short', reason: 'count_first' };

/** What keeps a request out whatever it costs; where that is its team's rate, with the state of that. */
// oxlint-disable-next-line max-params -- two rates at one moment
function limitedBy(
  account: AccountState,
  rate: RateDecision,
  teamRate: RateDecision | undefined,
  nowUs: number,
): (Short & { readonly teamRate?: RateState }) | undefined {
  const { team } = account;
  if (!account.active) return { kind: 'short', reason: 'invalid_token' };
  if (rate.waitUs > 0)
    return { kind: 'short', reason: 'rate_limit_exceeded', retryAfterMs: Math.ceil(rate.waitUs / 1000) };
  if (team && teamRate && teamRate.waitUs > 0)
    return {
      kind: 'short',
      reason: 'rate_limit_exceeded',
      retryAfterMs: Math.ceil(teamRate.waitUs / 1000),
      teamRate: rateState(team.perMinute, teamRate.arrivalUs, nowUs),
    };
  if (account.openHolds >= account.concurrent || (team && team.openHolds >= team.concurrent))
    return { kind: 'short', reason: 'concurrency_limit_exceeded', retryAfterMs: HOLD_RETRY_MS };
  return undefined;
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
export function rateDecision(
  account: Pick<AccountState, 'arrivalUs' | 'perMinute'>,
  nowUs: number,
): RateDecision {
  const limit = account.perMinute;
  const stepUs = Math.ceil(60_000_000 / limit);
  const burstUs = stepUs * limit;
  const arrivalUs = Math.min(Math.max(account.arrivalUs, nowUs), nowUs + burstUs);
  const nextUs = arrivalUs + stepUs;
  return { arrivalUs, nextUs, waitUs: Math.max(0, nextUs - nowUs - burstUs) };
}

interface RateDecision {
  readonly arrivalUs: number;
  /** The same once this request was admitted. */
  readonly nextUs: number;
  readonly waitUs: number;
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

/** Whose money is spent, and how much of it the account may spend. */
export type Money = Pick<
  AccountState,
  'balance' | 'held' | 'owed' | 'monthSpent' | 'monthlyLimit' | 'budget'
>;

interface Spendable {
  readonly now: NanoUsd;
  readonly withoutHolds: NanoUsd;
  /** The limit that leaves less to spend than the balance does. */
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

/** The part of a request by which the money of an account is decided. */
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

/** An attempt as it is stored. The upstream is left out (0) where it is the receipt's own, as it nearly always is. */
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

/** What a receipt says besides its columns: rarely needed, so it is one short JSON text. Absent when there is nothing. */
export function detailText({ errorCode, finishReason, attempts, upstream }: Ending): string | null {
  if (errorCode === undefined && finishReason === undefined && attempts.length === 0) return null;
  return JSON.stringify({
    error: errorCode,
    finish: finishReason,
    attempts: attempts.length === 0 ? undefined : attempts.map((attempt) => stored(attempt, upstream)),
  });
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
  /** The cost of the attempt that served; `undefined`: not known. */
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

/** The possible cost of a request whose end was not seen, at a backend that is no longer known. */
export function possibleCost(amount: NanoUsd): RequestCost {
  return amount === 0
    ? NOTHING_SPENT
    : { spent: undefined, lost: [{ upstream: '', amount }], possible: amount };
}

/** Of the address of an account that was removed; addresses of this domain exist nowhere. */
export const REMOVED_DOMAIN = '@removed.invalid';

export function removedEmail(accountId: string): string {
  return `${accountId}${REMOVED_DOMAIN}`;
}

/** An account's row while a transaction works on it. */
export class LedgerAccount {
  readonly id: AccountId;
  readonly row: AccountRow;
  /** The account whose balance its requests use: the team's, or its own. */
  readonly wallet: LedgerAccount;
  /** Who pauses a team pauses all of its accounts. */
  readonly active: boolean;
  /** Nobody could spend what it was given. */
  readonly isRemoved: boolean;
  readonly tokenLimits: TokenLimits | undefined;
  readonly budget: Budget | undefined;
  balance: NanoUsd;
  held: NanoUsd;
  owed: NanoUsd;
  openHolds: number;
  /** What its requests hold of its team's balance. */
  teamHeld: NanoUsd;
  readonly arrivals: Record<RateKind, number>;
  readonly month: number;
  monthSpent: NanoUsd;
  readonly monthlyLimit: NanoUsd | undefined;
  tokenUsedAt: number | null;

  constructor(row: AccountRow, month: number, wallet?: LedgerAccount) {
    this.row = row;
    // The primary key of an account is an account id.
    this.id = row.id as AccountId;
    this.wallet = wallet ?? this;
    const isActive = row.status === 'active' && row.role !== 'system' && row.ended_at === null;
    this.active = isActive && (wallet?.active ?? true);
    this.isRemoved = row.email === removedEmail(row.id) || row.ended_at !== null;
    this.tokenLimits = tokenLimitsOf(row);
    this.budget = row.budget === null ? undefined : new Budget(row.budget, row);
    this.balance = nanoUsd(row.balance);
    this.held = nanoUsd(row.held);
    this.owed = nanoUsd(row.owed);
    this.openHolds = row.open_holds;
    this.teamHeld = nanoUsd(row.team_held);
    this.arrivals = { chat: row.chat_arrival_us, images: row.images_arrival_us };
    // A clock that jumped back over the turn of a month must not forget what that month spent.
    this.month = Math.max(month, row.month);
    this.monthSpent = row.month === this.month ? nanoUsd(row.month_spent) : ZERO;
    this.monthlyLimit = row.monthly_limit === null ? undefined : nanoUsd(row.monthly_limit);
    this.tokenUsedAt = row.token_used_at;
  }

  get isTeams(): boolean {
    return this.wallet !== this;
  }

  /** The money that the account may spend: its own or its team's. */
  get money(): Money {
    if (this.wallet === this) return this;
    const { balance, held, owed, monthSpent, monthlyLimit } = this.wallet;
    return { balance, held, owed, monthSpent, monthlyLimit, budget: this.budget };
  }

  /** The account as the admission rule looks at it. */
  stateFor({ rate, limits }: Pick<AdmissionRequest, 'rate' | 'limits'>): AccountState {
    const { wallet } = this;
    return {
      active: this.active,
      balance: wallet.balance,
      held: wallet.held,
      owed: wallet.owed,
      openHolds: this.openHolds,
      arrivalUs: this.arrivals[rate],
      perMinute: this.#perMinute(rate, limits),
      concurrent: this.row.concurrent ?? limits.concurrent,
      monthSpent: wallet.monthSpent,
      monthlyLimit: wallet.monthlyLimit,
      budget: this.budget,
      team: wallet === this ? undefined : wallet.#asTeam(rate, limits),
    };
  }

  /** A request was admitted with this hold. */
  take(hold: NanoUsd): void {
    const { wallet } = this;
    wallet.held = addNano(wallet.held, hold);
    this.openHolds++;
    if (this.budget) this.budget.held = addNano(this.budget.held, hold);
    if (wallet === this) return;
    this.teamHeld = addNano(this.teamHeld, hold);
    wallet.openHolds++;
  }

  /** A hold has ended. What it was charged counts for the month and the period in which it was admitted. */
  release(
    hold: { readonly held: NanoUsd; readonly admittedAt: number },
    charged: NanoUsd,
    isThisMonth: boolean,
  ): void {
    const { wallet, budget } = this;
    wallet.balance = subtractNano(wallet.balance, charged);
    wallet.held = subtractNano(wallet.held, hold.held);
    if (isThisMonth) wallet.monthSpent = addNano(wallet.monthSpent, charged);
    this.openHolds--;
    budget?.release(hold, charged);
    if (wallet === this) return;
    if (isThisMonth) this.monthSpent = addNano(this.monthSpent, charged);
    this.teamHeld = subtractNano(this.teamHeld, hold.held);
    wallet.openHolds--;
  }

  #asTeam(rate: RateKind, limits: Limits): TeamState {
    return {
      openHolds: this.openHolds,
      arrivalUs: this.arrivals[rate],
      perMinute: this.#perMinute(rate, limits, TEAM_FACTOR),
      concurrent: this.row.concurrent ?? limits.concurrent * TEAM_FACTOR,
    };
  }

  #perMinute(rate: RateKind, limits: Limits, factor = 1): number {
    return rate === 'chat'
      ? (this.row.chat_per_minute ?? limits.chatPerMinute * factor)
      : (this.row.images_per_minute ?? limits.imagesPerMinute * factor);
  }
}

/** A team without limits of its own may do this many times what an account may. */
export const TEAM_FACTOR = 5;

/** Tells callers apart before the ledger has named their account. */
export function callerKey(caller: Caller): string {
  return caller.kind === 'token' ? caller.hash : caller.id;
}

/** For who keeps a caller longer than its request, which may be asked for its address until then. */
export function lastingCaller(caller: Caller): Caller {
  return caller.kind === 'token' ? { kind: 'token', hash: caller.hash } : caller;
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
