import { afterEach, expect, test } from 'bun:test';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { testPostgres } from '../../../test/support/postgres.ts';
import { preparedDataFolder } from '../../../test/support/prepared-folder.ts';
import { LEDGER_SQL } from '../../ledger/postgres/functions.ts';
import { systemClock } from '../../std/clock.ts';
import { silentLog } from '../../std/log.ts';
import { ImageFiles } from '../image-files.ts';
import { openStore, type Store } from '../store.ts';
import { fillEveryTable } from '../testing/row-of-every-table.ts';
import { deleteMark } from './mark.ts';
import { Move, MoveRefusal } from './move.ts';
import { MOVED } from './tables.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

const SHARED = { log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL };
/** More than fit into one batch. */
const RECEIPTS = 12_000;

/** A data folder and an empty database, both opened for a move. */
async function bothSides() {
  const dataDir = await preparedDataFolder('tollgate-moved-');
  cleanUps.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const databaseUrl = await (await testPostgres()).freshDatabase();
  const source = await opened(openStore({ ...SHARED, dataDir, forMove: true }));
  const target = await opened(openStore({ ...SHARED, dataDir: '', databaseUrl, forMove: true }));
  const client = new Client(databaseUrl);
  await client.connect();
  cleanUps.push(() => client.end());
  if (source.backend.kind !== 'sqlite' || target.backend.kind !== 'postgres')
    throw new Error('the stores are the wrong way round');
  const sqlite = source.backend.open();
  cleanUps.push(() => sqlite.close());
  const types = await typesIn(client);
  let records = 0;
  const parts = {
    source: { store: source, backend: source.backend },
    target: { store: target, backend: target.backend },
    files: new ImageFiles(dataDir),
    names: { source: dataDir, target: 'postgres://host/name' },
    now: () => 1_000,
    record: () => {
      records++;
      return Promise.resolve();
    },
  };
  return { parts, sqlite, client, types, dataDir, databaseUrl, records: () => records };
}

type Sides = Awaited<ReturnType<typeof bothSides>>;

async function opened(opening: Promise<Store>): Promise<Store> {
  const store = await opening;
  cleanUps.push(() => store.close());
  return store;
}

async function typesIn(client: Client): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `SELECT table_name || '.' || column_name AS name, data_type AS type FROM information_schema.columns
      WHERE table_schema = current_schema()`,
  );
  return new Map(rows.map(({ name, type }) => [name, type]));
}

const QUIET = (): void => undefined;

/** The rows of a table in either database, written alike and sorted. */
async function rowsOfBoth({ sqlite, client, types }: Sides, table: string, only = 'TRUE') {
  const written = (row: Record<string, unknown>): string =>
    JSON.stringify(
      Object.keys(row)
        .toSorted()
        .map((name) => [name, alike(row[name], types.get(`${table}.${name}`) ?? '')]),
    );
  const ours = sqlite.query<Record<string, unknown>, []>(`SELECT * FROM "${table}" WHERE ${only}`).all();
  const theirs = await client.query<Record<string, unknown>>(`SELECT * FROM "${table}" WHERE ${only}`);
  return { ours: ours.map(written).toSorted(), theirs: theirs.rows.map(written).toSorted() };
}

function alike(value: unknown, type: string): unknown {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (type === 'boolean') return value === true || value === 1;
  if (type === 'timestamp with time zone') return new Date(value as string | Date).getTime();
  return type === 'text' ? value : Number(value);
}

async function expectSameRows(sides: Sides): Promise<void> {
  for (const { name, only } of MOVED) {
    const { ours, theirs } = await rowsOfBoth(sides, name, only);
    expect({ name, rows: theirs }).toEqual({ name, rows: ours });
  }
}

test('every row of every table arrives as it was, and new rows get further numbers', async () => {
  const sides = await bothSides();
  fillEveryTable(sides.sqlite, sides.types);
  const move = await Move.open(sides.parts);
  const { differences, missingFiles } = await move.copyAndCompare(QUIET);
  expect({ found: differences.named, missingFiles }).toEqual({ found: [], missingFiles: 0 });
  await expectSameRows(sides);
  for (const { name } of MOVED) expect((await rowsOfBoth(sides, name)).theirs.length).toBeGreaterThan(1);
  await move.finish();
  const { rows } = await sides.client.query<{ id: string }>(
    `INSERT INTO node (name) VALUES ('a new node') RETURNING id`,
  );
  expect(Number(rows[0]?.id)).toBe(3);
});

