import { afterEach, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { LEDGER_ADMIT } from '../../src/ledger/postgres/admission-sql.ts';
import { LEDGER_SQL } from '../../src/ledger/postgres/functions.ts';
import { systemClock } from '../../src/std/clock.ts';
import { makeLog, silentLog } from '../../src/std/log.ts';
import { openStore } from '../../src/store/store.ts';
import { Gateway } from '../support/gateway.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { testPostgres, type TestPostgres } from '../support/postgres.ts';

/** A node and its Postgres: when it waits, how much it takes, and what it says about itself. */

let postgres: TestPostgres;
const folders: string[] = [];

beforeAll(async () => {
  postgres = await testPostgres();
});
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** The address of a database by a socket in a folder, where nobody listens yet. */
function bySocket(databaseUrl: string): { url: string; listen(): () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-socket-'));
  folders.push(folder);
  const url = new URL(databaseUrl);
  const target = Number(url.port);
  url.searchParams.set('host', folder);
  url.searchParams.set('port', '5432');
  return {
    url: url.href,
    listen: () => {
      const server = createServer((client) => {
        const there = connect(target, '127.0.0.1');
        client.pipe(there).pipe(client);
        for (const side of [client, there]) side.on('error', () => side.destroy());
      });
      server.listen(join(folder, '.s.PGSQL.5432'));
      return () => server.close();
    },
  };
}

const options = { dataDir: '', clock: systemClock, ledgerSql: LEDGER_SQL };

test('a node that starts before its database waits for it, and says so', async () => {
  const { url, listen } = bySocket(await postgres.freshDatabase());
  const lines: string[] = [];
  const log = makeLog((line) => lines.push(line));
  const opening = openStore({ ...options, databaseUrl: url, log, databaseWaitMs: 600_000 });
  // A failure is the test's, below.
  opening.catch(() => undefined);
  await eventually('it says that it waits', () =>
    lines.some((line) => line.includes('waiting_for_database')),
  );
  const close = listen();
  const store = await opening;
  expect(lines.filter((line) => line.includes('waiting_for_database'))).toHaveLength(1);
  expect(lines.at(-1)).toContain('database_answers');
  await store.close();
  close();
});

test('a database that does not come within the stated time, or refuses, is a sentence', async () => {
  const databaseUrl = await postgres.freshDatabase();
  const nobody = bySocket(databaseUrl).url;
  const opened = openStore({ ...options, databaseUrl: nobody, log: silentLog, databaseWaitMs: 0 });
  await expect(opened).rejects.toThrow('Cannot use the database of DATABASE_URL');
  const wrong = new URL(databaseUrl);
  wrong.pathname = '/no_such_database';
  const refused = openStore({ ...options, databaseUrl: wrong.href, log: silentLog, databaseWaitMs: 600_000 });
  await expect(refused).rejects.toThrow('database "no_such_database" does not exist');
});

test('a process opens no more connections than the operator allows, whatever it is asked for', async () => {
  const databaseUrl = await postgres.freshDatabase();
  const gateway = await Gateway.start({ databaseUrl, env: { TOLLGATE_DATABASE_CONNECTIONS: '6' } });
  const { token } = await gateway.account('5');
  const chats = Array.from({ length: 60 }, () => gateway.chat(token, { model: 'house-echo' }));
  const reads = Array.from({ length: 60 }, () => gateway.fetch('/api/public/v1/account', { token }));
  const statements = Array.from({ length: 60 }, () =>
    gateway.tollgate.services.store.db.selectFrom('setting').selectAll().execute(),
  );
  const answers = await Promise.all([...chats, ...reads]);
  await Promise.all(statements);
  await gateway.verify();
  expect([...new Set(answers.map(({ status }) => status))]).toEqual([200]);
  const open = await ask<{ count: number }>(
    databaseUrl,
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'tollgate%'`,
  );
  expect(open.count).toBeLessThanOrEqual(6);
  expect(open.count).toBeGreaterThan(3);
  await gateway.stop();
});

test('ready means that requests are served: a busy console changes nothing, a broken admission does', async () => {
  const databaseUrl = await postgres.freshDatabase();
  const gateway = await Gateway.start({ databaseUrl });
  const { backend } = gateway.tollgate.services.store;
  if (backend.kind !== 'postgres') throw new Error('expected Postgres');
  const taken = await Promise.all(Array.from({ length: backend.pool.most }, () => backend.pool.connect()));
  expect((await gateway.fetch('/readyz')).status).toBe(200);
  for (const client of taken) client.release();
  await ask(databaseUrl, `ALTER FUNCTION ${LEDGER_ADMIT.name} RENAME TO gone`);
  await eventually('it is not ready', async () => (await gateway.fetch('/readyz')).status === 503);
  await ask(databaseUrl, `ALTER FUNCTION gone RENAME TO ${LEDGER_ADMIT.name}`);
  await eventually('it is ready again', async () => (await gateway.fetch('/readyz')).status === 200);
  await gateway.stop();
});

test('`doctor` says how many connections a process takes and how many the server has', async () => {
  const databaseUrl = await postgres.freshDatabase();
  const node = await NodeProcess.start({ databaseUrl, env: { TOLLGATE_DATABASE_CONNECTIONS: '9' } });
  const { output } = await node.cli('doctor');
  expect(output).toMatch(
    /database: up to 9 connections a process \(TOLLGATE_DATABASE_CONNECTIONS\)\. The server allows \d+, \d+ are open/,
  );
  await node.stop();
});

async function ask<Row extends object>(databaseUrl: string, sql: string): Promise<Row> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows[0] as Row;
  } finally {
    await client.end();
  }
}
