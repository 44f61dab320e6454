import { afterAll, expect, test } from 'bun:test';
import { Client } from 'pg';
import { testPostgres } from '../../test/support/postgres.ts';
import { silentLog } from '../std/log.ts';
import { findPostgres } from './postgres-address.ts';
import { restoreCommand } from './postgres-backup.ts';

afterAll(async () => (await testPostgres()).stop());

/** As a replica does, until somebody makes it the primary. */
async function readOnlyDatabase(): Promise<{ url: string; takeWrites: () => Promise<void> }> {
  const postgres = await testPostgres();
  const url = await postgres.emptyDatabase();
  const name = new URL(url).pathname.slice(1);
  const administrator = await postgres.emptyDatabase();
  const alter = (value: string) =>
    run(administrator, `ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
  await alter('on');
  return { url, takeWrites: () => alter('off') };
}

async function run(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

test('a start during a failover waits until the database takes writes', async () => {
  const { url, takeWrites } = await readOnlyDatabase();
  const waited: unknown[] = [];
  const found = await findPostgres(url, {
    log: {
      ...silentLog,
      warn: (event) => {
        waited.push(event);
        void takeWrites();
      },
    },
    waitMs: 30_000,
  });
  expect(waited).toEqual(['waiting_for_database']);
  expect(found).toMatchObject({ url, pooled: false });
});

test('a database that stays a replica is refused with the reason', async () => {
  const { url } = await readOnlyDatabase();
  const refused = findPostgres(url, { log: silentLog, waitMs: 0 });
  expect(await refused.catch(String)).toContain('it takes no writes: it is a replica');
});

test.each([
  'postgres://tollgate:secret@db1:5432,db2:5432/tollgate?target_session_attrs=read-write',
  'postgresql://db1,db2/tollgate',
])('several hosts are refused with what to do instead: %s', async (url) => {
  const refused = findPostgres(url, { log: silentLog, waitMs: 0 });
  expect(await refused.catch(String)).toContain('Give it one address that follows the primary');
});

test('a comma in a password is no second host', async () => {
  const { port } = await testPostgres();
  const refused = findPostgres(`postgres://tollgate:a,b@127.0.0.1:${port}/postgres`, {
    log: silentLog,
    waitMs: 0,
  });
  expect(await refused.catch(String)).toContain('password authentication failed');
});

test('the programs of Postgres get the address without what only our driver knows, and the rest as it was', () => {
  const address = (query: string): string =>
    restoreCommand(`postgres://t:p@db/tollgate${query}`, 'file', false).words.find((word) =>
      word.startsWith('--dbname='),
    ) ?? '';
  expect(address('?uselibpqcompat=true&sslmode=require')).toBe(
    '--dbname=postgres://t@db/tollgate?sslmode=require',
  );
  expect(address('?options=-c%20a%3Db&uselibpqcompat=true')).toBe(
    '--dbname=postgres://t@db/tollgate?options=-c%20a%3Db',
  );
  expect(address('?uselibpqcompat=true')).toBe('--dbname=postgres://t@db/tollgate');
  expect(address('?options=-c%20a%3Db')).toBe('--dbname=postgres://t@db/tollgate?options=-c%20a%3Db');
});
