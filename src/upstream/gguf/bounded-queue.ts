/**
 * Runs one task at a time, the others wait: a model in memory has one context, and two generations would
 * take twice as long each. The queue is bounded; an aborted task leaves it.
 */
export class BoundedQueue {
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #busy = false;

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** Undefined when the line is full. Otherwise resolves with the function that gives the turn back, to be called once. */
  enter(signal: AbortSignal): Promise<() => void> | undefined {
    if (this.#busy && this.#waiting.length >= this.#maxWaiting) return undefined;
    return this.#wait(signal);
  }

  async #wait(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#busy) await this.#turn(signal);
    this.#busy = true;
    return () => this.#leave();
  }

  #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      const place = this.#waiting.indexOf(start);
      if (place !== -1) this.#waiting.splice(place, 1);
      reject(signal.reason);
    };
    const start = (): void => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    this.#waiting.push(start);
    signal.addEventListener('abort', onAbort, { once: true });
    return promise;
  }

  /** The turn goes straight to the next in line, so that nobody can slip in between. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#busy = false;
  }
}
