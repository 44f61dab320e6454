import { DAY_MS, dayOf, monthOf } from '../../std/calendar.ts';
import type { NanoUsd } from '../../std/money.ts';
import { TransientMap } from '../../std/transient-map.ts';
import { DURATION_BOUNDS_MS, DURATION_COLUMNS } from '../../store/receipt-codes.ts';
import type { AccountRow } from '../../store/schema.ts';
import { EVERYBODY, isFailure, type RequestCost } from '../decide.ts';
import { LedgerAccount } from '../decide.ts';
import type { Caller, Outcome } from '../port.ts';
import { priceToText, type Price, type Usage } from '../price.ts';
import type { HoldRow, Statements } from './statements.ts';

/**
 * The ledger as one transaction sees it: each account is read once and written once, however many of its requests are
 * in the batch, and the day's sums are gathered first. Valid only while the transaction holds the write lock.
 */
export class LedgerTransaction {
  readonly statements: Statements;
  readonly nowMs: number;
  readonly month: number;
  readonly #cache: LedgerCache;
  readonly #changed = new Set<LedgerAccount>();
  readonly sums = new DaySums();
  /** Warnings for the operator, sent once the transaction is committed. */
  readonly alarms: Readonly<Record<string, unknown>>[] = [];

  constructor(statements: Statements, nowMs: number, cache = new LedgerCache(statements)) {
    this.statements = statements;
    this.nowMs = nowMs;
    this.month = monthOf(nowMs);
    this.#cache = cache;
  }

  caller(caller: Caller): LedgerAccount | undefined {
    if (caller.kind === 'account') return this.account(caller.id);
    const known = this.#cache.byToken.get(caller.hash);
    if (known) return known;
    const account = this.#adopt(this.statements.accountByToken.get(caller.hash));
    if (account) this.#cache.byToken.set(caller.hash, account);
    return account;
  }

  account(id: string): LedgerAccount | undefined {
    return this.#cache.byId.get(id) ?? this.#adopt(this.statements.accountById.get(id));
  }

  /** A hold made by this process needs no reading: what is in its row is known. */
  hold(requestId: string): HoldRow | null {
    return this.#cache.holds.get(requestId) ?? this.statements.hold.get(requestId);
  }

  /** To be called with what was just inserted. */
  rememberHold(hold: HoldRow): void {
    if (this.#cache.holds.size < MAX_KNOWN) this.#cache.holds.set(hold.id, hold);
  }

  /** The row has changed or was closed. */
  forgetHold(requestId: string): void {
    this.#cache.holds.delete(requestId);
  }

  /** Whether a request has its receipt. A new one's id is above those of all receipts, so that it need not be looked up. */
  isOver(requestId: string): boolean {
    const highest = (this.#cache.highestReceipt ??= this.statements.highestReceipt.get()?.id ?? '');
    return requestId <= highest && this.statements.receipt.get(requestId) !== null;
  }

  /** A request that was admitted in an earlier month belongs to that month. */
  isThisMonth(admittedAt: number): boolean {
    const isToday = Math.floor(admittedAt / DAY_MS) === Math.floor(this.nowMs / DAY_MS);
    return isToday || monthOf(admittedAt) >= this.month;
  }

  /** To be called with what was just inserted. */
  noteReceipt(requestId: string): void {
    const { highestReceipt } = this.#cache;
    if (highestReceipt !== undefined && requestId > highestReceipt) this.#cache.highestReceipt = requestId;
  }

  /** Notes that an account, and the wallet that it spends, must be written back. */
  touch(account: LedgerAccount): void {
    this.#changed.add(account);
    if (account.isTeams) this.#changed.add(account.wallet);
  }

  get numbers(): KnownNumbers {
    return this.#cache.numbers;
  }

  write(): void {
    this.#writeAccounts();
    this.sums.write(this.statements);
  }

  /** Before accounts are changed by a statement: what was decided so far is written, and they are read again. */
  flushAccounts(): void {
    this.write();
    this.sums.clear();
    this.#cache.forgetAccounts();
  }

  #writeAccounts(): void {
    for (const account of this.#changed) this.#writeAccount(account);
    this.#changed.clear();
  }

  /** A row may be met by its token and by its id; it is one account all the same. */
  #adopt(row: AccountRow | null): LedgerAccount | undefined {
    if (!row) return undefined;
    const known = this.#cache.byId.get(row.id);
    if (known) return known;
    const wallet = row.wallet_id === null ? undefined : this.account(row.wallet_id);
    const account = new LedgerAccount(row, this.month, wallet);
    this.#cache.byId.set(row.id, account);
    return account;
  }

  #writeAccount(account: LedgerAccount): void {
    const update = this.statements.updateAccount;
    const { values } = update;
    values[0] = account.balance;
    values[1] = account.held;
    values[2] = account.owed;
    values[3] = account.openHolds;
    values[4] = account.arrivals.chat;
    values[5] = account.arrivals.images;
    values[6] = account.month;
    values[7] = account.monthSpent;
    values[8] = account.tokenUsedAt;
    values[9] = account.id;
    update.get(values);
    if (account.isTeams || account.budget) this.#writeSpender(account);
  }

