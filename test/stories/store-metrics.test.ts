import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { METRICS_TOKEN } from '../support/leaks.ts';
import { testPostgres } from '../support/postgres.ts';

/** What an operator sees of the store, the disk and the processor, and of the backup that somebody forgot. */

/** The value of one series, written with its labels; `undefined` if there is none. */
function valueIn(text: string, series: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

interface Outage {
  begin(): void | Promise<void>;
  end(): void | Promise<void>;
}

/** The queue of the ledger that every request waits in, by store. */
const STORES = [
  ['SQLite', 'ledger', onSqlite],
  ['Postgres', 'admissions', onPostgres],
] as const;

async function onSqlite(): Promise<{ gateway: Gateway; outage: Outage; close(): Promise<void> }> {
  const gateway = await Gateway.start();
  const other = new Database(join(gateway.folder, 'data/tollgate.db'));
  other.run('PRAGMA busy_timeout = 5000');
  return {
    gateway,
    outage: { begin: () => void other.run('BEGIN EXCLUSIVE'), end: () => void other.run('ROLLBACK') },
    close: async () => {
      other.close();
      await gateway.stop();
    },
  };
}

async function onPostgres(): Promise<{ gateway: Gateway; outage: Outage; close(): Promise<void> }> {
  const url = new URL(await (await testPostgres()).freshDatabase());
  const targetPort = Number(url.port);
  let proxy: FaultProxy = await startFaultProxy(targetPort);
  const { port } = proxy;
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const gateway = await Gateway.start({ databaseUrl: url.href });
  return {
    gateway,
    outage: {
      begin: () => proxy.close(),
      end: async () => {
        proxy = await startFaultProxy(targetPort, undefined, port);
      },
    },
    close: async () => {
      await gateway.stop();
      await proxy.close();
    },
  };
}

describe.each(STORES)('on %s', (_, queue, start) => {
  let running: Awaited<ReturnType<typeof start>>;
  let account: TestAccount;
  beforeAll(async () => {
    running = await start();
    account = await running.gateway.account('1');
    await (await running.gateway.chat(account.token, { model: 'house-echo' })).text();
  }, 60_000);
  afterAll(() => running.close());

  test('how long the store takes is there for each kind of call', async () => {
    const text = await running.gateway.metrics();
    expect(valueIn(text, 'tollgate_store_up')).toBe(1);
    const count = valueIn(text, `tollgate_ledger_batch_seconds_count{queue="${queue}"}`);
    expect(count).toBeGreaterThan(0);
    expect(valueIn(text, `tollgate_ledger_batch_size_count{queue="${queue}"}`)).toBe(count ?? -1);
    expect(valueIn(text, `tollgate_ledger_batch_seconds_sum{queue="${queue}"}`)).toBeGreaterThan(0);
  });

  test('processor time grows with work', async () => {
    const before = await running.gateway.metrics();
    for (let index = 0; index < 20; index++)
      await (await running.gateway.chat(account.token, { model: 'house-echo' })).text();
    const after = await running.gateway.metrics();
    const spent = valueIn(after, 'process_cpu_seconds_total') ?? 0;
    expect(spent).toBeGreaterThan(valueIn(before, 'process_cpu_seconds_total') ?? Infinity);
  });

  test('a store that is away is down while it is, and the scrape is answered all the same', async () => {
    const { gateway, outage } = running;
    await outage.begin();
    await eventually('it is down', async () => valueIn(await gateway.metrics(), 'tollgate_store_up') === 0);
    expect(valueIn(await gateway.metrics(), 'process_cpu_seconds_total')).toBeGreaterThan(0);
    await outage.end();
    await eventually('it is up', async () => valueIn(await gateway.metrics(), 'tollgate_store_up') === 1);
  }, 60_000);
});

describe('on Postgres, each pool of connections', () => {
  let running: Awaited<ReturnType<typeof onPostgres>>;
  beforeAll(async () => {
    running = await onPostgres();
  }, 60_000);
  afterAll(() => running.close());

  test.each(['ledger', 'control', 'store'])('%s: open, idle, waiting and turned away', async (pool) => {
    const text = await running.gateway.metrics();
    for (const state of ['busy', 'idle', 'waiting'])
      expect(
        valueIn(text, `tollgate_database_connections{pool="${pool}",state="${state}"}`),
      ).toBeGreaterThanOrEqual(0);
    expect(valueIn(text, `tollgate_database_turned_away_total{pool="${pool}"}`)).toBe(0);
  });

  test('whoever gets no connection is counted', async () => {
    const { gateway, outage } = running;
    const { token } = await gateway.account('1');
    const turnedAway = async (pool: string): Promise<number> =>
      valueIn(await gateway.metrics(), `tollgate_database_turned_away_total{pool="${pool}"}`) ?? 0;
    await outage.begin();
    await eventually('calls of both were turned away', async () => {
      await (await gateway.chat(token, { model: 'house-echo' })).text();
      return (await turnedAway('ledger')) > 0 && (await turnedAway('store')) > 0;
    });
    await outage.end();
    await eventually(
      'it is served again',
      async () => (await gateway.chat(token, { model: 'house-echo' })).status === 200,
    );
  }, 60_000);
});

describe.each([
  ['SQLite', () => Promise.resolve(undefined)],
  ['Postgres', async () => (await testPostgres()).freshDatabase()],
])('the age of the newest backup, on %s', (_, database) => {
  let node: NodeProcess;
  beforeAll(async () => {
    const databaseUrl = await database();
    node = await NodeProcess.start(databaseUrl === undefined ? {} : { databaseUrl });
  }, 60_000);
  afterAll(() => node.stop());

  test('has no value before the first, and is that of one made by other means once that is told', async () => {
    expect(await backupAge(node)).toBeUndefined();
    const before = Date.now();
    expect((await node.cli('backup', '--done', '--json')).code).toBe(0);
    expect(await backupAge(node)).toBeWithin(0, Math.ceil((Date.now() - before) / 1000) + 2);
  }, 60_000);

  test('a file and --done at once is a mistake, and so is neither', async () => {
    expect((await node.cli('backup', 'x.db', '--done')).code).toBe(2);
    expect((await node.cli('backup')).code).toBe(2);
  }, 60_000);
});

async function metricsOfNode(node: NodeProcess): Promise<string> {
  const response = await fetch(`${node.url}/metrics`, {
    headers: { authorization: `Bearer ${METRICS_TOKEN}` },
  });
  return await response.text();
}

async function backupAge(node: NodeProcess): Promise<number | undefined> {
  return valueIn(await metricsOfNode(node), 'tollgate_backup_age_seconds');
}

describe('a data folder', () => {
  let node: NodeProcess;
  beforeAll(async () => {
    node = await NodeProcess.start({});
  }, 60_000);
  afterAll(() => node.stop());

  test('says how much room its disk has', async () => {
    const text = await metricsOfNode(node);
    const size = valueIn(text, 'tollgate_data_size_bytes') ?? 0;
    expect(valueIn(text, 'tollgate_data_free_bytes')).toBeWithin(1, size);
    expect(valueIn(text, 'tollgate_setup_problem{check="disk"}')).toBe(0);
  });

  test('a copy of it is the newest backup, which the command notes itself', async () => {
    expect((await node.cli('backup', join(node.folder, 'copy.db'))).code).toBe(0);
    const database = new Database(join(node.folder, 'data/tollgate.db'));
    database.run('PRAGMA busy_timeout = 5000');
    database.run(`UPDATE setting SET updated_at = updated_at - 7200000 WHERE key = 'backup.made'`);
    database.close();
    expect(await backupAge(node)).toBeGreaterThanOrEqual(7_200);
    expect((await node.cli('backup', join(node.folder, 'second.db'))).code).toBe(0);
    expect(await backupAge(node)).toBeLessThan(7_200);
  }, 60_000);
});
