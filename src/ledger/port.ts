import type { Period } from '../std/calendar.ts';
import type { DistributionSample } from '../std/distribution.ts';
import type { AccountId, RequestId, TokenHash } from '../std/ids.ts';
import type { NanoUsd } from '../std/money.ts';
import type { PoolLoad } from '../store/connection-pool.ts';
import type { AccountKind, TeamRole } from '../store/schema.ts';
import type { ImageCeiling, Price, TokenCeiling, Usage } from './price.ts';

/**
 * The ledger is the only place where money moves. Both implementations (SQLite, Postgres) pass one contract suite.
 *
 * Denial is a value (`refused`); failure (the store cannot be reached, or answered too late) is a thrown
 * `service_unavailable` fault, and then nothing was changed or the change will be found by its id. Zero is a number: a
 * free request has a hold of zero, a charge of zero and a receipt like any other.
 */
export interface Ledger {
  /**
   * One atomic decision: token, account status, rate limit, concurrency, monthly limit, balance; then the hold is
   * written. A refusal consumes nothing. Admissions that arrive together commit together.
   */
  admit(request: AdmissionRequest): Promise<Admission>;
  /** Charges price snapshot × usage, never more than the hold, and closes it. A second call returns the first result. */
  settle(requestId: RequestId, settlement: Settlement): Promise<Settled>;
  /** Closes the hold without a charge. A second call, or one after a settlement, returns what happened first. */
  void(requestId: RequestId, ending: Ending): Promise<Settled>;
  /**
   * Renews the leases of running requests and writes how far their meters have come. Returns those that somebody else has
   * closed meanwhile; unknown ids are ignored.
   */
  renew(progress: readonly Progress[]): Promise<readonly RequestId[]>;
  /**
   * Closes holds whose lease ran out: what was delivered is charged, the rest released. Returns how many were closed. Those
   * of jobs that another process can go on with are left for `adopt`, until the jobs' deadlines.
   */
  expire(): Promise<number>;
  /** Takes over a hold whose lease ran out; true for one caller alone, who renews it from then on and closes it. */
  adopt(requestId: RequestId): Promise<boolean>;
  /** Ends the leases of holds now, for whoever adopts them. Unknown or closed ids are ignored. */
  giveUp(requestIds: readonly RequestId[]): Promise<void>;
  /** Who is behind this token and what may they still do; consumes nothing. `undefined`: nobody. */
  identify(caller: Caller): Promise<AccountSnapshot | undefined>;
  /**
   * Changes a balance from outside a request. Throws `invalid_field` when it would leave 0 ≤ held ≤ balance ≤ maximum, take
   * what is owed, or credit an account that was removed.
   */
  post(entry: NewEntry): Promise<{ readonly entryId: number; readonly balance: NanoUsd }>;
  /**
   * Credits a redeem code's worth as `post` does, in one transaction with marking the code as used. `undefined`: the
   * code does not exist, has expired, or was already redeemed. Throws `invalid_field` like `post`, and then the code
   * stays valid.
   */
  redeem(redemption: Redemption): Promise<Redeemed | undefined>;
  /**
   * Takes back an amount that its payer got back. What is free is taken at once; what the payer lacks comes from the wallets
   * to which its money moved, up to what moved. What is missing while requests run is owed by whose requests hold it,
   * which cannot be spent from then on. A later call with the same key takes it once it is free, or, when nothing is on
   * hold any more, takes what there is and books the rest as the operator's loss. Each call returns what was done so far.
   */
  reclaim(reclaim: Reclaim): Promise<Reclaimed>;
  /**
   * Undoes what was reclaimed with a key, all of it in one transaction: what was taken, from whichever wallet, what was lost,
   * and what is still owed. Returns what had been taken and lost, a second time as well; `undefined`: nothing was reclaimed. Throws
   * `invalid_field` like `post`.
   */
  giveBack(reclaim: Omit<Reclaim, 'amount'>): Promise<GivenBack | undefined>;
  /**
   * Sets an account's budget, or removes it. What the current period has used and holds so far counts. Throws
   * `invalid_field` where there is no such account.
   */
  setBudget(change: BudgetChange): Promise<void>;
  /**
   * Moves money from one wallet to another: an entry on each side. Once for each id. Throws `invalid_field` where the first
   * has too little of it free, or like `post`.
   */
  move(move: WalletMove): Promise<void>;
  /**
   * Archives the receipts of one day of an account: one charge of their sum is booked in their place, and the sums of
   * the day stay. No balance changes. `together` receipts leave in one transaction; an archive that was begun and not
   * finished is finished.
   */
  archive(day: AccountDay, together?: number): Promise<Archived>;
  /** Days that are older than the retention, by the store's clock, the oldest first; changes nothing. */
  archivable(request: ArchivableRequest): Promise<readonly ArchivableDay[]>;
  /**
   * Every invariant of the books, checked in the store; returns breaches, none when all is well. The latest days are checked
   * receipt by receipt, older ones by their sums; with `full` every receipt is.
   */
  verify(options?: VerifyOptions): Promise<Verification>;
}

