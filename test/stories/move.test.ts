import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { Webhook } from 'standardwebhooks';
import { seed } from '../../scripts/seed.ts';
import { LEDGER_SQL } from '../../src/ledger/postgres/functions.ts';
import { OutboxSender } from '../../src/outbox/sender.ts';
import { WebhookReceiver } from '../../src/outbox/testing/webhook-receiver.ts';
import { makeWebhookChannel } from '../../src/outbox/webhook-channel.ts';
import { makeWebhooks } from '../../src/outbox/webhooks.ts';
import { systemClock } from '../../src/std/clock.ts';
import { systemRandom } from '../../src/std/ids.ts';
import { silentLog } from '../../src/std/log.ts';
import { openStore } from '../../src/store/store.ts';
import { catalogFor } from '../support/gateway.ts';
import { eventually, NODE_SECRET, NodeProcess, PROGRAM } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';
import {
  chunk,
  completion,
  images,
  openStream,
  PIXEL_BASE64,
  ScriptedBackend,
  usage,
} from '../support/scripted-backend.ts';

/** From a data folder that was served to nodes on Postgres. */

const folder = mkdtempSync(join(tmpdir(), 'tollgate-move-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Env = Readonly<Record<string, string>>;

function start(env: Env, ...words: string[]) {
  return Bun.spawn([...PROGRAM, ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
}

async function tollgate(env: Env, ...words: string[]) {
  const child = start(env, ...words);
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, err };
}

const EMAIL = 'dora@example.com';
const PASSWORD = 'a quiet gate at dawn';

describe('a customer of the data folder', () => {
  const backend = new ScriptedBackend();
  const yaml = catalogFor([backend.baseUrl]);
  let receiver: WebhookReceiver;
  let before: NodeProcess;
  let databaseUrl: string;
  let token: string;
  let cookie: string;
  let image: URL;
  let answer: unknown;
  let webhookSecret: string;

  const post = (url: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', ...headers },
      body: JSON.stringify(body),
    });
  const chat = (node: NodeProcess, more: object = {}): Promise<Response> =>
    post(
      `${node.url}/v1/chat/completions`,
      { model: 'm', messages: [{ role: 'user', content: 'hello' }], ...more },
      { authorization: `Bearer ${token}`, 'idempotency-key': 'the first' },
    );
  const signIn = (node: NodeProcess): Promise<Response> =>
    post(`${node.url}/api/auth/sign-in/email`, { email: EMAIL, password: PASSWORD });

  beforeAll(async () => {
    receiver = await WebhookReceiver.start();
    databaseUrl = await (await testPostgres()).emptyDatabase();
    before = await NodeProcess.start({ yaml });
    const made = await before.cli(
      'account',
      'create',
      EMAIL,
      '--balance',
      '5',
      '--password',
      PASSWORD,
      '--json',
    );
    ({ token } = JSON.parse(made.output) as { token: string });
    backend.script(({ path }) =>
      path.endsWith('/images/generations') ? images(1) : completion('hello', usage(10, 20)),
    );
    answer = await (await chat(before)).json();
    const painted = await post(
      `${before.url}/v1/images/generations`,
      { model: 'p', prompt: 'a gate', response_format: 'url' },
      { authorization: `Bearer ${token}` },
    );
    const { data } = (await painted.json()) as { data: { url: string }[] };
    image = new URL(data[0]!.url);
    cookie = (await signIn(before)).headers
      .getSetCookie()
      .map((one) => one.split(';')[0])
      .join('; ');
  }, 60_000);

  afterAll(async () => {
    await before.stop();
    await backend.stop();
    await receiver.stop();
  });

  /** Adds a webhook and a message for it, which is sent by whoever has the store next. */
  async function addWebhook(): Promise<void> {
    const operator = await Operator.open(before.env);
    const { store, secret, notices } = operator.services;
    const webhooks = makeWebhooks({
      db: store.db,
      key: secret.key('webhooks'),
      rules: { operatorMayBePrivate: false, ...receiver.rules },
      clock: systemClock,
      random: systemRandom,
      durable: () => store.durable(),
    });
    const { id } = await store.db
      .selectFrom('account')
      .select('id')
      .where('email', '=', EMAIL)
      .executeTakeFirstOrThrow();
    const added = await webhooks.add(id, { url: receiver.url(), events: ['token.replaced'] });
    webhookSecret = added.secret ?? '';
    const data = { account: id, token_hint: 'sk-…abcd' };
    await notices.event(store.db, { accountId: id, type: 'token.replaced', data });
    await operator.close();
  }

  async function sendWaiting(operator: Operator): Promise<void> {
    const { store, secret, outbox } = operator.services;
    const { db } = store;
    const webhook = makeWebhookChannel({
      db,
      key: secret.key('webhooks'),
      rules: { operatorMayBePrivate: false, ...receiver.rules },
      site: () => Promise.resolve({ name: 'Tollgate', url: undefined }),
      clock: systemClock,
      log: silentLog,
      onPaused: () => Promise.resolve(undefined),
    });
    const sender = new OutboxSender({
      db,
      outbox,
      channels: { webhook },
      clock: systemClock,
      log: silentLog,
    });
    await sender.idle();
    await sender.stop();
  }

  test('is not moved while a server runs, nor to a database that somebody uses', async () => {
    const running = await tollgate(before.env, 'move', '--to', databaseUrl);
    expect({ code: running.code, err: running.err }).toMatchObject({
      code: 4,
      err: expect.stringContaining('A server is running on this data folder.'),
    });
    expect(await before.probe('/readyz')).toBe(200);
    const used = await (await testPostgres()).emptyDatabase();
    const other = await NodeProcess.start({ yaml, databaseUrl: used });
    const refused = await tollgate(before.env, 'move', '--to', used);
    expect({ code: refused.code, err: refused.err }).toMatchObject({
      code: 4,
      err: expect.stringContaining('Nodes are running on postgres://tollgate@127.0.0.1'),
    });
    await other.stop();
    const unclear = await tollgate(before.env, 'move');
    expect({ code: unclear.code, err: unclear.err.split('\n')[0] }).toEqual({
      code: 2,
      err: 'Name the database: --to postgres://user:password@host:5432/database, or DATABASE_URL.',
    });
  }, 60_000);

  test('is moved with a request that a killed server left open, to a database that doctor has looked at', async () => {
    const stream = openStream();
    backend.script(() => stream.response);
    const asked = await Promise.all([
      post(
        `${before.url}/v1/chat/completions`,
        { model: 'm', stream: true, messages: [{ role: 'user', content: 'hello' }] },
        { authorization: `Bearer ${token}` },
      ),
      backend.called(3).then(() => stream.send(chunk({ content: 'one' }))),
    ]);
    const reader = asked[0].body!.getReader();
    await reader.read();
    await before.kill();
    await addWebhook();
    await tollgate({ DATABASE_URL: databaseUrl, TOLLGATE_SECRET: NODE_SECRET }, 'doctor');
    const moved = await tollgate(before.env, 'move', '--to', databaseUrl);
    expect({ code: moved.code, err: moved.err }).toMatchObject({ code: 0 });
    expect(moved.out).toContain('are the same on both sides');
    expect(moved.out).toContain('TOLLGATE_SECRET  the same as here');
    expect(moved.out + moved.err).not.toContain('tollgate:tollgate');
    const operator = await Operator.open({ ...before.env, DATABASE_URL: databaseUrl });
    expect(await operator.pending()).toBe(1);
    const audit = await operator.services.store.db.selectFrom('audit').select('action').execute();
    expect(audit.map(({ action }) => action)).toContain('store.move');
    await sendWaiting(operator);
    await operator.close();
    const [message] = receiver.received;
    expect(new Webhook(webhookSecret).verify(message?.body ?? '', message?.headers ?? {})).toMatchObject({
      type: 'token.replaced',
    });
  }, 120_000);

  test('finds everything on a node on Postgres: token, answers, images, sign-in, receipts; the open request is closed', async () => {
    const node = await NodeProcess.start({ yaml, databaseUrl });
    try {
      const calls = backend.calls.length;
      expect(await (await chat(node)).json()).toEqual(answer);
      expect(backend.calls).toHaveLength(calls);
      backend.script(() => completion('again', usage(10, 20)));
      const fresh = await post(
        `${node.url}/v1/chat/completions`,
        { model: 'm', messages: [{ role: 'user', content: 'hello' }] },
        { authorization: `Bearer ${token}` },
      );
      expect(fresh.status).toBe(200);
      const picture = await fetch(`${node.url}${image.pathname}${image.search}`);
      expect(Buffer.from(await picture.arrayBuffer()).toString('base64')).toBe(PIXEL_BASE64);
      expect((await signIn(node)).status).toBe(200);
      const listed = await fetch(`${node.url}/api/console/requests`, { headers: { cookie } });
      const { items } = (await listed.json()) as { items: readonly unknown[] };
      expect({ status: listed.status, items: items.length }).toEqual({ status: 200, items: 4 });
      const operator = await Operator.open(node.env);
      // Its lease has run out.
      await operator.services.store.db.updateTable('hold').set({ lease_until: 1 }).execute();
      await operator.settled();
      await operator.close();
      const verified = await node.cli('verify', '--full', '--json');
      expect({ code: verified.code, ...JSON.parse(verified.output) }).toMatchObject({
        code: 0,
        breaches: [],
      });
    } finally {
      await node.stop();
    }
  }, 120_000);

  test('is served from one of the two: the folder is closed until the move is taken back', async () => {
    for (const words of [['serve'], ['account', 'credit', EMAIL, '5']]) {
      const { code, err } = await tollgate(before.env, ...words);
      expect({ words, isDone: code === 0, err }).toMatchObject({
        isDone: false,
        err: expect.stringContaining('This data folder was moved to postgres://tollgate@127.0.0.1'),
      });
    }
    expect((await tollgate(before.env, 'move', '--to', databaseUrl)).code).toBe(4);
    expect((await tollgate(before.env, 'move', '--undo')).code).toBe(2);
    expect((await tollgate(before.env, 'move', '--undo', '--yes')).code).toBe(0);
    expect((await tollgate(before.env, 'move', '--undo', '--yes')).code).toBe(3);
    await before.restart();
    expect((await chat(before)).status).toBe(200);
    expect((await before.cli('verify', '--full')).code).toBe(0);
  }, 60_000);
});

test('while a move is under way, another one of its folder or into its database is refused and says so; nothing is lost', async () => {
  const requests = 200;
  const folders = ['first', 'second'].map((name) => join(folder, name));
  for (const dataDir of folders) {
    const store = await openStore({ dataDir, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL });
    await seed(store, { requests, accounts: 3, days: 3, now: Date.now() });
    await store.close();
  }
  const [here = {}, elsewhere = {}] = folders.map((dataDir) => ({ TOLLGATE_DATA: dataDir }));
  const postgres = await testPostgres();
  const databaseUrl = await postgres.freshDatabase();
  const inTheWay = new Client(databaseUrl);
  await inTheWay.connect();
  await inTheWay.query('BEGIN; LOCK TABLE receipt IN SHARE MODE');
  const first = start(here, 'move', '--to', databaseUrl);
  await eventually('it waits for the table', async () => {
    // Within a transaction the list would stay as it was first read.
    await inTheWay.query('SELECT pg_stat_clear_snapshot()');
    const { rowCount } = await inTheWay.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database()
         AND application_name = 'tollgate move' AND wait_event_type = 'Lock'`,
    );
    return rowCount === 1;
  });

  const intoTheSame = await tollgate(elsewhere, 'move', '--to', databaseUrl);
  const once = await tollgate(here, 'move', '--to', databaseUrl);
  const ofTheSame = await tollgate(here, 'move', '--to', await postgres.freshDatabase());
  const undone = await tollgate(here, 'move', '--undo', '--yes');
  for (const { code, err } of [intoTheSame, once])
    expect({ code, err }).toMatchObject({
      code: 4,
      err: expect.stringMatching(/^A move into postgres:\/\/tollgate@\S+ is under way\./),
    });
  for (const { code, err } of [ofTheSame, undone])
    expect({ code, err }).toMatchObject({
      code: 4,
      err: expect.stringMatching(/^A move of this data folder to postgres:\/\/tollgate@\S+ is under way\./),
    });

  await inTheWay.query('COMMIT');
  await inTheWay.end();
  expect(await first.exited).toBe(0);
  const secret = (await Bun.file(join(folders[0] ?? '', 'secret')).text()).trim();
  const there = { DATABASE_URL: databaseUrl, TOLLGATE_SECRET: secret };
  // The folder that was refused is served as before.
  for (const env of [there, elsewhere]) {
    const { code, out } = await tollgate(env, 'verify', '--full', '--json');
    expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 0, checked: { requests }, breaches: [] });
  }
}, 120_000);

/** So many that a process can be killed among them. */
const RECEIPTS = 80_000;

test('a move that loses its connection, and then is killed, is finished by running it again, unless both sides differ then', async () => {
  const dataDir = join(folder, 'data');
  const store = await openStore({ dataDir, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL });
  await seed(store, { requests: RECEIPTS, accounts: 20, days: 30, now: Date.now() });
  await store.close();
  const databaseUrl = await (await testPostgres()).emptyDatabase();
  const here = { TOLLGATE_DATA: dataDir };
  const there = { DATABASE_URL: databaseUrl, TOLLGATE_SECRET: NODE_SECRET };
  const client = new Client(databaseUrl);
  await client.connect();
  const receipts = async (): Promise<number> => {
    // Its tables are made first.
    const { rows } = await client
      .query<{ count: string }>('SELECT count(*) FROM receipt')
      .catch(() => ({ rows: [] }));
    return Number(rows[0]?.count ?? 0);
  };
  const first = start(here, 'move', '--to', databaseUrl);
  await eventually('some receipts have arrived', async () => (await receipts()) > 0);
  await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'tollgate move' AND datname = current_database()`,
  );
  expect(await first.exited).toBe(5);
  expect(await new Response(first.stderr).text()).toMatch(
    /The move stopped at the table receipt: .* Run it again to continue\.\n$/,
  );
  const arrived = await receipts();
  const second = start(here, 'move', '--to', databaseUrl);
  await eventually('further receipts have arrived', async () => (await receipts()) > arrived);
  second.kill('SIGKILL');
  await second.exited;
  expect(await receipts()).toBeLessThan(RECEIPTS);
  for (const env of [here, there]) {
    const { code, err } = await tollgate(env, 'verify');
    expect({ code, err }).toMatchObject({ code: 5, err: expect.stringContaining('is not finished') });
  }
  // Somebody has written to the database meanwhile.
  await client.query(`UPDATE account SET balance = balance + 7 WHERE role = 'user'`);
  const different = await tollgate(here, 'move', '--to', databaseUrl, '--json');
  expect({ code: different.code, ...JSON.parse(different.out) }).toMatchObject({
    code: 1,
    ok: false,
    differences: expect.arrayContaining([
      expect.stringMatching(/^account acc_\w+: .* in SQLite, .* in Postgres$/),
    ]),
  });
  expect((await tollgate(there, 'verify')).code).toBe(5);
  await client.query(`UPDATE account SET balance = balance - 7 WHERE role = 'user'`);
  const again = await tollgate({ ...here, DATABASE_URL: databaseUrl }, 'move');
  expect({ code: again.code, err: again.err }).toMatchObject({
    code: 0,
    err: expect.stringContaining('Going on with the move that was interrupted.'),
  });
  expect(again.out).toContain(`TOLLGATE_SECRET  the content of ${join(dataDir, 'secret')}`);
  expect(await receipts()).toBe(RECEIPTS);
  await client.end();
  const secret = (await Bun.file(join(dataDir, 'secret')).text()).trim();
  const verified = await tollgate({ ...there, TOLLGATE_SECRET: secret }, 'verify', '--full', '--json');
  expect({ code: verified.code, ...JSON.parse(verified.out) }).toMatchObject({
    code: 0,
    checked: { requests: RECEIPTS },
    breaches: [],
  });
}, 180_000);
