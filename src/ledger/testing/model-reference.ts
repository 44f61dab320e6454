import type { TestAccount } from './contract-harness.ts';
import {
  LARGEST_BALANCE,
  expectedAvailable,
  expectedBacklogAfter,
  expectedBacklogUs,
  expectedCost,
  expectedDecision,
  type ExpectedAccount,
  type ExpectedBudget,
  type ExpectedDecision,
} from './model-rules.ts';
import type { AdmissionRequest, HoldState, RateKind, Reclaim } from '../port.ts';
import type { Price, Usage } from '../price.ts';

/**
 * The ledger as a simple in-memory model: no database, no batches, one operation after another, and no code shared with
 * the ledger.
 */
export class Reference {
  readonly accounts: ReferenceAccount[] = [];
  readonly holds = new Map<string, ReferenceHold>();
  readonly refunds: ReferenceRefund[] = [];
  readonly leaseMs: number;
  overrun = 0n;
  nowMs = 0;
  day = 0;

  constructor(leaseMs: number) {
    this.leaseMs = leaseMs;
  }

  /** One that makes requests. */
  account(index: number): ReferenceAccount {
    const callers = this.accounts.filter(({ hash }) => hash !== '');
    const account = callers[index % callers.length];
    if (!account) throw new Error('the model has no accounts');
    return account;
  }

  /** One that has a balance. */
  wallet(index: number): ReferenceAccount {
    const account = this.account(index);
    return account.team ?? account;
  }

  /** The n-th request ever admitted, open or closed. */
  pick(index: number): ReferenceHold | undefined {
    const all = [...this.holds.values()];
    return all[index % all.length];
  }

  pending(): ReferenceHold[] {
    return [...this.holds.values()].filter((hold) => hold.state === 'pending');
  }

  /** Pending, and its lease was not renewed in time. */
  overdue(): ReferenceHold[] {
    return this.pending().filter((hold) => hold.leaseUntilMs < this.nowMs);
  }

  pass(ms: number): void {
    this.nowMs += ms;
  }

  admit(account: ReferenceAccount, request: AdmissionRequest): ExpectedDecision {
    const rate = this.#rateOf(account, request);
    const decision = expectedDecision(
      this.#asSeen(account, request),
      rate,
      request.limits.concurrent,
      request,
    );
    if (decision.kind === 'admit') this.openAs(account, request, decision.hold);
    return decision;
  }