/** A public request has a token; a request from the console's playground has a session's account. */
export type Caller =
  | { readonly kind: 'token'; readonly hash: TokenHash; readonly address?: string | undefined }
  | { readonly kind: 'account'; readonly id: AccountId };

export type RateKind = 'chat' | 'images';

/** The client chooses the text, so it is bounded. */
export const MAX_CLIENT = 200;

export interface AdmissionRequest {
  readonly requestId: RequestId;
  readonly caller: Caller;
  readonly rate: RateKind;
  readonly endpoint: string;
  readonly model: string;
  readonly price: Price;
  /** The price group of the wallets that it was quoted for. One in another group, or in none, is refused (`quote_again`). */
  readonly priceGroup?: string | undefined;
  /** The moment, by the store's clock, at which nobody knows any more that this is the price: refused from then on (`quote_again`). */
  readonly validUntil?: number | undefined;
  readonly ceiling: Ceiling;
  /**
   * Set while the ceiling's input is only a loose bound that can be replaced by a count. With `if_dear` the ledger asks
   * for the count (`count_first`) where the bound would matter: the output cap does not fit beside it, or it takes more
   * than a twentieth of what is free. With `first` it always does.
   */
  readonly counting?: 'if_dear' | 'first' | undefined;
  /**
   * Set for a request without an output cap of its own: its output holds at most a quarter of what is free after its input,
   * so that others find something beside it, but this many tokens of each choice in any case. The ceiling's output stays the
   * highest cap.
   */
  readonly leastShare?: number | undefined;
  readonly stream: boolean;
  /** The client's User-Agent; the books keep its first {@link MAX_CLIENT} characters. */
  readonly client: string;
  /** Defaults from the catalog, used where the account has no limit of its own. */
  readonly limits: Limits;
}

/** The most a request may use. */
export type Ceiling = TokenCeiling | ImageCeiling;

export interface Limits {
  readonly chatPerMinute: number;
  readonly imagesPerMinute: number;
  readonly concurrent: number;
}

export type Admission =
  | {
      readonly kind: 'admitted';
      readonly accountId: AccountId;
      /** The team that pays; absent: the account itself. It is the same for as long as the account exists. */
      readonly walletId?: AccountId | undefined;
      readonly held: NanoUsd;
      /** The output cap per choice that the hold covers; lower than asked when the balance could not afford more. */
      readonly output: number;
      readonly rate: RateState;
      /** What is left to spend after this hold. */
      readonly available: NanoUsd;
      /** What is left of the account's budget after this hold, where it has one. */
      readonly budgetLeft?: NanoUsd | undefined;
    }
  | {
      readonly kind: 'refused';
      readonly reason: RefusalReason;
      /** How long to wait until the same request can succeed; absent where waiting does not help. */
      readonly retryAfterMs: number | undefined;
      readonly available: NanoUsd;
      readonly required: NanoUsd;
      readonly rate: RateState | undefined;
      /** Which limit is reached, and when its next period begins. */
      readonly limit?: ReachedLimit | undefined;
      readonly resetsAt?: number | undefined;
      /** Whether the money that is missing is a team's. */
      readonly isTeam?: boolean;
    };

/** The wallet's month, or the account's own budget. */
export type ReachedLimit = 'month' | `budget_${Period}`;

export type RefusalReason =
  /** Not for clients: the request is to be admitted again once its input was counted. */
  | 'count_first'
  /** Not for clients: the price is not, or no longer, the one of the wallet, and the request is to be quoted again. */
  | 'quote_again'
  | 'invalid_token'
  | 'network_not_allowed'
  | 'model_not_allowed'
  | 'rate_limit_exceeded'
  | 'concurrency_limit_exceeded'
  | 'insufficient_balance'
  | 'limit_reached'
  | 'funds_on_hold'
  | 'request_exceeds_balance';

/** For the rate-limit headers. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  /** Time until the whole limit is available again. */
  readonly resetMs: number;
}

