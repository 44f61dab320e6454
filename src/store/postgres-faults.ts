import type { PostgresPool, PostgresPoolClient } from 'kysely';
import { DatabaseError, type Pool, type PoolClient } from 'pg';
import { storeUnavailable } from '../std/fault.ts';

/** Kysely's way to a pool on which a database that is away is a fault like any other. */
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
      throw isTrouble(error) ? storeUnavailable(error) : error;
    }
  };
  return {
    // Kysely declares a second form, with a cursor, which nothing here uses.
    query: query as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy),
  };
}

/** Connection lost, resources used up, an operator stepped in, the system failed; and a server that became a replica. */
const TROUBLE = /^(?:08|53|57|58|25006)/;
/** What the driver itself says of a connection: it broke, or nothing came in time. */
const BROKEN = /^Connection terminated|^Query read timeout|not queryable|ECONNRE|EPIPE|ETIMEDOUT/;

function isTrouble(error: unknown): boolean {
  if (error instanceof DatabaseError) return error.severity !== 'ERROR' || TROUBLE.test(error.code ?? '');
  return error instanceof Error && BROKEN.test(error.message);
}
