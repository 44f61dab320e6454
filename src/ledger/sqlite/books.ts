import { dayOf, monthOf } from '../../std/calendar.ts';
import type { NanoUsd } from '../../std/money.ts';
import type { AccountRow } from '../../store/schema.ts';
import { LedgerAccount, isFailure } from '../decide.ts';
import type { Caller, Outcome } from '../port.ts';
import type { Usage } from '../price.ts';
import type { HoldRow, Statements } from './statements.ts';

/**
 * The books as one transaction sees them: each account is read once and written once, however many of its requests are
 * in the batch, and the day's sums are gathered first. Valid only while the transaction holds the write lock.
 */
export class Books {
  readonly statements: Statements;
  readonly nowMs: number;
  readonly month: number;
  readonly #known: KnownAccounts;
  readonly #changed = new Set<LedgerAccount>();
  /** By account: a batch has few models for each, and no key has to be put together to find the right one. */
  readonly #sums = new Map<string, Sum[]>();
  #day = 0;
  #dayFrom = Number.POSITIVE_INFINITY;
  /** What to tell the operator once this is committed. */
  readonly alarms: Readonly<Record<string, unknown>>[] = [];

  constructor(statements: Statements, nowMs: number, known = new KnownAccounts()) {
    this.statements = statements;
    this.nowMs = nowMs;
    this.month = monthOf(nowMs);
    this.#known = known;
  }

  caller(caller: Caller): LedgerAccount | undefined {
    if (caller.kind === 'account') return this.account(caller.id);
    const known = this.#known.byToken.get(caller.hash);
    if (known) return known;
    const account = this.#adopt(this.statements.accountByToken.get(caller.hash));
    if (account) this.#known.byToken.set(caller.hash, account);
    return account;
  }

  account(id: string): LedgerAccount | undefined {
    return this.#known.byId.get(id) ?? this.#adopt(this.statements.accountById.get(id));
  }

  /** A hold made by this process needs no reading: what is in its row is known. */
  hold(requestId: string): HoldRow | null {
    return this.#known.holds.get(requestId) ?? this.statements.hold.get(requestId);
  }

  /** To be called with what was just inserted. */
  rememberHold(hold: HoldRow): void {
    if (this.#known.holds.size < MAX_KNOWN) this.#known.holds.set(hold.id, hold);
  }

  /** The row has changed or was closed. */
  forgetHold(requestId: string): void {
    this.#known.holds.delete(requestId);
  }

  /** Notes that an account must be written back. */
  touch(account: LedgerAccount): void {
    this.#changed.add(account);
  }

  /** Counts a closed request in the sums of its day, for its account and for all accounts together. */
  countUsage(request: ClosedRequest): void {
    const day = this.#dayOf(request.createdAt);
    this.#sum(request.accountId, day, request).add(request);
    this.#sum(EVERYBODY, day, request).add(request);
  }

  write(): void {
    for (const account of this.#changed) this.#writeAccount(account);
    for (const sums of this.#sums.values())
      for (const sum of sums) this.statements.addUsage.run(...sum.values());
  }

  /** A row may be met by its token and by its id; it is one account all the same. */
  #adopt(row: AccountRow | null): LedgerAccount | undefined {
    if (!row) return undefined;
    const known = this.#known.byId.get(row.id);
    if (known) return known;
    const account = new LedgerAccount(row, this.month);
    this.#known.byId.set(row.id, account);
    return account;
  }

  #writeAccount(account: LedgerAccount): void {
    this.statements.updateAccount.run(
      account.balance,
      account.held,
      account.openHolds,
      account.arrivals.chat,
      account.arrivals.images,
      account.month,
      account.monthSpent,
      account.tokenUsedAt,
      account.id,
    );
  }

  #sum(account: string, day: number, { endpoint, model }: ClosedRequest): Sum {
    let sums = this.#sums.get(account);
    if (!sums) this.#sums.set(account, (sums = []));
    for (const sum of sums) if (sum.isFor(day, endpoint, model)) return sum;
    const sum = new Sum([account, day, endpoint, model]);
    sums.push(sum);
    return sum;
  }

  /** Nearly all requests of a batch began on the same day. */
  #dayOf(ms: number): number {
    if (ms < this.#dayFrom || ms >= this.#dayFrom + DAY_MS) {
      this.#dayFrom = Math.floor(ms / DAY_MS) * DAY_MS;
      this.#day = dayOf(ms);
    }
    return this.#day;
  }
}

/**
 * Accounts and open holds as the last transaction left them. They stay true for the next one only while nobody else has written to the
 * database, which its data version tells; so a replaced token or a new limit is seen by the very next batch.
 */
export class KnownAccounts {
  readonly byId = new Map<string, LedgerAccount>();
  readonly byToken = new Map<string, LedgerAccount>();
  readonly holds = new Map<string, HoldRow>();
  #version = -1;
  #month = 0;

  /** To be called with the write lock held. */
  keepIf(version: number, month: number): void {
    if (version !== this.#version || month !== this.#month || this.byToken.size > MAX_KNOWN) this.forget();
    this.#version = version;
    this.#month = month;
  }

  forget(): void {
    this.byId.clear();
    this.byToken.clear();
    this.holds.clear();
  }
}

const MAX_KNOWN = 5_000;

export interface ClosedRequest {
  readonly accountId: string;
  readonly endpoint: string;
  readonly model: string;
  readonly createdAt: number;
  readonly outcome: Outcome;
  readonly usage: Usage;
  readonly charged: NanoUsd;
}

/** Account, day, endpoint, model. */
type SumKey = readonly [string, number, string, string];

const DAY_MS = 86_400_000;
/** The account under which the sums of all accounts together are kept. */
const EVERYBODY = '';

class Sum {
  readonly #key: SumKey;
  #requests = 0;
  #failures = 0;
  #input = 0;
  #cached = 0;
  #output = 0;
  #reasoning = 0;
  #images = 0;
  #charged = 0;

  constructor(key: SumKey) {
    this.#key = key;
  }

  isFor(day: number, endpoint: string, model: string): boolean {
    return this.#key[1] === day && this.#key[3] === model && this.#key[2] === endpoint;
  }

  add({ outcome, usage, charged }: ClosedRequest): void {
    this.#requests++;
    if (isFailure(outcome)) this.#failures++;
    this.#input += usage.input;
    this.#cached += usage.cached;
    this.#output += usage.output;
    this.#reasoning += usage.reasoning;
    this.#images += usage.images;
    this.#charged += charged;
  }

  values(): (string | number)[] {
    const tokens = [this.#input, this.#cached, this.#output, this.#reasoning];
    return [...this.#key, this.#requests, this.#failures, ...tokens, this.#images, this.#charged];
  }
}