/** What happened to a request, whether or not it was charged. */
export interface Ending {
  readonly outcome: Outcome;
  readonly errorCode?: string | undefined;
  /** Name of the upstream that served it, or was tried last. */
  readonly upstream?: string | undefined;
  readonly attempts: readonly Attempt[];
  readonly firstByteMs?: number | undefined;
  readonly durationMs: number;
  readonly finishReason?: string | undefined;
}

export interface Settlement extends Ending {
  readonly usage: Usage;
  /** Who counted: the backend's own usage, or our meter where the backend gave none. */
  readonly source: UsageSource;
}

/** Who counted: the backend, we, or the backend with some of our numbers in place of what cannot be true. */
export type UsageSource = 'upstream' | 'counted' | 'mixed';
export type Outcome = 'completed' | 'client_left' | 'upstream_failed' | 'cut_short' | 'expired' | 'shed';

export interface Attempt {
  readonly upstream: string;
  readonly result: 'served' | 'failed' | 'skipped';
  readonly reason?: string | undefined;
  readonly durationMs: number;
  /** What it cost us; absent if that is not known, or nothing. Never shown to customers. */
  readonly cost?: AttemptCost | undefined;
}

/** `reported` by the provider, `priced` by the catalog, or `possible`: it failed, and may be billed all the same. */
export interface AttemptCost {
  readonly amount: NanoUsd;
  readonly basis: 'reported' | 'priced' | 'possible';
}

/** The reason of a skipped attempt that names an earlier request with the same Idempotency-Key. */
export const RETRY_OF = 'retry_of:';
/** The reason of a skipped attempt that says what lowered the output cap. */
export const CAP_BY = 'cap_by:';

export interface Settled {
  readonly state: HoldState;
  readonly charged: NanoUsd;
  readonly held: NanoUsd;
  /** What the backend used beyond the hold: the operator's loss. */
  readonly overrun: NanoUsd;
  /** What the account can spend now. */
  readonly available: NanoUsd;
}

export type HoldState = 'pending' | 'posted' | 'void' | 'expired';

export interface Progress {
  readonly requestId: RequestId;
  readonly delivered: Usage;
}

/** The amounts are those of the wallet that pays: the account's own, or its team's. */
export interface AccountSnapshot {
  readonly accountId: AccountId;
  readonly kind: AccountKind;
  /** Absent for an app. */
  readonly email: string | undefined;
  /** The name, if the account is an app. */
  readonly name: string | undefined;
  readonly team: TeamMembership | undefined;
  readonly balance: NanoUsd;
  readonly held: NanoUsd;
  readonly owed: NanoUsd;
  /** What the account's own requests hold. */
  readonly ownHeld: NanoUsd;
  readonly openHolds: number;
  readonly monthSpent: NanoUsd;
  /** What the account's own requests were charged this month. */
  readonly ownMonthSpent: NanoUsd;
  readonly monthlyLimit: NanoUsd | undefined;
  readonly budget: BudgetSnapshot | undefined;
  readonly tokenLimits: TokenLimits | undefined;
  /** The wallet's. */
  readonly priceGroup: string | undefined;
  /** False: the token may not be used from the caller's address. */
  readonly isNetworkAllowed: boolean;
  readonly limits: { readonly [K in keyof Limits]: number | undefined };
  /** Where each rate limit stands: theoretical arrival time in microseconds since 1970. */
  readonly arrivals: { readonly chat: number; readonly images: number };
  /** The store's clock when it answered, milliseconds. */
  readonly now: number;
}

/** What a token may be used for, how long, and from where. */
export interface TokenLimits {
  readonly expiresAt: number | undefined;
  readonly models: readonly string[] | undefined;
  readonly networks: readonly string[] | undefined;
}

interface TeamMembership {
  readonly id: AccountId;
  readonly name: string;
  readonly role: TeamRole;
}

export interface BudgetSnapshot {
  readonly amount: NanoUsd;
  readonly per: Period;
  readonly used: NanoUsd;
  readonly held: NanoUsd;
  /** When the next period begins; absent where there is none. */
  readonly resetsAt: number | undefined;
}

export interface NewEntry {
  readonly accountId: AccountId;
  readonly kind: 'credit' | 'refund' | 'adjustment';
  /** Signed: an adjustment may take away. */
  readonly amount: number;
  readonly cause: string;
  /** Who did it: an account id, `cli`, `code:…`. */
  readonly actor: string;
  /** The request that a refund is for. */
  readonly requestId?: string | undefined;
  /** Posting the same key twice changes nothing the second time. */
  readonly once?: string | undefined;
}

