import { afterEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from 'bun:sqlite';
import { testPostgres } from '../../test/support/postgres.ts';
import { hoursWithoutSetting } from '../activity/response-space.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { StartupError } from '../std/startup-error.ts';
import { openSqlite } from './bun-sqlite.ts';
import { migratePostgres, migrateSqlite } from './migrate.ts';
import { MIGRATIONS, type Migration } from './migrations/index.ts';
import { openPool } from './postgres-pool.ts';
import { openStore, type Store } from './store.ts';

/** A new database, how to open it as Tollgate does, by steps of the test's choice, and how to change it by hand. */
interface TestDatabase {
  open(): Promise<Store>;
  migrate(steps: readonly Migration[]): Promise<void>;
  run(sql: string): Promise<void>;
}

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

function newSqlite(): Promise<TestDatabase> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-migrate-'));
  cleanUps.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const path = join(dataDir, 'tollgate.db');
  return Promise.resolve({
    open: () => opened({ dataDir }),
    async migrate(steps) {
      const database = openSqlite(path);
      await migrateSqlite(database, systemClock, steps).finally(() => database.close());
    },
    async run(sql) {
      using database = new Database(path);
      await Promise.resolve(database.run(sql));
    },
  });
}

async function newPostgres(): Promise<TestDatabase> {
  const databaseUrl = await (await testPostgres()).emptyDatabase();
  const pool = openPool({ url: databaseUrl }, silentLog);
  cleanUps.push(() => pool.end());
  return {
    open: () => opened({ dataDir: '', databaseUrl }),
    migrate: (steps) =>
      migratePostgres(
        { url: databaseUrl },
        { log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL },
        steps,
      ),
    async run(sql) {
      await pool.query(sql);
    },
  };
}

async function opened(where: { dataDir: string; databaseUrl?: string }): Promise<Store> {
  const store = await openStore({ ...where, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL });
  cleanUps.push(() => store.close());
  return store;
}

/** A step as it was applied, and as somebody edited it later. */
const second: Migration = {
  number: MIGRATIONS.length + 1,
  name: 'extra',
  compatibleFrom: 1,
  statements: () => ['CREATE TABLE extra (id TEXT PRIMARY KEY)'],
};
const edited: Migration = {
  ...second,
  statements: () => ['CREATE TABLE extra (id TEXT PRIMARY KEY, n INT)'],
};

describe.each([
  ['SQLite', newSqlite],
  ['Postgres', newPostgres],
])('the schema on %s', (_, newDatabase) => {
  test('is made once: a second start finds it complete, with all that was written', async () => {
    const database = await newDatabase();
    const first = await database.open();
    await first.db.insertInto('setting').values({ key: 'k', value: 'v', updated_at: 1 }).execute();
    const again = await database.open();
    expect(await again.db.selectFrom('setting').select(['key', 'value']).execute()).toEqual([
      { key: 'k', value: 'v' },
    ]);
    expect(await again.db.selectFrom('account').select('id').execute()).toEqual([{ id: 'acc_overrun' }]);
  });

  test('several nodes that start at the same time on an empty database all find one complete schema', async () => {
    const database = await newDatabase();
    const stores = await Promise.all([1, 2, 3, 4].map(() => database.open()));
    for (const { db } of stores)
      expect(await db.selectFrom('account').select('id').execute()).toEqual([{ id: 'acc_overrun' }]);
  });

  test('one of an earlier version with accounts in it stores no responses until it is told to; a new one does', async () => {
    const before = MIGRATIONS.findIndex(({ name }) => name === 'stored responses');
    const database = await newDatabase();
    await database.migrate(MIGRATIONS.slice(0, before));
    await database.run(`INSERT INTO account (id, email, created_at) VALUES ('acc_1', 'a@example.com', 1)`);
    expect(await hoursWithoutSetting((await database.open()).db)).toBe(0);
    expect(await hoursWithoutSetting((await (await newDatabase()).open()).db)).toBe(24);
  });

  test('a step that was edited after it was applied is refused, and nothing is changed', async () => {
    const database = await newDatabase();
    await database.migrate([...MIGRATIONS, second]);
    const third: Migration = {
      ...second,
      number: second.number + 1,
      name: 'third',
      statements: () => ['CREATE TABLE third (id TEXT)'],
    };
    const refused = database.migrate([...MIGRATIONS, edited, third]);
    await expect(refused).rejects.toBeInstanceOf(StartupError);
    await expect(refused).rejects.toThrow(`Step ${second.number} ('extra')`);
    await expect(refused).rejects.toThrow(
      / never released, or the step was edited since\. .* start with an empty database\.$/,
    );
    await expect(database.run('SELECT * FROM third')).rejects.toThrow(/third/);
    await database.migrate([...MIGRATIONS, second]);
  });

  test('a database whose first step has another checksum is not opened', async () => {
    const database = await newDatabase();
    await (await database.open()).db.selectFrom('account').select('id').execute();
    await database.run(`UPDATE schema_step SET checksum = 'of another text'`);
    await expect(database.open()).rejects.toThrow(/^Step 1 \('baseline'\) of the database's schema is not/);
  });

  test('a database from before the first release is refused in one sentence and left as it is', async () => {
    const database = await newDatabase();
    await database.run(
      'CREATE TABLE schema_version (number BIGINT PRIMARY KEY, name TEXT, compatible_from BIGINT, applied_at BIGINT)',
    );
    await database.run(`INSERT INTO schema_version VALUES (1, 'first', 1, 0)`);
    await database.run('CREATE TABLE account (id TEXT PRIMARY KEY)');
    const refused = database.open();
    await expect(refused).rejects.toBeInstanceOf(StartupError);
    await expect(refused).rejects.toThrow(/from before the first release.*Start with an empty database\.$/);
    await expect(database.run('SELECT * FROM schema_step')).rejects.toThrow(/schema_step/);
  });
});
