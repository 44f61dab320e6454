import { afterAll, beforeAll, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Subprocess } from 'bun';
import { Client } from 'pg';
import operateGuide from '../../docs/operate.md' with { type: 'text' };
import { Gateway } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';

/**
 * A node behind PgBouncer in transaction mode, where each transaction may get another connection. Its file is that of
 * docs/operate.md. Needs Debian's package.
 */

const isInstalled = Bun.which('pgbouncer', { PATH: `${process.env['PATH']}:/usr/sbin` }) !== null;
const SERVER_CONNECTIONS = 3;
const PORT = 6432;

let folder: string;
let bouncer: Subprocess | undefined;
let direct: string;
let pooled: string;

beforeAll(async () => {
  if (!isInstalled) return;
  direct = await (await testPostgres()).freshDatabase();
  folder = mkdtempSync(join(tmpdir(), 'tollgate-pgbouncer-'));
  chmodSync(folder, 0o777);
  const { username, password } = new URL(direct);
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, documentedFile());
  writeFileSync(join(folder, 'userlist.txt'), `"${username}" "${password}"\n`);
  const command = ['pgbouncer', '-q', ...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []), file];
  bouncer = Bun.spawn(command, {
    env: { PATH: `${process.env['PATH']}:/usr/sbin` },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await eventually('PgBouncer listens', () => existsSync(join(folder, `.s.PGSQL.${PORT}`)));
  pooled = `postgres://${username}:${password}@localhost/tollgate?host=${encodeURIComponent(folder)}&port=${PORT}`;
});

/** With the addresses of this machine, and fewer connections, so that all of them are shared. */
function documentedFile(): string {
  const documented = /### PgBouncer\n[^]*?```ini\n([^]*?)```/.exec(operateGuide)?.[1] ?? '';
  const { hostname, port, pathname } = new URL(direct);
  const changes: [string, string][] = [
    ['host=10.0.0.5 dbname=tollgate', `host=${hostname} port=${port} dbname=${pathname.slice(1)}`],
    ['listen_addr = 10.0.0.6', `unix_socket_dir = ${folder}`],
    ['/etc/pgbouncer/userlist.txt', join(folder, 'userlist.txt')],
    ['default_pool_size = 20', `default_pool_size = ${SERVER_CONNECTIONS}`],
  ];
  return changes.reduce((text, [from, to]) => {
    expect(text).toContain(from);
    return text.replace(from, to);
  }, documented);
}

afterAll(async () => {
  bouncer?.kill('SIGKILL');
  await bouncer?.exited;
  if (isInstalled) rmSync(folder, { recursive: true, force: true });
});

test.skipIf(!isInstalled)(
  'behind PgBouncer in transaction mode: ready, every request served, the ledger exact',
  async () => {
    const gateway = await Gateway.start({ databaseUrl: pooled });
    expect(gateway.log.some((line) => line.includes('database_behind_pooler'))).toBe(true);
    expect((await gateway.fetch('/readyz')).status).toBe(200);
    const account = await gateway.account('5');
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, n) =>
        gateway.chat(account.token, { model: 'house-echo', stream: n % 3 === 0 }),
      ),
    );
    await Promise.all(answers.map((answer) => answer.text()));
    expect([...new Set(answers.map(({ status }) => status))]).toEqual([200]);
    await gateway.settled(account);
    expect(await gateway.money(account)).toMatchObject({ held: 0, open: 0 });
    expect((await gateway.verify()).breaches).toEqual([]);
    expect(await settingsOfOthers()).toEqual(['0, read committed, on']);
    await gateway.stop();
  },
);

test.skipIf(!isInstalled)('what cannot work behind a pooler is a sentence at the start', async () => {
  const client = new Client(direct);
  await client.connect();
  await client.query(
    `ALTER DATABASE ${new URL(direct).pathname.slice(1)} SET default_transaction_isolation = 'repeatable read'`,
  );
  // PgBouncer's own connections still have the old setting.
  await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  await client.end();
  await expect(Gateway.start({ databaseUrl: pooled })).rejects.toThrow(
    'Behind a pooler Tollgate cannot choose the isolation',
  );
});

/** What another client of the pooler meets on each of its connections. */
async function settingsOfOthers(): Promise<string[]> {
  const clients = Array.from({ length: SERVER_CONNECTIONS }, () => new Client(pooled));
  const met: string[] = [];
  for (const client of clients) {
    await client.connect();
    // A transaction keeps the connection, so that the next client gets another one.
    await client.query('BEGIN');
    const { rows } = await client.query<{ met: string }>(
      `SELECT concat_ws(', ', current_setting('statement_timeout'), current_setting('transaction_isolation'), current_setting('synchronous_commit')) AS met`,
    );
    met.push(rows[0]?.met ?? '');
  }
  for (const client of clients) await client.end();
  return [...new Set(met)];
}
