import type { Clock } from '../std/clock.ts';
import type { Store } from './store.ts';

const TIMEOUT_MS = 1_000;
const VALID_MS = 500;
const KEY = 'heartbeat';

/**
 * Whether a request could be served now. `probe` does what a request does, including a write: a store that is locked,
 * full or a replica can still be read. Health checks need no token, so one probe is shared by all checks within a
 * short time.
 */
export class Heartbeat {
  readonly #probe: () => Promise<void>;
  #latest: Promise<boolean> | undefined;
  #startedAt = 0;

  constructor(probe: () => Promise<void>) {
    this.#probe = probe;
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
    const written = this.#probe();
    // A failure after the timeout must not become an unhandled rejection.
    written.catch(() => undefined);
    const timedOut = Bun.sleep(TIMEOUT_MS).then(() => false);
    return await Promise.race([written.then(() => true), timedOut]).catch(() => false);
  }
}

export async function writeHeartbeat({ db }: Store, clock: Clock): Promise<void> {
  const value = { value: '', updated_at: clock.now() };
  await db
    .insertInto('setting')
    .values({ key: KEY, ...value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet(value))
    .execute();
}
