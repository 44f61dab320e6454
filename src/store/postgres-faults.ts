import type { PostgresPool, PostgresPoolClient } from 'kysely';
import { DatabaseError, type Pool, type PoolClient } from 'pg';
import { storeUnavailable } from '../std/fault.ts';

/** A pool for Kysely that reports an unavailable database as a `Fault`. */
export function poolWithFaults(pool: Pool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: async () => {
      try {
        return faultingClient(await pool.connect());
      } catch (error) {
        throw storeUnavailable(error);
      }
    },
  };
}

function faultingClient(client: PoolClient): PostgresPoolClient {
  const query = async (sql: string, parameters: readonly unknown[]): Promise<unknown> => {
    try {
      return await client.query(sql, [...parameters]);
    } catch (error) {
      throw isUnavailable(error) ? storeUnavailable(error) : error;
    }
  };
  return {
    // Kysely declares a second form, with a cursor, which nothing here uses.
    query: query as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy),
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
