import { afterEach, describe, expect, spyOn, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from 'bun:sqlite';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { StartupError } from '../std/startup-error.ts';
import { openSqlite } from './bun-sqlite.ts';
import { migrateSqlite } from './migrate.ts';
import { MIGRATIONS, type Migration } from './migrations/index.ts';
import { openStore, type Store } from './store.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';

const folders: string[] = [];
const stores: Store[] = [];

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tollgate-store-'));
  folders.push(path);
  return path;
}

async function open(dataDir: string): Promise<Store> {
  const store = await openStore({ dataDir, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL });
  stores.push(store);
  return store;
}

function sqlite(store: Store) {
  if (store.backend.kind !== 'sqlite') throw new Error('expected SQLite');
  return store.backend;
}

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
});

const extra: Migration = {
  number: MIGRATIONS.length + 1,
  name: 'extra',
  compatibleFrom: 1,
  statements: () => ['CREATE TABLE extra (id TEXT PRIMARY KEY)'],
};

describe('schema', () => {
  test('two stores that open a new folder at the same time both find one complete schema', async () => {
    const dataDir = folder();
    const [a, b] = await Promise.all([open(dataDir), open(dataDir)]);
    const rows = await b.db.selectFrom('account').select(['id', 'role']).execute();
    expect(rows).toEqual([{ id: 'acc_overrun', role: 'system' }]);
    await a.db.insertInto('setting').values({ key: 'k', value: 'v', updated_at: 1 }).execute();
    expect(await b.db.selectFrom('setting').selectAll().execute()).toEqual([
      { key: 'k', value: 'v', updated_at: 1 },
    ]);
  });

  test('a newer schema that declares itself compatible is used as it is', async () => {
    const dataDir = folder();
    const database = openSqlite(join(dataDir, 'tollgate.db'));
    await migrateSqlite(database, systemClock, [...MIGRATIONS, extra]);
    database.close();
    const store = await open(dataDir);
    expect(await store.db.selectFrom('setting').selectAll().execute()).toEqual([]);
  });

  test('a newer schema that is not compatible prevents the start with a clear error', async () => {
    const dataDir = folder();
    const database = openSqlite(join(dataDir, 'tollgate.db'));
    await migrateSqlite(database, systemClock, [...MIGRATIONS, { ...extra, compatibleFrom: extra.number }]);
    database.close();
    expect(open(dataDir)).rejects.toThrow(/newer .* than this version/);
  });

  test('a missing table, a foreign table and a file that is not a database prevent the start', async () => {
    const damaged = folder();
    await (
      await openStore({ dataDir: damaged, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL })
    ).close();
    const database = new Database(join(damaged, 'tollgate.db'));
    database.run('DROP TABLE usage_day');
    database.close();
    expect(open(damaged)).rejects.toThrow(/usage_day is missing/);

    const foreign = folder();
    const other = new Database(join(foreign, 'tollgate.db'));
    other.run('CREATE TABLE account (id INTEGER)');
    other.close();
    expect(open(foreign)).rejects.toThrow(/did not make/);

    const nonsense = folder();
    writeFileSync(
      join(nonsense, 'tollgate.db'),
      'this is a text file that someone put here by mistake'.repeat(100),
    );
    expect(open(nonsense)).rejects.toBeInstanceOf(StartupError);
  });

  test('a migration that fails leaves nothing behind', async () => {
    const database = openSqlite(join(folder(), 'tollgate.db'));
    const broken: Migration = {
      ...extra,
      statements: () => ['CREATE TABLE extra (id TEXT)', 'CREATE NONSENSE'],
    };
    expect(migrateSqlite(database, systemClock, [...MIGRATIONS, broken])).rejects.toThrow();
    expect(database.query(`SELECT count(*) AS n FROM sqlite_master`).get()).toEqual({ n: 0 });
    database.close();
  });
});

