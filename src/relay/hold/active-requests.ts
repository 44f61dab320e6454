import type { Ledger, Progress } from '../../ledger/port.ts';
import type { Usage } from '../../ledger/price.ts';
import type { Clock } from '../../std/clock.ts';
import type { Fault } from '../../std/fault.ts';
import type { RequestId } from '../../std/ids.ts';
import type { Log } from '../../std/log.ts';

/** A request under way. One shared clock tick looks after all of them, so a stream costs no timers of its own. */
export interface ActiveRequest {
  readonly requestId: RequestId;
  /** How far the meter has come. */
  delivered(): Usage;
  /** Looks at its own deadlines; called a few times a second. */
  tick(nowMs: number): void;
  /** Ends it in the way its client understands. */
  cut(fault: Fault): void;
}

const TICK_MS = 250;
/** A lease is renewed at least this often, and so often that one or two renewals may fail. */
const RENEW_MS = 10_000;
const RENEWALS_PER_LEASE = 4;
const RENEW_BATCH = 500;

export interface ActiveRequestsOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly leaseMs: number;
}

/** Everything between admission and settlement on this node: renews leases, watches deadlines, and can be drained. */
export class ActiveRequests {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #requests = new Map<RequestId, ActiveRequest>();
  readonly #timer: Timer;
  readonly #renewMs: number;
  #renewedAt: number;
  #idle: (() => void)[] = [];

  constructor({ ledger, clock, log, leaseMs }: ActiveRequestsOptions) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#log = log;
    this.#renewMs = Math.min(RENEW_MS, leaseMs / RENEWALS_PER_LEASE);
    this.#renewedAt = clock.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  add(request: ActiveRequest): void {
    this.#requests.set(request.requestId, request);
  }

  remove(requestId: RequestId): void {
    this.#requests.delete(requestId);
    if (this.#requests.size === 0) for (const wake of this.#idle.splice(0)) wake();
  }

  get size(): number {
    return this.#requests.size;
  }

  /** Resolves when nothing is running any more, or after `graceMs`. */
  async idle(graceMs: number): Promise<boolean> {
    if (this.#requests.size === 0) return true;
    const empty = new Promise<true>((resolve) => this.#idle.push(() => resolve(true)));
    return await Promise.race([empty, Bun.sleep(graceMs).then(() => false)]);
  }

  cutAll(fault: Fault): void {
    for (const request of this.#requests.values()) request.cut(fault);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const nowMs = this.#clock.now();
    for (const request of this.#requests.values()) request.tick(nowMs);
    if (nowMs - this.#renewedAt < this.#renewMs) return;
    this.#renewedAt = nowMs;
    void this.#renew();
  }

  /** A renewal that fails is not repeated: the next one comes long before the lease ends. */
  async #renew(): Promise<void> {
    const progress: Progress[] = [...this.#requests.values()].map((one) => ({
      requestId: one.requestId,
      delivered: one.delivered(),
    }));
    try {
      for (let start = 0; start < progress.length; start += RENEW_BATCH) {
        await this.#ledger.renew(progress.slice(start, start + RENEW_BATCH));
      }
    } catch (error) {
      this.#log.warn('leases not renewed', { running: progress.length, error });
    }
  }
}
