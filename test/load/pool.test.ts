import { expect, test } from 'bun:test';
import { Client } from 'pg';
import { catalogFor } from '../support/gateway.ts';
import { runLoad } from '../support/load.ts';
import { BackendProcess, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';

/** As many as the operator allows a process to open. */
const MOST_CONNECTIONS = 10;
const REQUESTS = 1_000;

test('a thousand requests at once take no more connections to Postgres than the operator allows, and none is lost', async () => {
  const databaseUrl = await (await testPostgres()).freshDatabase();
  const backend = await BackendProcess.start();
  const node = await NodeProcess.start({
    yaml: catalogFor([backend.baseUrl]),
    databaseUrl,
    env: { TOLLGATE_DATABASE_CONNECTIONS: String(MOST_CONNECTIONS) },
  });
  const operator = await Operator.open(node.env);
  const account = await operator.account('1000');
  // The operator's own connections would be counted with the node's.
  await operator.close();
  const watcher = new Client({ connectionString: databaseUrl });
  await watcher.connect();
  const seen = { connections: 0, idle: 0 };
  const look = async (): Promise<void> => {
    const { rows } = await watcher.query<{ connections: number; idle: number }>(
      `SELECT count(*)::int AS connections,
              count(*) FILTER (WHERE state LIKE 'idle in transaction%' AND now() - state_change > interval '5 seconds')::int AS idle
         FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'tollgate%'`,
    );
    seen.connections = Math.max(seen.connections, rows[0]!.connections);
    seen.idle = Math.max(seen.idle, rows[0]!.idle);
  };
  let isOver = false;
  const watching = (async () => {
    while (!isOver) await look();
  })();
  const body = {
    endpoint: 'svc_chat',
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 5,
  };
  const { statuses, broken } = await runLoad({
    urls: [node.url],
    token: account.token,
    total: REQUESTS,
    concurrent: REQUESTS,
    body,
  });
  isOver = true;
  await watching;
  await watcher.end();
  expect({ statuses, broken }).toEqual({ statuses: { 200: REQUESTS }, broken: {} });
  expect(seen.connections).toBeGreaterThan(0);
  expect(seen.connections).toBeLessThanOrEqual(MOST_CONNECTIONS);
  expect(seen.idle).toBe(0);
  expect((await node.cli('verify', '--full', '--json')).code).toBe(0);
  await node.stop();
  await backend.stop();
}, 120_000);
