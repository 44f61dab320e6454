import type { Database } from 'bun:sqlite';
import type { Clock } from '../../std/clock.ts';
import { asFault, storeUnavailable } from '../../std/fault.ts';
import type { RequestId } from '../../std/ids.ts';
import type { Log } from '../../std/log.ts';
import { isBusy, isStoreFailure } from '../../store/bun-sqlite.ts';
import type { SqliteBackend } from '../../store/store.ts';
import { GroupCommit } from './group-commit.ts';
import {
  MAX_CLIENT,
  type LedgerLoad,
  type AccountDay,
  type AccountSnapshot,
  type Admission,
  type AdmissionRequest,
  type ArchivableDay,
  type ArchivableRequest,
  type BudgetChange,
  type Archived,
  type Caller,
  type Ending,
  type GivenBack,
  type Ledger,
  type NewEntry,
  type Progress,
  type Reclaim,
  type Reclaimed,
  type Redeemed,
  type Redemption,
  type Settled,
  type Settlement,
  type Verification,
  type VerifyOptions,
  type WalletMove,
} from '../port.ts';
import { limitEnd } from '../budget.ts';
import { availableOf, decide, UNKNOWN_CALLER } from '../decide.ts';
import { snapshotOf } from '../account-snapshot.ts';
import type { LedgerAccount } from '../decide.ts';
import { tokenRefusal, tokenUse } from '../token-limits.ts';
import { archivableDays, archiveDay } from '../archive.ts';
import type { ArchiveBatch, ArchivingStore, LeftBatch } from '../archive.ts';
import { leave } from './archive.ts';
import { LedgerCache, LedgerTransaction } from './transaction.ts';
import type { Lease } from '../lease.ts';
import { priceToText } from '../price.ts';
import { move, post, redeem, setBudget } from './posting.ts';
import { giveBack, reclaim } from './reclaim.ts';
import { adopt, expireHold, giveUp, renew, settle, voidHold } from './settlement.ts';
import { prepareStatements, type HoldRow, type Statements } from './statements.ts';
import { oldestHoldMs, verifyLedger } from '../verify-checks.ts';

/**
 * The ledger on SQLite. Operations run on the main thread, a batch to a transaction; an admission is answered when it is
 * committed, what changes a balance when it is on the disk.
 */
export class SqliteLedger implements Ledger {
  readonly #options: SqliteLedgerOptions;
  readonly #lease: Lease;
  readonly #database: Database;
  readonly #statements: Statements;
  readonly #cache: LedgerCache;
  readonly #commits: GroupCommit<LedgerTransaction>;

  constructor(options: SqliteLedgerOptions) {
    this.#options = options;
    this.#lease = { node: options.node, leaseMs: options.leaseMs ?? LEASE_MS };
    this.#database = options.backend.open();
    // The ledger has read the account of every row it writes; checking again would cost a look-up per row.
    this.#database.run('PRAGMA foreign_keys = OFF');
    this.#statements = prepareStatements(this.#database);
    this.#cache = new LedgerCache(this.#statements);
    this.#commits = new GroupCommit(this.#transactions(), options.log);
  }

