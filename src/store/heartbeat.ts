import type { Clock } from '../std/clock.ts';
import type { Store } from './store.ts';

const PATIENCE_MS = 1_000;
const GOOD_FOR_MS = 500;
const KEY = 'heartbeat';

/**
 * Whether the store takes writes: one that is locked, full or a replica still reads, and serves nobody. Health checks
 * ask without a token, so however many come, one beat answers them all.
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

  beats(): Promise<boolean> {
    const now = performance.now();
    if (!this.#latest || now - this.#startedAt > GOOD_FOR_MS) {
      this.#startedAt = now;
      this.#latest = this.#beat();
    }
    return this.#latest;
  }

  async #beat(): Promise<boolean> {
    const written = this.#write();
    // A late failure is one that nobody waits for any more.
    written.catch(() => undefined);
    const late = Bun.sleep(PATIENCE_MS).then(() => false);
    return await Promise.race([written.then(() => true), late]).catch(() => false);
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
