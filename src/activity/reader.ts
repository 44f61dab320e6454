import type { CompiledQuery } from 'kysely';
import { BackgroundThread } from '../store/background-thread.ts';
import type { Store } from '../store/store.ts';

/**
 * Runs the console's read queries without delaying API requests: SQLite runs on the calling thread, so lists and sums run
 * on a second one; Postgres is another process anyway.
 */
export interface Reader {
  all<Row>(query: ReadQuery<Row>): Promise<Row[]>;
  close(): Promise<void>;
}

export interface ReadQuery<Row> {
  compile(): CompiledQuery<Row>;
  execute(): Promise<Row[]>;
}

export function makeReader(store: Store): Reader {
  if (store.backend.kind === 'postgres') {
    return { all: (query) => query.execute(), close: () => Promise.resolve() };
  }
  // A thread of its own: on the store's thread, a ledger check or a checkpoint may take seconds.
  const thread = new BackgroundThread(store.backend.path);
  return {
    all<Row>(query: ReadQuery<Row>) {
      const { sql, parameters } = query.compile();
      return thread.query<Row>(sql, parameters.map(asBinding));
    },
    close: () => thread.close(),
  };
}

function asBinding(value: unknown): string | number {
  if (typeof value === 'string' || typeof value === 'number') return value;
  throw new TypeError('a read query takes only strings and numbers');
}