  load(): LedgerLoad {
    return { batches: [this.#commits.load()], connections: [] };
  }

  /** For what requests write beside the ledger's tables. */
  alongside<T>(run: (database: Database) => T): Promise<T> {
    return this.#commits.submit(() => run(this.#database), false);
  }

  admit(request: AdmissionRequest): Promise<Admission> {
    return this.#commits.submitWith(this.#admitRequest, request, false);
  }

  settle(requestId: RequestId, settlement: Settlement): Promise<Settled> {
    return this.#commits.submitWith(settle, { requestId, settlement }, true);
  }

  readonly #admitRequest = (transaction: LedgerTransaction, request: AdmissionRequest): Admission =>
    admitRequest(transaction, request, this.#lease);

  void(requestId: RequestId, ending: Ending): Promise<Settled> {
    return this.#commits.submit((transaction) => voidHold(transaction, requestId, ending), true);
  }

  async renew(progress: readonly Progress[]): Promise<readonly RequestId[]> {
    const closed: RequestId[] = [];
    for (let start = 0; start < progress.length; start += RENEW_TOGETHER) {
      const part = progress.slice(start, start + RENEW_TOGETHER);
      const { leaseMs } = this.#lease;
      closed.push(...(await this.#commits.submit((transaction) => renew(transaction, part, leaseMs), false)));
    }
    return closed;
  }

  expire(): Promise<number> {
    return this.#expireAll((transaction) =>
      transaction.statements.overdue.all(transaction.nowMs, EXPIRE_TOGETHER),
    );
  }

  adopt(requestId: RequestId): Promise<boolean> {
    return this.#commits.submit((transaction) => adopt(transaction, requestId, this.#lease), true);
  }

  async giveUp(requestIds: readonly RequestId[]): Promise<void> {
    await this.#commits.submit((transaction) => giveUp(transaction, requestIds), true);
  }

  /**
   * For the start of a server: closes at once what an earlier process of this data folder left behind, instead of
   * waiting for its leases; jobs that can continue are released for adoption. Does nothing while another server uses
   * the same folder, since the holds may be in use.
   */
  async recover(): Promise<number> {
    if (!this.#options.backend.claim()) {
      this.#options.log.warn('data_folder_shared', { path: this.#options.backend.path });
      return 0;
    }
    const { node } = this.#lease;
    await this.#commits.submit(
      (transaction) => void transaction.statements.giveUpOrphans.run(node, transaction.nowMs),
      true,
    );
    return this.#expireAll((transaction) =>
      transaction.statements.orphans.all(node, transaction.nowMs, EXPIRE_TOGETHER),
    );
  }

  identify(caller: Caller): Promise<AccountSnapshot | undefined> {
    try {
      const now = this.#options.clock.now();
      const account = new LedgerTransaction(this.#statements, now).caller(caller);
      return Promise.resolve(snapshotOf(account, caller, now));
    } catch (error) {
      return Promise.reject(isStoreFailure(error) ? storeUnavailable(error) : asFault(error));
    }
  }

  post(entry: NewEntry): ReturnType<Ledger['post']> {
    return this.#commits.submit((transaction) => post(transaction, entry), true);
  }

  redeem(redemption: Redemption): Promise<Redeemed | undefined> {
    return this.#commits.submit((transaction) => redeem(transaction, redemption), true);
  }

  reclaim(reclaimed: Reclaim): Promise<Reclaimed> {
    return this.#commits.submit((transaction) => reclaim(transaction, reclaimed), true);
  }

  giveBack(reclaimed: Omit<Reclaim, 'amount'>): Promise<GivenBack | undefined> {
    return this.#commits.submit((transaction) => giveBack(transaction, reclaimed), true);
  }

  setBudget(change: BudgetChange): Promise<void> {
    return this.#commits.submit((transaction) => setBudget(transaction, change), true);
  }

  move(wanted: WalletMove): Promise<void> {
    return this.#commits.submit((transaction) => move(transaction, wanted), true);
  }

  async archive(day: AccountDay, together = ARCHIVE_TOGETHER): Promise<Archived> {
    const leaveTogether = (batch: ArchiveBatch): Promise<LeftBatch> =>
      this.#commits.submit((transaction) => leave(transaction, batch), true);
    return await archiveDay({ read: this.#read, leave: leaveTogether }, day, together);
  }

  archivable(request: ArchivableRequest): Promise<readonly ArchivableDay[]> {
    return archivableDays({ read: this.#read }, this.#options.clock.now(), request);
  }

  /** Reads the whole ledger on the background thread, while requests are served. */
  async verify({ full = false, longestRequestMs }: VerifyOptions = {}): Promise<Verification> {
    const { background } = this.#options.backend;
    try {
      return await verifyLedger((sql) => background.query(sql), this.#options.clock.now(), {
        full,
        oldestMs: oldestHoldMs(longestRequestMs, this.#lease.leaseMs),
      });
    } catch (error) {
      throw storeUnavailable(error);
    }
  }

  async close(): Promise<void> {
    await this.#commits.close();
    for (const statement of Object.values(this.#statements)) statement.finalize();
    this.#database.close();
  }

  async #expireAll(find: (transaction: LedgerTransaction) => HoldRow[]): Promise<number> {
    for (let closed = 0; ;) {
      const found = await this.#commits.submit((transaction) => {
        const holds = find(transaction);
        for (const hold of holds) expireHold(transaction, hold);
        return holds.length;
      }, true);
      closed += found;
      if (found < EXPIRE_TOGETHER) return closed;
    }
  }

  readonly #read: ArchivingStore['read'] = async (sql, values) => {
    try {
      return await this.#options.backend.background.query(sql, values);
    } catch (error) {
      throw storeUnavailable(error);
    }
  };

  #begin(): LedgerTransaction {
    const transaction = new LedgerTransaction(this.#statements, this.#options.clock.now(), this.#cache);
    this.#cache.keepIf(this.#statements.dataVersion.get()?.data_version ?? -1, transaction.month);
    return transaction;
  }

  #transactions() {
    const { begin, commit, rollback } = this.#statements;
    const { log, backend } = this.#options;
    const undo = (): void => {
      // A full disk may have rolled back already.
      if (this.#database.inTransaction) rollback.run();
    };
    return {
      begin: () =>
        !backend.wal.wantsQuiet() &&
        ranUnlessBusy(() => {
          undo();
          begin.run();
        }),
      work: () => this.#begin(),
      commit(transaction: LedgerTransaction) {
        transaction.write();
        commit.run();
        for (const { event, ...fields } of transaction.alarms) log.error(String(event), fields);
      },
      rollback: () => {
        this.#cache.forget();
        try {
          undo();
        } catch (error) {
          // The next batch tries again before it begins.
          log.error('rollback_failed', { error });
        }
      },
      sync: () => backend.wal.sync(),
      isUnavailable: isStoreFailure,
    };
  }
}

interface SqliteLedgerOptions {
  readonly backend: SqliteBackend;
  readonly log: Log;
  readonly clock: Clock;
  /** Names this process in the holds it makes; no two processes share one. */
  readonly node: string;
  readonly leaseMs?: number | undefined;
}

const LEASE_MS = 120_000;
const EXPIRE_TOGETHER = 100;
const RENEW_TOGETHER = 500;
/** Some milliseconds of the main thread. */
const ARCHIVE_TOGETHER = 250;

function ranUnlessBusy(begin: () => void): boolean {
  try {
    begin();
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

/** One admission inside a batch's transaction. */
function admitRequest(transaction: LedgerTransaction, request: AdmissionRequest, lease: Lease): Admission {
  const { nowMs } = transaction;
  const { caller } = request;
  const account = transaction.caller(caller);
  if (!account?.active) return UNKNOWN_CALLER;
  const refusal = account.tokenLimits && tokenRefusal(account.tokenLimits, tokenUse(request, nowMs));
  if (refusal !== undefined) return { ...UNKNOWN_CALLER, reason: refusal };
  const { budget, wallet } = account;
  const { validUntil } = request;
  const hasEnded = validUntil !== undefined && nowMs >= validUntil;
  if (hasEnded || (request.priceGroup ?? null) !== wallet.row.price_group)
    return { ...UNKNOWN_CALLER, reason: 'quote_again' };
  budget?.enter(nowMs);
  const decision = decide(account.stateFor(request), request, nowMs * 1000);
  if (decision.kind === 'refuse') {
    const { reason, retryAfterMs, required, rate, limit } = decision;
    const available = availableOf(account.money);
    const resetsAt = limit && limitEnd(limit, nowMs);
    return {
      kind: 'refused',
      reason,
      retryAfterMs,
      required,
      rate,
      available,
      limit,
      resetsAt,
      isTeam: account.isTeams,
    };
  }
  insertHold(transaction, account, { request, lease, held: decision.hold, output: decision.output });
  account.take(decision.hold);
  account.arrivals[request.rate] = decision.arrivalUs;
  if (decision.teamArrivalUs !== undefined) wallet.arrivals[request.rate] = decision.teamArrivalUs;
  if (caller.kind === 'token') account.tokenUsedAt = nowMs;
  transaction.touch(account);
  return {
    kind: 'admitted',
    accountId: account.id,
    walletId: account.isTeams ? wallet.id : undefined,
    held: decision.hold,
    output: decision.output,
    rate: decision.rate,
    available: availableOf(account.money),
    budgetLeft: budget?.left,
  };
}

interface NewHold {
  readonly request: AdmissionRequest;
  readonly lease: Lease;
  readonly held: number;
  readonly output: number;
}

function insertHold(
  transaction: LedgerTransaction,
  account: LedgerAccount,
  { request, lease, held, output }: NewHold,
): void {
  const { ceiling, endpoint, model, price } = request;
  const { nowMs } = transaction;
  const hold = {
    id: request.requestId,
    account_id: account.id,
    held,
    // After a clock that jumped back it counts in the period that has begun already.
    created_at: Math.max(nowMs, account.budget?.from ?? 0),
    node: transaction.numbers.node(lease.node),
    price: transaction.numbers.price(price),
    route: transaction.numbers.route(request.rate, endpoint, model),
    output_cap: output,
    choices: ceiling.kind === 'tokens' ? ceiling.choices : ceiling.images,
    stream: request.stream ? 1 : 0,
    client: request.client.slice(0, MAX_CLIENT),
    input_tokens: 0,
    cached_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    images: 0,
    extra: null,
    price_text: priceToText(price),
    endpoint,
    model,
  };
  // Such a hold could never be closed, because there can be no second receipt. For a running request the hold's key
  // ensures this.
  if (transaction.isOver(hold.id)) throw asFault(new Error(`request ${hold.id} is over`));
  const insert = transaction.statements.insertHold;
  const { values } = insert;
  values[0] = hold.id;
  values[1] = hold.account_id;
  values[2] = held;
  values[3] = nowMs + lease.leaseMs;
  values[4] = hold.created_at;
  values[5] = hold.node;
  values[6] = hold.price;
  values[7] = hold.route;
  values[8] = ceiling.kind === 'tokens' ? ceiling.input : 0;
  values[9] = output;
  values[10] = hold.choices;
  values[11] = hold.stream;
  values[12] = hold.client;
  insert.get(values);
  transaction.rememberHold(hold);
}
