import { Database } from 'bun:sqlite';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DataDirLock, isBusy, sqliteCode } from './bun-sqlite.ts';
import { sqliteDialect } from './dialect.ts';
import { IMAGE_FOLDER } from './image-files.ts';
import { checkSchemaHistory, SCHEMA_HISTORY, type AppliedStep } from './migrate.ts';

/** Why a backup or a restore cannot be done, in one sentence. */
export class BackupRefusal extends Error {}

/** The contents of a copy, for an operator who wants to restore it. */
export interface BackupFacts {
  /** `undefined`: not counted. */
  readonly accounts: number | undefined;
  readonly receipts: number | undefined;
  readonly schemaStep: number;
  /** The fingerprint of the secret that it needs; `undefined` for a store that has none yet. */
  readonly secretFingerprint: string | undefined;
}

export const DATABASE_FILE = 'tollgate.db';
const BUSY_MS = 10_000;

/**
 * Copies a database beside its running server: one consistent state, read in one transaction, without stopping any
 * writer, and the images that are files beside it. The copy appears under its name only when it is whole, checked and on the disk.
 */
export function backUpSqlite(source: string, target: string): BackupFacts {
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  // Before SQLite writes to it: nobody else may read the copy at any moment.
  closeSync(openSync(partial, 'wx', 0o600));
  try {
    const database = new Database(source, { readwrite: true, create: false });
    try {
      database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
      database.run('VACUUM INTO ?', [partial]);
    } finally {
      database.close();
    }
    addImageFiles(partial, join(dirname(source), IMAGE_FOLDER));
    const facts = inspectSqlite(partial);
    syncToDisk(partial);
    renameSync(partial, target);
    syncToDisk(dirname(target));
    return facts;
  } finally {
    removeDatabase(partial);
  }
}

function addImageFiles(copy: string, folder: string): void {
  const database = new Database(copy, { readwrite: true, create: false });
  try {
    // A copy that was not finished is made again: nothing of it needs a journal.
    database.run('PRAGMA journal_mode = OFF');
    takeInImageFiles(database, folder);
  } finally {
    database.close();
  }
}

/** Opens a copy and refuses one that is damaged, no Tollgate's, or newer than this program. */
export function inspectSqlite(path: string): BackupFacts {
  try {
    const database = new Database(path, { readwrite: true, create: false });
    try {
      return factsOf(database);
    } finally {
      database.close();
    }
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error;
    throw new BackupRefusal(`This is not a whole database of Tollgate: ${String(error)}`);
  }
}

function factsOf(database: Database): BackupFacts {
  const check = database.query<{ integrity_check: string }, []>('PRAGMA integrity_check(1)').get();
  if (check?.integrity_check !== 'ok')
    throw new BackupRefusal(`The database is damaged: ${check?.integrity_check}`);
  const steps = database.query<AppliedStep, []>(SCHEMA_HISTORY).all();
  checkSchemaHistory(steps, sqliteDialect);
  const count = (table: string): number =>
    database.query<{ count: number }, []>(`SELECT count(*) AS count FROM ${table}`).get()?.count ?? 0;
  const fingerprint = database
    .query<{ value: string }, []>(`SELECT value FROM setting WHERE key = 'secret.fingerprint'`)
    .get();
  return {
    accounts: count(`account WHERE role <> 'system'`),
    receipts: count('receipt'),
    schemaStep: steps.length,
    secretFingerprint: fingerprint?.value,
  };
}

interface RestoreOptions {
  readonly file: string;
  readonly dataDir: string;
  /** Keeps an existing database under another name, and restores. */
  readonly replace: { readonly suffix: string } | undefined;
  /** Throws when the copy must not be used here. */
  readonly accept: (facts: BackupFacts) => void;
}

/** Puts a copy in place of the database of a data folder that no server uses; nothing is deleted. */
export function restoreSqlite({ file, dataDir, replace, accept }: RestoreOptions): BackupFacts {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = new DataDirLock(join(dataDir, 'server.lock'));
  if (!lock.take()) throw new BackupRefusal('A server is running on this data folder. Stop it first.');
  const database = join(dataDir, DATABASE_FILE);
  const partial = `${database}.restoring`;
  try {
    chmodSync(join(dataDir, 'server.lock'), 0o600);
    if (existsSync(database) && !replace)
      throw new BackupRefusal(
        `There is a database in ${dataDir} already. Restore to an empty folder, or add --force: then it is kept under another name.`,
      );
    removeDatabase(partial);
    copyFileSync(file, partial);
    chmodSync(partial, 0o600);
    const facts = inspectSqlite(partial);
    accept(facts);
    syncToDisk(partial);
    if (replace) moveAside(dataDir, replace.suffix);
    renameSync(partial, database);
    syncToDisk(dataDir);
    return facts;
  } finally {
    removeDatabase(partial);
    lock.release();
  }
}

/**
 * Moves a database aside with its log, which belongs to it by name, and its images. A command that still has it open
 * would write into the wrong one.
 */
function moveAside(dataDir: string, suffix: string): void {
  const database = join(dataDir, DATABASE_FILE);
  if (existsSync(database)) {
    requireUnused(database);
    for (const file of ['', '-wal', '-shm'])
      if (existsSync(database + file)) renameSync(database + file, `${database}.${suffix}${file}`);
  }
  const images = join(dataDir, IMAGE_FOLDER);
  if (existsSync(images)) renameSync(images, `${images}.${suffix}`);
}

function requireUnused(path: string): void {
  const database = new Database(path, { readwrite: true, create: false });
  try {
    database.run('PRAGMA locking_mode = EXCLUSIVE');
    database.run('BEGIN EXCLUSIVE');
    database.run('ROLLBACK');
  } catch (error) {
    if (!isBusy(error)) throw error;
    throw new BackupRefusal(
      'A command is using the database of this data folder. Try again when it is done.',
    );
  } finally {
    database.close();
  }
}

function removeDatabase(path: string): void {
  for (const file of ['', '-wal', '-shm', '-journal']) rmSync(path + file, { force: true });
}

function syncToDisk(path: string): void {
  // A folder can only be opened for reading, which is also enough to sync a file that was written elsewhere.
  const descriptor = openSync(path, statSync(path).isDirectory() ? 'r' : 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Copies images that are files into the rows of a copy of the database, so that the copy is a single file. An image
 * that was deleted since the copy was made is left out.
 */
function takeInImageFiles(copy: Database, folder: string): void {
  const hasTable = copy
    .query(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'image_object'`)
    .get();
  if (hasTable === null) return;
  const next = copy.query<{ id: string; object: string }, [string]>(
    `SELECT image.id, image.object FROM image JOIN image_object ON image_object.id = image.object
      WHERE image_object.place = 'files' AND image.id > ? ORDER BY image.id LIMIT 1`,
  );
  const take = copy.query(`UPDATE image SET bytes = ?, object = NULL WHERE id = ?`);
  for (let row = next.get(''); row !== null; row = next.get(row.id)) {
    const bytes = fileOf(join(folder, row.object));
    if (bytes) take.run(bytes, row.id);
    else forget(copy, row.id);
  }
  copy.run(`DELETE FROM image_object WHERE place = 'files'`);
}

function fileOf(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function forget(copy: Database, id: string): void {
  copy.run('DELETE FROM image_thumbnail WHERE image_id = ?', [id]);
  copy.run('DELETE FROM image WHERE id = ?', [id]);
}
