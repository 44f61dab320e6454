import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy.ts';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** An outage under load leaves a log that somebody can read, and every line about money in it. */

const REQUESTS = 1_000;
const AT_ONCE = 250;
/** More than are written of any other kind of line. */
const RUNNING = 60;

const backend = new ScriptedBackend();
afterAll(() => backend.stop());

interface Running {
  readonly gateway: Gateway;
  begin(): void | Promise<void>;
  end(): void | Promise<void>;
}

async function onSqlite(): Promise<Running> {
  const gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]) });
  const other = new Database(join(gateway.folder, 'data/tollgate.db'));
  other.run('PRAGMA busy_timeout = 5000');
  return {
    gateway,
    begin: () => void other.run('BEGIN EXCLUSIVE'),
    end: () => {
      other.run('ROLLBACK');
      other.close();
    },
  };
}

async function onPostgres(): Promise<Running> {
  const url = new URL(await (await testPostgres()).freshDatabase());
  const target = Number(url.port);
  let proxy: FaultProxy = await startFaultProxy(target);
  const { port } = proxy;
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]), databaseUrl: url.href });
  return {
    gateway,
    begin: () => proxy.close(),
    end: async () => {
      proxy = await startFaultProxy(target, undefined, port);
    },
  };
}

interface Line {
  readonly event: string;
  readonly of?: string;
  readonly code?: string;
  readonly lines?: number;
  readonly request?: string;
}

describe.each([
  ['SQLite', onSqlite],
  ['Postgres', onPostgres],
])('a thousand requests while the database is away, on %s', (_, start) => {
  test('leave some lines and the number of the others; each charge that waits has its own', async () => {
    const running = await start();
    const { gateway } = running;
    const account = await gateway.account('100');
    const gate = Promise.withResolvers<void>();
    backend.script(async () => {
      await gate.promise;
      return completion('ok', usage(10, 3));
    });
    const calls = backend.calls.length;
    const held = Array.from({ length: RUNNING }, () => gateway.chat(account.token));
    await backend.called(calls + RUNNING);
    await running.begin();
    gate.resolve();
    const served = await Promise.all(held);
    expect(served.map(({ status }) => status)).toEqual(served.map(() => 200));
    await Promise.all(served.map((response) => response.text()));
    let failed = 0;
    for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) {
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => gateway.chat(account.token)));
      for (const answer of answers) {
        if (answer.status === 500) failed++;
        await answer.text();
      }
    }
    expect(failed).toBe(REQUESTS);
    await running.end();
    await gateway.settled(account);
    expect((await gateway.verify()).breaches).toEqual([]);
    await gateway.stop();

    const lines = gateway.log.map((line) => JSON.parse(line) as Line);
    const failures = lines.filter(({ event }) => event === 'request_failed');
    const leftOut = lines.filter(({ event, of }) => event === 'lines_left_out' && of === 'request_failed');
    expect(failures.length).toBeLessThan(REQUESTS / 2);
    expect(leftOut.length).toBeGreaterThan(0);
    const sum = leftOut.reduce((total, { lines: count = 0 }) => total + count, failures.length);
    expect(sum).toBe(REQUESTS);
    const waiting = lines.filter(({ event }) => event === 'settlement_failed');
    expect(new Set(waiting.map(({ request }) => request)).size).toBe(RUNNING);
  }, 120_000);
});
