import { spanOf } from '../ledger/archive.ts';
import { DAY_MS, dayOf, startOfDay } from '../std/calendar.ts';
import type { Clock } from '../std/clock.ts';
import { requestIdAt } from '../std/ids.ts';
import { numbered, slowQuery, type SlowQuery } from '../store/background-thread.ts';
import type { Store } from '../store/store.ts';
import { writeGrown } from './counted-usage.ts';
import { OPEN_MS } from './usage-hours.ts';
import { ALL_ACCOUNTS, sumUsage, USAGE_COLUMNS, type UsageSums } from './usage.ts';
import { CompiledQuery } from 'kysely';

const RUN_MS = 10_000;
/** An account with fewer requests in ten days has few rows to add up. */
const FEWEST_REQUESTS = 500;

interface SummedModel extends UsageSums {
  readonly endpoint: string;
  readonly model: string;
}

/**
 * Adds up `usage_day` for ten days together that are over, of accounts with many requests and of all together: an account
 * with hundreds of models has too many rows of single days, and on Postgres too many pages that hold them. Any number of
 * processes may do this, any number of times: rows can only grow. The days of all other
 * accounts are read from `usage_day` as they are.
 */
export class TenDaySums {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #query: SlowQuery;
  readonly #history: SavedHistory;
  /** Accounts that are done, of the ten days that the last call did not finish. */
  #begun: { readonly first: number; readonly accounts: Set<string> } | undefined;
  /** Which late requests of an account and day have been added: how many, and when the last was booked. */
  #late: ReadonlyMap<string, string> = new Map();
  #hasLooked = false;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
    this.#query = slowQuery(store);
    this.#history = new SavedHistory(store);
  }

  /** To be called when all receipts are counted. False: it took too long, and the rest is left to the next call. */
  async count(stopping?: AbortSignal): Promise<boolean> {
    const until = performance.now() + RUN_MS;
    const isOver = (): boolean => performance.now() >= until || stopping?.aborted === true;
    const today = dayOf(this.#clock.now() - OPEN_MS);
    const open = tenDaysOf(today);
    if (!(await this.#history.takeOver(today, isOver))) return false;
    if (!(await this.#addLate(isOver))) return false;
    for (;;) {
      const next = await this.#next();
      if (next === undefined || next >= open) return true;
      if (isOver() || !(await this.#addAll(next, isOver))) return false;
    }
  }

  async #addAll(first: number, isOver: () => boolean): Promise<boolean> {
    if (this.#begun?.first !== first) this.#begun = { first, accounts: new Set() };
    const { accounts: done } = this.#begun;
    for (const account of await this.#accountsOf(first)) {
      if (done.has(account)) continue;
      if (isOver()) return false;
      await this.#add(first, account);
      done.add(account);
    }
    // Last: it says that these ten days are done.
    await this.#add(first, ALL_ACCOUNTS);
    return true;
  }

  /** The first ones with requests after the last that are done. */
  async #next(): Promise<number | undefined> {
    const [last] = await this.#query<{ first_day: number }>(
      `SELECT first_day FROM usage_ten_days WHERE account_id = ? AND endpoint = '' AND saved IS NOT NULL
        ORDER BY first_day DESC LIMIT 1`,
      [ALL_ACCOUNTS],
    );
    const [next] = await this.#query<{ day: number }>(
      'SELECT day FROM usage_day WHERE account_id = ? AND day > ? AND requests > 0 ORDER BY day LIMIT 1',
      [ALL_ACCOUNTS, last ? lastOfTenDays(last.first_day) : 0],
    );
    return next && tenDaysOf(next.day);
  }

  async #accountsOf(first: number): Promise<string[]> {
    const rows = await this.#query<{ account_id: string }>(
      `SELECT account_id FROM usage_client WHERE day >= ? AND day <= ? AND account_id <> ''
        GROUP BY account_id HAVING SUM(requests) >= ${FEWEST_REQUESTS} ORDER BY account_id`,
      [first, lastOfTenDays(first)],
    );
    return rows.map(({ account_id }) => account_id);
  }

  async #add(first_day: number, account_id: string): Promise<void> {
    // In the same order by every process: none waits for a row of another that waits for one of its own.
    const rows = await this.#query<SummedModel>(
      `SELECT endpoint, model, ${USAGE_COLUMNS.map((name) => `CAST(SUM(${name}) AS BIGINT) AS ${name}`).join(', ')}
        FROM usage_day WHERE account_id = ? AND day >= ? AND day <= ? GROUP BY endpoint, model ORDER BY endpoint, model`,
      [account_id, first_day, lastOfTenDays(first_day)],
    );
    const key = { account_id, first_day };
    const columns = ['account_id', 'first_day', 'endpoint', 'model', ...USAGE_COLUMNS] as const;
    const table = { name: 'usage_ten_days', columns, keys: 4 };
    const written = new Map<string, number>();
    await writeGrown(this.#store, { ...table, rows: rows.map((row) => ({ ...key, ...row })) }, written);
    const whole = { ...key, endpoint: '', model: '', ...sumUsage(rows) };
    await writeGrown(this.#store, { ...table, rows: [whole] }, written);
  }

  /** A request that ended long after it began is in the sums of a day that may be done. */
  async #addLate(isOver: () => boolean): Promise<boolean> {
    const now = this.#clock.now();
    const rows = await this.#query<{ account_id: string; day: number; requests: number; last: number }>(
      `SELECT account_id, CAST(created_at / ${DAY_MS} AS BIGINT) AS day, CAST(COUNT(*) AS BIGINT) AS requests,
          MAX(booked_at) AS last
        FROM receipt WHERE late = 1 AND booked_at >= ? AND id < ? GROUP BY 1, 2`,
      [(await this.#lastLook(now)) - OPEN_MS, requestIdAt(startOfDay(now - OPEN_MS))],
    );
    const late = new Map<string, string>();
    for (const { account_id, day, requests, last } of rows) {
      const [key, seen] = [`${account_id} ${day}`, `${requests} ${last}`];
      if (this.#late.get(key) !== seen) {
        if (isOver()) {
          this.#late = new Map([...this.#late, ...late]);
          return false;
        }
        for (const account of [account_id, ALL_ACCOUNTS]) await this.#addAgain(dayOf(day * DAY_MS), account);
      }
      late.set(key, seen);
    }
    this.#late = late;
    this.#hasLooked = true;
    return true;
  }

  /** The process before this one may have ended long ago, right after it booked something. */
  async #lastLook(now: number): Promise<number> {
    if (this.#hasLooked) return now;
    const [last] = await this.#query<{ booked_at: number }>(
      'SELECT booked_at FROM receipt WHERE late = 1 ORDER BY booked_at DESC LIMIT 1',
      [],
    );
    return Math.min(now, last?.booked_at ?? now);
  }

  async #addAgain(day: number, account: string): Promise<void> {
    const first = tenDaysOf(day);
    const [done] = await this.#query<{ requests: number }>(
      `SELECT requests FROM usage_ten_days
        WHERE account_id = ? AND first_day = ? AND endpoint = '' AND saved IS NOT NULL`,
      [account, first],
    );
    if (done) await this.#add(first, account);
    // A version that reads the sums of single days would miss the request there; without them it reads `usage_day`.
    await this.#store.db
      .deleteFrom('usage_total')
      .where('account_id', '=', account)
      .where('day', '=', day)
      .execute();
  }
}

