import { Database, type SQLQueryBindings } from 'bun:sqlite';
import {
  CompiledQuery,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type Driver,
  type Kysely,
  type QueryResult,
  type TransactionSettings,
} from 'kysely';
import { storeUnavailable } from '../std/fault.ts';

/** With more WAL than this (64 MB) the background thread has not kept up, and a commit checkpoints by itself. */
const AUTO_CHECKPOINT_PAGES = 16_384;
/** The file size to which a WAL is cut after a checkpoint; a long read lets it grow far beyond its usual size. */
const MAX_IDLE_WAL_BYTES = 50_331_648;

/**
 * A connection with our settings: WAL, commits not synced one by one (see wal.ts), and no waiting inside SQLite, since
 * that would block the event loop. Callers that get SQLITE_BUSY wait asynchronously and retry.
 */
export function openSqlite(path: string): Database {
  const database = new Database(path, { create: true, readwrite: true });
  try {
    // Switching to WAL needs exclusive access; another process may be doing the same now.
    database.run('PRAGMA busy_timeout = 2000');
    database.run('PRAGMA journal_mode = WAL');
    database.run('PRAGMA synchronous = NORMAL');
    database.run('PRAGMA foreign_keys = ON');
    database.run('PRAGMA temp_store = MEMORY');
    database.run(`PRAGMA wal_autocheckpoint = ${AUTO_CHECKPOINT_PAGES}`);
    database.run(`PRAGMA journal_size_limit = ${MAX_IDLE_WAL_BYTES}`);
    database.run('PRAGMA busy_timeout = 0');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Kysely on bun:sqlite. Kysely itself lets one caller at a time use the only connection. */
export class BunSqliteDialect implements Dialect {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  createDriver(): Driver {
    return new BunSqliteDriver(this.#database);
  }

  createQueryCompiler(): SqliteQueryCompiler {
    return new SqliteQueryCompiler();
  }

  createAdapter(): SqliteAdapter {
    return new SqliteAdapter();
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(db);
  }
}

class BunSqliteDriver implements Driver {
  readonly #connection: BunSqliteConnection;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
    this.#connection = new BunSqliteConnection(database);
  }

  init(): Promise<void> {
    return Promise.resolve();
  }

  acquireConnection(): Promise<DatabaseConnection> {
    return Promise.resolve(this.#connection);
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    // A transaction that takes the write lock late can fail halfway; taking it first, it fails at the start or not at all.
    const sql = settings.accessMode === 'read only' ? 'begin' : 'begin immediate';
    await connection.executeQuery(CompiledQuery.raw(sql));
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'));
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // On a full disk SQLite has already rolled back.
    if (this.#database.inTransaction) await connection.executeQuery(CompiledQuery.raw('rollback'));
  }

  releaseConnection(): Promise<void> {
    return Promise.resolve();
  }

  destroy(): Promise<void> {
    this.#database.close();
    return Promise.resolve();
  }
}

class BunSqliteConnection implements DatabaseConnection {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    try {
      return await retryWhileBusy(() => this.#execute<R>(query));
    } catch (error) {
      throw isStoreFailure(error) ? storeUnavailable(error) : error;
    }
  }

  #execute<R>({ sql, parameters }: CompiledQuery): QueryResult<R> {
    const statement = this.#database.prepare<R, SQLQueryBindings[]>(sql);
    try {
      // Kysely types parameters as unknown; what SQLite cannot bind, bun:sqlite refuses.
      const bindings = parameters as SQLQueryBindings[];
      if (statement.columnNames.length > 0) return { rows: statement.all(...bindings) };
      const { changes, lastInsertRowid } = statement.run(...bindings);
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
    } finally {
      statement.finalize();
    }
  }

  // eslint-disable-next-line require-yield -- the interface requires a generator; a cursor would pin the WAL while its reader is slow
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('streaming is not supported: page by key instead');
  }
}

const BUSY = 5;
const BUSY_PATIENCE_MS = 2_000;
const BUSY_STEP_MS = 5;

/** Another process (the CLI beside the server) holds the lock briefly; this waits for it without blocking the event loop. */
export async function retryWhileBusy<T>(work: () => T): Promise<T> {
  const start = performance.now();
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() - start > BUSY_PATIENCE_MS) throw error;
      await Bun.sleep(BUSY_STEP_MS);
    }
  }
}

/** BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOTADB. */
const STORE_FAILURES: ReadonlySet<number> = new Set([BUSY, 6, 7, 8, 10, 11, 13, 14, 15, 26]);

/** Whether an error is about the store and not about the statement. */
export function isStoreFailure(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && STORE_FAILURES.has(code);
}

export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === BUSY;
}

/** SQLite's primary result code, without the extended bits. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errno' in error) || typeof error.errno !== 'number') return undefined;
  return error.errno & 0xff;
}

/** Marks a data folder as served by this process. It is a file lock, so the operating system releases it when the process ends. */
export class DataDirLock {
  readonly #path: string;
  #connection: Database | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  take(): boolean {
    if (this.#connection) return true;
    const connection = new Database(this.#path, { create: true, readwrite: true });
    try {
      // An empty database that is never written: SQLite is used for its portable file lock only.
      connection.run('PRAGMA journal_mode = MEMORY');
      connection.run('BEGIN EXCLUSIVE');
      this.#connection = connection;
      return true;
    } catch (error) {
      connection.close();
      if (isBusy(error)) return false;
      throw error;
    }
  }

  release(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }
}
