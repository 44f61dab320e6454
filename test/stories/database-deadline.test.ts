import { beforeAll, expect, test } from 'bun:test';
import { Client } from 'pg';
import { Gateway } from '../support/gateway.ts';
import { testPostgres, type TestPostgres } from '../support/postgres.ts';

/** How long a request waits for Postgres is the operator's to say. */

let postgres: TestPostgres;
let other: Client;

beforeAll(async () => {
  postgres = await testPostgres();
});

/** A chat on an account that somebody else has locked. */
async function chatOnLockedAccount(
  deadlineMs: string,
): Promise<{ gateway: Gateway; chat: Promise<Response> }> {
  const databaseUrl = await postgres.freshDatabase();
  // Made by another node: a short deadline is for the chat alone.
  const patient = await Gateway.start({ databaseUrl });
  const { id, token } = await patient.account('1');
  await patient.stop();
  const gateway = await Gateway.start({ databaseUrl, env: { TOLLGATE_DATABASE_DEADLINE_MS: deadlineMs } });
  other = new Client(databaseUrl);
  await other.connect();
  await other.query('BEGIN');
  await other.query('SELECT 1 FROM account WHERE id = $1 FOR UPDATE', [id]);
  return { gateway, chat: gateway.chat(token, { model: 'house-echo' }) };
}

test('a request that has waited as long as the operator allows is refused, while the database is still busy', async () => {
  const { gateway, chat } = await chatOnLockedAccount('600');
  const response = await chat;
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { code: 'service_unavailable' } });
  await other.end();
  await gateway.stop();
});

test('a request waits longer than usual for a database that the operator knows to be slow', async () => {
  const { gateway, chat } = await chatOnLockedAccount('60000');
  for (let waitedMs = 0; waitedMs < 1_500; await Bun.sleep(20)) {
    // Inside a transaction the server shows its activity as of the first look.
    await other.query('SELECT pg_stat_clear_snapshot()');
    const { rows } = await other.query<{ waited: number }>(
      `SELECT coalesce(max(extract(epoch FROM clock_timestamp() - query_start) * 1000), 0)::float8 AS waited
       FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    waitedMs = rows[0]?.waited ?? 0;
  }
  await other.end();
  expect((await chat).status).toBe(200);
  await gateway.stop();
});

test.each(['0', '99', '60001', '1.5', 'soon'])(
  'a deadline of %s is refused at the start',
  async (deadlineMs) => {
    const databaseUrl = await postgres.freshDatabase();
    const started = Gateway.start({ databaseUrl, env: { TOLLGATE_DATABASE_DEADLINE_MS: deadlineMs } });
    await expect(started).rejects.toThrow(/TOLLGATE_DATABASE_DEADLINE_MS must be a whole number/);
  },
);