  #writeSpender({ id, row, budget, teamHeld }: LedgerAccount): void {
    const update = this.statements.updateSpender;
    const { values } = update;
    values[0] = teamHeld;
    values[1] = budget?.from ?? row.budget_from;
    values[2] = budget?.fromDay ?? row.budget_from_day;
    values[3] = budget?.used ?? row.budget_used;
    values[4] = budget?.held ?? row.budget_held;
    values[5] = id;
    update.get(values);
  }
}

/**
 * Accounts, open holds and the highest receipt as the last transaction left them. They stay true for the next one only
 * while nobody else has written to the database, which its data version tells; so a replaced token or a new limit is seen
 * by the very next batch.
 */
export class LedgerCache {
  readonly byId = new Map<string, LedgerAccount>();
  readonly byToken = new Map<string, LedgerAccount>();
  readonly holds = new TransientMap<string, HoldRow>();
  readonly numbers: KnownNumbers;
  /** No receipt has a higher id; absent until it is asked for. */
  highestReceipt: string | undefined;
  #version = -1;
  #month = 0;

  constructor(statements: Statements) {
    this.numbers = new KnownNumbers(statements);
  }

  /** To be called with the write lock held. */
  keepIf(version: number, month: number): void {
    if (version !== this.#version || month !== this.#month || this.byToken.size > MAX_KNOWN) this.#clear();
    this.#version = version;
    this.#month = month;
  }

  forgetAccounts(): void {
    this.byId.clear();
    this.byToken.clear();
  }

  /** After a transaction that was rolled back: what it changed here did not happen. */
  forget(): void {
    this.#clear();
    this.numbers.forget();
  }

  #clear(): void {
    this.forgetAccounts();
    this.holds.clear();
    this.highestReceipt = undefined;
  }
}

const MAX_KNOWN = 5_000;

/**
 * The numbers of values that repeat in every request. A number is given in the transaction that first uses it, so that
 * both reach the disk or neither does. They never change, so nothing that others write makes them stale; but a transaction
 * that was rolled back has given none, and then all of them are forgotten.
 */
