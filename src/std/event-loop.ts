import { Distribution, type DistributionSample } from './distribution.ts';
import type { Log } from './log.ts';

interface EventLoopOptions {
  readonly log: Log;
  /** From this delay on, the event loop counts as late. */
  readonly maxDelayMs: number;
  /** For tests. */
  readonly nowMs?: () => number;
}

const SAMPLE_MS = 20;
/** A step that keeps everything else waiting for longer is reported. */
export const BLOCKED_MS = 200;
/** A process that is blocked again and again says so this often. */
const REPORT_EVERY_MS = 5_000;
const BOUNDS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5];
/** This many late steps in a row are an overload; one long step is not. */
const LATE_STEPS = 5;
const MAX_REMEMBERED = 8;

/**
 * Measures all the time how late the event loop is, by a timer of its own: node:perf_hooks measures the same in Bun, but
 * its histogram has percentiles since the start, from which no buckets and no recent delays can be had.
 *
 * A step that took too long is reported with what was running. The stack of a blocked thread cannot be had in Bun: other
 * threads cannot read it, and when the timer runs the step is over. So the report names the operations and ids of the
 * requests that began last, among which the cause is.
 */
export class EventLoop {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #maxDelayMs: number;
  /** In seconds. */
  readonly #delays = new Distribution(BOUNDS_SECONDS);
  readonly #operations: string[] = [];
  readonly #requestIds: string[] = [];
  #next = 0;
  #lateSteps = 0;
  #sampledAt: number;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #unreported = 0;
  #timer: Timer | undefined;

  constructor({ log, maxDelayMs, nowMs = () => performance.now() }: EventLoopOptions) {
    this.#log = log;
    this.#maxDelayMs = maxDelayMs;
    this.#now = nowMs;
    this.#sampledAt = nowMs();
  }

  start(): this {
    this.#sampledAt = this.#now();
    this.#timer = setInterval(() => this.sample(), SAMPLE_MS);
    this.#timer.unref();
    return this;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** A request began. Called for every one of them, so it only remembers. */
  began(operation: string, requestId: string): void {
    this.#operations[this.#next] = operation;
    this.#requestIds[this.#next] = requestId;
    this.#next = (this.#next + 1) % MAX_REMEMBERED;
  }

  get isOverloaded(): boolean {
    return this.#lateSteps >= LATE_STEPS;
  }

  delays(): DistributionSample {
    return this.#delays;
  }

  /** Called by the timer. */
  sample(): void {
    const now = this.#now();
    const delayMs = Math.max(0, now - this.#sampledAt - SAMPLE_MS);
    this.#sampledAt = now;
    this.#lateSteps = delayMs > this.#maxDelayMs ? this.#lateSteps + 1 : 0;
    this.#delays.add(delayMs / 1000);
    if (delayMs > BLOCKED_MS) this.#report(delayMs, now);
  }

  #report(delayMs: number, now: number): void {
    if (now - this.#reportedAt < REPORT_EVERY_MS) {
      this.#unreported++;
      return;
    }
    this.#log.warn('event_loop_blocked', {
      delay_ms: Math.round(delayMs),
      latest_requests: this.#latest(),
      unreported_before: this.#unreported,
    });
    this.#reportedAt = now;
    this.#unreported = 0;
  }

  /** The latest first. */
  #latest(): { operation: string; request: string }[] {
    const order = this.#operations.map((_, age) => (this.#next - 1 - age + MAX_REMEMBERED) % MAX_REMEMBERED);
    return order.flatMap((index) => {
      const [operation, request] = [this.#operations[index], this.#requestIds[index]];
      return operation === undefined || request === undefined ? [] : [{ operation, request }];
    });
  }
}
