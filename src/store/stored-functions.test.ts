import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { Pool } from 'pg';
import { testPostgres } from '../../test/support/postgres.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { openStore } from './store.ts';
import { keepAnnouncing, storedFunction, type LedgerSql, type StoredFunction } from './stored-functions.ts';

/** Two versions of one function, and one that both versions of Tollgate share. */
const first = answering(1);
const next = answering(2);
const shared = storedFunction('CREATE FUNCTION shared() RETURNS bigint LANGUAGE sql AS $$ SELECT 7 $$');

function answering(n: number): StoredFunction {
  return storedFunction(`CREATE FUNCTION answer() RETURNS bigint LANGUAGE sql AS $$ SELECT ${n} $$`);
}

let databaseUrl: string;
let pool: Pool;
beforeEach(async () => {
  databaseUrl = await (await testPostgres()).emptyDatabase();
  pool = new Pool({ connectionString: databaseUrl });
});
afterEach(() => pool.end());

/** A node of some version starts, and stops again. */
async function start(ledgerSql: LedgerSql): Promise<void> {
  const store = await openStore({ dataDir: '', databaseUrl, log: silentLog, clock: systemClock, ledgerSql });
  await store.close();
}

async function call({ name }: StoredFunction): Promise<unknown> {
  const { rows } = await pool.query<{ value: string }>(`SELECT ${name}()::text AS value`);
  return rows[0]?.value;
}

async function nobodyAnnouncedFor(days: number, ...functions: readonly StoredFunction[]): Promise<void> {
  await pool.query('UPDATE stored_function SET announced_at = announced_at - $1 WHERE name = ANY ($2)', [
    days * 86_400_000,
    functions.map(({ name }) => name),
  ]);
}

describe('functions of the database', () => {
  test('have the hash of their text in their name, so that a changed text is another function', () => {
    expect(first.name).toMatch(/^answer_[0-9a-f]{8}$/);
    expect(first.text).toStartWith(`CREATE FUNCTION ${first.name}() RETURNS`);
    expect(answering(1).name).toBe(first.name);
    expect(next.name).not.toBe(first.name);
  });

  test('of the ledger call each other under those names', () => {
    const text = LEDGER_SQL.map((one) => one.text).join('\n');
    const called = new Set(text.match(/\bledger_\w+(?=\()/g));
    const names = new Set(LEDGER_SQL.map(({ name }) => name));
    expect([...called].filter((name) => !names.has(name))).toEqual([]);
    expect(names.size).toBe(LEDGER_SQL.length);
  });

  test('of two versions are there side by side, whichever starts last', async () => {
    await start([first, shared]);
    await start([next, shared]);
    await start([first, shared]);
    expect([await call(first), await call(next), await call(shared)]).toEqual(['1', '2', '7']);
  });

  test('are dropped when no node has announced them for thirty days, and not before', async () => {
    await start([first, shared]);
    await start([next, shared]);
    await nobodyAnnouncedFor(29, first, shared);
    await start([next, shared]);
    expect(await call(first)).toBe('1');
    await nobodyAnnouncedFor(2, first);
    await start([next, shared]);
    await expect(call(first)).rejects.toThrow(/does not exist/);
    expect([await call(next), await call(shared)]).toEqual(['2', '7']);
  });

  test('that were dropped are made again by a node of that version', async () => {
    await start([first]);
    await nobodyAnnouncedFor(31, first);
    await start([next]);
    await start([first]);
    expect([await call(first), await call(next)]).toEqual(['1', '2']);
  });

  test('are announced again while a node runs, so that its functions are not dropped', async () => {
    await start([first]);
    await nobodyAnnouncedFor(29, first);
    const stop = keepAnnouncing(pool, [first], silentLog, 1);
    try {
      while (await isAnnouncementOld()) await Bun.sleep(1);
    } finally {
      stop();
    }
    await nobodyAnnouncedFor(2, first);
    await start([next]);
    expect(await call(first)).toBe('1');
  });

  test('cannot be made from a text that creates something else', () => {
    expect(() => storedFunction('DROP TABLE account')).toThrow(/CREATE FUNCTION/);
  });
});

async function isAnnouncementOld(): Promise<boolean> {
  const { rowCount } = await pool.query(
    `SELECT 1 FROM stored_function WHERE announced_at < extract(epoch FROM now() - interval '1 day') * 1000`,
  );
  return rowCount !== 0;
}
