import type { Clock } from '../std/clock.ts';
import type { Store } from '../store/store.ts';

const SAMPLES = 3;

/**
 * This machine's clock, corrected by how far it is ahead of the database's, which all nodes share and by which the ledger
 * books. Ids of requests carry their time: with a wrong one they would be missing in lists and exports of their day.
 */
export class DatabaseClock implements Clock {
  readonly #machine: Clock;
  #aheadMs = 0;

  constructor(machine: Clock) {
    this.#machine = machine;
  }

  now(): number {
    return this.#machine.now() - Math.round(this.#aheadMs);
  }

  /** How far this machine's clock is ahead of the database's, negative if it is behind; 0 as far as nobody can tell. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  async measure(store: Pick<Store, 'backend'>): Promise<void> {
    this.#aheadMs = await aheadOfDatabaseMs(store);
  }
}

/** SQLite has the clock of its machine. */
async function aheadOfDatabaseMs({ backend }: Pick<Store, 'backend'>): Promise<number> {
  if (backend.kind === 'sqlite') return 0;
  const samples: { aheadMs: number; uncertainMs: number }[] = [];
  for (let taken = 0; taken < SAMPLES; taken++) {
    const startedAt = performance.now();
    const before = Date.now();
    const { rows } = await backend.pool.query<{ now: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    );
    const uncertainMs = (performance.now() - startedAt) / 2 + 1;
    samples.push({ aheadMs: before + uncertainMs - (rows[0]?.now ?? before), uncertainMs });
  }
  samples.sort((a, b) => a.uncertainMs - b.uncertainMs);
  const { aheadMs = 0, uncertainMs = 0 } = samples[0] ?? {};
  // What the way to the database explains is no difference of the clocks.
  return Math.sign(aheadMs) * Math.max(0, Math.abs(aheadMs) - uncertainMs);
}
