import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'bun:sqlite';
import { Kysely, PostgresDialect } from 'kysely';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import { StartupError } from '../std/startup-error.ts';
import { BunSqliteDialect, DataDirLock, isBusy, openSqlite } from './bun-sqlite.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { postgresDialect, sqliteDialect, type Dialect } from './dialect.ts';
import { migratePostgres, migrateSqlite } from './migrate.ts';
import { explainLocked, refuseWhileMoved } from './move/mark.ts';
import { openPool, poolWithFaults } from './postgres-pool.ts';
import { findPostgres, type PostgresAddress } from './postgres-address.ts';
import type { Schema } from './schema.ts';
import { keepAnnouncing, type LedgerSql } from './stored-functions.ts';
import { BackgroundThread } from './background-thread.ts';
import { Wal } from './wal.ts';

/** One database, opened and migrated. `db` is for everything but the ledger's hot path, which has a way of its own. */
export interface Store {
  readonly dialect: Dialect;
  readonly db: Kysely<Schema>;
  readonly backend: SqliteBackend | PostgresBackend;
  /** Resolves when all that was committed before the call survives a power cut. */
  durable(): Promise<void>;
  close(): Promise<void>;
}

export interface SqliteBackend {
  readonly kind: 'sqlite';
  readonly path: string;
  readonly wal: Wal;
  /** For statements that take long: they must not run on the thread that serves requests. */
  readonly background: BackgroundThread;
  /** Another connection, which the caller closes. It never waits for a lock: SQLITE_BUSY comes at once. */
  open(): Database;
  /** Makes this process the one server of the data folder until the store closes; false when another one is. */
  claim(): boolean;
}

export interface PostgresBackend extends PostgresAddress {
  readonly kind: 'postgres';
  readonly pool: ConnectionPool;
}

interface StoreOptions {
  readonly dataDir: string;
  readonly databaseUrl?: string | undefined;
  readonly log: Log;
  readonly clock: Clock;
  readonly ledgerSql: LedgerSql;
  /** How long a query waits for a connection to Postgres. */
  readonly databaseDeadlineMs?: number | undefined;
  /** How long a Postgres that does not answer yet is waited for. */
  readonly databaseWaitMs?: number | undefined;
  /** How many connections to Postgres this process may open. */
  readonly databaseConnections?: number | undefined;
  /** For the move itself, which may open what is closed to everybody else because of it. */
  readonly forMove?: boolean | undefined;
}

const DATABASE_WAIT_MS = 4_000;

/** Opens the database and brings its schema up to date, or throws {@link StartupError} with what to do about it. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const store = await (options.databaseUrl === undefined
    ? openSqliteStore(options)
    : openPostgresStore(options, options.databaseUrl));
  if (options.forMove === true) return store;
  try {
    await refuseWhileMoved(store.db);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openSqliteStore({ dataDir, log, clock }: StoreOptions): Promise<Store> {
  const path = join(dataDir, 'tollgate.db');
  const connection = openFile(dataDir, path);
  try {
    await migrateSqlite(connection, clock);
  } catch (error) {
    const reason = isBusy(error) ? explainLocked(connection, error) : error;
    connection.close();
    throw reason;
  }
  const background = new BackgroundThread(path);
  const wal = new Wal({ path: `${path}-wal`, connection, background, log });
  const db = new Kysely<Schema>({ dialect: new BunSqliteDialect(connection) });
  const lockPath = join(dataDir, 'server.lock');
  const claim = new DataDirLock(lockPath);
  return {
    dialect: sqliteDialect,
    db,
    backend: {
      kind: 'sqlite',
      path,
      wal,
      background,
      open: () => openSqlite(path),
      claim: () => {
        keepPrivate(lockPath);
        return claim.take();
      },
    },
    durable: () => wal.sync(),
    async close() {
      claim.release();
      await wal.close();
      await background.close();
      await db.destroy();
      // Kysely closes only what it has used.
      connection.close();
    },
  };
}

function openFile(dataDir: string, path: string): Database {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    keepPrivate(path);
    return openSqlite(path);
  } catch (error) {
    throw new StartupError(`Cannot open the database ${path}: ${reasonOf(error)}`, error);
  }
}

/**
 * Only the owner may read a file of ours, whatever the folder allows. SQLite gives its other files the same mode. A file
 * that is there is never opened here: closing it would drop the locks that SQLite has on it.
 */
function keepPrivate(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`])
    if (existsSync(file) && (statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
}

async function openPostgresStore(options: StoreOptions, url: string): Promise<Store> {
  const { log, clock, ledgerSql, databaseDeadlineMs, databaseConnections: connections } = options;
  const waitMs = options.databaseWaitMs ?? DATABASE_WAIT_MS;
  const address = await findPostgres(url, { log, waitMs, connections }).catch(cannotUse);
  await migratePostgres(address, { log, clock, ledgerSql }).catch(cannotUse);
  const pool = openPool(address, log, databaseDeadlineMs);
  const stopAnnouncing = keepAnnouncing(pool, ledgerSql, log);
  return {
    dialect: postgresDialect,
    db: new Kysely<Schema>({ dialect: new PostgresDialect({ pool: poolWithFaults(pool, address) }) }),
    backend: { kind: 'postgres', pool, ...address },
    // A Postgres commit is durable when it is acknowledged.
    durable: () => Promise.resolve(),
    async close() {
      stopAnnouncing();
      await pool.end();
    },
  };
}

function cannotUse(error: unknown): never {
  if (error instanceof StartupError) throw error;
  throw new StartupError(`Cannot use the database of DATABASE_URL: ${reasonOf(error)}`, error);
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
