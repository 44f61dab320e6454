import { rateState } from '../ledger/decide.ts';
import type { AccountSnapshot, RateState } from '../ledger/port.ts';
import { RefusedRequest } from '../relay/admission.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';

/** Accounts with free calls in the last minute; beyond it all are forgotten. */
const MOST_ACCOUNTS = 10_000;

/**
 * Calls that cost nothing and are not written to the books, but take work: quotes and counts of tokens. An account may
 * make as many of them as chats, on each node, and none while its chats are at their limit.
 */
export class FreeCallRate {
  /** When the next call of an account would be due, in microseconds, as for the limits of the ledger. */
  readonly #arrivals = new Map<AccountId, number>();

  /** Counts one call, or throws `rate_limit_exceeded`. */
  count({ accountId, arrivals, now }: AccountSnapshot, limit: number): RateState {
    const nowUs = now * 1000;
    const stepUs = Math.ceil(60_000_000 / limit);
    const arrivalUs = Math.max(nowUs, arrivals.chat, this.#arrivals.get(accountId) ?? 0);
    const waitUs = arrivalUs + stepUs - nowUs - stepUs * limit;
    if (waitUs > 0) {
      const retryAfterMs = Math.ceil(waitUs / 1000);
      const fault = new Fault('rate_limit_exceeded', 'Too many requests. Wait and retry.', { retryAfterMs });
      throw new RefusedRequest(fault, rateState(limit, arrivalUs, nowUs));
    }
    if (this.#arrivals.size >= MOST_ACCOUNTS) this.#arrivals.clear();
    this.#arrivals.set(accountId, arrivalUs + stepUs);
    return rateState(limit, arrivalUs + stepUs, nowUs);
  }
}
