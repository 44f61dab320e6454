import { monthOf } from '../../std/calendar.ts';
import type { AccountRow } from '../../store/schema.ts';
import { LedgerAccount } from '../decide.ts';
import type { Caller } from '../port.ts';
import { DaySums } from './day-sums.ts';
import { Numbers } from './numbers.ts';
import type { HoldRow, Statements } from './statements.ts';

/**
 * The books as one transaction sees them: each account is read once and written once, however many of its requests are
 * in the batch, and the day's sums are gathered first. Valid only while the transaction holds the write lock.
 */
export class Books {
  readonly statements: Statements;
  readonly nowMs: number;
  readonly month: number;
  readonly #known: KnownBooks;
  readonly #changed = new Set<LedgerAccount>();
  readonly sums = new DaySums();
  /** What to tell the operator once this is committed. */
  readonly alarms: Readonly<Record<string, unknown>>[] = [];

  constructor(statements: Statements, nowMs: number, known = new KnownBooks(statements)) {
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

  get numbers(): Numbers {
    return this.#known.numbers;
  }

  write(): void {
    for (const account of this.#changed) this.#writeAccount(account);
    this.sums.write(this.statements);
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
}

/**
 * Accounts and open holds as the last transaction left them. They stay true for the next one only while nobody else has written to the
 * database, which its data version tells; so a replaced token or a new limit is seen by the very next batch.
 */
export class KnownBooks {
  readonly byId = new Map<string, LedgerAccount>();
  readonly byToken = new Map<string, LedgerAccount>();
  readonly holds = new Map<string, HoldRow>();
  readonly numbers: Numbers;
  #version = -1;
  #month = 0;

  constructor(statements: Statements) {
    this.numbers = new Numbers(statements);
  }

  /** To be called with the write lock held. */
  keepIf(version: number, month: number): void {
    if (version !== this.#version || month !== this.#month || this.byToken.size > MAX_KNOWN) this.#clear();
    this.#version = version;
    this.#month = month;
  }

  /** After a transaction that was rolled back: what it changed here did not happen. */
  forget(): void {
    this.#clear();
    this.numbers.forget();
  }

  #clear(): void {
    this.byId.clear();
    this.byToken.clear();
    this.holds.clear();
  }
}

const MAX_KNOWN = 5_000;
