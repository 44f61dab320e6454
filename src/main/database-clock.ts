import type { Clock } from '../std/clock.ts';
import type { Store } from '../store/store.ts';

const SAMPLES = 3;

/** What the store's clock says. That of SQLite is the machine's. */
export async function storeNow({ backend }: Pick<Store, 'backend'>, machine: Clock): Promise<number> {
  if (backend.kind === 'sqlite') return machine.now();
  const { rows } = await backend.pool.query<{ now: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
  );
  // What it has begun of a millisecond is not over.
  return Math.floor(rows[0]?.now ?? machine.now());
}

/**
 * How far this machine's clock is ahead of the database's, negative if it is behind; 0 as far as nobody can tell. SQLite
 * has the clock of its machine.
 */
export async function aheadOfDatabaseMs({ backend }: Pick<Store, 'backend'>): Promise<number> {
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
  // A difference within the time of the round trip says nothing about the clocks.
  return Math.sign(aheadMs) * Math.max(0, Math.abs(aheadMs) - uncertainMs);
}
