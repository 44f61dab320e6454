import { createHash } from 'node:crypto';
import type { Database } from 'bun:sqlite';
import type { Client } from 'pg';
import type { Clock } from '../std/clock.ts';
import { silentLog, type Log } from '../std/log.ts';
import { StartupError } from '../std/startup-error.ts';
import { sqliteCode, retryWhileBusy } from './bun-sqlite.ts';
import { completeIndexes, type ConcurrentIndex } from './concurrent-indexes.ts';
import { postgresDialect, sqliteDialect, type Dialect } from './dialect.ts';
import { MIGRATIONS, type Migration } from './migrations/index.ts';
import type { PostgresAddress } from './postgres-address.ts';
import {
  connectForSchema,
  holders,
  isInTheWay,
  SchemaWaits,
  TABLE_HOLDERS,
  underSchemaLock,
} from './schema-lock.ts';
import { announceFunctions, type LedgerSql } from './stored-functions.ts';

/**
 * Brings a SQLite file to the schema of this code, or leaves it as it is. Processes that start together run one after the
 * other.
 */
export async function migrateSqlite(database: Database, clock: Clock, steps = MIGRATIONS): Promise<void> {
  const target = sqliteTarget(database);
  try {
    await retryWhileBusy(() => database.run('BEGIN IMMEDIATE'));
    try {
      while ((await applyNext(target, clock, steps)) !== undefined) continue;
      checkTables(await target.tables(), target, steps);
      database.run('COMMIT');
    } catch (error) {
      if (database.inTransaction) database.run('ROLLBACK');
      throw error;
    }
  } catch (error) {
    throw asDamagedError(error);
  }
}

interface PostgresMigration {
  readonly log: Log;
  readonly clock: Clock;
  readonly ledgerSql: LedgerSql;
}

/**
 * Brings a Postgres database to the schema of this code, functions included, while other nodes serve from it. Nodes that
 * start together run one after the other.
 */
export async function migratePostgres(
  address: PostgresAddress,
  { log, clock, ledgerSql }: PostgresMigration,
  steps = MIGRATIONS,
): Promise<void> {
  const client = await connectForSchema(address);
  const waits = new SchemaWaits(log);
  const target = postgresTarget(client);
  try {
    // Nobody waits for the steps of a new database.
    const stepLog = (await appliedTo(target)).length === 0 ? silentLog : log;
    do {
      const done = await appliedTo(target);
      checkHistory(done, steps, target.dialect);
      const indexes = concurrentIndexes(steps.slice(0, done.length), target.dialect);
      await completeIndexes({ address, client, waits, log }, indexes);
    } while (await applyNextBesideOthers({ client, waits, target, clock, log: stepLog }, steps));
    await underSchemaLock(client, waits, () => announceFunctions(client, ledgerSql));
    checkTables(await target.tables(), target, steps);
  } finally {
    await client.end();
  }
}

interface PostgresStep {
  readonly client: Client;
  readonly waits: SchemaWaits;
  readonly target: Target;
  readonly clock: Clock;
  readonly log: Log;
}

/** A table that somebody else has locked is asked for again after a pause in which all others can use it. */
async function applyNextBesideOthers(
  { client, waits, target, clock, log }: PostgresStep,
  steps: readonly Migration[],
): Promise<boolean> {
  const askedAt = performance.now();
  let begunAt = askedAt;
  for (;;) {
    try {
      const step = await underSchemaLock(client, waits, () => {
        begunAt = performance.now();
        return applyNext(target, clock, steps);
      });
      if (step === undefined) return false;
      log.info('schema_step_done', {
        step: step.number,
        name: step.name,
        ms: Math.round(performance.now() - begunAt),
        waited_ms: Math.round(begunAt - askedAt),
      });
      return true;
    } catch (error) {
      if (!isInTheWay(error)) throw error;
      const next = steps[(await appliedTo(target)).length];
      const tables = next ? namedIn(next, target.dialect, await target.tables()) : [];
      await waits.pause(`step ${next?.number} of the schema needs the tables ${tables.join(', ')}`, () =>
        holders(client, TABLE_HOLDERS, [tables]),
      );
    }
  }
}

function namedIn(step: Migration, dialect: Dialect, tables: ReadonlySet<string>): string[] {
  const words = new Set(step.statements(dialect).join(' ').split(/\W+/));
  return [...tables].filter((table) => words.has(table));
}

/** What a migration needs from either database. */
interface Target {
  readonly dialect: Dialect;
  /** Runs all of them in as little time as possible: they may have locked tables that others wait for. */
  run(statements: readonly string[]): Promise<void>;
  tables(): Promise<ReadonlySet<string>>;
  /** The steps that were applied to a database with a history. */
  applied(): Promise<readonly AppliedStep[]>;
}

/** A row of the schema's history. */
export interface AppliedStep {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  readonly compatible_from: number;
}

/** Applies the first step that is not applied yet, and returns it, if there is one. Runs in a transaction under a lock. */
async function applyNext(
  target: Target,
  clock: Clock,
  steps: readonly Migration[],
): Promise<Migration | undefined> {
  const before = await target.tables();
  const isNew = !before.has('schema_step');
  if (isNew) {
    refuseUnreleasedSchema(before);
    refuseForeignTables(before, target, steps);
  }
  const applied = isNew ? [] : await target.applied();
  checkHistory(applied, steps, target.dialect);
  const step = steps[applied.length];
  if (step === undefined) return undefined;
  const later = new Set(concurrentIndexes([step], target.dialect).map(({ statement }) => statement));
  await target.run([
    ...(isNew ? [stepTable(target.dialect)] : []),
    ...step.statements(target.dialect).filter((statement) => !later.has(statement)),
    `INSERT INTO schema_step (number, name, checksum, compatible_from, applied_at)
     VALUES (${step.number}, '${step.name}', '${checksumOf(step, target.dialect)}', ${step.compatibleFrom}, ${clock.now()})`,
  ]);
  return step;
}

async function appliedTo(target: Target): Promise<readonly AppliedStep[]> {
  return (await target.tables()).has('schema_step') ? await target.applied() : [];
}

/**
 * The indexes of these steps that are built beside running nodes, where the database can: those of a table that an earlier step
 * has made, which may have any number of rows. One that a later step drops is none of them.
 */
function concurrentIndexes(steps: readonly Migration[], dialect: Dialect): readonly ConcurrentIndex[] {
  if (!dialect.concurrentIndexes) return [];
  const indexes = new Map<string, ConcurrentIndex>();
  for (const step of steps) {
    const statements = step.statements(dialect);
    const made = new Set(statements.map((statement) => /^\s*CREATE TABLE (\w+)/i.exec(statement)?.[1]));
    for (const statement of statements) {
      const dropped = /^\s*DROP INDEX (?:IF EXISTS )?(\w+)/i.exec(statement)?.[1];
      if (dropped !== undefined) indexes.delete(dropped);
      const [, name, table] = /^\s*CREATE (?:UNIQUE )?INDEX (\w+) ON (\w+)/i.exec(statement) ?? [];
      if (name !== undefined && !made.has(table)) indexes.set(name, { name, statement });
    }
  }
  return [...indexes.values()];
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
    run(statements) {
      for (const statement of statements) database.run(statement);
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

function postgresTarget(client: Client): Target {
  return {
    dialect: postgresDialect,
    async run(statements) {
      await client.query(statements.join(';\n'));
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