class KnownNumbers {
  readonly #statements: Statements;
  readonly #prices = new Map<string, number>();
  readonly #routes = new Map<string, Map<string, number>>();
  readonly #backends = new Map<string, number>();
  readonly #nodes = new Map<string, number>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  price(price: Price): number {
    const text = priceToText(price);
    return this.#prices.get(text) ?? this.#newPrice(price, text);
  }

  #newPrice(price: Price, text: string): number {
    const { findPrice, addPrice } = this.#statements;
    const tokens = price.kind === 'tokens' ? price : NO_TOKENS;
    const image = price.kind === 'images' ? price.image : 0;
    const found =
      findPrice.get(text) ?? addPrice.get(text, tokens.input, tokens.cachedInput, tokens.output, image);
    return remember(this.#prices, text, found);
  }

  route(kind: string, endpoint: string, model: string): number {
    let models = this.#routes.get(endpoint);
    if (!models || models.size >= MAX_NUMBERS) this.#routes.set(endpoint, (models = new Map()));
    const key = `${kind} ${model}`;
    const known = models.get(key);
    if (known !== undefined) return known;
    const { findRoute, addRoute } = this.#statements;
    return remember(models, key, findRoute.get(endpoint, model, kind) ?? addRoute.get(kind, endpoint, model));
  }

  backend(name: string): number {
    const { findBackend, addBackend } = this.#statements;
    return (
      this.#backends.get(name) ??
      remember(this.#backends, name, findBackend.get(name) ?? addBackend.get(name))
    );
  }

  node(name: string): number {
    const { findNode, addNode } = this.#statements;
    return this.#nodes.get(name) ?? remember(this.#nodes, name, findNode.get(name) ?? addNode.get(name));
  }

  forget(): void {
    for (const known of [this.#prices, this.#routes, this.#backends, this.#nodes]) known.clear();
  }
}

const MAX_NUMBERS = 1_000;
const NO_TOKENS = { input: 0, cachedInput: 0, output: 0 };

function remember(known: Map<string, number>, key: string, found: { id: number } | null): number {
  if (!found) throw new Error(`no number was given to '${key}'`);
  if (known.size >= MAX_NUMBERS) known.clear();
  known.set(key, found.id);
  return found.id;
}

/** The sums of the day that one transaction changes, gathered so that each row is written once. */
class DaySums {
  /** By account: a batch has few models for each, and no key has to be put together to find the right one. */
  readonly #sums = new Map<string, Sum[]>();
  readonly #backends: BackendSum[] = [];
  #day = 0;
  #dayFrom = Number.POSITIVE_INFINITY;

  /** Counts a closed request for its account and for all accounts together. */
  add(request: ClosedRequest): void {
    const day = this.#dayOf(request.createdAt);
    this.#sum(request.accountId, day, request).add(request);
    this.#sum(EVERYBODY, day, request).add(request);
    this.#backendSum(day, request.backend ?? NO_BACKEND, request.model).add(request);
    for (const { upstream, amount } of request.cost.lost)
      this.#backendSum(day, upstream, request.model).addLost(amount);
  }

  write({ addUsage, addBackendDay }: Statements): void {
    for (const sum of this.#backends) sum.write(addBackendDay);
    for (const sums of this.#sums.values()) for (const sum of sums) sum.write(addUsage);
  }

  clear(): void {
    this.#sums.clear();
    this.#backends.length = 0;
  }

  #sum(account: string, day: number, { endpoint, model }: ClosedRequest): Sum {
    let sums = this.#sums.get(account);
    if (!sums) this.#sums.set(account, (sums = []));
    for (const sum of sums) if (sum.isFor(day, endpoint, model)) return sum;
    const sum = new Sum([account, day, endpoint, model]);
    sums.push(sum);
    return sum;
  }

  #backendSum(day: number, backend: string, model: string): BackendSum {
    for (const sum of this.#backends) if (sum.isFor(day, backend, model)) return sum;
    const sum = new BackendSum([day, backend, model]);
    this.#backends.push(sum);
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

interface ClosedRequest {
  readonly accountId: string;
  readonly endpoint: string;
  readonly model: string;
  readonly backend: string | undefined;
  readonly createdAt: number;
  readonly durationMs: number;
  readonly outcome: Outcome;
  readonly usage: Usage;
  readonly charged: NanoUsd;
  readonly cost: RequestCost;
  /** What cached input has saved, in nano-USD. */
  readonly saved: number;
}

/** Account, day, endpoint, model. */
type SumKey = readonly [string, number, string, string];

const NO_BACKEND = '';

/** One row of `backend_day`. */
class BackendSum {
  readonly #key: readonly [day: number, backend: string, model: string];
  #requests = 0;
  #failures = 0;
  #charged = 0;
  #spent = 0;
  #possible = 0;
  #costed = 0;
  readonly #durations: number[] = DURATION_COLUMNS.map(() => 0);

  constructor(key: readonly [day: number, backend: string, model: string]) {
    this.#key = key;
  }

  isFor(day: number, backend: string, model: string): boolean {
    return this.#key[0] === day && this.#key[1] === backend && this.#key[2] === model;
  }

  add({ outcome, charged, durationMs, cost: { spent } }: ClosedRequest): void {
    this.#requests++;
    if (isFailure(outcome)) this.#failures++;
    this.#charged += charged;
    this.#spent += spent ?? 0;
    if (spent !== undefined) this.#costed += charged;
    let bucket = 0;
    while (durationMs > (DURATION_BOUNDS_MS[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    this.#durations[bucket] = (this.#durations[bucket] ?? 0) + 1;
  }

  /** Adds what a backend may charge for an attempt that failed. */
  addLost(amount: NanoUsd): void {
    this.#possible += amount;
  }

  write(addBackendDay: Statements['addBackendDay']): void {
    const { values } = addBackendDay;
    values[0] = this.#key[0];
    values[1] = this.#key[1];
    values[2] = this.#key[2];
    values[3] = this.#requests;
    values[4] = this.#failures;
    values[5] = this.#charged;
    values[6] = this.#spent;
    values[7] = this.#possible;
    values[8] = this.#costed;
    for (let bucket = 0; bucket < this.#durations.length; bucket++)
      values[9 + bucket] = this.#durations[bucket] ?? 0;
    addBackendDay.get(values);
  }
}

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
  #spent = 0;
  #possible = 0;
  #costed = 0;
  #saved = 0;

  constructor(key: SumKey) {
    this.#key = key;
  }

  isFor(day: number, endpoint: string, model: string): boolean {
    return this.#key[1] === day && this.#key[3] === model && this.#key[2] === endpoint;
  }

  add({ outcome, usage, charged, cost, saved }: ClosedRequest): void {
    this.#requests++;
    if (isFailure(outcome)) this.#failures++;
    this.#input += usage.input;
    this.#cached += usage.cached;
    this.#output += usage.output;
    this.#reasoning += usage.reasoning;
    this.#images += usage.images;
    this.#charged += charged;
    this.#spent += cost.spent ?? 0;
    this.#possible += cost.possible;
    this.#saved += saved;
    if (cost.spent !== undefined) this.#costed += charged;
  }

  write(addUsage: Statements['addUsage']): void {
    const { values } = addUsage;
    values[0] = this.#key[0];
    values[1] = this.#key[1];
    values[2] = this.#key[2];
    values[3] = this.#key[3];
    values[4] = this.#requests;
    values[5] = this.#failures;
    values[6] = this.#input;
    values[7] = this.#cached;
    values[8] = this.#output;
    values[9] = this.#reasoning;
    values[10] = this.#images;
    values[11] = this.#charged;
    values[12] = this.#spent;
    values[13] = this.#possible;
    values[14] = this.#costed;
    values[15] = this.#saved;
    addUsage.get(values);
  }
}
