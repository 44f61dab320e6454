import type { Pool, PoolClient } from 'pg';

/** One transaction at a time, of all nodes, that changes tables or functions. */
export async function underSchemaLock(
  pool: Pool,
  work: (client: PoolClient) => Promise<void>,
): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query(`SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '10min'`);
    await client.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCK]);
    await work(client);
    await client.query('COMMIT');
    client.release();
  } catch (error) {
    // Closing the connection rolls back, whatever its state.
    client.release(true);
    throw error;
  }
}

/** An arbitrary number that only this lock uses. */
const ADVISORY_LOCK = 7_420_017;
