import { Database } from 'bun:sqlite';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';

/** What a store holds and has written, at one moment. */
export interface StoredBytes {
  readonly receipts: number;
  /** Of the receipts with their indexes; on SQLite of the whole file, nearly all of which they are. */
  readonly receiptBytes: number;
  /** What has gone to the disk because of requests: Postgres's write-ahead log, or all that a node on SQLite has written. */
  readonly writtenBytes: number;
  /** Connections to the database. */
  readonly connections: number;
}

export async function storedInPostgres(databaseUrl: string): Promise<StoredBytes> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    const { rows } = await client.query<Record<keyof StoredBytes, string>>(
      `SELECT (SELECT count(*) FROM receipt) AS receipts, pg_total_relation_size('receipt') AS "receiptBytes",
         pg_current_wal_lsn() - '0/0'::pg_lsn AS "writtenBytes",
         (SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()) AS connections`,
    );
    const [row] = rows;
    if (!row) throw new Error('no answer');
    return {
      receipts: Number(row.receipts),
      receiptBytes: Number(row.receiptBytes),
      writtenBytes: Number(row.writtenBytes),
      connections: Number(row.connections),
    };
  } finally {
    await client.end();
  }
}

export function storedInSqlite(dataFolder: string, pid: number): StoredBytes {
  const database = new Database(join(dataFolder, 'tollgate.db'), { readonly: true });
  try {
    const number = (query: string): number => Number(database.query(query).values()[0]?.[0]);
    return {
      receipts: number('SELECT count(*) FROM receipt'),
      receiptBytes: number('PRAGMA page_count') * number('PRAGMA page_size'),
      writtenBytes: Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]),
      connections: 0,
    };
  } finally {
    database.close();
  }
}
