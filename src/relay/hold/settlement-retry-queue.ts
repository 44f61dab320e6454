import type { Ledger, Settled } from '../../ledger/port.ts';
import type { RequestId } from '../../std/ids.ts';
import type { Log, LogFields } from '../../std/log.ts';
import type { HoldEnd, RetriedSettlements } from '../call.ts';
import { closeHold } from './active-hold.ts';

/**
 * Closes holds that could not be closed while the store was unavailable: the client keeps its answer and is charged
 * later. Closing is idempotent, so retrying is always safe. If the process dies first, the lease expires and the hold
 * is charged by the last meter reading.
 */
export class SettlementRetryQueue implements RetriedSettlements {
  readonly #ledger: Ledger;
  readonly #log: Log;
  readonly #waiting = new Map<RequestId, WaitingClose>();
  #retrying: Promise<void> | undefined;

  constructor(ledger: Ledger, log: Log) {
    this.#ledger = ledger;
    this.#log = log;
  }

  /** `about`: what is known of the request, for the log. `onClosed`: called once it is closed. */
  retryLater(
    close: HoldEnd,
    thrown: unknown,
    about: LogFields = { request: close.requestId },
    onClosed?: (settled: Settled) => void,
  ): void {
    if (this.#waiting.size >= MAX_WAITING) {
      this.#log.error('settlement_retry_queue_full', { ...about, error: thrown });
      return;
    }
    this.#waiting.set(close.requestId, { close, onClosed });
    this.#retrying ??= this.#retry().finally(() => (this.#retrying = undefined));
    this.#log.warn('settlement_failed', { ...about, error: thrown });
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Waits until nothing is left to close, or `deadlineMs` has passed. */
  async drained(deadlineMs: number): Promise<void> {
    await Promise.race([this.#retrying ?? Promise.resolve(), Bun.sleep(deadlineMs)]);
  }

  async #retry(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (this.#waiting.size > 0) {
      await Bun.sleep(pauseMs);
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
      const results = await Promise.allSettled(
        [...this.#waiting.values()].map((waiting) => this.#closeWaiting(waiting)),
      );
      if (results.some((result) => result.status === 'fulfilled')) pauseMs = FIRST_PAUSE_MS;
    }
  }

  async #closeWaiting({ close, onClosed }: WaitingClose): Promise<void> {
    const settled = await closeHold(this.#ledger, close);
    this.#waiting.delete(close.requestId);
    onClosed?.(settled);
  }
}

interface WaitingClose {
  readonly close: HoldEnd;
  readonly onClosed: ((settled: Settled) => void) | undefined;
}

const MAX_WAITING = 20_000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;
