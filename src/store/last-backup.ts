import { Database } from 'bun:sqlite';
import { Client } from 'pg';
import type { Store } from './store.ts';

const KEY = 'backup.made';
const BUSY_MS = 10_000;

function recordSql(time: string): string {
  return `INSERT INTO setting (key, value, updated_at) VALUES ('${KEY}', '', ${time})
    ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at`;
}

/**
 * Notes in the database itself that there is a copy of what it held at that time, so that every node can say how old the
 * newest one is. The store is not opened for it: a newer program would change its schema beside an older server.
 */
export function recordSqliteBackup(path: string, madeAtMs: number): void {
  const database = new Database(path, { readwrite: true, create: false });
  try {
    database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
    database.run(recordSql('?'), [madeAtMs]);
  } finally {
    database.close();
  }
}

/** The same as {@link recordSqliteBackup}, for Postgres. */
export async function recordPostgresBackup(url: string, madeAtMs: number): Promise<void> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: BUSY_MS,
    query_timeout: BUSY_MS,
  });
  await client.connect();
  try {
    await client.query(recordSql('$1'), [madeAtMs]);
  } finally {
    await client.end();
  }
}

/** `undefined`: none was ever made. */
export async function lastBackupAt({ db }: Pick<Store, 'db'>): Promise<number | undefined> {
  const row = await db.selectFrom('setting').select('updated_at').where('key', '=', KEY).executeTakeFirst();
  return row?.updated_at;
}
