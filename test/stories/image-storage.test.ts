import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { removeAccount } from '../../src/identity/accounts/removal.ts';
import { ImageStore } from '../../src/activity/image-store.ts';
import { ImageFiles } from '../../src/store/image-files.ts';
import { backUpSqlite, restoreSqlite } from '../../src/store/sqlite-backup.ts';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';
import { images, PIXEL_BASE64, ScriptedBackend } from '../support/scripted-backend.ts';

/** Where images are kept: files of the data folder with SQLite, rows with Postgres. An image costs $0.01. */

const HOUR_MS = 3_600_000;
const PIXEL = Buffer.from(PIXEL_BASE64, 'base64');
const HASH = createHash('sha256').update(PIXEL).digest('hex');

const backend = new ScriptedBackend();
backend.script(({ body }) => images(Number(body['n'] ?? 1)));
afterAll(() => backend.stop());

async function paint(gateway: Gateway, { token }: TestAccount): Promise<{ id: string; url: string }> {
  const response = await gateway.image(token, { response_format: 'url' });
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as { data: { url: string }[] };
  const { url } = data[0]!;
  return { url, id: new URL(url).pathname.split('/').at(-1)! };
}

/** The same store as it will be in so many milliseconds. */
function later({ tollgate }: Gateway, ms: number): ImageStore {
  const { store, imageStorages: storages, random, log, config } = tollgate.services;
  const clock = { now: () => Date.now() + ms };
  return new ImageStore({ store, storages, clock, random, log, quotaBytes: config.imageQuotaBytes });
}

describe('images as files of the data folder', () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]) });
  });
  afterAll(() => gateway.stop());

  const folderOf = ({ id }: TestAccount): string => join(gateway.folder, 'data', 'images', id);
  const filesOf = (account: TestAccount): string[] =>
    existsSync(folderOf(account)) ? readdirSync(folderOf(account)) : [];

  test('an image is one file by its hash that nobody else may read, and its link serves it as immutable', async () => {
    const account = await gateway.account('1');
    const { id, url } = await paint(gateway, account);
    const [name = '', ...others] = filesOf(account);
    expect(others).toEqual([]);
    expect(name).toStartWith(`${HASH}-`);
    const path = join(folderOf(account), name);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(folderOf(account)).mode & 0o777).toBe(0o700);
    expect(readFileSync(path).equals(PIXEL)).toBe(true);
    const row = await gateway.tollgate.services.store.db
      .selectFrom('image')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(row).toMatchObject({ size: PIXEL.length, width: 1, height: 1, object: `${account.id}/${name}` });
    expect(row.bytes).toHaveLength(0);
    expect(JSON.parse(row.parameters!)).toEqual({ endpoint: 'svc_tgter', model: 'p' });
    const served = await fetch(url);
    expect(served.headers.get('cache-control')).toBe('private, max-age=3600, immutable');
    expect(Buffer.from(await served.arrayBuffer()).equals(PIXEL)).toBe(true);
    const signed = url.split('signature=')[0]!;
    for (const signature of ['', 'x', 'x'.repeat(64), 'é'.repeat(64), '😀'.repeat(32), '%ff'.repeat(64)])
      expect((await fetch(`${signed}signature=${signature}`)).status).toBe(404);
  });

  test('the same bytes are kept once for an account and apart for two, until the last image that has them goes', async () => {
    const [one, other] = [await gateway.account('1'), await gateway.account('1')];
    const [first, second] = [await paint(gateway, one), await paint(gateway, one)];
    await paint(gateway, other);
    expect([filesOf(one).length, filesOf(other).length]).toEqual([1, 1]);
    const store = gateway.tollgate.services.images;
    expect(await store.remove(other.id, first.id)).toBe(false);
    expect(await store.remove(one.id, first.id)).toBe(true);
    expect((await fetch(first.url)).status).toBe(404);
    expect((await fetch(second.url)).status).toBe(200);
    expect(await store.remove(one.id, second.id)).toBe(true);
    expect([filesOf(one).length, filesOf(other).length]).toEqual([0, 1]);
  });

  test('ten at once that are the same leave no file behind when they are deleted', async () => {
    const account = await gateway.account('1');
    const painted = await Promise.all(Array.from({ length: 10 }, () => paint(gateway, account)));
    const store = gateway.tollgate.services.images;
    await Promise.all(painted.map(({ id }) => store.remove(account.id, id)));
    expect(filesOf(account)).toEqual([]);
  });

  test('an image in a row of the database, as all were before, stays readable and can be deleted', async () => {
    const account = await gateway.account('1');
    const { images: store, store: database } = gateway.tollgate.services;
    const row = {
      id: 'img_old',
      account_id: account.id,
      request_id: 'req_old',
      mime: 'image/png',
      prompt: 'old',
    };
    await database.db
      .insertInto('image')
      .values({ ...row, bytes: PIXEL, size: PIXEL.length, created_at: 1, expires_at: Date.now() + HOUR_MS })
      .execute();
    const old = await store.findOwn(account.id, 'img_old');
    expect(Buffer.from((await old!.bytes())!).equals(PIXEL)).toBe(true);
    expect(await store.remove(account.id, 'img_old')).toBe(true);
    expect(await store.findOwn(account.id, 'img_old')).toBeUndefined();
  });

  test('what has expired, and what belongs to a removed account, is deleted with its file', async () => {
    const [kept, removed] = [await gateway.account('1'), await gateway.account('1')];
    await paint(gateway, kept);
    await paint(gateway, removed);
    await gateway.tollgate.services.images.thumbnail(removed.id, (await paint(gateway, removed)).id);
    const { store, ledger, clock, images: all } = gateway.tollgate.services;
    const parts = { store, ledger: ledger.ledger, clock, images: all };
    await store.db.updateTable('account').set({ role: 'admin' }).where('id', '=', kept.id).execute();
    await removeAccount(parts, { accountId: removed.id, reason: 'test', actor: 'test' });
    expect([filesOf(kept).length, filesOf(removed).length]).toEqual([1, 0]);
    for (const table of ['image', 'image_object', 'image_thumbnail'] as const) {
      const left = store.db.selectFrom(table).select('account_id').where('account_id', '=', removed.id);
      expect(await left.execute()).toEqual([]);
    }
    while ((await later(gateway, 31 * 24 * HOUR_MS).sweep()) > 0);
    expect(filesOf(kept)).toEqual([]);
  });

  test('what a crash left, with or without its object, is deleted later, and nothing that is in use or being written', async () => {
    const account = await gateway.account('1');
    const { url } = await paint(gateway, account);
    const { db } = gateway.tollgate.services.store;
    const row = { account_id: account.id, place: 'files', hash: HASH, changed_at: Date.now() } as const;
    const left = ['written', 'missing', 'forgotten'].map((name) => `${account.id}/${name}-1`);
    await db
      .insertInto('image_object')
      .values(left.map((id, index) => ({ ...row, id, is_used: index === 2 ? 1 : 0 })))
      .execute();
    for (const name of ['written-1', 'forgotten-1']) writeFileSync(join(folderOf(account), name), 'x');
    expect(await gateway.tollgate.services.images.sweepObjects()).toBe(0);
    expect(filesOf(account)).toHaveLength(3);
    const inAnHour = later(gateway, HOUR_MS);
    while ((await inAnHour.sweepObjects()) > 0);
    expect(filesOf(account)).toEqual([expect.stringMatching(HASH)]);
    const ids = await db.selectFrom('image_object').select('id').where('id', 'in', left).execute();
    expect(ids).toEqual([]);
    expect((await fetch(url)).status).toBe(200);
  });

  test('files that were half written when a process died are deleted, and those of others are not', async () => {
    const folder = join(gateway.folder, 'data', 'images', 'partial');
    mkdirSync(folder, { recursive: true });
    for (const name of ['old', 'new']) writeFileSync(join(folder, name), 'half');
    utimesSync(join(folder, 'old'), 1, 1);
    const files = new ImageFiles(join(gateway.folder, 'data'));
    expect(await files.sweepPartials(Date.now())).toBe(1);
    expect(readdirSync(folder)).toEqual(['new']);
  });

  test('a file that is gone is an image that is not there, and the operator is told', async () => {
    const account = await gateway.account('1');
    const { id, url } = await paint(gateway, account);
    await gateway.tollgate.services.imageStorages[0]!.delete(`${account.id}/${filesOf(account)[0]}`);
    expect((await fetch(url)).status).toBe(404);
    expect(gateway.log.join()).toContain('image_object_missing');
    expect(await gateway.tollgate.services.images.remove(account.id, id)).toBe(true);
  });
});

