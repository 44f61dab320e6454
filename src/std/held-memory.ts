import { ShedFault } from './request-slots.ts';

interface HeldMemoryLimits {
  /** Bytes that all requests together may hold. */
  readonly total: number;
  /** Bytes that the requests of one account may hold. */
  readonly ofAccount: number;
}

/** What one request holds. */
export interface MemoryLease {
  /** Throws `service_unavailable` if there is no room for so many more bytes. */
  take(bytes: number): void;
  give(bytes: number): void;
  /** Gives back all of it; a second call does nothing. */
  release(): void;
}

/**
 * The memory that large bodies and loaded pictures occupy. Bytes count from the moment when they have arrived until
 * nothing refers to them, so that a client that only announces a large body takes no room from others, and no account
 * takes all of it.
 */
export class HeldMemory {
  readonly #limits: HeldMemoryLimits;
  readonly #byAccount = new Map<string, number>();
  #total = 0;

  constructor(limits: HeldMemoryLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  open(account: string): MemoryLease {
    let held = 0;
    const give = (bytes: number): void => {
      const given = Math.min(bytes, held);
      held -= given;
      this.#add(account, -given);
    };
    return {
      take: (bytes) => {
        if (!this.#hasRoom(account, bytes)) throw noRoom();
        held += bytes;
        this.#add(account, bytes);
      },
      give,
      release: () => give(held),
    };
  }

  #hasRoom(account: string, bytes: number): boolean {
    const own = this.#byAccount.get(account) ?? 0;
    return own + bytes <= this.#limits.ofAccount && this.#total + bytes <= this.#limits.total;
  }

  #add(account: string, bytes: number): void {
    this.#total += bytes;
    const own = (this.#byAccount.get(account) ?? 0) + bytes;
    if (own > 0) this.#byAccount.set(account, own);
    else this.#byAccount.delete(account);
  }
}

function noRoom(): ShedFault {
  return new ShedFault('Too many large requests at once. Retry soon.');
}
