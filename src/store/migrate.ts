import type { Database } from 'bun:sqlite';
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../std/clock.ts';
import { StartupError } from '../std/startup-error.ts';
import { sqliteCode, retryWhileBusy } from './bun-sqlite.ts';
import { postgresDialect, sqliteDialect, type Dialect } from './dialect.ts';
import { MIGRATIONS, type LedgerSql, type Migration } from './migrations/index.ts';

/** Brings a SQLite file to the schema of this code. Processes that start together run one after the other. */
export async function migrateSqlite(database: Database, clock: Clock, steps = MIGRATIONS): Promise<void> {
  try {
    await retryWhileBusy(() => database.run('BEGIN IMMEDIATE'));
    try {
      await migrate(sqliteTarget(database), clock, steps);
      database.run('COMMIT');
    } catch (error) {
      if (database.inTransaction) database.run('ROLLBACK');
      throw error;
    }
  } catch (error) {
    throw asDamagedError(error);
  }
}

/** Brings a Postgres database to the schema of this code. Nodes that start together run one after the other. */
export async function migratePostgres(
  pool: Pool,
  clock: Clock,
  ledgerSql: LedgerSql,
  steps = MIGRATIONS,
): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query(`SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '10min'`);
    await client.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCK]);
    await migrate(postgresTarget(client, ledgerSql), clock, steps);
    await client.query('COMMIT');
    client.release();
  } catch (error) {
    // Closing the connection rolls back, whatever its state.
    client.release(true);
    throw error;
  }
}

/** An arbitrary number that only Tollgate's migrations use. */
const ADVISORY_LOCK = 7_420_017;

/** What a migration needs from either database; all of it runs in one transaction under a lock. */
interface Target {
  readonly dialect: Dialect;
  readonly ledgerSql: LedgerSql;
  run(sql: string): Promise<void>;
  tables(): Promise<ReadonlySet<string>>;
  applied(): Promise<readonly AppliedStep[]>;
}

interface AppliedStep {
  readonly number: number;
  readonly name: string;
  readonly compatible_from: number;
}

async function migrate(target: Target, clock: Clock, steps: readonly Migration[]): Promise<void> {
  const before = await target.tables();
  if (!before.has('schema_version')) {
    refuseForeignTables(before, target, steps);
    await target.run(versionTable(target.dialect));
  }
  const applied = await target.applied();
  checkHistory(applied, steps);
  for (const step of steps.slice(applied.length)) {
    for (const statement of statementsOf(step, target)) await target.run(statement);
    await target.run(
      `INSERT INTO schema_version (number, name, compatible_from, applied_at)
       VALUES (${step.number}, '${step.name}', ${step.compatibleFrom}, ${clock.now()})`,
    );
  }
  checkTables(await target.tables(), target, steps);
}

function statementsOf(step: Migration, { dialect, ledgerSql }: Target): readonly string[] {
  return step.statements(dialect, ledgerSql[step.name] ?? []);
}

function versionTable(dialect: Dialect): string {
  return `CREATE TABLE schema_version (
    number ${dialect.int64} PRIMARY KEY,
    name TEXT NOT NULL,
    compatible_from ${dialect.int64} NOT NULL,
    applied_at ${dialect.int64} NOT NULL
  )`;
}

/** The steps in the database must be ours in our order; further ones are fine while they are compatible with us. */
function checkHistory(applied: readonly AppliedStep[], steps: readonly Migration[]): void {
  const known = steps.length;
  for (const [index, step] of applied.entries()) {
    const ours = steps[index];
    if (step.number !== index + 1 || (ours && ours.name !== step.name)) {
      throw new StartupError(
        `The database's schema history is damaged at step ${step.number} ('${step.name}'). Restore a backup, or point Tollgate at another database.`,
      );
    }
  }
  const compatibleFrom = Math.max(0, ...applied.map((step) => step.compatible_from));
  if (compatibleFrom > known) {
    throw new StartupError(
      `The database's schema is newer (step ${applied.length}) than this version of Tollgate understands (step ${known}). Start the newer version.`,
    );
  }
}

function checkTables(present: ReadonlySet<string>, target: Target, steps: readonly Migration[]): void {
  const missing = tablesOf(target, steps).filter((table) => !present.has(table));
  if (missing.length > 0) {
    throw new StartupError(
      `The database is damaged: table ${missing.join(', ')} is missing. Restore a backup, or point Tollgate at another database.`,
    );
  }
}

/** A database that has our tables' names but not our history belongs to something else. */
function refuseForeignTables(
  present: ReadonlySet<string>,
  target: Target,
  steps: readonly Migration[],
): void {
  const foreign = tablesOf(target, steps).filter((table) => present.has(table));
  if (foreign.length > 0) {
    throw new StartupError(
      `The database has a table ${foreign[0]} that Tollgate did not make. Give Tollgate a database of its own.`,
    );
  }
}

function tablesOf(target: Target, steps: readonly Migration[]): string[] {
  const tables = new Set<string>();
  for (const statement of steps.flatMap((step) => statementsOf(step, target))) {
    const [, verb, table] = /^\s*(CREATE|DROP) TABLE (\w+)/i.exec(statement) ?? [];
    if (verb === undefined || table === undefined) continue;
    if (verb.toUpperCase() === 'CREATE') tables.add(table);
    else tables.delete(table);
  }
  return [...tables];
}

function sqliteTarget(database: Database): Target {
  return {
    dialect: sqliteDialect,
    ledgerSql: {},
    run(sql) {
      database.run(sql);
      return Promise.resolve();
    },
    tables() {
      const rows = database
        .query<{ name: string }, []>(`SELECT name FROM sqlite_master WHERE type = 'table'`)
        .all();
      return Promise.resolve(new Set(rows.map((row) => row.name)));
    },
    applied: () => Promise.resolve(database.query<AppliedStep, []>(HISTORY).all()),
  };
}

function postgresTarget(client: PoolClient, ledgerSql: LedgerSql): Target {
  return {
    dialect: postgresDialect,
    ledgerSql,
    async run(sql) {
      await client.query(sql);
    },
    async tables() {
      const { rows } = await client.query<{ name: string }>(
        `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()`,
      );
      return new Set(rows.map((row) => row.name));
    },
    async applied() {
      return (await client.query<AppliedStep>(HISTORY)).rows;
    },
  };
}

const HISTORY = 'SELECT number, name, compatible_from FROM schema_version ORDER BY number';
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

function asDamagedError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (code !== CORRUPT && code !== NOT_A_DATABASE) return error;
  return new StartupError(
    'The database file is damaged or is not a SQLite database. Restore a backup.',
    error,
  );
}
