import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { Client } from 'pg';
import { testPostgres } from '../../../test/support/postgres.ts';
import { systemClock } from '../../std/clock.ts';
import { migrateSqlite } from '../migrate.ts';
import { columnsOf } from './copy.ts';
import { MOVED, TABLES } from './tables.ts';

/** Both databases as an operator's first start leaves them. */
const sqlite = new Database(':memory:');
let postgres: Client;

beforeAll(async () => {
  await migrateSqlite(sqlite, systemClock);
  postgres = new Client(await (await testPostgres()).freshDatabase());
  await postgres.connect();
});

afterAll(async () => {
  sqlite.close();
  await postgres.end();
});

async function tablesOfBoth(): Promise<{ ours: string[]; theirs: string[] }> {
  const { rows } = await postgres.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables
      WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`,
  );
  const ours = sqlite
    .query<{ name: string }, []>(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`,
    )
    .all();
  return { ours: ours.map(({ name }) => name), theirs: rows.map(({ name }) => name) };
}

test('every table of either database is moved, or it is said what makes it anew', async () => {
  const { ours, theirs } = await tablesOfBoth();
  expect([...new Set([...ours, ...theirs])].toSorted()).toEqual(Object.keys(TABLES).toSorted());
  const moved = MOVED.map(({ name }) => name);
  expect(moved.filter((name) => !ours.includes(name) || !theirs.includes(name))).toEqual([]);
});

test('every column of a moved table is in both databases, with a type that is converted, and its rows have an order', async () => {
  for (const { name } of MOVED) {
    const { key } = await columnsOf(sqlite, postgres, name);
    expect(key.length).toBeGreaterThan(0);
  }
});

test('a column that only one database has is refused before anything is copied', async () => {
  sqlite.run('ALTER TABLE notice ADD COLUMN forgotten TEXT');
  await expect(columnsOf(sqlite, postgres, 'notice')).rejects.toThrow(
    'forgotten in one of the databases only',
  );
});

test('a table is moved after those that its rows refer to', async () => {
  const { rows } = await postgres.query<{ table: string; parent: string }>(
    `SELECT conrelid::regclass::text AS table, confrelid::regclass::text AS parent FROM pg_constraint WHERE contype = 'f'`,
  );
  const places = new Map(MOVED.map(({ name }, place) => [name, place]));
  expect(rows.length).toBeGreaterThan(5);
  for (const { table, parent } of rows)
    expect(places.get(parent) ?? Infinity).toBeLessThan(places.get(table) ?? -1);
});
