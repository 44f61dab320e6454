import { dayOf, periodEnd, periodStart, type Period } from '../std/calendar.ts';
import type { AccountId } from '../std/ids.ts';
import { addNano, nanoUsd, subtractNano, ZERO, type NanoUsd } from '../std/money.ts';
import type { AccountRow } from '../store/schema.ts';
import { removedEmail, type AccountState, type BudgetState, type Money, type TeamState } from './decide.ts';
import type { AccountSnapshot, AdmissionRequest, Caller, Limits, RateKind } from './port.ts';
import { tokenLimitsOf, tokenRefusal, type TokenLimits } from './token-limits.ts';

/** An account's row while a transaction works on it. */
export class LedgerAccount {
  readonly id: AccountId;
  readonly row: AccountRow;
  /** Whose balance its requests take: a team's, or its own. */
  readonly wallet: LedgerAccount;
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
    this.active = row.status === 'active' && row.role !== 'system' && row.ended_at === null;
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

  /** What the account may spend, whoever it belongs to. */
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

type BudgetColumns = Pick<
  AccountRow,
  'budget_per' | 'budget_from' | 'budget_from_day' | 'budget_used' | 'budget_held'
>;

/** A budget with what its period has used so far. */
export class Budget implements BudgetState {
  readonly amount: NanoUsd;
  readonly per: Period;
  from: number;
  fromDay: number;
  used: NanoUsd;
  held: NanoUsd;

  constructor(amount: number, row: BudgetColumns) {
    this.amount = nanoUsd(amount);
    this.per = row.budget_per ?? 'total';
    this.from = row.budget_from;
    this.fromDay = row.budget_from_day;
    this.used = nanoUsd(row.budget_used);
    this.held = nanoUsd(row.budget_held);
  }

  /** A new period has used nothing. A clock that jumped back begins none. */
  enter(nowMs: number): void {
    const from = periodStart(this.per, nowMs);
    if (from <= this.from) return;
    this.from = from;
    this.fromDay = dayOf(from);
    this.used = ZERO;
    this.held = ZERO;
  }

  /** What was admitted in an earlier period belongs to that one. */
  release(
    { held, admittedAt }: { readonly held: NanoUsd; readonly admittedAt: number },
    charged: NanoUsd,
  ): void {
    if (admittedAt < this.from) return;
    this.held = subtractNano(this.held, held);
    this.used = addNano(this.used, charged);
  }

  get left(): NanoUsd {
    return nanoUsd(Math.max(0, this.amount - this.used - this.held));
  }
}

/** A caller's account and what it may still spend; `undefined`: its token is not valid, or no longer. */
export function snapshotOf(
  account: LedgerAccount | undefined,
  caller: Caller,
  nowMs: number,
): AccountSnapshot | undefined {
  if (!account?.active) return undefined;
  const { row, wallet, budget, tokenLimits } = account;
  const address = caller.kind === 'token' ? caller.address : undefined;
  const refusal = caller.kind === 'token' && tokenLimits && tokenRefusal(tokenLimits, { address, nowMs });
  if (refusal === 'invalid_token') return undefined;
  budget?.enter(nowMs);
  return {
    accountId: account.id,
    kind: row.kind,
    email: row.kind === 'person' ? row.email : row.kind === 'member' ? (row.name ?? undefined) : undefined,
    name: row.kind === 'app' ? (row.name ?? undefined) : undefined,
    team: account.isTeams
      ? { id: wallet.id, name: wallet.row.name ?? '', role: row.team_role ?? 'member' }
      : undefined,
    balance: wallet.balance,
    held: wallet.held,
    owed: wallet.owed,
    ownHeld: account.isTeams ? account.teamHeld : account.held,
    openHolds: account.openHolds,
    monthSpent: wallet.monthSpent,
    ownMonthSpent: account.monthSpent,
    monthlyLimit: wallet.monthlyLimit,
    budget: budget && {
      amount: budget.amount,
      per: budget.per,
      used: budget.used,
      held: budget.held,
      resetsAt: periodEnd(budget.per, nowMs),
    },
    tokenLimits,
    isNetworkAllowed: refusal !== 'network_not_allowed',
    limits: {
      chatPerMinute: row.chat_per_minute ?? undefined,
      imagesPerMinute: row.images_per_minute ?? undefined,
      concurrent: row.concurrent ?? undefined,
    },
    arrivals: account.arrivals,
    now: nowMs,
  };
}
