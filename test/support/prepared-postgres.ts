import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { LEDGER_SQL } from '../../src/ledger/postgres/functions.ts';
import { postgresDialect } from '../../src/store/dialect.ts';
import { MIGRATIONS } from '../../src/store/migrations/index.ts';

/**
 * The data folders of stopped Postgres servers, kept between runs: each has a database with the schema of the code that
 * made it. Its name is a hash of everything that went into it, so another schema or server is another folder.
 */
const KEPT = resolve(import.meta.dir, '../../node_modules/.cache/tollgate-postgres');
/** Those of earlier schemas. */
const KEPT_FOR_MS = 24 * 3_600_000;
const execute = promisify(execFile);

/** Copies the data folder that was kept for this schema and server; false when there is none. */
export async function copyPrepared(madeBy: unknown, dataFolder: string): Promise<boolean> {
  const kept = pathFor(madeBy);
  if (!existsSync(kept)) return false;
  // Owners and modes too: the server accepts its folder from no other user.
  await execute('cp', ['-a', kept, dataFolder]);
  return true;
}

/** Processes that come here together each make a copy; the first to finish is kept. */
export async function keepPrepared(madeBy: unknown, dataFolder: string): Promise<void> {
  const kept = pathFor(madeBy);
  const unfinished = `${kept}-${process.pid}`;
  try {
    await mkdir(KEPT, { recursive: true });
    await removeOld();
    await execute('cp', ['-a', dataFolder, unfinished]);
    await rm(join(unfinished, 'server.log'), { force: true });
    await rename(unfinished, kept);
  } catch {
    // A folder that cannot be written, or that another process has just made: the next process is slower, or as quick.
    await rm(unfinished, { recursive: true, force: true });
  }
}

function pathFor(madeBy: unknown): string {
  const schema = MIGRATIONS.map((step) => [step.name, step.statements(postgresDialect)]);
  const whole = JSON.stringify([madeBy, schema, LEDGER_SQL]);
  return join(KEPT, createHash('sha256').update(whole).digest('hex').slice(0, 32));
}

async function removeOld(): Promise<void> {
  for (const name of await readdir(KEPT)) {
    const path = join(KEPT, name);
    if ((await stat(path)).mtimeMs < Date.now() - KEPT_FOR_MS)
      await rm(path, { recursive: true, force: true });
  }
}
