import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { BoundedQueue, type Turn } from '../std/bounded-queue.ts';
import { hasSpareFiles } from '../std/open-files.ts';
import { workerUrl } from '../std/worker-url.ts';
import { UpstreamFailure } from '../upstream/port.ts';
import { abortFailure } from './pacing.ts';
import type { PaintedFile, PaintResult } from './paint-worker.ts';
import type { PaintOrder } from './paint/brief.ts';

interface PaintPoolLimits {
  readonly workers: number;
  /** Orders that may wait while all workers are busy. */
  readonly queue: number;
  /** An idle worker ends after this time. */
  readonly idleMs: number;
  /** A worker that takes longer for one image is replaced. */
  readonly timeoutMs: number;
}

const MAX_WORKERS = 4;

const USUAL_LIMITS: PaintPoolLimits = {
  // One core is left to the event loop. A large edit takes 300 MB while it is painted.
  workers: Math.min(MAX_WORKERS, Math.max(1, availableParallelism() - 1)),
  queue: 64,
  idleMs: 20_000,
  timeoutMs: 60_000,
};

interface Job {
  readonly order: PaintOrder;
  readonly resolve: (painting: PaintedFile) => void;
  readonly reject: (reason: Error) => void;
  /** Releases the turn to the next order. */
  readonly leave: Turn;
}

interface Painter {
  readonly worker: Worker;
  job: Job | undefined;
  /** Runs while idle (to end the worker) or while painting (to time out). */
  timer: Timer | undefined;
}

/** Paints in worker threads, so that an image never delays another request. Threads start with the first order. */
export class PaintPool {
  readonly #limits: PaintPoolLimits;
  readonly #queue: BoundedQueue;
  readonly #painters = new Set<Painter>();

  constructor(limits: PaintPoolLimits = USUAL_LIMITS) {
    this.#limits = limits;
    this.#queue = new BoundedQueue({ parallel: limits.workers, waiting: limits.queue });
  }

  /** Worker threads that are alive now. */
  get workers(): number {
    return this.#painters.size;
  }

  /**
   * Waits for a free worker, in order of arrival. A full queue rejects at once. So does an abort, which frees the place
   * of a waiting order; an image that is already being painted is finished and discarded, within a second.
   */
  async paint(order: PaintOrder, signal: AbortSignal): Promise<PaintedFile> {
    if (signal.aborted) throw abortFailure(signal);
    const turn = this.#enter(signal);
    // An order that need not wait reaches its worker synchronously, so that closing the pool finds it there.
    const leave = turn instanceof Promise ? await turn.catch(asAborted(signal)) : turn;
    const idle = [...this.#painters].find((painter) => painter.job === undefined);
    if (!idle && !hasSpareFiles()) {
      leave();
      throw new UpstreamFailure('overloaded', 'too many files are open to start a painter', {
        blameless: true,
      });
    }
    const { promise, resolve, reject } = Promise.withResolvers<PaintedFile>();
    const abandon = (): void => reject(abortFailure(signal));
    signal.addEventListener('abort', abandon, { once: true });
    this.#start(idle ?? this.#hire(), { order, resolve, reject, leave });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', abandon);
    }
  }

  close(): void {
    const closed = new UpstreamFailure('server', 'the paint pool was closed');
    this.#queue.rejectWaiting(closed);
    for (const painter of this.#painters) this.#dismiss(painter, closed);
  }

  #enter(signal: AbortSignal): Turn | Promise<Turn> {
    const turn = this.#queue.enter(signal);
    if (turn) return turn;
    throw new UpstreamFailure('rate_limited', 'the paint queue is full', {
      status: 429,
      retryAfterMs: 2_000,
      blameless: true,
    });
  }

  #hire(): Painter {
    const painter: Painter = {
      worker: new Worker(workerUrl('../house/paint-worker.ts')),
      job: undefined,
      timer: undefined,
    };
    painter.worker.on('message', (result: PaintResult) => {
      deliver(painter.job, result);
      this.#rest(painter);
    });
    painter.worker.on('error', (error: Error) => {
      this.#dismiss(
        painter,
        new UpstreamFailure('server', `paint worker failed: ${error.message}`, { cause: error }),
      );
    });
    this.#painters.add(painter);
    return painter;
  }

  #start(painter: Painter, job: Job): void {
    clearTimeout(painter.timer);
    painter.job = job;
    const tooLong = (): void =>
      this.#dismiss(painter, new UpstreamFailure('timeout', 'the picture took too long'));
    painter.timer = setTimeout(tooLong, this.#limits.timeoutMs);
    painter.worker.ref();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window and has no origin
    painter.worker.postMessage(job.order);
  }

  #rest(painter: Painter): void {
    clearTimeout(painter.timer);
    // Neither an idle worker nor the wait for its end may keep the process alive.
    painter.timer = setTimeout(() => this.#dismiss(painter), this.#limits.idleMs);
    painter.timer.unref();
    painter.worker.unref();
    const { job } = painter;
    painter.job = undefined;
    job?.leave();
  }

  /** Ends the worker. A waiting order gets another one. */
  #dismiss(painter: Painter, reason?: Error): void {
    clearTimeout(painter.timer);
    this.#painters.delete(painter);
    void painter.worker.terminate();
    const { job } = painter;
    painter.job = undefined;
    if (reason) job?.reject(reason);
    job?.leave();
  }
}

function asAborted(signal: AbortSignal): (error: unknown) => never {
  return (error) => {
    throw signal.aborted ? abortFailure(signal) : error;
  };
}

function deliver(job: Job | undefined, result: PaintResult): void {
  if (result.kind === 'painted') job?.resolve(result);
  else if (result.kind === 'unusable') job?.reject(refusedField(result.message, result.param));
  else job?.reject(new UpstreamFailure('server', `painting failed: ${result.message}`));
}

/** A 400 for the client. */
export function refusedField(publicMessage: string, param?: string): UpstreamFailure {
  return new UpstreamFailure('rejected', publicMessage, { status: 400, publicMessage, param });
}
