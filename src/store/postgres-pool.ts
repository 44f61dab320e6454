import { Pool, types, type CustomTypesConfig } from 'pg';
import type { Log } from '../std/log.ts';
import { StartupError } from '../std/startup-error.ts';

const MAX_CONNECTIONS = 10;
/** For tools. A server says how long its requests may wait. */
const CONNECT_TIMEOUT_MS = 30_000;
/** The server cancels a statement first, the client a little later in case the server is gone. */
const STATEMENT_TIMEOUT_MS = 10_000;
const QUERY_TIMEOUT_MS = 12_000;
const IDLE_MS = 30_000;

/** Connections to Postgres, bounded in number and in time. */
export function openPool(url: string, log: Log, connectTimeoutMs = CONNECT_TIMEOUT_MS): Pool {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new StartupError('DATABASE_URL must look like postgres://user:password@host:5432/database');
  }
  const pool = new Pool({
    connectionString: url,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    application_name: 'tollgate',
    types: INTEGERS_AS_NUMBERS,
  });
  // A server that stops closes idle connections; without a listener that event would end the process.
  pool.on('error', (error) => log.warn('postgres_connection_lost', { error }));
  return pool;
}

const START_ATTEMPTS = 15;
const START_PAUSE_MS = 250;
/** Postgres's codes while it starts or has no free connection. */
const RETRYABLE_CODES: ReadonlySet<unknown> = new Set(['57P03', '53300']);

/** At startup no request is waiting yet, so a database that is slow, busy or still starting gets more time. */
export async function waitForPostgres(pool: Pool): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      (await pool.connect()).release();
      return;
    } catch (error) {
      if (attempt === START_ATTEMPTS || !isRetryable(error)) throw error;
      await Bun.sleep(START_PAUSE_MS);
    }
  }
}

function isRetryable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return RETRYABLE_CODES.has('code' in error ? error.code : undefined) || /timeout/i.test(error.message);
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
