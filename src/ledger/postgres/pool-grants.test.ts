import { WALLET_NODE } from '../../store/other-nodes.ts';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { startFaultProxy, type FaultProxy } from '../../../test/support/fault-proxy.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { testPostgres } from '../../../test/support/postgres.ts';
import { silentLog, makeLog } from '../../std/log.ts';
import { openPool } from '../../store/postgres-pool.ts';
import type { ConnectionPool } from '../../store/connection-pool.ts';
import { LedgerPool } from './pool.ts';

/** New connections that are refused, granted late or not at all: those that are open serve everybody. */

const PATIENCE = 20;
const ALL_ANSWERED = Array.from({ length: 100 }, () => [{ n: 1 }]);
let url: URL;
let proxy: FaultProxy;
let admin: ConnectionPool;
let lines: string[];
const cleanUps: (() => unknown)[] = [];

beforeEach(async () => {
  url = new URL(await (await testPostgres()).freshDatabase());
  admin = openPool({ url: url.href }, silentLog);
  proxy = await startFaultProxy(Number(url.port));
  url.port = String(proxy.port);
  lines = [];
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
  await admin.end();
  await proxy.close();
});

function ledgerPool(most: number): LedgerPool {
  const pool = new LedgerPool(
    { url: url.href },
    makeLog((line) => lines.push(line)),
    most,
    PATIENCE,
  );
  cleanUps.push(() => pool.close());
  return pool;
}

const called = (pool: LedgerPool): Promise<object[]> =>
  pool.call({ name: 'one', text: 'SELECT 1 AS n FROM pg_sleep(0.005)' }, []);
const many = <Answer>(call: () => Promise<Answer>): Promise<Answer[]> => Promise.all(ALL_ANSWERED.map(call));

test('new connections that are refused fail no call while another one is open, and are told of once', async () => {
  const pool = ledgerPool(6);
  await called(pool);
  proxy.refuseNew(true);
  expect(await many(() => called(pool))).toEqual(ALL_ANSWERED);
  expect(await many(() => called(pool))).toEqual(ALL_ANSWERED);
  expect(pool.load('ledger')).toMatchObject({ total: 1, idle: 1, waiting: 0 });
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({
      event: 'database_refuses_more_connections',
      application: WALLET_NODE,
      open: 1,
      most: 6,
    }),
  ]);
});

test('new connections that hang delay no call while another one is open', async () => {
  const pool = ledgerPool(6);
  await called(pool);
  // What is open stays as it is; what is new gets no answer before the test ends.
  proxy.holdNew();
  expect(await many(() => called(pool))).toEqual(ALL_ANSWERED);
  expect(pool.load('ledger')).toMatchObject({ total: 1, idle: 1 });
});

test('the number of connections follows what the database grants', async () => {
  await admin.query(
    `DO $$ BEGIN CREATE ROLE few LOGIN PASSWORD 'few'; EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
  );
  await admin.query('ALTER ROLE few CONNECTION LIMIT 3');
  url.username = 'few';
  url.password = 'few';
  const pool = ledgerPool(6);
  await called(pool);
  expect(await many(() => called(pool))).toEqual(ALL_ANSWERED);
  expect(pool.load('ledger').total).toBe(3);
  await admin.query('ALTER ROLE few CONNECTION LIMIT 6');
  await eventually('it has more', async () => {
    await many(() => called(pool));
    return pool.load('ledger').total === 6;
  });
});

test("the store's queries use what is open as well", async () => {
  const pool = openPool({ url: url.href }, silentLog);
  cleanUps.push(() => pool.end());
  await pool.query('SELECT 1');
  proxy.refuseNew(true);
  const answers = await many(() => pool.query<{ n: number }>('SELECT 1 AS n'));
  expect(answers.map(({ rows }) => rows)).toEqual(ALL_ANSWERED);
});