test('a backup of SQLite is one file with the images in it, and a restore keeps the folder that was there', async () => {
  const gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]) });
  const data = join(gateway.folder, 'data');
  const account = await gateway.account('1');
  const [first, second] = [await paint(gateway, account), await paint(gateway, account)];
  const copy = join(gateway.folder, 'copy.db');
  backUpSqlite(join(data, 'tollgate.db'), copy);
  const database = new Database(copy, { readonly: true });
  const rows = database.query<{ id: string; bytes: Uint8Array; object: null }, []>(
    'SELECT id, bytes, object FROM image ORDER BY created_at',
  );
  expect(rows.all()).toMatchObject([
    { id: first.id, object: null },
    { id: second.id, object: null },
  ]);
  for (const { bytes } of rows.all()) expect(Buffer.from(bytes).equals(PIXEL)).toBe(true);
  expect(database.query('SELECT id FROM image_object').all()).toEqual([]);
  database.close();
  await gateway.tollgate.stop(0);
  restoreSqlite({ file: copy, dataDir: data, replace: { suffix: 'old' }, accept: () => undefined });
  expect(readdirSync(join(data, 'images.old'))).toContain(account.id);
  expect(existsSync(join(data, 'images'))).toBe(false);
  await gateway.stop();
});

describe.each(['SQLite', 'Postgres'])('thumbnails on %s', (store) => {
  test('are WebP of at most 256 pixels, are made once, and are nobody else’s', async () => {
    const wide = await new Bun.Image(PIXEL).resize(1_024, 512).png().bytes();
    const b64_json = Buffer.from(wide).toString('base64');
    const own = new ScriptedBackend();
    own.script(() => Response.json({ created: 1, data: [{ b64_json }] }));
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const gateway = await Gateway.start({
      yaml: catalogFor([own.baseUrl]),
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
    const [account, other] = [await gateway.account('1'), await gateway.account('1')];
    const { id } = await paint(gateway, account);
    const { images: all, store: database } = gateway.tollgate.services;
    const [first, second] = await Promise.all([all.thumbnail(account.id, id), all.thumbnail(account.id, id)]);
    expect(first!.mime).toBe('image/webp');
    const bytes = (await first!.bytes())!;
    expect(Buffer.from(bytes).equals((await second!.bytes())!)).toBe(true);
    const { width, height, format } = await new Bun.Image(bytes).metadata();
    expect({ width, height, format }).toEqual({ width: 256, height: 128, format: 'webp' });
    expect(await all.thumbnail(other.id, id)).toBeUndefined();
    const rows = database.db.selectFrom('image_thumbnail').select('image_id');
    expect(await rows.execute()).toEqual([{ image_id: id }]);
    await all.remove(account.id, id);
    await eventually('it goes with its image', async () => (await rows.execute()).length === 0);
    await gateway.stop();
    await own.stop();
  });
});
