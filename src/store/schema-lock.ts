import { Client, DatabaseError, type ClientBase } from 'pg';
import type { Log } from '../std/log.ts';
import { StartupError } from '../std/startup-error.ts';
import type { PostgresAddress } from './postgres-address.ts';
import { INTEGERS_AS_NUMBERS } from './postgres-pool.ts';

/**
 * A connection for changes of the schema, which take as long as they take: neither side ends a statement for its length.
 * Behind a pooler no setting may stay on a connection; there each transaction makes its own.
 */
export async function connectForSchema(
  { url, pooled = false }: PostgresAddress,
  application = 'tollgate schema',
): Promise<Client> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: application,
    types: INTEGERS_AS_NUMBERS,
  });
  // The statement that it breaks fails; the event itself would end the process.
  client.on('error', () => undefined);
  await client.connect();
  if (!pooled) await client.query('SET statement_timeout = 0; SET lock_timeout = 0');
  return client;
}

/**
 * Runs a transaction that changes tables or functions, one at a time among all nodes.
 *
 * The lock is asked for again and again, and never waited for inside the database: a statement that waits there keeps its
 * snapshot, and an index that is being built beside it waits for every snapshot. For the same reason the transaction is
 * `read committed`: it has no snapshot between its statements.
 */
export async function underSchemaLock<Result>(
  client: ClientBase,
  waits: SchemaWaits,
  work: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    await client.query(BEGIN);
    const { rows } = await client.query<{ taken: boolean }>(TAKE_LOCK);
    if (rows[0]?.taken === true) break;
    await client.query('ROLLBACK');
    const find = () => holders(client, LOCK_HOLDERS);
    await waits.pause('another node changes the schema', find, ASK_AGAIN_MS);
  }
  return await committed(client, work);
}

/** Ends the transaction that has begun: with what the work has done, or without it if it fails. */
export async function committed<Result>(client: ClientBase, work: () => Promise<Result>): Promise<Result> {
  try {
    const result = await work();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    // A connection that is gone has rolled back.
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** A session that somebody waits for. */
export interface Holder {
  readonly pid: number;
  readonly application: string;
  readonly query: string;
  readonly seconds: number;
}

/** Pauses of one change of the schema: all others go on meanwhile, and the operator reads what it waits for. */
export class SchemaWaits {
  readonly #log: Log;
  readonly #startedAt = performance.now();
  #saidAt = -Infinity;

  constructor(log: Log) {
    this.#log = log;
  }

  async pause(
    reason: string,
    findHolders: () => Promise<readonly Holder[]>,
    pauseMs = PAUSE_MS,
  ): Promise<void> {
    const heldBy = await this.say(reason, findHolders);
    if (performance.now() - this.#startedAt > PATIENCE_MS)
      throw new StartupError(
        `The database's schema could not be brought up to date within a day: ${reason}${heldBy[0] ? `, held by pid ${heldBy[0].pid}: ${heldBy[0].query}` : ''}.`,
      );
    await Bun.sleep(pauseMs * (0.5 + Math.random()));
  }

  /** Every few seconds, however often it is called. Somebody who lets go at once is not worth a line. */
  async say(reason: string, findHolders: () => Promise<readonly Holder[]>): Promise<readonly Holder[]> {
    if (performance.now() - this.#saidAt < SAY_EVERY_MS) return [];
    const heldBy = await findHolders();
    if (heldBy.length === 0) return [];
    this.#saidAt = performance.now();
    this.#log.warn('schema_change_waits', { reason, held_by: heldBy });
    return heldBy;
  }
}

/** Those of the sessions whose transactions were there before anybody waited for them, the oldest first. */
export async function holders(
  client: ClientBase,
  pids: string,
  values: readonly unknown[] = [],
): Promise<readonly Holder[]> {
  const { rows } = await client.query<Holder>(
    `SELECT a.pid, a.application_name AS application, left(a.query, 200) AS query,
       coalesce(extract(epoch FROM clock_timestamp() - a.xact_start)::int, 0) AS seconds
     FROM pg_stat_activity a WHERE a.pid <> pg_backend_pid() AND a.pid IN (${pids})
       AND a.xact_start < clock_timestamp() - interval '${LOCK_TIMEOUT_MS} ms'
     ORDER BY a.xact_start LIMIT 5`,
    [...values],
  );
  return rows;
}

/** The processes that have locked one of these tables. */
export const TABLE_HOLDERS = `SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
  WHERE l.granted AND c.relname = ANY ($1::text[])
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** Another session's lock was in the way: nothing happened, and the same may succeed later. */
export function isInTheWay(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === LOCK_NOT_AVAILABLE || error.code === DEADLOCK);
}

const CONNECT_TIMEOUT_MS = 30_000;
const LOCK_NOT_AVAILABLE = '55P03';
const DEADLOCK = '40P01';
/**
 * Whoever waits for a table's lock holds up all who come after it, so nobody waits for longer than a request notices, and
 * pauses are much longer than that.
 */
const LOCK_TIMEOUT_MS = 100;
const PAUSE_MS = 500;
/** Asking for the schema's own lock holds up nobody. */
const ASK_AGAIN_MS = 50;
const SAY_EVERY_MS = 10_000;
const PATIENCE_MS = 86_400_000;

/** An arbitrary number that only this lock uses. */
const ADVISORY_LOCK = 7_420_017;
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS};
  SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`;
const TAKE_LOCK = `SELECT pg_try_advisory_xact_lock(${ADVISORY_LOCK}) AS taken`;
const LOCK_HOLDERS = `SELECT l.pid FROM pg_locks l
  WHERE l.locktype = 'advisory' AND l.classid = 0 AND l.objid = ${ADVISORY_LOCK} AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
