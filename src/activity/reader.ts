import type { CompiledQuery } from 'kysely';
import { Turns } from '../std/turns.ts';
import { BackgroundThread } from '../store/background-thread.ts';
import type { Store } from '../store/store.ts';

/**
 * Runs the console's read queries without delaying API requests: SQLite runs on the calling thread, so lists and sums run
 * on a second one; Postgres is another process anyway.
 */
export interface Reader {
  all<Row>(query: ReadQuery<Row>): Promise<Row[]>;
  /** For sums over everything, which may take long: lists do not wait for them. */
  readonly sums: Pick<Reader, 'all'>;
  close(): Promise<void>;
}

export interface ReadQuery<Row> {
  compile(): CompiledQuery<Row>;
  execute(): Promise<Row[]>;
}

export function makeReader(store: Store): Reader {
  if (store.backend.kind === 'postgres') {
    return { ...IN_PLACE, sums: IN_PLACE, close: () => Promise.resolve() };
  }
  // Threads of their own: on the store's thread, a ledger check or a checkpoint may take seconds.
  const [lists, sums] = [new BackgroundThread(store.backend.path), new BackgroundThread(store.backend.path)];
  const turns = new Turns();
  return {
    ...onThread(lists, turns),
    sums: onThread(sums, turns),
    close: async () => void (await Promise.all([lists.close(), sums.close()])),
  };
}

/** Runs a query where it is called: on Postgres, and in commands. */
export const IN_PLACE: Pick<Reader, 'all'> = { all: (query) => query.execute() };

/** What many waited for may arrive together, and becomes answers on the calling thread: they take turns. */
function onThread(thread: BackgroundThread, turns: Turns): Pick<Reader, 'all'> {
  return {
    async all<Row>(query: ReadQuery<Row>) {
      const { sql, parameters } = query.compile();
      const rows = await thread.query<Row>(sql, parameters.map(asBinding));
      await turns.enter();
      return rows;
    },
  };
}

function asBinding(value: unknown): string | number {
  if (typeof value === 'string' || typeof value === 'number') return value;
  throw new TypeError('a read query takes only strings and numbers');
}
