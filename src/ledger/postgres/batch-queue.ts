import { BATCH_BOUNDS, DATABASE_SECONDS, Distribution } from '../../std/distribution.ts';
import { asFault, Fault } from '../../std/fault.ts';
import type { BatchLoad } from '../port.ts';

interface BatchQueueOptions<Item, Answer extends object> {
  /** Answers every item in its place; a fault fails that item alone. */
  readonly run: (items: readonly Item[]) => Promise<readonly (Answer | Fault)[]>;
  /** How many batches may be on their way at once; 1 when absent. */
  readonly mostRunning?: number;
  /** What an item may have to wait for in the database: only items with other keys go beside a batch. */
  readonly keyOf?: (item: Item) => string;
  /** Gets the answers that came after their item had been given up. */
  readonly onLate?: (item: Item, answer: Answer | Fault) => void;
  /** Multiplies {@link LEDGER_DEADLINE_MS}; 1 where a client waits for an answer. */
  readonly deadlineFactor?: number;
}

/**
 * While one batch is on its way the next one gathers: under load a round trip serves hundreds of items, and a single
 * item goes at once. A call costs the database as much as dozens of items do, so there is one large batch at a time. Few
 * items are no reason to let others wait: beside batches of at most {@link FEW}, and beside one that is away for {@link
 * OVERTAKE_MS}, for example because of a lock, items of other keys go at once.
 * A database that is slow with a batch gets smaller ones, since one that takes too long would fail as a whole and come
 * back as large. Whatever happens, each item is answered within {@link LEDGER_DEADLINE_MS} or fails as unavailable.
 */
export class BatchQueue<Item, Answer extends object> {
  readonly #options: BatchQueueOptions<Item, Answer>;
  readonly #deadlineMs: number;
  readonly #sizes = new Distribution(BATCH_BOUNDS);
  readonly #durations = new Distribution(DATABASE_SECONDS);
  #queue: QueuedItem<Item, Answer>[] = [];
  /** Everything unanswered, oldest first, and answered ones until the oldest is answered. */
  #open: QueuedItem<Item, Answer>[] = [];
  /** Oldest first. */
  readonly #running = new Set<Batch<Item, Answer>>();
  #isWatched = false;
  #isFlushing = false;
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
      this.#flushSoon();
    });
  }

  load(name: string): BatchLoad {
    return { name, sizes: this.#sizes, durations: this.#durations, waiting: this.#queue.length };
  }

  /** Those that arrive in the same turn of the event loop, or whose bytes are there by now, go together. */
  #flushSoon(): void {
    if (this.#isFlushing || !this.#mayStart()) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#queue.length === 0 || !this.#mayStart()) return;
    const queued = this.#running.size === 0 ? this.#queue.splice(0, this.#mostTogether) : this.#others();
    const items = queued.filter(({ over }) => !over);
    if (items.length > 0) void this.#run({ items, began: performance.now() });
    else if (queued.length > 0) this.#flush();
  }

  #mayStart(): boolean {
    if (this.#running.size === 0) return true;
    if (this.#running.size >= (this.#options.mostRunning ?? 1)) return false;
    for (const { items, began } of this.#running)
      if (items.length > FEW && performance.now() - began < OVERTAKE_MS) return false;
    return true;
  }

  /** Takes waiting items whose keys are in no batch that is on its way. */
  #others(): QueuedItem<Item, Answer>[] {
    const { keyOf = () => '' } = this.#options;
    const busy = new Set([...this.#running].flatMap(({ items }) => items.map(({ item }) => keyOf(item))));
    const others: QueuedItem<Item, Answer>[] = [];
    this.#queue = this.#queue.filter((queued) => {
      if (others.length === this.#mostTogether || busy.has(keyOf(queued.item))) return true;
      others.push(queued);
      return false;
    });
    return others;
  }

  async #run(batch: Batch<Item, Answer>): Promise<void> {
    const { items, began } = batch;
    this.#running.add(batch);
    this.#sizes.add(items.length);
    this.#watch();
    const answers = await this.#options
      .run(items.map((queued) => queued.item))
      .catch((error: unknown) => items.map(() => asFault(error)));
    this.#running.delete(batch);
    const tookMs = performance.now() - began;
    this.#durations.add(tookMs / 1000);
    this.#adapt(items.length, tookMs);
    this.#settle(items, answers);
  }

  /** Checks repeatedly while a batch is away whether it is to be overtaken. */
  #watch(): void {
    if (this.#isWatched || this.#options.mostRunning === undefined || this.#running.size === 0) return;
    this.#isWatched = true;
    setTimeout(() => {
      this.#isWatched = false;
      this.#watch();
      this.#flush();
    }, OVERTAKE_MS);
  }

  #adapt(size: number, tookMs: number): void {
    if (tookMs > SLOW_MS) this.#mostTogether = Math.max(LEAST_TOGETHER, Math.floor(size / 2));
    else if (size === this.#mostTogether) this.#mostTogether = Math.min(MOST_TOGETHER, size * 2);
  }

  #settle(items: readonly QueuedItem<Item, Answer>[], answers: readonly (Answer | Fault)[]): void {
    for (const [place, queued] of items.entries()) {
      const answer = answers[place] ?? unavailable('the ledger gave no answer');
      if (queued.over) this.#options.onLate?.(queued.item, answer);
      else finish(queued, answer);
    }
    this.#forgetOver();
    if (this.#queue.length > 0) this.#flushSoon();
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

/** Clients must be told within a second that the database is not available. */
export const LEDGER_DEADLINE_MS = 900;
const MOST_WAITING = 10_000;
const MOST_TOGETHER = 500;
const LEAST_TOGETHER = 16;
const SLOW_MS = 250;
/** Their call costs hardly more than that of a single one. */
const FEW = 4;
/** Several times as long as a batch takes when no lock delays it. */
const OVERTAKE_MS = 20;
const RETRY_AFTER_MS = 1_000;

interface Batch<Item, Answer extends object> {
  readonly items: readonly QueuedItem<Item, Answer>[];
  readonly began: number;
}

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
  return new Fault('service_unavailable', 'The service is briefly unavailable. Try again soon.', {
    detail,
    cause,
    retryAfterMs: RETRY_AFTER_MS,
  });
}
