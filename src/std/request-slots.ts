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

interface Slot {
  readonly account: string;
  isAnswered: boolean;
}

/**
 * The requests that are under way, from before their body is read until their answer or the end of their stream. When
 * all slots are taken, new requests are refused at once, so that those under way can finish; no account may take all
 * slots.
 */
export class RequestSlots {
  readonly #options: RequestSlotsOptions;
  readonly #maxOfAccount: number;
  readonly #slots = new Map<string, Slot>();
  readonly #byAccount = new Map<string, number>();

  constructor(options: RequestSlotsOptions) {
    this.#options = options;
    this.#maxOfAccount = Math.max(1, Math.floor(options.max * ACCOUNT_SHARE));
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Takes a slot until the request has ended, or throws the fault that says why there is none. */
  enter(requestId: string, account: string): void {
    const own = this.#byAccount.get(account) ?? 0;
    if (this.#slots.size >= this.#options.max) throw this.#shed('places');
    if (own >= this.#maxOfAccount) throw this.#shed('account');
    if (this.#options.eventLoop.isOverloaded) throw this.#shed('delay');
    this.#slots.set(requestId, { account, isAnswered: false });
    this.#byAccount.set(account, own + 1);
  }

  /** The request has its answer. One that still streams it keeps its slot until `ended`. */
  answered(requestId: string, isUnderWay: boolean): void {
    const slot = this.#slots.get(requestId);
    if (!slot) return;
    if (isUnderWay) slot.isAnswered = true;
    else this.#leave(requestId, slot);
  }

  /** The request was settled or released. */
  ended(requestId: string): void {
    const slot = this.#slots.get(requestId);
    if (slot?.isAnswered) this.#leave(requestId, slot);
  }

  #leave(requestId: string, { account }: Slot): void {
    this.#slots.delete(requestId);
    const own = (this.#byAccount.get(account) ?? 0) - 1;
    if (own > 0) this.#byAccount.set(account, own);
    else this.#byAccount.delete(account);
  }

  #shed(reason: ShedReason): ShedFault {
    this.#options.onShed(reason);
    return new ShedFault(SHED_MESSAGES[reason]);
  }
}

const SHED_MESSAGES: Readonly<Record<ShedReason, string>> = {
  places: 'This server has as many requests under way as it can take. Retry soon.',
  account: 'Your account has as many requests under way as this server can take from one. Retry soon.',
  delay: 'This server is overloaded. Retry soon.',
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
