import { createHash } from 'node:crypto';
import type { Database } from 'bun:sqlite';
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../std/clock.ts';
import { StartupError } from '../std/startup-error.ts';
import { sqliteCode, retryWhileBusy } from './bun-sqlite.ts';
import { postgresDialect, sqliteDialect, type Dialect } from './dialect.ts';
import { MIGRATIONS, type Migration } from './migrations/index.ts';
import { underSchemaLock } from './postgres-pool.ts';
import { announceFunctions, type LedgerSql } from './stored-functions.ts';

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

/** Brings a Postgres database to the schema of this code, functions included. Nodes that start together run one after the other. */
export async function migratePostgres(
  pool: Pool,
  clock: Clock,
  ledgerSql: LedgerSql,
  steps = MIGRATIONS,
): Promise<void> {
  await underSchemaLock(pool, async (client) => {
    await migrate(postgresTarget(client), clock, steps);
    await announceFunctions(client, ledgerSql);
  });
}

/** What a migration needs from either database; all of it runs in one transaction under a lock. */
interface Target {
  readonly dialect: Dialect;
  run(sql: string): Promise<void>;
  tables(): Promise<ReadonlySet<string>>;
  applied(): Promise<readonly AppliedStep[]>;
}

/** A row of the schema's history. */
export interface AppliedStep {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  readonly compatible_from: number;
}

async function migrate(target: Target, clock: Clock, steps: readonly Migration[]): Promise<void> {
  const before = await target.tables();
  if (!before.has('schema_step')) {
    refuseUnreleasedSchema(before);
    refuseForeignTables(before, target, steps);
    await target.run(stepTable(target.dialect));
  }
  const applied = await target.applied();
  checkHistory(applied, steps, target.dialect);
  for (const step of steps.slice(applied.length)) {
    for (const statement of step.statements(target.dialect)) await target.run(statement);
    await target.run(
      `INSERT INTO schema_step (number, name, checksum, compatible_from, applied_at)
       VALUES (${step.number}, '${step.name}', '${checksumOf(step, target.dialect)}', ${step.compatibleFrom}, ${clock.now()})`,
    );
  }
  checkTables(await target.tables(), target, steps);
}

function stepTable(dialect: Dialect): string {
  return `CREATE TABLE schema_step (
    number ${dialect.int64} PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    compatible_from ${dialect.int64} NOT NULL,
    applied_at ${dialect.int64} NOT NULL
  )`;
}

/** The checksum of what the step does on this database. */
function checksumOf(step: Migration, dialect: Dialect): string {
  return createHash('sha256')
    .update(JSON.stringify(step.statements(dialect)))
    .digest('hex');
}

/** For a database that is not in use, such as one in a backup: throws when this version cannot use it. */
export function checkSchemaHistory(applied: readonly AppliedStep[], dialect: Dialect): void {
  checkHistory(applied, MIGRATIONS, dialect);
}

/** The steps in the database must be ours in our order; further ones are fine while they are compatible with us. */
function checkHistory(applied: readonly AppliedStep[], steps: readonly Migration[], dialect: Dialect): void {
  const known = steps.length;
  for (const [index, step] of applied.entries()) {
    const ours = steps[index];
    if (step.number !== index + 1 || (ours && ours.name !== step.name)) {
      throw new StartupError(
        `The database's schema history is damaged at step ${step.number} ('${step.name}'). Restore a backup, or point Tollgate at another database.`,
      );
    }
    if (ours && checksumOf(ours, dialect) !== step.checksum) {
      throw new StartupError(
        `Step ${step.number} ('${step.name}') of the database's schema is not the one that this version of Tollgate has: the database was made by a version that was never released, or the step was edited since. Start the version that made the database, or start with an empty database.`,
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

/** Before the first release the history was kept in a table of this name, without checksums. */
function refuseUnreleasedSchema(present: ReadonlySet<string>): void {
  if (!present.has('schema_version')) return;
  throw new StartupError(
    'The database was made by a version of Tollgate from before the first release, which no release can continue. Start with an empty database.',
  );
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
  for (const statement of steps.flatMap((step) => step.statements(target.dialect))) {
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
    applied: () => Promise.resolve(database.query<AppliedStep, []>(SCHEMA_HISTORY).all()),
  };
}

function postgresTarget(client: PoolClient): Target {
  return {
    dialect: postgresDialect,
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
      return (await client.query<AppliedStep>(SCHEMA_HISTORY)).rows;
    },
  };
}

export const SCHEMA_HISTORY =
  'SELECT number, name, checksum, compatible_from FROM schema_step ORDER BY number';
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
