import { Client } from 'pg';
import type { Log } from '../std/log.ts';
import { StartupError } from '../std/startup-error.ts';

/** Where the database is, and what a process may do there. */
export interface PostgresAddress {
  readonly url: string;
  /**
   * A pooler is in between, which may give each transaction another connection: nothing may be left on a connection, no
   * setting and no prepared statement. Absent: no.
   */
  readonly pooled?: boolean | undefined;
  /** How many connections this process may open in all. Absent: {@link DEFAULT_CONNECTIONS}. */
  readonly connections?: number | undefined;
}

/** Six processes fit into the 97 connections of a Postgres with default settings. */
export const DEFAULT_CONNECTIONS = 14;
export const LEAST_CONNECTIONS = 6;

/** How the connections are shared: requests first, up to the six that they can use at the same time. */
export function connectionShares(total: number): {
  readonly ledger: number;
  readonly control: number;
  readonly check: number;
  readonly store: number;
} {
  const ledger = Math.min(6, Math.floor((total - 2) / 2));
  const control = total >= DEFAULT_CONNECTIONS ? 2 : 1;
  return { ledger, control, check: 1, store: total - ledger - control - 1 };
}

interface FindOptions {
  readonly log: Log;
  /** How long a database that does not answer yet is waited for. */
  readonly waitMs: number;
  readonly connections?: number | undefined;
}

/** Waits until the database answers and takes writes, and finds out whether a pooler is in between. */
export async function findPostgres(
  url: string,
  { log, waitMs, connections }: FindOptions,
): Promise<PostgresAddress> {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new StartupError('DATABASE_URL must look like postgres://user:password@host:5432/database');
  }
  if (hostsOf(url).includes(',')) {
    throw new StartupError(
      'DATABASE_URL names several hosts. Give it one address that follows the primary, such as a proxy in front of them; docs/postgres.md shows how.',
    );
  }
  const until = performance.now() + waitMs;
  for (let announced = false; ; announced = true) {
    try {
      const pooled = await isPooled(url);
      if (announced) log.info('database_answers');
      if (pooled) log.info('database_behind_pooler', { statements: 'unnamed', timeouts: 'client' });
      return { url, pooled, connections };
    } catch (error) {
      if (!isTemporary(error) || performance.now() >= until) throw error;
      if (!announced) log.warn('waiting_for_database', { seconds: Math.round(waitMs / 1000), error });
      await Bun.sleep(START_PAUSE_MS);
    }
  }
}

/** The part that libpq reads as one or several hosts with their ports. */
function hostsOf(url: string): string {
  const [authority = ''] = url.slice(url.indexOf('//') + 2).split(/[/?#]/);
  return authority.slice(authority.lastIndexOf('@') + 1);
}

/** A replica refuses writes until it becomes the primary. */
class ReadOnlyDatabase extends Error {
  /** The code with which Postgres refuses such a write. */
  readonly code = '25006';

  constructor() {
    super('it takes no writes: it is a replica, or default_transaction_read_only is on');
  }
}

/** A pooler gives its clients keys of its own, so the number of the process behind is not the one that it named. */
async function isPooled(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number; isolation: string; readonly: string }>(
      `SELECT pg_backend_pid() AS pid, current_setting('default_transaction_isolation') AS isolation,
              current_setting('transaction_read_only') AS readonly`,
    );
    if (rows[0]?.readonly === 'on') throw new ReadOnlyDatabase();
    // The driver has this field; its types do not.
    const named = (client as Client & { readonly processID?: number }).processID;
    const pooled = rows[0]?.pid !== named;
    const isolation = rows[0]?.isolation;
    if (pooled && isolation !== 'read committed')
      throw new StartupError(
        `Behind a pooler Tollgate cannot choose the isolation of its transactions, and this database's default is '${isolation}': run ALTER DATABASE ... SET default_transaction_isolation = 'read committed', or connect without the pooler.`,
      );
    return pooled;
  } finally {
    await client.end().catch(() => undefined);
  }
}

const CONNECT_TIMEOUT_MS = 5_000;
const START_PAUSE_MS = 250;
/** Postgres's codes while it starts, stops, has no free connection or is a replica, and the network's while nobody listens yet. */
const TEMPORARY_CODES: ReadonlySet<unknown> = new Set([
  '57P03',
  '57P01',
  '53300',
  '25006',
  'ECONNREFUSED',
  'ENOENT',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ETIMEDOUT',
]);

function isTemporary(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.every(isTemporary);
  const code = 'code' in error ? error.code : undefined;
  return TEMPORARY_CODES.has(code) || /timeout|terminated unexpectedly/i.test(error.message);
}
