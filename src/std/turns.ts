import { tooManyRequests } from './fault.ts';

/** After this long, the rest of a crowd waits for the next turn of the event loop. */
const SHARE_MS = 4;

const waiting: (() => void)[] = [];

/**
 * Lets other requests have their turn between two steps of a large one. Of all that wait here, one goes on in each turn
 * of the event loop: a small request needs several turns, and would wait for a step of every large one in each of them.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(letOneGoOn);
  });
}

function letOneGoOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(letOneGoOn);
}

/**
 * A crowd gets a share of each turn of the event loop, in the order in which it came: what all of them ask for would be
 * one long step. At least one goes on in each turn, and what it does at once is done before the next one.
 */
export class Turns {
  readonly #shareMs: number;
  readonly #now: () => number;
  /** Of its share in this turn. Undefined: nobody came in it. */
  #begunAt: number | undefined;
  #waiting: (() => void)[] = [];

  constructor({ shareMs = SHARE_MS, now = () => performance.now() }: TurnsOptions = {}) {
    this.#shareMs = shareMs;
    this.#now = now;
  }

  /** Undefined: now. */
  enter(): Promise<void> | undefined {
    if (this.#begunAt === undefined) {
      this.#begunAt = this.#now();
      setImmediate(this.#endTurn);
      return undefined;
    }
    if (this.#waiting.length === 0 && this.#hasTime()) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #hasTime(): boolean {
    return this.#begunAt !== undefined && this.#now() - this.#begunAt < this.#shareMs;
  }

  readonly #endTurn = (): void => {
    this.#begunAt = undefined;
    if (this.#waiting.length === 0) return;
    this.#begunAt = this.#now();
    setImmediate(this.#endTurn);
    this.#goOn();
  };

  readonly #goOn = (): void => {
    this.#waiting.shift()?.();
    // From a promise's callback, so that it comes after all promises which the one that goes on settles now.
    if (this.#waiting.length > 0) queueMicrotask(() => process.nextTick(this.#goOnInTime));
  };

  readonly #goOnInTime = (): void => {
    if (this.#hasTime()) this.#goOn();
  };
}

interface TurnsOptions {
  readonly shareMs?: number;
  /** For tests. */
  readonly now?: () => number;
}

/** So much of a caller's is done at once; a page of the console asks for fewer. */
const AT_ONCE = 8;
const MOST_WAITING = 1_000;
const RETRY_MS = 1_000;

interface CallerTurns {
  running: number;
  readonly waiting: (() => void)[];
}

/** What one caller asks for all at once waits for itself, in the order in which it came, and not others for it. */
export class TurnsByCaller {
  readonly #callers = new Map<string, CallerTurns>();

  /** Throws 429 where too much of the caller's is waiting already. */
  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const own = this.#callers.get(caller) ?? { running: 0, waiting: [] };
    this.#callers.set(caller, own);
    if (own.running < AT_ONCE) own.running++;
    else await this.#turnOf(own);
    try {
      return await work();
    } finally {
      this.#next(caller, own);
    }
  }

  async #turnOf({ waiting }: CallerTurns): Promise<void> {
    if (waiting.length >= MOST_WAITING)
      throw tooManyRequests(RETRY_MS, 'Too many requests at the same time.');
    await new Promise<void>((resolve) => waiting.push(resolve));
  }

  /** Whoever waits takes over the turn. */
  #next(caller: string, own: CallerTurns): void {
    const next = own.waiting.shift();
    if (next) return next();
    own.running--;
    if (own.running === 0) this.#callers.delete(caller);
  }
}
