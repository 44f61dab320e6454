import type { EventLoop } from './event-loop.ts';
import { Fault } from './fault.ts';

interface RequestSlotsOptions {
  /** Requests that may be under way at once. */
  readonly max: number;
  readonly eventLoop: Pick<EventLoop, 'isOverloaded'>;
  readonly onShed: (reason: ShedReason) => void;
}

/** `places`: all are taken. `account`: one account has its share. `delay`: the event loop is late. */
type ShedReason = 'places' | 'account' | 'delay';

/** Work that was refused at once, because there is too much of it. Nothing was admitted, held or charged. */
export class ShedFault extends Fault {
  constructor(message: string) {
    super('service_unavailable', message, { retryAfterMs: RETRY_AFTER_MS });
  }
}

const RETRY_AFTER_MS = 1_000;
/** The part of the slots that one account may take. */
const ACCOUNT_SHARE = 0.5;

/** Beyond so many accounts, those without a request are forgotten. */
const MOST_ACCOUNTS = 10_000;

/**
 * The requests that are under way, from before their body is read until their answer or the end of their stream. When
 * all slots are taken, new requests are refused at once, so that those under way can finish; no account may take all
 * slots.
 */
export class RequestSlots {
  readonly #options: RequestSlotsOptions;
  readonly #maxOfAccount: number;
  #size = 0;
  /** Those without a request stay for the next one: the tables of a map that keys come to and leave are garbage. */
  readonly #byAccount = new Map<string, number>();
  /** The team that pays for a caller, once an admission has said so. It never changes. */
  readonly #walletOf = new Map<string, string>();
  /** The caller of each request whose answer has begun and is not over. */
  readonly #streaming = new Map<string, string>();

  constructor(options: RequestSlotsOptions) {
    this.#options = options;
    this.#maxOfAccount = Math.max(1, Math.floor(options.max * ACCOUNT_SHARE));
  }

  get size(): number {
    return this.#size;
  }

  /** Takes a slot until the request has ended, or throws the fault that says why there is none. */
  enter(caller: string): void {
    const account = this.#walletOf.get(caller) ?? caller;
    const own = this.#byAccount.get(account) ?? 0;
    if (this.#size >= this.#options.max) throw this.#shed('places');
    if (own >= this.#maxOfAccount) throw this.#shed('account');
    if (this.#options.eventLoop.isOverloaded) throw this.#shed('delay');
    this.#size++;
    if (own === 0 && this.#byAccount.size >= MOST_ACCOUNTS) this.#forgetIdle();
    this.#byAccount.set(account, own + 1);
  }

  /** From now on all callers of a team have one share together; what they have taken already counts. */
  share(caller: string, wallet: string): void {
    if (this.#walletOf.has(caller)) return;
    if (this.#walletOf.size >= MOST_ACCOUNTS) this.#forgetIdle();
    const taken = this.#byAccount.get(caller) ?? 0;
    this.#byAccount.delete(caller);
    this.#byAccount.set(wallet, (this.#byAccount.get(wallet) ?? 0) + taken);
    this.#walletOf.set(caller, wallet);
  }

  /** A request that has entered has its answer. One that still streams it keeps its slot until `ended`. */
  answered(requestId: string, caller: string, isUnderWay: boolean): void {
    if (isUnderWay) this.#streaming.set(requestId, caller);
    else this.#leave(caller);
  }

  /** The request was settled or released. */
  ended(requestId: string): void {
    const caller = this.#streaming.get(requestId);
    if (caller === undefined) return;
    this.#streaming.delete(requestId);
    this.#leave(caller);
  }

  #leave(caller: string): void {
    const account = this.#walletOf.get(caller) ?? caller;
    this.#size--;
    this.#byAccount.set(account, (this.#byAccount.get(account) ?? 1) - 1);
  }

  #forgetIdle(): void {
    for (const [account, own] of this.#byAccount) if (own === 0) this.#byAccount.delete(account);
    for (const [caller, wallet] of this.#walletOf)
      if (!this.#byAccount.has(wallet)) this.#walletOf.delete(caller);
  }

  #shed(reason: ShedReason): ShedFault {
    this.#options.onShed(reason);
    return new ShedFault(SHED_MESSAGES[reason]);
  }
}

const SHED_MESSAGES: Readonly<Record<ShedReason, string>> = {
  places: 'This server has reached its limit of concurrent requests. Try again soon.',
  account: 'Your account has reached this server’s limit of concurrent requests. Try again soon.',
  delay: 'This server is overloaded. Try again soon.',
};

/**
 * A request takes a connection to its client and one to its backend; a request over TLS takes two more, for both ends
 * of the connection that decrypts it. The rest is for the console, probes and the store.
 */
const FILES_PER_REQUEST = { plain: 2, tls: 4 };
const OTHER_FILES = 96;
const FEWEST = 8;

/** How many requests may be under way with this setting, and with this many files. */
export function slotsWithin(
  setting: number,
  files: number | undefined,
  transport: keyof typeof FILES_PER_REQUEST = 'plain',
): number {
  if (files === undefined) return setting;
  return Math.min(
    setting,
    Math.max(FEWEST, Math.floor((files - OTHER_FILES) / FILES_PER_REQUEST[transport])),
  );
}
