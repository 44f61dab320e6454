import { sql } from 'kysely';
import type { Ledger } from '../ledger/port.ts';
import type { Log } from '../std/log.ts';
import type { NanoUsd } from '../std/money.ts';
import type { Store } from '../store/store.ts';
import { topUpOf } from './automatic.ts';

/** Far more accounts than one installation has with an automatic top-up; beyond it, the others are found by looking. */
const MAX_WATCHED = 50_000;
/** Requests that wait at once, and how long one does. */
const MAX_WAITING = 500;
const WAIT_MS = 15_000;
const LOOK_MS = 200;

type Caller = Parameters<Ledger['identify']>[0];

export interface TopUpTriggerParts {
  readonly store: Store;
  readonly ledger: Pick<Ledger, 'identify'>;
  readonly log: Log;
  /** Charges the account's card if it is due, and books what came of it as far as the provider tells. */
  readonly topUp: (accountId: string) => Promise<void>;
  readonly waitMs?: number | undefined;
}

/**
 * Begins automatic top-ups from the requests themselves: which accounts have one is known in memory, so a request costs one
 * look into a map. A request that the balance does not cover waits for the top-up that would.
 */
export class TopUpTrigger {
  readonly #parts: TopUpTriggerParts;
  readonly #begun = new Map<string, Promise<void>>();
  #thresholds: ReadonlyMap<string, number> = new Map();
  #waiting = 0;

  constructor(parts: TopUpTriggerParts) {
    this.#parts = parts;
  }

  /** Called periodically. */
  async refresh(): Promise<void> {
    const rows = await this.#parts.store.db
      .selectFrom('top_up')
      .select(['account_id', 'threshold'])
      .where(sql<boolean>`enabled = 1`)
      .limit(MAX_WATCHED)
      .execute();
    this.#thresholds = new Map(rows.map(({ account_id, threshold }) => [account_id, threshold]));
  }

  /** A request was admitted, and so much is left to spend. */
  admitted(accountId: string, available: NanoUsd): void {
    const threshold = this.#thresholds.get(accountId);
    if (threshold !== undefined && available < threshold) void this.#begin(accountId);
  }

  /** A request was refused for want of money. True once there is more than there was: then it may be asked for again. */
  async covered(caller: Caller, available: NanoUsd, signal: AbortSignal): Promise<boolean> {
    if (this.#thresholds.size === 0 || this.#waiting >= MAX_WAITING) return false;
    this.#waiting++;
    try {
      const account = await this.#parts.ledger.identify(caller);
      if (!account || !this.#thresholds.has(account.accountId)) return false;
      await this.#begin(account.accountId);
      await this.#ended(account.accountId, signal);
      const now = await this.#parts.ledger.identify(caller);
      return now !== undefined && now.balance - now.held > available;
    } finally {
      this.#waiting--;
    }
  }

  /** One at a time for each account; a failure is logged and met again by the periodic run. */
  async #begin(accountId: string): Promise<void> {
    const { topUp, log } = this.#parts;
    let begun = this.#begun.get(accountId);
    if (!begun) {
      begun = topUp(accountId)
        .catch((error: unknown) => log.warn('automatic_top_up_failed', { account: accountId, error }))
        .finally(() => this.#begun.delete(accountId));
      this.#begun.set(accountId, begun);
    }
    await begun;
  }

  /** Its event may come later than the provider's answer, and another node may have begun it. */
  async #ended(accountId: string, signal: AbortSignal): Promise<void> {
    const until = performance.now() + (this.#parts.waitMs ?? WAIT_MS);
    while (!signal.aborted && performance.now() < until) {
      const topUp = await topUpOf(this.#parts.store, accountId);
      if (!topUp || topUp.running === null) return;
      await Bun.sleep(LOOK_MS);
    }
  }
}
