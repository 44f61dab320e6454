import { expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { Client } from 'pg';
import { Browser } from '../../src/console/testing/harness.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { UsedSecrets } from '../support/leaks.ts';
import { NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';

/** Every test that stops a server fails if that has written down a secret. Here each kind of secret is written down on purpose. */

const PROMPT = 'a prompt of which no log must know';
const KEY = 'key-of-a-provider';
const PASSWORD = 'a password that nobody writes down';

interface UsedGateway {
  readonly gateway: Gateway;
  readonly account: TestAccount;
  readonly session: string;
}

/** A gateway through which all kinds of secrets went, and that has written none of them. */
async function usedGateway(databaseUrl?: string): Promise<UsedGateway> {
  const env = { SOME_PROVIDER_KEY: KEY };
  const gateway = await Gateway.start({ env, ...(databaseUrl !== undefined && { databaseUrl }) });
  const account = await gateway.account('1');
  const messages = [{ role: 'user', content: PROMPT }];
  const answer = await gateway.chat(account.token, { model: 'house-echo', messages });
  expect(answer.status).toBe(200);
  await answer.text();
  const browser = new Browser(gateway.url, '127.0.0.1');
  const token = gateway.tollgate.setupLink?.split('/').at(-1) ?? '';
  const person = { email: 'keeper@example.com', password: PASSWORD };
  await browser.must('POST', '/api/console/setup', { token, ...person });
  const cookies = [...browser.cookies].find(([name]) => name.endsWith('session_token'));
  return { gateway, account, session: decodeURIComponent(cookies?.[1] ?? '') };
}

/** What the test that stops it would be told. */
async function told(stopping: Promise<void>): Promise<string[]> {
  const text = await stopping.then(
    () => '',
    (thrown: unknown) => String(thrown),
  );
  return text.match(/^.*? in the \w+( \w+)?(?=:)/gm) ?? [];
}

test('a token, a key, a password, a session or a prompt in its log fails whoever stops it', async () => {
  const { gateway, account, session } = await usedGateway();
  gateway.log.push(
    ...[account.token, KEY, PASSWORD, session, PROMPT].map((secret) => `{"text":"${secret}"}`),
  );
  expect(await told(gateway.stop())).toEqual([
    'a token in the log',
    'SOME_PROVIDER_KEY in the log',
    'what a browser sent in the log',
    'what a browser sent in the log',
    'a prompt in the log',
  ]);
});

test('so does one of them in a table of SQLite, and a prompt unless the table is listed as holding it', async () => {
  const { gateway, account } = await usedGateway();
  const database = new Database(join(gateway.folder, 'data/tollgate.db'));
  database.run('CREATE TABLE careless (text TEXT, bytes BLOB)');
  database.run('INSERT INTO careless VALUES (?, NULL), (?, ?)', [
    `the token ${account.token}`,
    PROMPT,
    Buffer.from(PASSWORD),
  ]);
  database.close();
  expect(await told(gateway.stop())).toEqual([
    'a token in the table careless',
    'what a browser sent in the table careless',
    'a prompt in the table careless',
  ]);
});

test('and of Postgres', async () => {
  const databaseUrl = await (await testPostgres()).freshDatabase();
  const { gateway, account } = await usedGateway(databaseUrl);
  const client = new Client(databaseUrl);
  await client.connect();
  await client.query('CREATE TABLE careless (text TEXT)');
  await client.query('INSERT INTO careless VALUES ($1), ($2)', [`"${account.token}"`, KEY]);
  await client.end();
  expect(await told(gateway.stop())).toEqual([
    'a token in the table careless',
    'SOME_PROVIDER_KEY in the table careless',
  ]);
});

test('a process that was killed has written nothing that it must not either, and would be noticed', async () => {
  const node = await NodeProcess.start({});
  const operator = await Operator.open(node.env);
  const { id, token } = await operator.account('1');
  await operator.services.store.db
    .updateTable('account')
    .set({ token_hint: token })
    .where('id', '=', id)
    .execute();
  await operator.close();
  await node.kill();
  expect(await told(node.stop())).toEqual(['a token in the table account']);
});

test('a prompt may be in the tables that docs/operate.md lists, and in no metric', () => {
  const secrets = new UsedSecrets();
  secrets.notePrompts({ messages: [{ role: 'user', content: PROMPT }], prompt: 'a picture of a wide gate' });
  const traces = { url: '', log: '', metrics: '', tables: new Map([['answer', PROMPT]]) };
  expect(secrets.foundIn(traces)).toEqual([]);
  const metrics = 'm{model="a picture of a wide gate"} 1';
  expect(secrets.foundIn({ ...traces, metrics })).toEqual([
    expect.stringContaining('a prompt in the metrics'),
  ]);
});
