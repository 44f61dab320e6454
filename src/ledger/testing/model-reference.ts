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
  /** What moved from one wallet to another, less what moved the other way. */
  readonly #net = new Map<string, bigint>();
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

  /** A person's wallet and the team's, in either direction. */
  twoWallets(index: number): readonly [ReferenceAccount, ReferenceAccount] {
    const persons = this.accounts.filter((one) => one.hash !== '' && !one.team);
    const person = persons[index % persons.length];
    if (!person) throw new Error('the model has no persons');
    const team = this.#team();
    return Math.floor(index / persons.length) % 2 === 0 ? [person, team] : [team, person];
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
    return {
      amount,
      per,
      used: sumOf(counted.filter(({ state }) => state !== 'pending').map(({ charged }) => charged)),
      held: sumOf(counted.filter(({ state }) => state === 'pending').map(({ held }) => held)),
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

  /** False where the first has too little of it free, or the second has no room. */
  move(from: ReferenceAccount, to: ReferenceAccount, amount: bigint): boolean {
    if (from.balance - amount < from.held + from.owed || to.balance + amount > LARGEST_BALANCE) return false;
    this.#pass(from, to, amount);
    from.balance -= amount;
    to.balance += amount;
    return true;
  }

  /**
   * What is free goes back at once, the payer's first; what is missing is owed while something is on hold that may bring it,
   * and lost otherwise.
   */
  refund(refund: ReferenceRefund): void {
    this.refunds.push(refund);
    this.#takeFree(refund, refund.amount);
    const rest = refund.amount - refund.taken;
    if (!this.#owe(refund, rest)) this.#lose(refund, rest);
  }

  /** What is owed is taken once all of it is free, or nothing is on hold any more; then what is missing is lost. */
  refundAgain(refund: ReferenceRefund): void {
    const missing = sumOf(refund.debts.values());
    if (missing === 0n) return;
    const before = new Map(refund.debts);
    const came = new Map(refund.came);
    const { taken } = refund;
    this.#forgive(refund);
    this.#takeFree(refund, missing);
    const rest = refund.amount - refund.taken;
    if (!this.#owe(refund, rest)) return this.#lose(refund, rest);
    // As it was: there is still something to wait for.
    this.#forgive(refund);
    const back = [...refund.came].map(([from, amount]) => [from, amount - (came.get(from) ?? 0n)] as const);
    this.#giveTo(refund, new Map(back), refund.taken - taken);
    refund.taken = taken;
    refund.came = came;
    for (const [account, amount] of before) {
      refund.debts.set(account, amount);
      account.owed += amount;
    }
  }

  /** False where a wallet cannot take back what it gave. */
  refundFailed(refund: ReferenceRefund): boolean {
    const { account, taken, lost, came } = refund;
    if (refund.isReturned) return true;
    const own = taken - sumOf(came.values());
    const gains = new Map(came).set(account, own);
    if ([...gains].some(([one, gain]) => gain > 0n && one.balance + gain > LARGEST_BALANCE)) return false;
    refund.isReturned = true;
    this.#giveTo(refund, came, taken);
    this.overrun -= lost;
    this.#forgive(refund);
    return true;
  }

  #takeFree(refund: ReferenceRefund, wanted: bigint): void {
    const given = this.#follow(refund.account, wanted, ({ balance, held, owed }) => balance - held - owed);
    for (const [from, amount] of given) {
      from.balance -= amount;
      refund.taken += amount;
      if (from === refund.account) continue;
      refund.came.set(from, (refund.came.get(from) ?? 0n) + amount);
      this.#passBack(refund.account, from, amount);
    }
  }

  /** Whether there is anything to wait for. The payer owes what no other wallet holds. */
  #owe(refund: ReferenceRefund, rest: bigint): boolean {
    const { account } = refund;
    if (rest === 0n) return false;
    const others = this.#follow(account, rest, (one) => (one === account ? 0n : one.held));
    const elsewhere = sumOf(others.values());
    if (elsewhere === 0n && account.held === 0n) return false;
    for (const [from, amount] of others.set(account, rest - elsewhere)) {
      if (amount === 0n) continue;
      refund.debts.set(from, amount);
      from.owed += amount;
    }
    return true;
  }

  #forgive(refund: ReferenceRefund): void {
    for (const [from, amount] of refund.debts) from.owed -= amount;
    refund.debts.clear();
  }

  #giveTo({ account }: ReferenceRefund, others: ReadonlyMap<ReferenceAccount, bigint>, taken: bigint): void {
    account.balance += taken - sumOf(others.values());
    for (const [from, amount] of others) {
      from.balance += amount;
      this.#passBack(account, from, 0n - amount);
    }
  }

  #lose(refund: ReferenceRefund, amount: bigint): void {
    refund.lost += amount;
    this.overrun += amount;
  }

  /**
   * Who gives what: the payer, then its team, then those who got something from the team, each no more than moved. There is
   * one team, so there is one way to everybody.
   */
  #follow(
    payer: ReferenceAccount,
    wanted: bigint,
    has: (account: ReferenceAccount) => bigint,
  ): Map<ReferenceAccount, bigint> {
    const given = new Map<ReferenceAccount, bigint>();
    let missing = wanted;
    const take = (from: ReferenceAccount, most: bigint): bigint => {
      const amount = lesser(lesser(missing, most), has(from));
      if (amount > 0n) given.set(from, amount);
      missing -= amount;
      return amount;
    };
    take(payer, missing);
    const team = this.#team();
    let open = payer === team ? missing : this.#moved(payer, team);
    if (payer !== team) open -= take(team, open);
    const persons = this.accounts.filter((one) => one !== team && one !== payer && !one.team);
    for (const person of persons.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
      open -= take(person, lesser(open, this.#moved(team, person)));
    return given;
  }

  #team(): ReferenceAccount {
    const team = this.accounts.find(({ hash }) => hash === '');
    if (!team) throw new Error('the model has no team');
    return team;
  }

  #moved(from: ReferenceAccount, to: ReferenceAccount): bigint {
    return this.#net.get(`${from.id} ${to.id}`) ?? 0n;
  }

  #pass(from: ReferenceAccount, to: ReferenceAccount, amount: bigint): void {
    this.#net.set(`${from.id} ${to.id}`, this.#moved(from, to) + amount);
    this.#net.set(`${to.id} ${from.id}`, this.#moved(to, from) - amount);
  }

  /** From a wallet to the payer, through the team where it is neither. */
  #passBack(payer: ReferenceAccount, from: ReferenceAccount, amount: bigint): void {
    const team = this.#team();
    if (from !== team) this.#pass(from, team, amount);
    if (payer !== team) this.#pass(team, payer, amount);
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

function sumOf(amounts: Iterable<bigint>): bigint {
  return [...amounts].reduce((total, one) => total + one, 0n);
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
  /** Who owes what of it. */
  readonly debts: Map<ReferenceAccount, bigint>;
  /** What came from other wallets than the payer's. */
  came: Map<ReferenceAccount, bigint>;
  isReturned: boolean;
}
