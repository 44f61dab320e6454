import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testPostgres } from '../../test/support/postgres.ts';
import { LEDGER_SQL } from '../../src/ledger/postgres/functions.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { systemClock } from '../../src/std/clock.ts';
import { silentLog } from '../../src/std/log.ts';
import { openStore } from '../../src/store/store.ts';
import { seed } from '../seed.ts';

const DATABASES = {
  SQLite: () => Promise.resolve(undefined),
  Postgres: async () => (await testPostgres()).freshDatabase(),
};
const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-seed-'));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

describe.each(Object.entries(DATABASES))('a seeded store on %s', (_name, database) => {
  test('has books without a breach, and sums by backend of all its requests', async () => {
    const options = { dataDir, databaseUrl: await database(), log: silentLog, clock: systemClock };
    const store = await openStore({ ...options, ledgerSql: LEDGER_SQL });
    await seed(store, { requests: 2_000, accounts: 3, days: 3, now: Date.now() });
    const ledger = openLedger(store, { node: 'test', clock: systemClock, log: silentLog });
    expect((await ledger.ledger.verify({ full: true })).breaches).toEqual([]);
    const days = await store.db.selectFrom('backend_day').selectAll().execute();
    const receipts = await store.db.selectFrom('closed_request').selectAll().execute();
    const total = (of: (day: (typeof days)[number]) => number): number =>
      days.reduce((sum, day) => sum + of(day), 0);
    expect(total(({ requests }) => requests)).toBe(2_000);
    expect(total((day) => day.to_500ms + day.to_2s + day.to_10s + day.to_60s + day.longer)).toBe(2_000);
    expect(total(({ failures }) => failures)).toBe(
      receipts.filter(({ outcome }) => outcome === 'upstream_failed').length,
    );
    expect(total(({ charged }) => charged)).toBe(receipts.reduce((sum, { charged }) => sum + charged, 0));
    expect(total(({ to_500ms }) => to_500ms)).toBe(
      receipts.filter(({ duration_ms }) => (duration_ms ?? 0) <= 500).length,
    );
    await ledger.close();
    await store.close();
  });
});