/** The ten days in which a day is, named by their first: a month has ten, ten more, and what is left. */
export function tenDaysOf(day: number): number {
  const part = Math.min(Math.floor(((day % 100) - 1) / 10), 2);
  return day - (day % 100) + 10 * part + 1;
}

/** A month's 31st day is among its last ones, where there is one. */
export function lastOfTenDays(first: number): number {
  return first + (first % 100 === 21 ? 10 : 9);
}

/** Days from a first to a last one, both included. */
export interface UsageSpan {
  readonly from: number;
  readonly to: number;
}

function daysIn({ from, to }: UsageSpan): number[] {
  const days: number[] = [];
  for (let at = spanOf(from).fromMs, day = from; day <= to; at += DAY_MS, day = dayOf(at)) days.push(day);
  return days;
}

/** The ten days of which all are in the range. */
export function wholeTenDays(span: UsageSpan): number[] {
  const parts = Map.groupBy(daysIn(span), tenDaysOf);
  return [...parts]
    .filter(([first, days]) => days[0] === first && tenDaysOf(dayAfter(days.at(-1) ?? first)) !== first)
    .map(([first]) => first);
}

function dayAfter(day: number): number {
  return dayOf(spanOf(day).fromMs + DAY_MS);
}

/** The runs of days that are not done. */
export function spansWithout(range: UsageSpan, isDone: (day: number) => boolean): UsageSpan[] {
  const spans: UsageSpan[] = [];
  let isRun = false;
  for (const day of daysIn(range)) {
    const last = spans.at(-1);
    if (isDone(day)) isRun = false;
    else if (isRun && last) spans[spans.length - 1] = { from: last.from, to: day };
    else {
      spans.push({ from: day, to: day });
      isRun = true;
    }
  }
  return spans;
}

const TOGETHER = 100;

interface AccountDay {
  readonly account_id: string;
  readonly day: number;
}

/**
 * Takes over what cached input saved before settlements wrote it into `usage_day`, from `usage_saving`: a day of an account
 * at a time, so that nobody waits for it, and as often as one likes. Of the day of the update itself it is what either
 * version wrote of a model. It goes with that table.
 */
class SavedHistory {
  readonly #store: Store;
  #after: AccountDay | undefined = { account_id: '', day: 0 };

  constructor(store: Store) {
    this.#store = store;
  }

  /** Of the days before this one. False: it took too long, and the rest is left to the next call. */
  async takeOver(open: number, isOver: () => boolean): Promise<boolean> {
    const query = slowQuery(this.#store);
    while (this.#after) {
      const { account_id, day } = this.#after;
      const days: AccountDay[] = await query<AccountDay>(UNKNOWN, [open, account_id, day]);
      for (const one of days) {
        if (isOver()) return false;
        await this.#write(one);
        this.#after = one;
      }
      if (days.length < TOGETHER) this.#after = undefined;
    }
    return true;
  }

  async #write({ account_id, day }: AccountDay): Promise<void> {
    const { db, backend } = this.#store;
    const text = backend.kind === 'sqlite' ? WRITE : numbered(WRITE);
    await db.executeQuery(CompiledQuery.raw(text, [account_id, day]));
  }
}

const IS_SAME = `s.account_id = u.account_id AND s.day = u.day AND s.endpoint = u.endpoint AND s.model = u.model`;
const UNKNOWN = `SELECT s.account_id, s.day FROM usage_saving s JOIN usage_day u ON ${IS_SAME}
  WHERE s.saved <> 0 AND u.saved = 0 AND s.day < ? AND (s.account_id, s.day) > (?, ?)
  GROUP BY s.account_id, s.day ORDER BY s.account_id, s.day LIMIT ${TOGETHER}`;
const SAVED = `SELECT s.saved FROM usage_saving s WHERE ${IS_SAME} AND s.saved <> 0`;
const WRITE = `UPDATE usage_day AS u SET saved = (${SAVED})
  WHERE u.account_id = ? AND u.day = ? AND u.saved = 0 AND EXISTS (${SAVED})`;
