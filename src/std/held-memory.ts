import { ShedFault } from './request-slots.ts';

interface MemoryLimits {
  /** Bytes of all requests together. */
  readonly total: number;
  /** Bytes of the requests of one account: none takes all of the room. */
  readonly ofAccount: number;
}

/**
 * What requests hold in memory: bodies, pictures, and whatever else its client decides the size of. Bytes count from the
 * moment when they arrive or are loaded, so that a client that only announces them takes no room from others, until
 * nothing refers to them.
 */
export class HeldMemory {
  readonly #limits: MemoryLimits;
  readonly #byAccount = new Map<string, number>();
  #total = 0;

  constructor(limits: MemoryLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  /** Memory of one request of this account; grows with `take`, ends with `release`. */
  open(account: string): MemoryLease {
    let own = 0;
    let isReleased = false;
    const add = (bytes: number): void => {
      own += bytes;
      this.#add(account, bytes);
    };
    return {
      take: (bytes) => {
        if (isReleased) throw new Error('this memory was released');
        if (!this.#hasRoom(account, bytes)) throw noRoom();
        add(bytes);
      },
      give: (bytes) => add(-Math.min(own, bytes)),
      release: () => {
        isReleased = true;
        add(-own);
      },
    };
  }

  #hasRoom(account: string, bytes: number): boolean {
    const { total, ofAccount } = this.#limits;
    const own = this.#byAccount.get(account) ?? 0;
    return own + bytes <= ofAccount && this.#total + bytes <= total;
  }

  #add(account: string, bytes: number): void {
    this.#total += bytes;
    const own = (this.#byAccount.get(account) ?? 0) + bytes;
    if (own > 0) this.#byAccount.set(account, own);
    else this.#byAccount.delete(account);
  }
}

export interface MemoryLease {
  /** Throws the fault `service_unavailable` when there is no room; then nothing more is held. */
  take(bytes: number): void;
  give(bytes: number): void;
  /** Releases everything; a second call does nothing. */
  release(): void;
}

/** The memory of one request: until it is answered, and beyond that until whatever keeps it has ended. */
export class RequestMemory {
  readonly #open: () => Promise<MemoryLease>;
  #lease: MemoryLease | undefined;
  #holders = 1;

  constructor(open: () => Promise<MemoryLease>) {
    this.#open = open;
  }

  /** Counts so many more bytes. Throws `service_unavailable` if there is no room for them. */
  async hold(bytes: number): Promise<void> {
    this.#lease ??= await this.#open();
    // The answer may have been given meanwhile, because the body was too slow.
    if (this.#holders > 0) this.#lease.take(bytes);
  }

  /** Keeps what the request holds beyond its answer, until the returned function is called. */
  keep(): () => void {
    this.#holders++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.answered();
    };
  }

  answered(): void {
    if (--this.#holders === 0) this.#lease?.release();
  }
}

function noRoom(): ShedFault {
  return new ShedFault('Too many large requests at the same time. Try again soon.');
}
