interface QueueLimits {
  /** How many may have their turn at once. */
  readonly parallel: number;
  /** How many may wait for theirs. */
  readonly waiting: number;
}

/** Lets a few work at a time, in order of arrival; the others wait, up to a limit. An aborted one leaves the queue. */
export class BoundedQueue {
  readonly #limits: QueueLimits;
  readonly #waiting: Place[] = [];
  #running = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** A turn at once, the promise of one, or undefined when the queue is full. Throws when the signal is aborted. */
  enter(signal?: AbortSignal): Turn | Promise<Turn> | undefined {
    signal?.throwIfAborted();
    if (this.#running < this.#limits.parallel) {
      this.#running++;
      return this.#turn();
    }
    return this.#waiting.length < this.#limits.waiting ? this.#wait(signal) : undefined;
  }

  /** Everything that waits is rejected; what has its turn keeps it. */
  rejectWaiting(reason: unknown): void {
    for (const place of this.#waiting.splice(0)) place.reject(reason);
  }

  #turn(): Turn {
    let given = false;
    return () => {
      if (!given) this.#leave();
      given = true;
    };
  }

  async #wait(signal: AbortSignal | undefined): Promise<Turn> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const place: Place = { start: resolve, reject };
    const abandon = (): void => {
      const index = this.#waiting.indexOf(place);
      // One that was called already has the turn, and gives it back itself.
      if (index !== -1) this.#waiting.splice(index, 1);
      reject(signal?.reason);
    };
    this.#waiting.push(place);
    signal?.addEventListener('abort', abandon, { once: true });
    try {
      await promise;
      return this.#turn();
    } finally {
      signal?.removeEventListener('abort', abandon);
    }
  }

  /** The turn goes straight to the next in line, so that nobody can slip in between. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next.start();
    else this.#running--;
  }
}

/** Gives the turn back. */
export type Turn = () => void;

interface Place {
  readonly start: () => void;
  readonly reject: (reason: unknown) => void;
}
