import { dayOf } from '../std/calendar.ts';
import type { Clock } from '../std/clock.ts';
import { requestIdAt } from '../std/ids.ts';
import type { Store } from '../store/store.ts';
import { countQuery, writeGrown } from './counted-rows.ts';
import type { CountQuery } from './counted-usage.ts';
import { spanOfTenDays, tenDaysOf } from './ten-days.ts';
import { OPEN_MS, startOfDay } from './usage-hours.ts';
import { ALL_ACCOUNTS, COST_COLUMNS, DAY_MS, USAGE_COLUMNS } from './usage.ts';

const RUN_MS = 10_000;
type SummedColumn = (typeof USAGE_COLUMNS)[number] | (typeof COST_COLUMNS)[number];

interface PeriodSums extends Record<SummedColumn, number> {
  readonly account_id: string;
  readonly day: number;
  readonly first_day: number;
  readonly endpoint: string;
  readonly model: string;
}

/** Single days or ten together: what they are told apart by, and who has so many rows of one that adding them up is worth it. */
interface Period {
  readonly table: 'usage_total' | 'usage_ten_days';
  readonly column: 'day' | 'first_day';
  readonly groups: readonly ('endpoint' | 'model')[];
  readonly sums: readonly SummedColumn[];
  readonly fewestRequests: number;
  /** Accounts that are read at once. */
  readonly together: number;
  /** The period in which a day is. */
  readonly of: (day: number) => number;
  /** Its first and last day. */
  readonly days: (period: number) => readonly [from: number, to: number];
}

const DAYS: Period = {
  table: 'usage_total',
  column: 'day',
  groups: ['endpoint'],
  sums: [...USAGE_COLUMNS, ...COST_COLUMNS],
  fewestRequests: 100,
  together: 50,
  of: (day) => day,
  days: (day) => [day, day],
};
const TEN_DAYS: Period = {
  table: 'usage_ten_days',
  column: 'first_day',
  groups: ['endpoint', 'model'],
  sums: USAGE_COLUMNS,
  fewestRequests: 500,
  together: 1,
  of: tenDaysOf,
  days: spanOfTenDays,
};

/**
 * Adds up `usage_day` for the days that are over, of accounts with many requests and of all together. Any number of
 * processes may do this, any number of times: rows can only grow. Accounts are chosen by what was counted from receipts;
 * whoever is left out is read from `usage_day`.
 */
export class UsageTotals {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #query: CountQuery;
  /** Accounts that are done, of the period that the last call did not finish. */
  #begun: { readonly period: string; readonly accounts: Set<string> } | undefined;
  /** Which late requests of an account and day have been added: how many, and when the last was booked. */
  #late: ReadonlyMap<string, string> = new Map();
  #hasLooked = false;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
    this.#query = countQuery(store);
  }

  /** To be called when all receipts are counted. False: it took too long, and the rest is left to the next call. */
  async count(stopping?: AbortSignal): Promise<boolean> {
    const until = performance.now() + RUN_MS;
    const isOver = (): boolean => performance.now() >= until || stopping?.aborted === true;
    const open = dayOf(this.#clock.now() - OPEN_MS);
    if (!(await this.#addLate(isOver))) return false;
    for (const period of [DAYS, TEN_DAYS])
      if (!(await this.#addUntil(period, period.of(open), isOver))) return false;
    return true;
  }

  async #addUntil(period: Period, open: number, isOver: () => boolean): Promise<boolean> {
    for (;;) {
      const next = await this.#nextOf(period);
      if (next === undefined || next >= open) return true;
      if (isOver()) return false;
      const { accounts: done } = this.#begunWith(`${period.column} ${next}`);
      const accounts = await this.#accountsOf(period, next);
      const left = accounts.filter((account) => !done.has(account));
      for (let at = 0; at < left.length; at += period.together) {
        if (isOver()) return false;
        const some = left.slice(at, at + period.together);
        await this.#add(period, next, some);
        for (const account of some) done.add(account);
      }
      // Last: it says that this period is done.
      await this.#add(period, next, [ALL_ACCOUNTS]);
    }
  }

  #begunWith(period: string): { readonly accounts: Set<string> } {
    if (this.#begun?.period !== period) this.#begun = { period, accounts: new Set() };
    return this.#begun;
  }

  /** The first one with requests after the last that is done. */
  async #nextOf({ table, column, of, days }: Period): Promise<number | undefined> {
    const [last] = await this.#query<Record<string, number>>(
      `SELECT ${column} FROM ${table} WHERE account_id = ? AND endpoint = '' ORDER BY ${column} DESC LIMIT 1`,
      [ALL_ACCOUNTS],
    );
    const after = last ? days(last[column] ?? 0)[1] : 0;
    const [next] = await this.#query<{ day: number }>(
      'SELECT day FROM usage_day WHERE account_id = ? AND day > ? AND requests > 0 ORDER BY day LIMIT 1',
      [ALL_ACCOUNTS, after],
    );
    return next && of(next.day);
  }

  async #accountsOf({ fewestRequests, days }: Period, period: number): Promise<string[]> {
    const rows = await this.#query<{ account_id: string }>(
      `SELECT account_id FROM usage_client WHERE day >= ? AND day <= ? AND account_id <> ''
        GROUP BY account_id HAVING SUM(requests) >= ${fewestRequests} ORDER BY account_id`,
      [...days(period)],
    );
    return rows.map(({ account_id }) => account_id);
  }

  async #add(
    { table, column, groups, sums, days }: Period,
    period: number,
    accounts: string[],
  ): Promise<void> {
    const keys = ['account_id', ...groups].join(', ');
    // In the same order by every process: none waits for a row of another that waits for one of its own.
    const rows = await this.#query<PeriodSums>(
      `SELECT ${keys}, ${sums.map((name) => `CAST(SUM(${name}) AS BIGINT) AS ${name}`).join(', ')} FROM usage_day
        WHERE account_id IN (${accounts.map(() => '?').join(', ')}) AND day >= ? AND day <= ? GROUP BY ${keys} ORDER BY ${keys}`,
      [...accounts, ...days(period)],
    );
    const parts = rows.map((row) => ({ ...row, [column]: period }));
    const whole = [...Map.groupBy(rows, (row) => row.account_id)].map(([account_id, own]) => ({
      account_id,
      day: period,
      first_day: period,
      endpoint: '',
      model: '',
      ...wholeOf(own),
    }));
    const columns = ['account_id', column, ...groups, ...sums] as const;
    const written = new Map<string, number>();
    const form = { name: table, columns, keys: 2 + groups.length };
    await writeGrown(this.#store, { ...form, rows: parts }, written);
    await writeGrown(this.#store, { ...form, rows: whole }, written);
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
        for (const account of [account_id, ALL_ACCOUNTS])
          for (const period of [DAYS, TEN_DAYS]) await this.#addAgain(period, dayOf(day * DAY_MS), account);
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

  async #addAgain(period: Period, day: number, account: string): Promise<void> {
    const { table, column, of } = period;
    const [done] = await this.#query<{ requests: number }>(
      `SELECT requests FROM ${table} WHERE account_id = ? AND ${column} = ? AND endpoint = ''`,
      [account, of(day)],
    );
    if (done) await this.#add(period, of(day), [account]);
  }
}

function wholeOf(rows: readonly PeriodSums[]): Record<SummedColumn, number> {
  const sums = [...USAGE_COLUMNS, ...COST_COLUMNS].map((name) => [
    name,
    rows.reduce((sum, row) => sum + (row[name] ?? 0), 0),
  ]);
  return Object.fromEntries(sums) as Record<SummedColumn, number>;
}
