import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspectSqlite } from '../../src/store/sqlite-backup.ts';
import { catalogFor } from '../support/gateway.ts';
import { Traffic } from '../support/load-traffic.ts';
import { BackendProcess, eventually, NODE_SECRET, NodeProcess, PROGRAM } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';

/** A copy that is made while customers are served, and what must hold before it is put back. */

const folder = mkdtempSync(join(tmpdir(), 'tollgate-backup-'));
const file = join(folder, 'copy.db');
let backend: BackendProcess;
let node: NodeProcess;
let operator: Operator;
let token: string;
/** What was charged before the copy was made. */
let chargedBefore: Map<string, number[]>;

beforeAll(async () => {
  backend = await BackendProcess.start();
  node = await NodeProcess.start({ yaml: catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' }) });
  operator = await Operator.open(node.env);
  const account = await operator.account('100');
  ({ token } = account);
  const traffic = new Traffic({
    url: node.url,
    token,
    whole: 8,
    streams: 8,
    script: { whole: { delayMs: 10 }, stream: { chunks: 20, everyMs: 10 } },
  });
  await eventually('answers have arrived', () => traffic.acknowledged.size >= 30);
  chargedBefore = await operator.charges(account);
  const made = await node.cli('backup', file, '--json');
  expect(made.code).toBe(0);
  const asked = traffic.acknowledged.size;
  await eventually('answers go on arriving', () => traffic.acknowledged.size > asked);
  await traffic.stop();
  expect(Object.keys(traffic.ends)).toEqual(['answered']);
  expect(JSON.parse(made.output)).toMatchObject({ file, accounts: 1, receipts: expect.any(Number) });
}, 120_000);

afterAll(async () => {
  await operator.close();
  await node.stop();
  await backend.stop();
  rmSync(folder, { recursive: true, force: true });
});

let folders = 0;

function emptyDataDir(): string {
  return join(folder, `data-${++folders}`);
}

async function tollgate(env: Record<string, string>, ...words: string[]) {
  const child = Bun.spawn([...PROGRAM, ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, err };
}

/** The size of the largest file in it, whatever a backup that is being made is called; -1 without any. */
function largestIn(path: string): number {
  const sizes = readdirSync(path).map((name) => statSync(join(path, name), { throwIfNoEntry: false })?.size);
  return Math.max(-1, ...sizes.map((size) => size ?? -1));
}

describe('on SQLite', () => {
  test('only its owner may read the copy, and a second one does not replace it unasked', async () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { code } = await node.cli('backup', file, '--json');
    expect(code).toBe(4);
    expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);
  }, 60_000);

  test('restored to an empty folder: the books are whole, what was charged is there, tokens work', async () => {
    const env = { TOLLGATE_DATA: emptyDataDir(), TOLLGATE_SECRET: NODE_SECRET };
    const restored = await tollgate(env, 'restore', file, '--json');
    expect({ code: restored.code, err: restored.err }).toEqual({ code: 0, err: '' });
    expect(statSync(join(env.TOLLGATE_DATA, 'tollgate.db')).mode & 0o777).toBe(0o600);
    const verified = await tollgate(env, 'verify', '--full', '--json');
    expect({ code: verified.code, ...JSON.parse(verified.out) }).toMatchObject({
      code: 0,
      ok: true,
      breaches: [],
    });
    const copy = await NodeProcess.start({
      yaml: catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' }),
      env,
    });
    try {
      const reader = await Operator.open(copy.env);
      await reader.settled();
      const rows = await reader.services.store.db.selectFrom('request').select(['id', 'charged']).execute();
      const charged = new Map(rows.map((row) => [row.id, row.charged]));
      const lost = [...chargedBefore].filter(([id, amounts]) => charged.get(id) !== amounts[0]);
      expect(chargedBefore.size).toBeGreaterThan(10);
      expect(lost).toEqual([]);
      const audit = await reader.services.store.db.selectFrom('audit').select('action').execute();
      expect(audit.map(({ action }) => action)).toContain('store.restore');
      await reader.close();
      const response = await fetch(`${copy.url}/api/public/v1/account`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect(response.status).toBe(200);
    } finally {
      await copy.stop();
    }
  }, 120_000);

  test('refused: a folder with a database, unless it may be kept under another name', async () => {
    const env = { TOLLGATE_DATA: emptyDataDir(), TOLLGATE_SECRET: NODE_SECRET };
    await tollgate(env, 'account', 'create', 'other@example.com');
    const refused = await tollgate(env, 'restore', file);
    expect(refused.code).toBe(4);
    expect(refused.err).toContain('There is a database in');
    expect((await tollgate(env, 'account', 'show', 'other@example.com')).code).toBe(0);
    expect((await tollgate(env, 'restore', file, '--force')).code).toBe(0);
    expect((await tollgate(env, 'account', 'show', 'other@example.com')).code).toBe(3);
    const kept = readdirSync(env.TOLLGATE_DATA).find((name) =>
      /^tollgate\.db\.replaced-[^-]+.*Z$/.test(name),
    );
    const old = new Database(join(env.TOLLGATE_DATA, kept ?? 'nothing was kept'), { readonly: true });
    expect(old.query('SELECT email FROM account WHERE role = ?').get('user')).toEqual({
      email: 'other@example.com',
    });
    old.close();
  }, 60_000);

  test('refused: a folder that a server uses, also with --force', async () => {
    const refused = await node.cli('restore', file, '--force');
    expect(refused.code).toBe(4);
    expect(await node.probe('/readyz')).toBe(200);
  }, 60_000);

  test('refused: another secret, or none; a lost one does not keep anybody from the books', async () => {
    const wrong = await tollgate(
      { TOLLGATE_DATA: emptyDataDir(), TOLLGATE_SECRET: 'another secret than that' },
      'restore',
      file,
    );
    expect({ code: wrong.code, err: wrong.err.split(':')[0] }).toEqual({
      code: 4,
      err: 'The secret here is not the one that this backup was made with',
    });
    const env = { TOLLGATE_DATA: emptyDataDir() };
    const none = await tollgate(env, 'restore', file);
    expect(none.code).toBe(4);
    expect(none.err).toContain('The secret that this backup needs is not here.');
    expect(existsSync(join(env.TOLLGATE_DATA, 'tollgate.db'))).toBe(false);
    expect((await tollgate(env, 'restore', file, '--without-secret')).code).toBe(0);
    expect((await tollgate(env, 'secret', 'reset', '--yes')).code).toBe(0);
    expect((await tollgate(env, 'verify', '--full')).code).toBe(0);
  }, 60_000);

  test('killed at any moment, it leaves a whole copy under its name or none, and the next one works', async () => {
    const env = { TOLLGATE_DATA: emptyDataDir(), TOLLGATE_SECRET: NODE_SECRET };
    mkdirSync(env.TOLLGATE_DATA);
    copyFileSync(file, join(env.TOLLGATE_DATA, 'tollgate.db'));
    const database = new Database(join(env.TOLLGATE_DATA, 'tollgate.db'));
    database.run('CREATE TABLE filler (bytes BLOB)');
    for (let megabytes = 0; megabytes < 32; megabytes++)
      database.run('INSERT INTO filler VALUES (randomblob(1048576))');
    database.close();
    const copies = emptyDataDir();
    mkdirSync(copies);
    const copy = join(copies, 'copy.db');
    for (const writtenBytes of [0, 16 * 1_048_576]) {
      const child = Bun.spawn([...PROGRAM, 'backup', copy, '--force'], {
        cwd: folder,
        env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env },
        stdio: ['ignore', 'ignore', 'ignore'],
      });
      while (child.exitCode === null && largestIn(copies) < writtenBytes) await Bun.sleep(1);
      child.kill('SIGKILL');
      await child.exited;
      if (existsSync(copy)) expect(inspectSqlite(copy).accounts).toBe(1);
    }
    expect((await tollgate(env, 'backup', copy, '--force')).code).toBe(0);
    expect(readdirSync(copies)).toEqual(['copy.db']);
    expect(inspectSqlite(copy).accounts).toBe(1);
  }, 120_000);

  test('refused: a newer schema, a damaged file, something else, nothing at all', async () => {
    const env = { TOLLGATE_DATA: emptyDataDir(), TOLLGATE_SECRET: NODE_SECRET };
    const newer = join(folder, 'newer.db');
    copyFileSync(file, newer);
    const database = new Database(newer);
    database.run(`INSERT INTO schema_step SELECT max(number) + 1, 'later', 'x', 99, 0 FROM schema_step`);
    database.close();
    const cut = join(folder, 'cut.db');
    copyFileSync(file, cut);
    writeFileSync(cut, (await Bun.file(file).bytes()).subarray(0, statSync(file).size / 2));
    const text = join(folder, 'text.db');
    writeFileSync(text, 'not a database');
    for (const [path, message] of [
      [newer, /schema is newer/],
      [cut, /damaged|not a whole database/],
      [text, /not a whole database/],
    ] as const) {
      const refused = await tollgate(env, 'restore', path);
      expect(refused.code).toBe(4);
      expect(refused.err).toMatch(message);
    }
    expect((await tollgate(env, 'restore', join(folder, 'none.db'))).code).toBe(3);
    expect(existsSync(join(env.TOLLGATE_DATA, 'tollgate.db'))).toBe(false);
    expect(readdirSync(env.TOLLGATE_DATA).filter((name) => name !== 'server.lock')).toEqual([]);
  }, 60_000);
});

/** pg_dump refuses a server that is newer than itself, so the server is of the same package. */
const PROGRAMS = '/usr/lib/postgresql/15/bin';
const hasPrograms = existsSync(join(PROGRAMS, 'pg_dump')) && existsSync(join(PROGRAMS, 'initdb'));

describe.skipIf(!hasPrograms)('on Postgres, with pg_dump 15 where Debian installed it', () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres({ fsync: false, programs: PROGRAMS });
  }, 60_000);
  afterAll(() => server.stop());

  test('the copy holds what the database held; refused while somebody uses it or has another secret', async () => {
    const env = { DATABASE_URL: await server.emptyDatabase(), TOLLGATE_SECRET: NODE_SECRET };
    await tollgate(env, 'account', 'create', 'a@example.com', '--balance', '7');
    const copy = join(folder, 'copy.dump');
    const made = await tollgate(env, 'backup', copy, '--json');
    expect({ code: made.code, err: made.err }).toEqual({ code: 0, err: '' });
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    const target = { ...env, DATABASE_URL: await server.emptyDatabase() };
    const wrong = await tollgate({ ...target, TOLLGATE_SECRET: 'another secret than that' }, 'restore', copy);
    expect({ code: wrong.code, err: wrong.err }).toMatchObject({
      code: 4,
      err: expect.stringContaining('secret'),
    });
    const user = await Operator.open(target);
    const busy = await tollgate(target, 'restore', copy, '--force');
    expect({ code: busy.code, err: busy.err }).toMatchObject({
      code: 4,
      err: expect.stringContaining('other connections use this database'),
    });
    await user.close();
    const full = await tollgate(target, 'restore', copy);
    expect({ code: full.code, err: full.err }).toMatchObject({
      code: 4,
      err: expect.stringContaining('--force'),
    });
    const restored = await tollgate(target, 'restore', copy, '--force');
    expect({ code: restored.code, err: restored.err }).toEqual({ code: 0, err: '' });
    const shown = await tollgate(target, 'account', 'show', 'a@example.com', '--json');
    expect(JSON.parse(shown.out)).toMatchObject({ balance_usd: 7 });
    expect((await tollgate(target, 'verify', '--full')).code).toBe(0);
  }, 120_000);

  test('where pg_dump is not installed, the command to run is named, without the password', async () => {
    const env = { DATABASE_URL: await server.emptyDatabase(), TOLLGATE_SECRET: NODE_SECRET, PATH: folder };
    const refused = await tollgate(env, 'backup', join(folder, 'none.dump'));
    expect(refused.code).toBe(4);
    expect(refused.err).toContain('pg_dump --format=custom');
    expect(refused.err).not.toContain('tollgate:tollgate');
  }, 60_000);
});
