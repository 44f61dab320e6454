import type { PostgresPool, PostgresPoolClient } from 'kysely';
import { DatabaseError, types, type CustomTypesConfig, type PoolClient } from 'pg';
import { storeUnavailable } from '../std/fault.ts';
import type { Log } from '../std/log.ts';
import { ConnectionPool } from './connection-pool.ts';
import { connectionShares, DEFAULT_CONNECTIONS, type PostgresAddress } from './postgres-address.ts';

/** For tools. A server sets how long its requests may wait. */
const WAIT_MS = 30_000;
/** The server cancels a statement first, the client a little later in case the server is gone. */
const STATEMENT_TIMEOUT_MS = 10_000;
const QUERY_TIMEOUT_MS = 12_000;

/** Connections to Postgres, bounded in number and in time. */
export function openPool(
  { url, pooled, connections = DEFAULT_CONNECTIONS }: PostgresAddress,
  log: Log,
  waitMs = WAIT_MS,
): ConnectionPool {
  return new ConnectionPool({
    client: {
      connectionString: url,
      query_timeout: QUERY_TIMEOUT_MS,
      // A pooler refuses them, or keeps them for the next client of the same connection.
      ...(pooled
        ? {}
        : {
            statement_timeout: STATEMENT_TIMEOUT_MS,
            idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
          }),
      keepAlive: true,
      application_name: 'tollgate',
      types: INTEGERS_AS_NUMBERS,
    },
    most: connectionShares(connections).store,
    least: 1,
    waitMs,
    log,
  });
}

const INT8 = 20;
const NUMERIC = 1700;

/** All our integers are safe integers, and the only numerics are sums of them. */
export const INTEGERS_AS_NUMBERS: CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if ((oid === INT8 || oid === NUMERIC) && format !== 'binary') return Number;
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- types of extensions have numbers that pg does not list
    return types.getTypeParser(oid, format);
  },
};

/** The names of prepared statements, by their texts. */
const PREPARED = new Map<string, string>();

/** A text that is sent often and takes long to plan: each connection prepares it once, unless a pooler shares connections. */
export function prepared(name: string, text: string): string {
  PREPARED.set(text, name);
  return text;
}

/** A pool for Kysely that reports an unavailable database as a `Fault`. */
export function poolWithFaults(
  pool: ConnectionPool,
  { pooled }: Pick<PostgresAddress, 'pooled'>,
): PostgresPool {
  return {
    options: {},
    end: () => pool.end(),
    connect: async () => {
      try {
        return faultingClient(await pool.connect(), pooled);
      } catch (error) {
        throw storeUnavailable(error);
      }
    },
  };
}

function faultingClient(client: PoolClient, pooled = false): PostgresPoolClient {
  let isBroken = false;
  const query = async (sql: string, parameters: readonly unknown[]): Promise<unknown> => {
    try {
      const name = pooled ? undefined : PREPARED.get(sql);
      return await client.query({ name, text: sql, values: [...parameters] });
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      isBroken = true;
      throw storeUnavailable(error);
    }
  };
  return {
    // Kysely declares a second form, with a cursor, which nothing here uses.
    query: query as PostgresPoolClient['query'],
    release: (destroy) => client.release(isBroken || destroy),
  };
}

/** Connection exceptions, insufficient resources, operator intervention, system errors, and a server that became a replica. */
const UNAVAILABLE_CODES = /^(?:08|53|57|58|25006)/;
/** The driver's own messages for a connection that broke or timed out. */
const UNAVAILABLE_MESSAGES =
  /^Connection terminated|^Query read timeout|not queryable|ECONNRE|EPIPE|ETIMEDOUT/;

function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseError)
    return error.severity !== 'ERROR' || UNAVAILABLE_CODES.test(error.code ?? '');
  return error instanceof Error && UNAVAILABLE_MESSAGES.test(error.message);
}
