import type { Database, SQLQueryBindings } from 'bun:sqlite';
import { Client } from 'pg';
import type { ConnectionPool } from '../../src/store/connection-pool.ts';
import type { Schema } from '../../src/store/schema.ts';
import type { Store } from '../../src/store/store.ts';
import type { Row } from './traffic.ts';

/** Writes many rows fast, past the ledger: only for seeding a store that nothing else uses meanwhile. */
export interface BulkWriter {
  insert<Table extends keyof Schema>(table: Table, rows: readonly Row<Table>[]): Promise<void>;
  run(statements: readonly string[]): Promise<void>;
  /** Lets the database learn what it now holds. */
  finish(): Promise<void>;
}

export function bulkWriter(store: Store): BulkWriter {
  const { backend } = store;
  return backend.kind === 'sqlite' ? sqliteWriter(backend.open()) : postgresWriter(backend.pool);
}

type AnyRow = Readonly<Record<string, SQLQueryBindings>>;

function sqliteWriter(database: Database): BulkWriter {
  database.run('PRAGMA busy_timeout = 10000');
  database.run('PRAGMA cache_size = -262144');
  return {
    insert(table, rows) {
      const [first] = rows as readonly AnyRow[];
      if (!first) return Promise.resolve();
      const columns = Object.keys(first);
      const statement = database.prepare(
        `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
      );
      const insertAll = database.transaction(() => {
        for (const row of rows as readonly AnyRow[])
          statement.run(...columns.map((column) => row[column] ?? null));
      });
      insertAll.immediate();
      statement.finalize();
      return Promise.resolve();
    },
    run(statements) {
      database.transaction(() => statements.forEach((statement) => database.run(statement))).immediate();
      return Promise.resolve();
    },
    finish() {
      database.run('ANALYZE');
      database.run('PRAGMA wal_checkpoint(TRUNCATE)');
      database.close();
      return Promise.resolve();
    },
  };
}

/** As many rows as make a statement of a few megabytes. */
const POSTGRES_ROWS = 5_000;

function postgresWriter(pool: ConnectionPool): BulkWriter {
  return {
    async insert(table, rows) {
      const [first] = rows as readonly AnyRow[];
      if (!first) return;
      const columns = Object.keys(first).join(', ');
      const sql = `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1)`;
      for (let from = 0; from < rows.length; from += POSTGRES_ROWS) {
        await pool.query(sql, [JSON.stringify(rows.slice(from, from + POSTGRES_ROWS))]);
      }
    },
    run: (statements) => withoutTimeout(pool, statements.join(';\n')),
    finish: () => withoutTimeout(pool, 'VACUUM ANALYZE'),
  };
}

/** The time that a statement of the server may take is too short for sums over everything. */
async function withoutTimeout(pool: ConnectionPool, statement: string): Promise<void> {
  const client = new Client({ ...pool.clientConfig, statement_timeout: 0, query_timeout: 0 });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
