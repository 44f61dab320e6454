import { rateDecision } from '../ledger/decide.ts';
import type { AccountSnapshot } from '../ledger/port.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';

/** Only those who count all the time are kept, so this is far more than there will be. */
const MAX_ACCOUNTS = 10_000;

/**
 * Counting costs no money, so no hold bounds it. An account may count as often as it may chat, less what it has chatted:
 * where the rate of its chats stands comes from the store, what was counted since is known to this process alone.
 */
export class CountRate {
  readonly #arrivals = new Map<AccountId, number>();

  /** Takes one count from the allowance, or throws when there will be another. */
  take({ accountId, limits, arrivals, now }: AccountSnapshot, usualPerMinute: number): void {
    const perMinute = limits.chatPerMinute ?? usualPerMinute;
    const arrivalUs = Math.max(arrivals.chat, this.#arrivals.get(accountId) ?? 0);
    const { waitUs, nextUs } = rateDecision({ arrivalUs, perMinute }, now * 1000);
    if (waitUs > 0)
      throw new Fault('rate_limit_exceeded', 'Too many requests. Wait and retry.', {
        retryAfterMs: Math.ceil(waitUs / 1000),
      });
    this.#arrivals.delete(accountId);
    this.#arrivals.set(accountId, nextUs);
    if (this.#arrivals.size > MAX_ACCOUNTS) this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const accountId of this.#arrivals.keys()) {
      this.#arrivals.delete(accountId);
      return;
    }
  }
}
