import { Worker } from 'node:worker_threads';
import type { Log } from '../std/log.ts';
import { hasSpareFiles } from '../std/open-files.ts';
import { workerUrl } from '../std/worker-url.ts';
import type { CountAnswer, CountOrder } from './count-worker.ts';
import type { CountedText, CountJob, TokenCounter, TokenEncoding } from './port.ts';
import { slicesOf, type TextSlice } from './slices.ts';

export interface CounterLimits {
  /** Jobs that may wait, of all accounts and of one. */
  readonly waiting: number;
  readonly waitingEach: number;
  /** A worker that takes longer to load an encoding is replaced. */
  readonly loadMs: number;
  /** A worker that takes longer than this for one slice is replaced. */
  readonly hangMs: number;
}

const USUAL_LIMITS: CounterLimits = { waiting: 10_000, waitingEach: 250, loadMs: 60_000, hangMs: 10_000 };
/** A job whose worker failed is tried once more, by a new worker. */
const MAX_FAILURES = 2;

interface PendingCount {
  readonly job: CountJob;
  readonly slices: Iterator<TextSlice, void>;
  readonly resolve: (counted: CountedText | undefined) => void;
  readonly timer: Timer;
  readonly onAbort: () => void;
  slice: TextSlice | undefined;
  tokens: number;
  cuts: number;
  failures: number;
  isDone: boolean;
}

/** The jobs of one account that are not done. */
interface AccountJobs {
  readonly waiting: PendingCount[];
  /** How much the thread has worked for it, beginning with the least of those that were here before. */
  usedMs: number;
  /** The size of all its jobs, including the one that runs. */
  size: number;
}

/**
 * Counts on one worker thread, slice by slice. The next slice is that of the account that has used the thread the least:
 * accounts share its time, whatever their texts cost, and one waits for at most one slice of another's long text. The
 * thread starts with the first job, and is replaced when it fails or hangs.
 */
export class WorkerTokenCounter implements TokenCounter {
  readonly #log: Log;
  readonly #limits: CounterLimits;
  readonly #accounts = new Map<string, AccountJobs>();
  readonly #loaded = new Set<TokenEncoding>();
  #size = 0;
  #worker: Worker | undefined;
  #running: PendingCount | undefined;
  #hang: Timer | undefined;
  #closed = false;

  constructor(log: Log, limits: CounterLimits = USUAL_LIMITS) {
    this.#log = log;
    this.#limits = limits;
  }

  /** Jobs that are not done. */
  get size(): number {
    return this.#size;
  }

  /** Whether there is a thread, and so the memory that it takes. */
  get isStarted(): boolean {
    return this.#worker !== undefined;
  }

  count(job: CountJob): Promise<CountedText | undefined> {
    const { waiting, waitingEach } = this.#limits;
    const isFull = this.#size >= waiting || (this.#accounts.get(job.account)?.size ?? 0) >= waitingEach;
    if (this.#closed || isFull || job.signal?.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const waitMs = job.limitMs + (this.#loaded.has(job.encoding) ? 0 : job.loadMs);
      const pending: PendingCount = {
        job,
        slices: slicesOf(job.texts),
        resolve,
        timer: setTimeout(() => this.#giveUp(pending), waitMs),
        onAbort: () => this.#giveUp(pending),
        slice: undefined,
        tokens: 0,
        cuts: 0,
        failures: 0,
        isDone: false,
      };
      job.signal?.addEventListener('abort', pending.onAbort);
      this.#size++;
      const jobs = this.#jobsOf(job.account);
      jobs.size++;
      jobs.waiting.push(pending);
      this.#runNext();
    });
  }