export interface BudgetChange {
  readonly accountId: AccountId;
  readonly budget: { readonly amount: NanoUsd; readonly per: Period } | undefined;
}

export interface WalletMove {
  readonly id: string;
  readonly fromId: AccountId;
  readonly toId: AccountId;
  readonly amount: NanoUsd;
  /** The causes of the two entries: where the money went, and where it came from. */
  readonly outCause: string;
  readonly inCause: string;
  readonly actor: string;
}

export interface Redemption {
  readonly codeHash: string;
  readonly accountId: AccountId;
  /** When the code was entered, which decides whether it has expired. */
  readonly at: number;
}

export interface Redeemed {
  readonly amount: NanoUsd;
  readonly balance: NanoUsd;
}

export interface Reclaim {
  /** The payer's wallet. */
  readonly accountId: AccountId;
  /** The key of the credit that goes back: what left the wallet before was other money. Without it all counts. */
  readonly creditOnce?: string | undefined;
  readonly amount: NanoUsd;
  readonly once: string;
  readonly cause: string;
  readonly actor: string;
}

export interface Reclaimed {
  readonly taken: NanoUsd;
  /** The part that no wallet had a balance for: the operator's loss. */
  readonly lost: NanoUsd;
  /** The part that running requests may still release. */
  readonly owed: NanoUsd;
}

export type GivenBack = Omit<Reclaimed, 'owed'>;

/** A UTC day, yyyymmdd, of the admission of an account's requests. */
export interface AccountDay {
  readonly accountId: AccountId;
  readonly day: number;
}

export type Archived =
  | { readonly kind: 'archived'; readonly requests: number; readonly charged: NanoUsd }
  | {
      readonly kind: 'refused';
      /**
       * `not_over`: further requests may come. `open_hold`: a request of that day is still running. `sums_differ`: its receipts are not what its sums say, which
       * `verify` reports too; nothing leaves before somebody has looked.
       */
      readonly reason: 'not_over' | 'open_hold' | 'archived_before' | 'no_requests' | 'sums_differ';
    };

export interface ArchivableRequest {
  readonly keepDays: number;
  /** The position at which an earlier answer ended. */
  readonly after?: AccountDay | undefined;
  readonly limit: number;
}

export interface ArchivableDay extends AccountDay {
  readonly requests: number;
  readonly charged: NanoUsd;
}

export interface VerifyOptions {
  readonly full?: boolean | undefined;
  /** How long a request may live by its deadlines; without it, as long as any catalog could allow. */
  readonly longestRequestMs?: number | undefined;
}

export interface Verification {
  readonly checked: { readonly accounts: number; readonly entries: number; readonly requests: number };
  readonly breaches: readonly Breach[];
}

/**
 * I1 balance = Σ entries − Σ charges of receipts, where a day that is being archived counts with what has left so far; I2 held = Σ holds; I3 0 ≤ held ≤ balance, 0 ≤ owed; I4 a request is a hold or a
 * receipt, never both, and its charge is the lesser of hold and price × usage; I5 every hold ends in time; I6 at most one
 * charge, its receipt, and never above the hold; I7 no hold is older than its request may live; I8 the day's sums of cost and
 * charge are those of the receipts, and by model the same as by backend; I9 every card payment is its credit, and every
 * refund or dispute is what was taken plus what was lost and what is owed; I10 the numbers of statements have no gap, and each says what the
 * books say; I11 a budget has used what the sums of its period say; I12 money that went back to its payer cannot be spent: an account owes what its refunds and disputes say, and
 * each of these is booked soon after it is known; I13 money that moved is an entry on each side, and no more of it comes back
 * for a refund or dispute than moved and was taken.
 */
export interface Breach {
  readonly invariant:
    | 'I1'
    | 'I2'
    | 'I3'
    | 'I4'
    | 'I5'
    | 'I6'
    | 'I7'
    | 'I8'
    | 'I9'
    | 'I10'
    | 'I11'
    | 'I12'
    | 'I13';
  readonly subject: string;
  readonly detail: string;
}

/** How busy the ledger of this process is. */
export interface LedgerLoad {
  readonly batches: readonly BatchLoad[];
  readonly connections: readonly ConnectionLoad[];
}

export interface BatchLoad {
  readonly name: string;
  /** How many operations went to the database together. */
  readonly sizes: DistributionSample;
  /** How long each batch took, in seconds. */
  readonly durations: DistributionSample;
  readonly waiting: number;
}

export interface ConnectionLoad extends PoolLoad {
  readonly name: string;
}
