import { asFault, Fault } from '../../std/fault.ts';

export interface BatchQueueOptions<Item, Answer extends object> {
  /** Answers every item in its place; a fault fails that item alone. */
  readonly run: (items: readonly Item[]) => Promise<readonly (Answer | Fault)[]>;
  /** Hears of answers that came after their item had been given up. */
  readonly onLate?: (item: Item, answer: Answer | Fault) => void;
  /** Multiplies {@link LEDGER_DEADLINE_MS}; 1 where a client waits for an answer. */
  readonly deadlineFactor?: number;
}

/**
 * While one batch is on its way the next one gathers: under load a round trip serves hundreds, alone an item goes at
 * once. A database that takes long over a batch gets smaller ones, since one that takes too long would fail as a whole
 * and come back as large. Whatever happens, each item is answered within {@link LEDGER_DEADLINE_MS} or fails as unavailable.
 */
export class BatchQueue<Item, Answer extends object> {
  readonly #options: BatchQueueOptions<Item, Answer>;
  readonly #deadlineMs: number;
  #queue: QueuedItem<Item, Answer>[] = [];
  /** Everything unanswered, oldest first, and answered ones until the oldest is answered. */
  #open: QueuedItem<Item, Answer>[] = [];
  #isRunning = false;
  #mostTogether = MOST_TOGETHER;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: BatchQueueOptions<Item, Answer>) {
    this.#options = options;
    this.#deadlineMs = LEDGER_DEADLINE_MS * (options.deadlineFactor ?? 1);
  }

  submit(item: Item): Promise<Answer> {
    if (this.#queue.length >= MOST_WAITING)
      return Promise.reject(unavailable('the ledger has too much to do'));
    return new Promise<Answer>((resolve, reject) => {
      const queued: QueuedItem<Item, Answer> = {
        item,
        resolve,
        reject,
        deadline: performance.now() + this.#deadlineMs,
        over: false,
      };
      this.#queue.push(queued);
      this.#open.push(queued);
      this.#timer ??= setTimeout(() => this.#giveUp(), this.#deadlineMs);
      // The first of a burst waits for the rest of it: they arrive in the same turn of the event loop.
      if (this.#queue.length === 1 && !this.#isRunning) setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    if (this.#isRunning || this.#queue.length === 0) return;
    const batch = this.#queue.splice(0, this.#mostTogether).filter((queued) => !queued.over);
    if (batch.length === 0) {
      this.#flush();
      return;
    }
    this.#isRunning = true;
    void this.#run(batch);
  }

  async #run(batch: readonly QueuedItem<Item, Answer>[]): Promise<void> {
    const began = performance.now();
    const answers = await this.#options
      .run(batch.map((queued) => queued.item))
      .catch((error: unknown) => batch.map(() => asFault(error)));
    this.#adapt(batch.length, performance.now() - began);
    this.#settle(batch, answers);
  }

  #adapt(size: number, tookMs: number): void {
    if (tookMs > SLOW_MS) this.#mostTogether = Math.max(LEAST_TOGETHER, Math.floor(size / 2));
    else if (size === this.#mostTogether) this.#mostTogether = Math.min(MOST_TOGETHER, size * 2);
  }

  #settle(batch: readonly QueuedItem<Item, Answer>[], answers: readonly (Answer | Fault)[]): void {
    this.#isRunning = false;
    for (const [place, queued] of batch.entries()) {
      const answer = answers[place] ?? unavailable('the ledger gave no answer');
      if (queued.over) this.#options.onLate?.(queued.item, answer);
      else finish(queued, answer);
    }
    this.#forgetOver();
    this.#flush();
  }

  #giveUp(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const queued of this.#open) {
      if (queued.deadline > now) break;
      if (!queued.over) finish(queued, unavailable('the database did not answer in time'));
    }
    this.#forgetOver();
    const oldest = this.#open[0];
    if (oldest) this.#timer ??= setTimeout(() => this.#giveUp(), Math.max(1, oldest.deadline - now));
  }

  #forgetOver(): void {
    let over = 0;
    while (this.#open[over]?.over) over++;
    if (over > 0) this.#open.splice(0, over);
    if (this.#open.length > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** Clients must hear within a second that the database is not there. */
export const LEDGER_DEADLINE_MS = 900;
const MOST_WAITING = 10_000;
const MOST_TOGETHER = 500;
const LEAST_TOGETHER = 16;
const SLOW_MS = 250;
const RETRY_AFTER_MS = 1_000;

interface QueuedItem<Item, Answer extends object> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (fault: Fault) => void;
  readonly deadline: number;
  /** Answered, or given up. */
  over: boolean;
}

function finish<Item, Answer extends object>(queued: QueuedItem<Item, Answer>, answer: Answer | Fault): void {
  queued.over = true;
  if (answer instanceof Fault) queued.reject(answer);
  else queued.resolve(answer);
}

export function unavailable(detail: string, cause?: unknown): Fault {
  return new Fault('service_unavailable', 'The service is briefly unavailable. Retry soon.', {
    detail,
    cause,
    retryAfterMs: RETRY_AFTER_MS,
  });
}