test('a character that Postgres cannot store is replaced as the ledger replaces it there', async () => {
  const sides = await bothSides();
  sides.sqlite.run(`INSERT INTO notice VALUES ('account', 'topic', 'a' || char(0) || 'b', 1)`);
  await (await Move.open(sides.parts)).copyAndCompare(QUIET);
  const { rows } = await sides.client.query('SELECT mark FROM notice');
  expect(rows).toEqual([{ mark: 'a\uFFFDb' }]);
});

test('images that are files arrive in their rows; one whose file is lost is counted, and stays without bytes', async () => {
  const sides = await bothSides();
  mkdirSync(join(sides.dataDir, 'images', 'acc_1'), { recursive: true });
  writeFileSync(join(sides.dataDir, 'images', 'acc_1', 'kept'), 'the bytes');
  for (const object of ['acc_1/kept', 'acc_1/lost']) {
    sides.sqlite.run(`INSERT INTO image_object VALUES (?, 'acc_1', 'files', 'hash', 1, 1)`, [object]);
    sides.sqlite.run(
      `INSERT INTO image (id, account_id, request_id, mime, size, prompt, created_at, expires_at, bytes, object)
        VALUES (?, 'acc_1', 'req', 'image/png', 9, 'p', 1, 2, x'', ?)`,
      [`img ${object}`, object],
    );
  }
  const { differences, missingFiles } = await (await Move.open(sides.parts)).copyAndCompare(QUIET);
  expect({ found: differences.named, missingFiles }).toEqual({ found: [], missingFiles: 1 });
  const { rows } = await sides.client.query(
    `SELECT id, object, convert_from(bytes, 'UTF8') AS text FROM image ORDER BY id`,
  );
  expect(rows).toEqual([
    { id: 'img acc_1/kept', object: null, text: 'the bytes' },
    { id: 'img acc_1/lost', object: 'acc_1/lost', text: '' },
  ]);
  expect((await sides.client.query('SELECT 1 FROM image_object')).rows).toEqual([]);
});

/** Amounts whose sum is a number of SQLite. */
const SMALL = new Set(['held', 'charged', 'overrun', 'cost', 'possible_cost']);

/** Copies of the first receipt, with ids in order. */
function addReceipts({ sqlite }: Sides): void {
  const names = sqlite
    .query<{ name: string }, []>(`SELECT name FROM pragma_table_info('receipt') WHERE name <> 'id'`)
    .all()
    .map(({ name }) => name);
  const values = names.map((name) => (SMALL.has(name) ? 'n' : name));
  sqlite.run(
    `WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${RECEIPTS})
      INSERT INTO receipt (id, ${names.join(', ')})
      SELECT 'req ' || n, ${values.join(', ')} FROM counted JOIN receipt ON id = 'receipt 1'`,
  );
}

/** Begins a move and gives up after the first batch of receipts. */
async function interruptedMove(sides: Sides): Promise<void> {
  const move = await Move.open(sides.parts);
  const giveUp = ({ table }: { table: string }): void => {
    if (table === 'receipt') throw new Error('the connection is gone');
  };
  await expect(move.copyAndCompare(giveUp)).rejects.toThrow('the connection is gone');
}

test('an interrupted move goes on after the last batch, and gives what an uninterrupted one gives', async () => {
  const sides = await bothSides();
  fillEveryTable(sides.sqlite, sides.types);
  addReceipts(sides);
  await interruptedMove(sides);
  const { rows: before } = await sides.client.query<{ count: string }>('SELECT count(*) FROM receipt');
  const there = Number(before[0]?.count);
  expect(there).toBeGreaterThan(0);
  const again = await Move.open(sides.parts);
  const reported = new Set<string>();
  const { rows, differences } = await again.copyAndCompare(({ table }) => reported.add(table));
  expect({
    isResumed: again.isResumed,
    rows,
    differences: differences.named,
    records: sides.records(),
  }).toEqual({
    isResumed: true,
    rows: RECEIPTS + 2 - there,
    differences: [],
    records: 1,
  });
  expect([...reported]).toEqual(['receipt']);
  await expectSameRows(sides);
});

