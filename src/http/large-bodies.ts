import type { Caller } from '../ledger/port.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import type { CallerAuth } from './caller-auth.ts';
import type { IncomingRequest } from './router.ts';

const MEGABYTE = 1_048_576;
/** A body is in memory several times: as bytes, as text, parsed, and as what is sent to the backend. */
const MAX_TOTAL_BYTES = 200 * MEGABYTE;
/** Three of the largest. */
const MAX_ACCOUNT_BYTES = 60 * MEGABYTE;

/**
 * Bounds what large bodies occupy. Their token is looked up before they are received, so that nobody without an account
 * can fill the memory, and no account takes all of the room.
 */
export class LargeBodies {
  readonly #callerAuth: CallerAuth;
  readonly #byAccount = new Map<AccountId, number>();
  #total = 0;

  constructor(callerAuth: CallerAuth) {
    this.#callerAuth = callerAuth;
  }

  /** Room for a body, until its request is answered; or the fault that says why there is none. */
  async admit(incoming: IncomingRequest, caller: Caller, bytes: number): Promise<void> {
    const { accountId } = await this.#callerAuth.account(caller);
    const own = this.#byAccount.get(accountId) ?? 0;
    if (own + bytes > MAX_ACCOUNT_BYTES || this.#total + bytes > MAX_TOTAL_BYTES) throw noRoom();
    this.#add(accountId, bytes);
    incoming.onAnswered(() => this.#add(accountId, -bytes));
  }

  #add(accountId: AccountId, bytes: number): void {
    this.#total += bytes;
    const own = (this.#byAccount.get(accountId) ?? 0) + bytes;
    if (own > 0) this.#byAccount.set(accountId, own);
    else this.#byAccount.delete(accountId);
  }
}

function noRoom(): Fault {
  return new Fault('service_unavailable', 'Too many large requests at once. Retry soon.', {
    retryAfterMs: 1_000,
  });
}