  /** What the account may spend at this moment. */
  available(account: ReferenceAccount): bigint {
    return expectedAvailable(this.#spendable(account));
  }

  /** The money of whoever pays, within the account's own budget. */
  #spendable(account: ReferenceAccount) {
    const { balance, held, owed, monthSpent, monthlyLimit } = account.team ?? account;
    return { balance, held, owed, monthSpent, monthlyLimit, budget: this.#budgetOf(account) };
  }

  #asSeen(account: ReferenceAccount, request: AdmissionRequest): ExpectedAccount {
    const { team, openHolds } = account;
    if (!team) return { ...this.#spendable(account), openHolds };
    const { chatPerMinute, imagesPerMinute, concurrent } = request.limits;
    const limits = {
      chatPerMinute: 5 * chatPerMinute,
      imagesPerMinute: 5 * imagesPerMinute,
      concurrent: 5 * concurrent,
    };
    const rate = this.#rateOf(team, { ...request, limits });
    return {
      ...this.#spendable(account),
      openHolds,
      team: { openHolds: team.openHolds, concurrent: limits.concurrent, rate },
    };
  }

  /** A day's budget counts what was admitted on this day; the days of the model have no date. */
  #budgetOf(account: ReferenceAccount): ExpectedBudget | undefined {
    if (!account.limit) return undefined;
    const { amount, per } = account.limit;
    const counted = [...this.holds.values()].filter(
      (hold) => hold.account === account && (per === 'total' || hold.day === this.day),
    );
    const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, one) => total + one, 0n);
    return {
      amount,
      per,
      used: sum(counted.filter(({ state }) => state !== 'pending').map(({ charged }) => charged)),
      held: sum(counted.filter(({ state }) => state === 'pending').map(({ held }) => held)),
    };
  }

  /** Records that the ledger admitted this request with this hold. */
  openAs(account: ReferenceAccount, request: AdmissionRequest, held: bigint): void {
    const { team } = account;
    const backlogUs = expectedBacklogAfter(this.#rateOf(account, request));
    account.openHolds++;
    account.rates[request.rate] = { backlogUs, atMs: this.nowMs };
    (team ?? account).held += held;
    if (team) {
      const { chatPerMinute, imagesPerMinute, concurrent } = request.limits;
      const limits = { chatPerMinute: 5 * chatPerMinute, imagesPerMinute: 5 * imagesPerMinute, concurrent };
      const ofTeam = expectedBacklogAfter(this.#rateOf(team, { ...request, limits }));
      team.openHolds++;
      team.rates[request.rate] = { backlogUs: ofTeam, atMs: this.nowMs };
    }
    this.holds.set(request.requestId, this.newHold(account, request, held));
  }

  newHold(account: ReferenceAccount, { requestId, price }: AdmissionRequest, held: bigint): ReferenceHold {
    return {
      id: requestId,
      account,
      price,
      held,
      state: 'pending',
      charged: 0n,
      delivered: NOTHING,
      day: this.day,
      leaseUntilMs: this.nowMs + this.leaseMs,
    };
  }

  renew(hold: ReferenceHold, delivered: Usage): void {
    if (hold.state !== 'pending') return;
    hold.delivered = delivered;
    hold.leaseUntilMs = this.nowMs + this.leaseMs;
  }

  /** Closes a hold the first time and ignores later closings. */
  close(hold: ReferenceHold, state: 'posted' | 'void' | 'expired', usage: Usage): void {
    if (hold.state !== 'pending') return;
    const { account } = hold;
    const cost = state === 'void' ? 0n : expectedCost(hold.price, usage);
    hold.charged = cost > hold.held ? hold.held : cost;
    hold.state = state;
    const { team } = account;
    const payer = team ?? account;
    payer.balance -= hold.charged;
    payer.held -= hold.held;
    payer.monthSpent += hold.charged;
    account.openHolds--;
    if (team) {
      team.openHolds--;
      account.monthSpent += hold.charged;
    }
    this.overrun += cost - hold.charged;
  }

  expire(hold: ReferenceHold): void {
    const { input, output, images } = hold.delivered;
    this.close(hold, input + output + images === 0 ? 'void' : 'expired', hold.delivered);
  }

  /** False when the books would leave their bounds. */
  post(account: ReferenceAccount, amount: number): boolean {
    const balance = account.balance + BigInt(amount);
    if (amount === 0 || balance > LARGEST_BALANCE) return false;
    if (amount < 0 && balance < account.held + account.owed) return false;
    account.balance = balance;
    return true;
  }

  /** What is free goes back at once; what is missing is owed while something is on hold, and lost otherwise. */
  refund(refund: ReferenceRefund): void {
    this.refunds.push(refund);
    const free = refund.account.balance - refund.account.held - refund.account.owed;
    this.#take(refund, lesser(refund.amount, free));
    const rest = refund.amount - refund.taken;
    if (refund.account.held === 0n) this.#lose(refund, rest);
    else this.#owe(refund, rest);
  }

  /** What is owed is taken once all of it is free, or nothing is on hold any more; then what is missing is lost. */
  refundAgain(refund: ReferenceRefund): void {
    const { account, owed } = refund;
    const free = account.balance - account.held - (account.owed - owed);
    if (owed === 0n || (free < owed && account.held > 0n)) return;
    this.#owe(refund, -owed);
    this.#take(refund, lesser(owed, free));
    this.#lose(refund, refund.amount - refund.taken);
  }

  /** False where the account cannot take it back. */
  refundFailed(refund: ReferenceRefund): boolean {
    const { account, taken, lost, owed } = refund;
    if (refund.isReturned) return true;
    if (taken > 0n && account.balance + taken > LARGEST_BALANCE) return false;
    refund.isReturned = true;
    account.balance += taken;
    this.overrun -= lost;
    this.#owe(refund, -owed);
    return true;
  }

  #take(refund: ReferenceRefund, amount: bigint): void {
    refund.taken += amount;
    refund.account.balance -= amount;
  }

  #owe(refund: ReferenceRefund, amount: bigint): void {
    refund.owed += amount;
    refund.account.owed += amount;
  }

  #lose(refund: ReferenceRefund, amount: bigint): void {
    refund.lost += amount;
    this.overrun += amount;
  }

  #rateOf(account: ReferenceAccount, { rate, limits }: AdmissionRequest) {
    const perMinute = rate === 'images' ? limits.imagesPerMinute : limits.chatPerMinute;
    const { backlogUs, atMs } = account.rates[rate];
    return {
      perMinute,
      backlogUs: expectedBacklogUs(perMinute, backlogUs, BigInt(this.nowMs - atMs) * 1_000n),
    };
  }
}

function lesser(amount: bigint, free: bigint): bigint {
  if (free < 0n) return 0n;
  return amount < free ? amount : free;
}

const NOTHING: Usage = { input: 0, cached: 0, output: 0, reasoning: 0, images: 0 };

type Writable<T> = { -readonly [K in keyof T]: T[K] };

export interface ReferenceAccount extends Writable<Omit<ExpectedAccount, 'budget' | 'team'>> {
  readonly id: TestAccount['id'];
  hash: TestAccount['hash'];
  replaced: TestAccount['hash'] | undefined;
  /** Who pays for it, if it does not pay for itself. */
  readonly team: ReferenceAccount | undefined;
  limit: Pick<ExpectedBudget, 'amount' | 'per'> | undefined;
  readonly rates: Record<RateKind, { backlogUs: bigint; atMs: number }>;
}

export interface ReferenceHold {
  readonly id: AdmissionRequest['requestId'];
  readonly account: ReferenceAccount;
  readonly price: Price;
  readonly held: bigint;
  state: HoldState;
  charged: bigint;
  delivered: Usage;
  /** On which it was admitted. */
  readonly day: number;
  leaseUntilMs: number;
}

/** Money that went back to its payer. */
export interface ReferenceRefund {
  readonly reclaim: Reclaim;
  readonly account: ReferenceAccount;
  readonly amount: bigint;
  taken: bigint;
  lost: bigint;
  owed: bigint;
  isReturned: boolean;
}
