import { test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testPostgres } from '../../test/support/postgres.ts';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { openStore } from '../store/store.ts';
import { LEDGER_SQL } from './postgres/functions.ts';
import { archiveUnderKill } from './testing/archive-crash.ts';

test.each([
  ['SQLite', () => Promise.resolve('')],
  ['Postgres', async () => (await testPostgres()).freshDatabase()],
])(
  'on %s, kill -9 while days leave breaks no invariant, and the next run goes on until each has left once',
  async (_name, database) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-archive-'));
    const databaseUrl = await database();
    const where = databaseUrl === '' ? { dataDir } : { dataDir, databaseUrl };
    const store = await openStore({ ...where, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL });
    try {
      await archiveUnderKill(store, { dataDir, databaseUrl });
    } finally {
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
  120_000,
);
