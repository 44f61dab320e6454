import { withResolvers } from '../../std/deadlines.ts';
import { BATCH_BOUNDS, DATABASE_SECONDS, Distribution } from '../../std/distribution.ts';
import { asFault, Fault } from '../../std/fault.ts';
import type { Log } from '../../std/log.ts';
import type { BatchLoad } from '../port.ts';

/** One transaction for all operations that arrive within about a millisecond: a commit costs the same for one and for a hundred. */
export class GroupCommit<Work> {
  readonly #port: TransactionPort<Work>;
  readonly #log: Log;
  readonly #sizes = new Distribution(BATCH_BOUNDS);
  /** From the start of a transaction until it is answered: the sync included, if somebody waits for it. */
  readonly #durations = new Distribution(DATABASE_SECONDS);
  #queue: Operation<Work>[] = [];
  #scheduled = false;
  #lastFlush = 0;
  /** Operations a millisecond, smoothed over the latest transactions. */
  #pace = 0;
  #closed = false;
  #failing = false;
  #syncing = 0;
  #onIdle: (() => void) | undefined;

  constructor(port: TransactionPort<Work>, log: Log) {
    this.#port = port;
    this.#log = log;
  }

  /**
   * Runs `run` inside the next transaction and resolves with its result once that is committed, or, if `durable`, once
   * it survives a power cut. `run` may throw a fault only before it has changed anything.
   */
  submit<T>(run: (work: Work) => T, durable: boolean): Promise<T> {
    return this.submitWith(run, undefined, durable);
  }

  /** The same for what every request needs: a function that all share, and its argument. */
  submitWith<T, Argument>(
    run: (work: Work, argument: Argument) => T,
    argument: Argument,
    durable: boolean,
  ): Promise<T> {
    if (this.#closed || this.#queue.length >= MAX_QUEUE)
      return Promise.reject(unavailable('the ledger has too much to do'));
    const { promise, resolve, reject } = withResolvers<T>();
    this.#queue.push({
      // `argument` is what `run` takes.
      run: run as (work: Work, argument: unknown) => unknown,
      argument,
      durable,
      // The promise was created with the type of the result of `run`.
      resolve: resolve as (value: unknown) => void,
      reject,
      queuedAt: performance.now(),
      result: undefined,
      fault: undefined,
    });
    this.#schedule();
    return promise;
  }

  load(): BatchLoad {
    const { length: waiting } = this.#queue;
    return { name: 'ledger', sizes: this.#sizes, durations: this.#durations, waiting };
  }

  /** Finishes what was submitted, then refuses everything. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#queue.length === 0 && this.#syncing === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /** With few operations each runs at once; under load one transaction each millisecond takes all that came. */
  #schedule(waitMs = this.#waitMs()): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (waitMs <= 0) setImmediate(this.#scheduledFlush);
    else setTimeout(this.#scheduledFlush, waitMs);
  }

  readonly #scheduledFlush = (): void => {
    this.#scheduled = false;
    this.#flush();
  };

  #waitMs(): number {
    return this.#pace < BUSY_PACE ? 0 : this.#lastFlush + WINDOW_MS - performance.now();
  }

  #flush(): void {
    const now = performance.now();
    const pace = this.#queue.length / Math.max(now - this.#lastFlush, LEAST_MS);
    this.#pace += (pace - this.#pace) * SMOOTHING;
    this.#lastFlush = now;
    const began = this.#begin();
    if (!began) {
      this.#dropTheImpatient();
      if (this.#queue.length > 0) this.#schedule(BUSY_STEP_MS);
      else this.#reportIdle();
      return;
    }
    const batch = this.#queue.splice(0, MAX_BATCH);
    this.#sizes.add(batch.length);
    if (!this.#execute(batch)) this.#isolate(batch);
    if (this.#queue.length > 0) this.#schedule();
    this.#reportIdle();
  }

  /** False when another process holds the lock: then the queue stays as it is and is tried again later. */
  #begin(): boolean {
    try {
      return this.#port.begin();
    } catch (error) {
      const fault = this.#unavailableFor(error);
      for (const operation of this.#queue.splice(0)) operation.reject(fault);
      return false;
    }
  }

  /** Runs a batch in the transaction that has begun. False when one of its operations broke it and none took effect. */
  #execute(batch: readonly Operation<Work>[]): boolean {
    try {
      const work = this.#port.work();
      for (const operation of batch) attempt(operation, work);
      this.#port.commit(work);
    } catch (error) {
      this.#port.rollback();
      if (!this.#port.isUnavailable(error)) {
        if (batch.length > 1) return false;
        batch[0]?.reject(asFault(error));
        return true;
      }
      const fault = this.#unavailableFor(error);
      for (const operation of batch) operation.reject(fault);
      return true;
    }
    this.#recovered();
    this.#answer(batch);
    return true;
  }

  /** One operation has failed unexpectedly. Run alone, it fails alone. */
  #isolate(batch: readonly Operation<Work>[]): void {
    for (const operation of batch) {
      if (this.#begin()) this.#execute([operation]);
      else operation.reject(unavailable('the ledger is locked'));
    }
  }

  #answer(batch: readonly Operation<Work>[]): void {
    const waiting: Operation<Work>[] = [];
    for (const operation of batch) {
      if (operation.fault) operation.reject(operation.fault);
      else if (operation.durable) waiting.push(operation);
      else operation.resolve(operation.result);
    }
    if (waiting.length > 0) void this.#answerWhenDurable(waiting, this.#lastFlush);
    else this.#took(this.#lastFlush);
  }

  #took(sinceMs: number): void {
    this.#durations.add((performance.now() - sinceMs) / 1000);
  }

  async #answerWhenDurable(waiting: readonly Operation<Work>[], begunAt: number): Promise<void> {
    this.#syncing++;
    try {
      await this.#port.sync();
      for (const operation of waiting) operation.resolve(operation.result);
    } catch (error) {
      const fault = this.#unavailableFor(error);
      for (const operation of waiting) operation.reject(fault);
    }
    this.#took(begunAt);
    this.#syncing--;
    this.#reportIdle();
  }

  #dropTheImpatient(): void {
    const limit = performance.now() - PATIENCE_MS;
    const fault = unavailable('another process holds the database');
    this.#queue = this.#queue.filter((operation) => {
      if (operation.queuedAt > limit) return true;
      operation.reject(fault);
      return false;
    });
  }

  #unavailableFor(error: unknown): Fault {
    if (!this.#failing) this.#log.error('ledger_unavailable', { error });
    this.#failing = true;
    return unavailable(String(error), error);
  }

  #recovered(): void {
    if (this.#failing) this.#log.info('ledger_recovered');
    this.#failing = false;
  }

  #reportIdle(): void {
    if (this.#queue.length === 0 && this.#syncing === 0) this.#onIdle?.();
  }
}

