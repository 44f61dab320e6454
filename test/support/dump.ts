import { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';

/** A table of a load test has more; its rows are all alike. */
const MOST_ROWS = 1_000;
/** Images are larger, and all texts are shorter. */
const MOST_BYTES = 65_536;
/** A test may have taken its database away. */
const PATIENCE_MS = 2_000;

/** Each table as text, with every column; none where the test has made its store unreadable. */
export async function tablesOf(
  dataDir: string,
  databaseUrl: string | undefined,
): Promise<ReadonlyMap<string, string>> {
  try {
    return databaseUrl === undefined ? dumpSqlite(dataDir) : await dumpPostgres(databaseUrl);
  } catch {
    return new Map();
  }
}

export function dumpSqlite(dataDir: string): ReadonlyMap<string, string> {
  const path = join(dataDir, 'tollgate.db');
  if (!existsSync(path)) return new Map();
  const db = new Database(path, { readonly: true });
  try {
    const names = db.query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const rows = (name: string): unknown[][] =>
      db.query(`SELECT * FROM "${name}" LIMIT ${MOST_ROWS}`).values();
    return new Map(names.map(({ name }) => [name, textOf(rows(name))]));
  } finally {
    db.close();
  }
}

export async function dumpPostgres(url: string): Promise<ReadonlyMap<string, string>> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: PATIENCE_MS,
    query_timeout: PATIENCE_MS,
  });
  // One that the test has ended says so once more.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(`BEGIN READ ONLY; SET LOCAL bytea_output = 'escape'`);
    const { rows } = await client.query<{ name: string }>(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
    );
    const dump = await client.query<{ name: string; text: string | null }>(
      rows.map(({ name }) => textOfTable(name)).join(' UNION ALL '),
    );
    return new Map(dump.rows.map(({ name, text }) => [name, text ?? '']));
  } finally {
    await client.end();
  }
}

/** Made by the database: one query for all tables is quicker than one for each, and a pooler is left as it was. */
function textOfTable(name: string): string {
  const rows = `SELECT left(one::text, ${MOST_BYTES}) AS text FROM "${name}" one LIMIT ${MOST_ROWS}`;
  return `SELECT '${name}' AS name, (SELECT string_agg(text, E'\\n') FROM (${rows}) AS rows) AS text`;
}

function textOf(rows: readonly unknown[][]): string {
  return rows.flat().map(cellText).join('\n');
}

function cellText(value: unknown): string {
  return value instanceof Uint8Array
    ? Buffer.from(value.subarray(0, MOST_BYTES)).toString('latin1')
    : JSON.stringify(value);
}
