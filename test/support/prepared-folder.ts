import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LEDGER_SQL } from '../../src/ledger/postgres/functions.ts';
import { systemClock } from '../../src/std/clock.ts';
import { silentLog } from '../../src/std/log.ts';
import { openStore } from '../../src/store/store.ts';

let template: Promise<Uint8Array> | undefined;

/**
 * Puts a SQLite database with today's schema and nothing in its tables into a data folder, as the first start would leave
 * it. Migrating takes longer than most tests; a process does it once.
 */
export async function prepareDataFolder(dataDir: string): Promise<void> {
  template ??= migratedFile();
  const bytes = await template;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  writeFileSync(join(dataDir, 'tollgate.db'), bytes, { mode: 0o600 });
}

/** A new data folder in the system's folder for such things, prepared. */
export async function preparedDataFolder(prefix: string): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), prefix));
  await prepareDataFolder(dataDir);
  return dataDir;
}

async function migratedFile(): Promise<Uint8Array> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-template-'));
  try {
    const store = await openStore({ dataDir, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL });
    await store.close();
    return readFileSync(join(dataDir, 'tollgate.db'));
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