/** What a batch needs from its database. */
interface TransactionPort<Work> {
  /** Takes the write lock; false when another process has it. */
  begin(): boolean;
  /** The working set of one transaction. */
  work(): Work;
  /** Writes what the working set gathered, and commits. */
  commit(work: Work): void;
  rollback(): void;
  /** Resolves when all that was committed before the call survives a power cut. */
  sync(): Promise<void>;
  /** Whether an error is about the store (disk full, I/O) and not about an operation. */
  isUnavailable(error: unknown): boolean;
}

interface Operation<Work> {
  readonly run: (work: Work, argument: unknown) => unknown;
  readonly argument: unknown;
  readonly durable: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: Fault) => void;
  readonly queuedAt: number;
  result: unknown;
  fault: Fault | undefined;
}

const WINDOW_MS = 1;
/** From this many operations a millisecond on, it pays to wait for more. */
const BUSY_PACE = 3;
const SMOOTHING = 0.1;
const LEAST_MS = 0.1;
/** Limits how long one transaction blocks the event loop: a few milliseconds. */
const MAX_BATCH = 256;
const MAX_QUEUE = 10_000;
const BUSY_STEP_MS = 2;
/** Less than the second within which a client must be told that the store is not available. */
const PATIENCE_MS = 800;
const RETRY_AFTER_MS = 1_000;

function attempt<Work>(operation: Operation<Work>, work: Work): void {
  operation.fault = undefined;
  try {
    operation.result = operation.run(work, operation.argument);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    operation.fault = error;
  }
}

function unavailable(detail: string, cause?: unknown): Fault {
  return new Fault('service_unavailable', 'The service is briefly unavailable. Try again soon.', {
    detail,
    cause,
    retryAfterMs: RETRY_AFTER_MS,
  });
}
