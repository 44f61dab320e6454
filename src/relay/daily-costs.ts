import type { Log } from '../std/log.ts';
import { dayOf } from '../std/calendar.ts';

/**
 * What each upstream has cost today on all nodes: read from the sums of the day every few seconds, plus what this node
 * has booked since. Together, nodes may exceed a limit by what they spend within one interval.
 */
export class DailyCosts {
  readonly #read: (day: number) => Promise<ReadonlyMap<string, number>>;
  readonly #log: Log;
  #day = 0;
  #booked: ReadonlyMap<string, number> = new Map();
  #since = new Map<string, number>();
  /** Already part of the sums that are being read; counted until they arrive. */
  #beingRead: ReadonlyMap<string, number> = new Map();
  readonly #told = new Set<string>();

  constructor(read: (day: number) => Promise<ReadonlyMap<string, number>>, log: Log) {
    this.#read = read;
    this.#log = log;
  }

  /** Called once the ledger has booked the amount. */
  add(upstream: string, amount: number, nowMs: number): void {
    this.#turn(nowMs);
    this.#since.set(upstream, (this.#since.get(upstream) ?? 0) + amount);
  }

  isSpent(upstream: string, limit: number, nowMs: number): boolean {
    this.#turn(nowMs);
    const spent =
      (this.#booked.get(upstream) ?? 0) +
      (this.#beingRead.get(upstream) ?? 0) +
      (this.#since.get(upstream) ?? 0);
    if (spent < limit) return false;
    if (!this.#told.has(upstream)) {
      this.#told.add(upstream);
      this.#log.error('daily_cost_limit_reached', {
        backend: upstream,
        spentNanoUsd: spent,
        limitNanoUsd: limit,
      });
    }
    return true;
  }

  async refresh(nowMs: number): Promise<void> {
    this.#turn(nowMs);
    const day = this.#day;
    // What was added before this moment is part of the sums that are read now; what is added meanwhile may not be.
    const before = this.#since;
    this.#since = new Map();
    this.#beingRead = before;
    try {
      const booked = await this.#read(day);
      if (day === this.#day) this.#booked = booked;
    } catch (error) {
      for (const [upstream, amount] of day === this.#day ? before : [])
        this.#since.set(upstream, (this.#since.get(upstream) ?? 0) + amount);
      throw error;
    } finally {
      this.#beingRead = new Map();
    }
  }

  #turn(nowMs: number): void {
    const day = dayOf(nowMs);
    if (day === this.#day) return;
    this.#day = day;
    this.#booked = new Map();
    this.#since = new Map();
    this.#beingRead = new Map();
    this.#told.clear();
  }
}

const DAY_MS = 86_400_000;

export function untilTomorrowMs(nowMs: number): number {
  return DAY_MS - (nowMs % DAY_MS);
}