describe('the embedded database', () => {
  test('the entries of the ledger and the audit cannot be changed or removed', async () => {
    const { db } = await open(folder());
    await db
      .insertInto('entry')
      .values({
        account_id: 'acc_overrun',
        kind: 'credit',
        amount: 1,
        cause: 'x',
        actor: 'cli',
        created_at: 1,
      })
      .execute();
    expect(db.updateTable('entry').set({ amount: 2 }).execute()).rejects.toThrow(/append-only/);
    expect(db.deleteFrom('entry').execute()).rejects.toThrow(/append-only/);
  });

  test('a transaction that throws changes nothing, and only one runs at a time', async () => {
    const { db } = await open(folder());
    const failing = db.transaction().execute(async (tx) => {
      await tx.insertInto('setting').values({ key: 'lost', value: '1', updated_at: 1 }).execute();
      await Bun.sleep(1);
      throw new Error('stop');
    });
    const good = db.transaction().execute(async (tx) => {
      const rows = await tx.selectFrom('setting').selectAll().execute();
      await tx
        .insertInto('setting')
        .values({ key: 'kept', value: String(rows.length), updated_at: 1 })
        .execute();
    });
    expect(failing).rejects.toThrow('stop');
    await good;
    expect(await db.selectFrom('setting').select(['key', 'value']).execute()).toEqual([
      { key: 'kept', value: '0' },
    ]);
  });

  test('a write waits for another process without blocking the event loop', async () => {
    const store = await open(folder());
    const other = sqlite(store).open();
    other.run('BEGIN IMMEDIATE');
    const write = store.db.insertInto('setting').values({ key: 'a', value: 'b', updated_at: 1 }).execute();
    // Were the event loop blocked, the other would never end, and the write would fail.
    for (let turn = 0; turn < 10; turn++) await Bun.sleep(1);
    other.run('COMMIT');
    await write;
    other.close();
    expect(await store.db.selectFrom('setting').select('key').execute()).toEqual([{ key: 'a' }]);
  });

  test('a large WAL is checkpointed in the background and restarted', async () => {
    const dataDir = folder();
    const store = await open(dataDir);
    const { background, wal } = sqlite(store);
    const value = 'x'.repeat(1_000_000);
    for (let round = 0; round < 60; round++) {
      await store.db
        .insertInto('setting')
        .values({ key: 'big', value, updated_at: round })
        .onConflict((conflict) => conflict.column('key').doUpdateSet({ value, updated_at: round }))
        .execute();
      await store.durable();
      await wal.checkpoint();
    }
    expect(statSync(join(dataDir, 'tollgate.db-wal')).size).toBeLessThan(8_000_000);
    const rows = await background.query<{ updated_at: number }>(
      'SELECT updated_at FROM setting WHERE key = ?',
      ['big'],
    );
    expect(rows).toEqual([{ updated_at: 59 }]);
  });

  test('a WAL that grows is checkpointed without being asked to', async () => {
    const dataDir = folder();
    const store = await open(dataDir);
    const checkpoint = spyOn(sqlite(store).wal, 'checkpoint');
    const value = 'x'.repeat(1_000_000);
    // With more than 64 MB SQLite would do it by itself.
    for (let written = 0; written < 60 && checkpoint.mock.calls.length === 0; written++) {
      await store.db
        .insertInto('setting')
        .values({ key: `big ${written}`, value, updated_at: 0 })
        .execute();
      await store.durable();
    }
    expect(checkpoint).toHaveBeenCalled();
    await checkpoint.mock.results[0]?.value;
  });

  test('a WAL that grew during a long read frees its disk space', async () => {
    const dataDir = folder();
    const store = await open(dataDir);
    const size = (): number => statSync(join(dataDir, 'tollgate.db-wal')).size;
    const reader = openSqlite(join(dataDir, 'tollgate.db'));
    reader.run('BEGIN');
    reader.query('SELECT COUNT(*) FROM setting').get();
    const value = 'x'.repeat(1_000_000);
    const write = (key: string) =>
      store.db.insertInto('setting').values({ key, value, updated_at: 0 }).execute();
    for (let round = 0; round < 58; round++) await write(`big ${round}`);
    expect(size()).toBeGreaterThan(55_000_000);
    reader.run('COMMIT');
    reader.close();
    await sqlite(store).wal.checkpoint();
    await write('last');
    expect(size()).toBeLessThan(51_000_000);
  });

  test('after closing, only the database file is left and nothing holds it open', async () => {
    const dataDir = folder();
    const store = await openStore({ dataDir, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL });
    await sqlite(store).background.query('SELECT 1');
    await store.durable();
    await store.close();
    expect(readdirSync(dataDir)).toEqual(['tollgate.db']);
  });

  test('a failing statement on the background thread is an error only for its caller', async () => {
    const { background } = sqlite(await open(folder()));
    expect(background.query('SELECT nonsense')).rejects.toThrow(/nonsense/);
    expect(await background.query<{ n: number }>('SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });
});