test('while it is under way nobody else opens either side; afterwards the database can be opened, and the data folder cannot', async () => {
  const sides = await bothSides();
  const { dataDir, databaseUrl, parts } = sides;
  const openFolder = (): Promise<Store> => openStore({ ...SHARED, dataDir });
  const openDatabase = (): Promise<Store> => openStore({ ...SHARED, dataDir: '', databaseUrl });
  const move = await Move.open(parts);
  await expect(openFolder()).rejects.toThrow('was begun and is not finished');
  await expect(openDatabase()).rejects.toThrow('is not finished');
  await move.copyAndCompare(QUIET);
  await move.finish();
  await expect(openFolder()).rejects.toThrow('was moved to postgres://host/name on 1970-01-01');
  await (await openDatabase()).close();
  await expect(Move.open(parts)).rejects.toThrow(MoveRefusal);
  await deleteMark(parts.source.store.db);
  await (await openFolder()).close();
});

test('killed between its last two steps, neither side can be opened, and running it again finishes it', async () => {
  const sides = await bothSides();
  const { dataDir, databaseUrl, parts } = sides;
  const openDatabase = (): Promise<Store> => openStore({ ...SHARED, dataDir: '', databaseUrl });
  const move = await Move.open(parts);
  await move.copyAndCompare(QUIET);
  const { rows } = await sides.client.query<{ value: string }>(
    `SELECT value FROM setting WHERE key = 'move'`,
  );
  await move.finish();
  // As it was before the last step.
  await sides.client.query(`UPDATE setting SET value = $1 WHERE key = 'move'`, [rows[0]?.value]);
  await expect(openStore({ ...SHARED, dataDir })).rejects.toThrow('was moved to');
  await expect(openDatabase()).rejects.toThrow('is not finished');
  const again = await Move.open(parts);
  expect((await again.copyAndCompare(QUIET)).rows).toBe(0);
  await again.finish();
  await (await openDatabase()).close();
});

test('a move that was given up is not gone on with: its database has to be emptied first', async () => {
  const sides = await bothSides();
  fillEveryTable(sides.sqlite, sides.types);
  addReceipts(sides);
  await interruptedMove(sides);
  await deleteMark(sides.parts.source.store.db);
  await expect(Move.open(sides.parts)).rejects.toThrow('is not empty');
});

test('a database with rows is refused with the names of its tables, and the data folder stays open', async () => {
  const sides = await bothSides();
  await sides.client.query(`INSERT INTO node (name) VALUES ('somebody')`);
  await sides.client.query(`INSERT INTO setting VALUES ('site', '{}', 1)`);
  await expect(Move.open(sides.parts)).rejects.toThrow('it has rows in setting, node');
  await (await openStore({ ...SHARED, dataDir: sides.dataDir })).close();
});

test.each([
  [
    `UPDATE account SET balance = balance - 1, held = held - 1 WHERE id = 'account 2'`,
    /^account account 2: .* in SQLite, .* in Postgres$/,
  ],
  [
    `UPDATE usage_day SET cost = cost + 1 WHERE account_id = 'usage_day 1'`,
    /^usage of usage_day 1 day \d+: /,
  ],
  [`INSERT INTO debt VALUES ('more', 'account 1', 5, 0, 1)`, /^debt: 2 rows in SQLite, 3 in Postgres$/],
  [`DELETE FROM hold WHERE id = 'hold 1'`, /^holds of hold 1 .*: 1, \d+ in SQLite, nothing in Postgres$/s],
] as const)('what differs is named: %s', async (change, sentence) => {
  const sides = await bothSides();
  fillEveryTable(sides.sqlite, sides.types);
  await (await Move.open(sides.parts)).copyAndCompare(QUIET);
  await sides.client.query(change);
  const { differences } = await (await Move.open(sides.parts)).copyAndCompare(QUIET);
  expect(differences.count).toBeGreaterThan(0);
  expect(differences.named).toContainEqual(expect.stringMatching(sentence));
});
