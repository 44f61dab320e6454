import { LinkedList, type ListItem } from './linked-list.ts';

/** One promise with a time limit. */
export interface Deadline<Entry> extends ListItem<Entry> {
  readonly startedAt: number;
  /** Later, if it still goes on. */
  endsAt: number;
  /** Undefined once it is over. */
  reject: ((reason: unknown) => void) | undefined;
}

/** `Promise.withResolvers` for what every request makes: without an object of its own, because the compiler sees into this one. */
export function withResolvers<T>(): PromiseWithResolvers<T> {
  const promise = new Promise<T>(keepResolvers);
  // Of the promise that was made just now, so of its type.
  return { promise, resolve: kept.resolve as PromiseWithResolvers<T>['resolve'], reject: kept.reject };
}

const kept: Pick<PromiseWithResolvers<never>, 'resolve' | 'reject'> = {
  resolve: () => undefined,
  reject: () => undefined,
};

function keepResolvers(resolve: typeof kept.resolve, reject: typeof kept.reject): void {
  kept.resolve = resolve;
  kept.reject = reject;
}

const CHECK_MS = 250;

/** Time limits of many promises. One shared timer checks all of them: a timer for each would cost more than the work. */
export class Deadlines<Entry extends Deadline<Entry>> {
  readonly #entries = new LinkedList<Entry>();
  readonly #onCheck: (entries: Iterable<Entry>, now: number) => void;
  #timer: Timer | undefined;

  /** `onCheck` rejects those that are late; it gets them in the order in which they began. */
  constructor(onCheck: (entries: Iterable<Entry>, now: number) => void) {
    this.#onCheck = onCheck;
  }

  /** The result of the work, unless its entry is rejected before. Whoever waits for it says `end` afterwards. */
  within<T>(work: Promise<T>, entry: Entry): Promise<T> {
    const { promise, resolve, reject } = withResolvers<T>();
    entry.reject = reject;
    this.#entries.add(entry);
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS);
    work.then(resolve, reject);
    return promise;
  }

  end(entry: Entry): void {
    this.#entries.delete(entry);
    entry.reject = undefined;
  }

  #check(): void {
    this.#onCheck(this.#entries, performance.now());
    for (const entry of this.#entries) if (entry.reject === undefined) this.#entries.delete(entry);
    if (!this.#entries.isEmpty) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Ends an entry with an error; its work may go on, and nobody waits for it. */
export function rejectEntry(entry: Pick<Deadline<unknown>, 'reject'>, reason: unknown): void {
  entry.reject?.(reason);
  entry.reject = undefined;
}

/**
 * Resolves or rejects as the work does, or rejects with the signal's reason; work that cannot be interrupted goes on
 * without being waited for.
 */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => stopped.reject(signal.reason);
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  // Whichever loses the race may still fail.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, stopped.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
