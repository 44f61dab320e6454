import type { Clock } from '../std/clock.ts';
import type { Store } from './store.ts';

const TIMEOUT_MS = 1_000;
const VALID_MS = 500;
const KEY = 'heartbeat';

/**
 * Whether the store accepts writes: one that is locked, full or a replica can still be read, but no request can be served.
 * Health checks need no token, so one write is shared by all checks within a short time.
 */
export class Heartbeat {
  readonly #store: Store;
  readonly #clock: Clock;
  #latest: Promise<boolean> | undefined;
  #startedAt = 0;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  acceptsWrites(): Promise<boolean> {
    const now = performance.now();
    if (!this.#latest || now - this.#startedAt > VALID_MS) {
      this.#startedAt = now;
      this.#latest = this.#tryWrite();
    }
    return this.#latest;
  }

  async #tryWrite(): Promise<boolean> {
    const written = this.#write();
    // A failure after the timeout must not become an unhandled rejection.
    written.catch(() => undefined);
    const timedOut = Bun.sleep(TIMEOUT_MS).then(() => false);
    return await Promise.race([written.then(() => true), timedOut]).catch(() => false);
  }

  async #write(): Promise<void> {
    const value = { value: '', updated_at: this.#clock.now() };
    await this.#store.db
      .insertInto('setting')
      .values({ key: KEY, ...value })
      .onConflict((conflict) => conflict.column('key').doUpdateSet(value))
      .execute();
  }
}
