import { spanOf } from '../ledger/archive.ts';
import { DAY_MS, dayOf, startOfDay } from '../std/calendar.ts';
import type { Clock } from '../std/clock.ts';
import { requestIdAt, requestTime } from '../std/ids.ts';
import { slowQuery, type SlowQuery } from '../store/background-thread.ts';
import type { Store } from '../store/store.ts';
import { countDay, writeGrown } from './counted-usage.ts';
import { USAGE_COLUMNS } from './usage.ts';

/** A request that began yesterday may end today. */
export const OPEN_MS = 2 * 3_600_000;
const RUN_MS = 10_000;
const MOST_LATE_DAYS = 100;

interface HourParts {
  readonly store: Store;
  readonly clock: Clock;
}

/**
 * Counts the receipts of the days that are not over, or were not counted yet, into `usage_quarter` and `usage_client`. A day is counted as a whole, so that any number of processes may do this, and any number of times.
 * Receipts can only become more until retention takes them away: a row that counts more than there are is the better one,
 * and stays.
 */
export class UsageHours {
  readonly #parts: HourParts;
  readonly #query: SlowQuery;
  /** What the rows of the last day say: few of them change between two runs, and only those are written. */
  #written: { readonly day: number; readonly requests: Map<string, number> } | undefined;

  constructor(parts: HourParts) {
    this.#parts = parts;
    this.#query = slowQuery(parts.store);
  }

  /** False: it took too long, and the rest is left to the next call. */
  async count(stopping?: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#parts;
    const now = clock.now();
    const until = performance.now() + RUN_MS;
    const isOver = (): boolean => performance.now() >= until || stopping?.aborted === true;
    const open = await firstOpenDay(store, now);
    for (const day of await lateDays(this.#query, open, now)) if (!isOver()) await this.#countDay(day);
    for (let from = open; !isOver(); from += DAY_MS) {
      const first = await firstReceipt(store, from);
      if (first === undefined) return true;
      from = startOfDay(first);
      await this.#countDay(dayOf(first));
    }
    return false;
  }

  async #countDay(day: number): Promise<void> {
    const { quarters, clients } = await countDay(this.#query, spanOf(day).fromMs);
    const last = this.#written;
    const requests = last?.day === day ? last.requests : new Map<string, number>();
    const { store } = this.#parts;
    await writeGrown(store, { ...QUARTERS, rows: quarters }, requests);
    // Last: how far this table goes says how far everything was counted.
    await writeGrown(store, { ...CLIENTS, rows: clients }, requests);
    if (last === undefined || day >= last.day) this.#written = { day, requests };
  }
}

/** Days before it are counted, but for what is booked late. */
async function firstOpenDay(store: Store, now: number): Promise<number> {
  const last = await store.db
    .selectFrom('usage_client')
    .select('day')
    .orderBy('day', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last ? Math.min(spanOf(last.day).fromMs, startOfDay(now - OPEN_MS)) : 0;
}

/** Days that were counted before, and of which a request was booked in the last hours. */
async function lateDays(query: SlowQuery, open: number, now: number): Promise<number[]> {
  const rows = await query<{ day: number }>(
    `SELECT DISTINCT CAST(r.created_at / ${DAY_MS} AS BIGINT) AS day FROM receipt r
      WHERE r.late = 1 AND r.booked_at >= ? AND r.id < ? ORDER BY 1 LIMIT ${MOST_LATE_DAYS}`,
    [now - OPEN_MS, requestIdAt(open)],
  );
  return rows.map(({ day }) => dayOf(day * DAY_MS));
}

/** When the first request of a moment or later arrived. */
export async function firstReceipt(store: Store, from: number): Promise<number | undefined> {
  const row = await store.db
    .selectFrom('receipt')
    .select('id')
    .where('id', '>=', requestIdAt(from))
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row && requestTime(row.id);
}

const QUARTERS = {
  name: 'usage_quarter',
  columns: ['account_id', 'quarter', ...USAGE_COLUMNS],
  keys: 2,
} as const;
const CLIENTS = {
  name: 'usage_client',
  columns: ['account_id', 'day', 'client', ...USAGE_COLUMNS],
  keys: 3,
} as const;