  close(): void {
    this.#closed = true;
    for (const { waiting } of this.#accounts.values())
      for (const pending of waiting.splice(0)) this.#finish(pending, undefined);
    if (this.#running) this.#finish(this.#running, undefined);
    this.#dismiss();
  }

  #jobsOf(account: string): AccountJobs {
    const known = this.#accounts.get(account);
    if (known) return known;
    const used = [...this.#accounts.values()].map(({ usedMs }) => usedMs);
    const jobs = { waiting: [], usedMs: used.length === 0 ? 0 : Math.min(...used), size: 0 };
    this.#accounts.set(account, jobs);
    return jobs;
  }

  #runNext(): void {
    if (this.#running || this.#closed) return;
    const pending = this.#takeTurn();
    if (!pending) return this.#rest();
    if (!pending.slice) {
      const next = pending.slices.next();
      if (next.done) return this.#complete(pending);
      pending.slice = next.value;
    }
    if (!this.#worker && !hasSpareFiles()) {
      this.#finish(pending, undefined);
      return this.#runNext();
    }
    this.#running = pending;
    const worker = (this.#worker ??= this.#start());
    const { encoding } = pending.job;
    const loadMs = this.#loaded.has(encoding) ? 0 : this.#limits.loadMs;
    this.#hang = setTimeout(() => this.#fail(worker, 'hangs'), this.#limits.hangMs + loadMs);
    worker.ref();
    const order: CountOrder = { encoding, texts: pending.slice.texts };
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window and has no origin
    worker.postMessage(order);
  }

  #takeTurn(): PendingCount | undefined {
    let next: AccountJobs | undefined;
    for (const jobs of this.#accounts.values())
      if (jobs.waiting.length > 0 && (!next || jobs.usedMs < next.usedMs)) next = jobs;
    return next?.waiting.shift();
  }

  /** The thread is free again, after so much work. */
  #takeBack(workedMs: number): PendingCount | undefined {
    clearTimeout(this.#hang);
    const pending = this.#running;
    this.#running = undefined;
    const jobs = pending && this.#accounts.get(pending.job.account);
    if (jobs) jobs.usedMs += workedMs;
    return pending;
  }

  /** Its texts are dropped at once: its account's next turn may come late, while more such jobs arrive. */
  #giveUp(pending: PendingCount): void {
    const waiting = this.#accounts.get(pending.job.account)?.waiting ?? [];
    const place = waiting.indexOf(pending);
    if (place !== -1) waiting.splice(place, 1);
    this.#finish(pending, undefined);
  }

  #complete(pending: PendingCount): void {
    this.#finish(pending, { tokens: pending.tokens, cuts: pending.cuts });
    this.#runNext();
  }

  #finish(pending: PendingCount, counted: CountedText | undefined): void {
    if (pending.isDone) return;
    pending.isDone = true;
    this.#size--;
    const { account } = pending.job;
    const jobs = this.#accounts.get(account);
    if (jobs && --jobs.size === 0) this.#accounts.delete(account);
    clearTimeout(pending.timer);
    pending.job.signal?.removeEventListener('abort', pending.onAbort);
    pending.resolve(counted);
  }

  #start(): Worker {
    const worker = new Worker(workerUrl('../tokenizer/count-worker.ts'));
    worker.on('message', (answer: CountAnswer) => this.#take(worker, answer));
    worker.on('error', (error: Error) => this.#fail(worker, error.message));
    worker.on('exit', () => this.#fail(worker, 'exited'));
    return worker;
  }

  #take(worker: Worker, answer: CountAnswer): void {
    if (worker !== this.#worker || !this.#running) return;
    if ('failure' in answer) return this.#fail(worker, answer.failure);
    const pending = this.#takeBack(answer.cpuMs);
    if (!pending) return;
    this.#loaded.add(pending.job.encoding);
    pending.tokens += answer.tokens;
    pending.cuts += answer.cuts + (pending.slice?.cuts ?? 0);
    pending.slice = undefined;
    if (!pending.isDone) this.#requeue(pending);
    this.#runNext();
  }

  /** Puts the job back, so that its account's next turn continues it. */
  #requeue(pending: PendingCount): void {
    this.#jobsOf(pending.job.account).waiting.unshift(pending);
  }

  #fail(worker: Worker, reason: string): void {
    if (worker !== this.#worker) return;
    this.#log.error('token_counter_failed', { reason });
    // What a thread did that failed is not known; it may have been as much as this.
    const pending = this.#takeBack(this.#limits.hangMs);
    this.#dismiss();
    if (pending && !pending.isDone) {
      if (++pending.failures < MAX_FAILURES) this.#requeue(pending);
      else this.#finish(pending, undefined);
    }
    this.#runNext();
  }

  /** An idle thread must not keep the process alive. */
  #rest(): void {
    this.#worker?.unref();
  }

  #dismiss(): void {
    clearTimeout(this.#hang);
    const worker = this.#worker;
    this.#worker = undefined;
    this.#loaded.clear();
    void worker?.terminate();
  }
}

let shared: WorkerTokenCounter | undefined;

/** One for the whole process, because of the memory that its thread takes. It does not keep the process alive. */
export function sharedTokenCounter(log: Log): WorkerTokenCounter {
  return (shared ??= new WorkerTokenCounter(log));
}
