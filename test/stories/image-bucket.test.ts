import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { checkImageStorage } from '../../src/cli/doctor.ts';
import { effectiveConfiguration } from '../../src/main/configuration.ts';
import { readEnvironment } from '../../src/main/environment-file.ts';
import { readConfig } from '../../src/main/config.ts';
import { ImageStore } from '../../src/activity/image-store.ts';
import { ImageBucket } from '../../src/store/image-s3.ts';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { ASYNC, endOfJob, type SeenJob } from '../support/image-jobs.ts';
import { eventually } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';
import { TestS3 } from '../support/s3.ts';
import { images, PIXEL_BASE64, ScriptedBackend } from '../support/scripted-backend.ts';

/** Images in storage that speaks S3: a real server that checks signatures. An image costs $0.01. */

const CENT = 10_000_000;
const HOUR_MS = 3_600_000;
const backend = new ScriptedBackend();
backend.script(({ body }) => images(Number(body['n'] ?? 1)));
let s3: TestS3;
beforeAll(async () => {
  s3 = await TestS3.start();
});
afterAll(async () => {
  await s3.stop();
  await backend.stop();
});

interface Painted {
  readonly data: readonly { readonly url?: string; readonly b64_json?: string }[];
}

describe.each(['SQLite', 'Postgres'])('images in a bucket on %s', (store) => {
  let gateway: Gateway;
  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    gateway = await Gateway.start({
      yaml: catalogFor([backend.baseUrl]),
      env: { ...s3.env, TOLLGATE_S3_DEADLINE_MS: '1500' },
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
  }, 120_000);
  afterAll(() => gateway.stop());

  const ask = (account: TestAccount, format: 'url' | 'b64_json', more: object = {}) =>
    gateway.image(account.token, { response_format: format, ...more });

  async function painted(account: TestAccount): Promise<string> {
    const response = await ask(account, 'url');
    expect(response.status).toBe(200);
    return ((await response.json()) as Painted).data[0]!.url!;
  }

  test('an image goes there and nowhere else, is served from there, and is deleted there', async () => {
    const account = await gateway.account('1');
    const url = await painted(account);
    expect(s3.objectsOf(account.id)).toHaveLength(1);
    const { db } = gateway.tollgate.services.store;
    const row = await db
      .selectFrom('image')
      .selectAll()
      .where('account_id', '=', account.id)
      .executeTakeFirstOrThrow();
    expect(row.bytes).toHaveLength(0);
    const served = await fetch(url);
    expect(served.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await served.arrayBuffer()).toString('base64')).toBe(PIXEL_BASE64);
    expect(await gateway.tollgate.services.images.remove(account.id, row.id)).toBe(true);
    expect(s3.objectsOf(account.id)).toEqual([]);
    expect((await fetch(url)).status).toBe(404);
  });

  test.each([
    ['does not answer', () => s3.freeze(), () => s3.thaw()],
    ['refuses connections', () => s3.down(), () => s3.up()],
  ] as const)(
    'while it %s an image by link is an error that costs nothing, and one as base64 is not affected',
    async (_, fail, mend) => {
      const account = await gateway.account('1');
      const before = await painted(account);
      expect(await gateway.money(account)).toMatchObject({ balance: 99 * CENT });
      await fail();
      try {
        const refused = await ask(account, 'url', { prompt: 'another gate' });
        expect(refused.status).toBe(500);
        expect(await refused.json()).toMatchObject({ error: { code: 'service_unavailable' } });
        expect(await gateway.money(account)).toMatchObject({ balance: 99 * CENT, held: 0, open: 0 });
        const inline = await ask(account, 'b64_json');
        expect(((await inline.json()) as Painted).data[0]!.b64_json).toBe(PIXEL_BASE64);
        expect(await gateway.money(account)).toMatchObject({ balance: 98 * CENT, held: 0 });
        expect((await fetch(before)).status).toBe(500);
        const streamed = await ask(account, 'url', { stream: true, n: 2 });
        expect(await streamed.text()).toContain('"code":"service_unavailable"');
        expect(await gateway.money(account)).toMatchObject({ balance: 98 * CENT, held: 0, open: 0 });
        const inlineStream = await ask(account, 'b64_json', { stream: true });
        expect(await inlineStream.text()).toContain(PIXEL_BASE64);
        expect(await gateway.money(account)).toMatchObject({ balance: 97 * CENT, held: 0, open: 0 });
      } finally {
        await mend();
      }
      await eventually('it is served again', async () => (await fetch(before)).status === 200);
      await painted(account);
      expect((await gateway.verify()).breaches).toEqual([]);
    },
    60_000,
  );

  test('a job whose images cannot be kept fails and costs nothing', async () => {
    const account = await gateway.account('1');
    await s3.down();
    const job = (await (await gateway.image(account.token, {}, { headers: ASYNC })).json()) as SeenJob;
    const ended = await endOfJob(gateway.url, account.token, job.id);
    await s3.up();
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'service_unavailable' } });
    expect(await gateway.money(account)).toMatchObject({ balance: 100 * CENT, held: 0, open: 0 });
  }, 60_000);

  test('what could not be deleted there during an outage is deleted later', async () => {
    const account = await gateway.account('1');
    await painted(account);
    const { images: all, store: database, imageStorages: storages, random, log } = gateway.tollgate.services;
    const { id } = await database.db
      .selectFrom('image')
      .select('id')
      .where('account_id', '=', account.id)
      .executeTakeFirstOrThrow();
    // More than one, if a write took so long that it was given up and began again.
    const objects = s3.objectsOf(account.id);
    expect(objects).not.toEqual([]);
    await s3.down();
    expect(await all.remove(account.id, id)).toBe(true);
    await s3.up();
    expect(s3.objectsOf(account.id)).toEqual(objects);
    const clock = { now: () => Date.now() + HOUR_MS };
    const later = new ImageStore({ store: database, storages, clock, random, log, quotaBytes: 1 });
    while ((await later.sweepObjects()) > 0);
    expect(s3.objectsOf(account.id)).toEqual([]);
  });

  test('an object that is not there is an image that is not there', async () => {
    const account = await gateway.account('1');
    const url = await painted(account);
    s3.deleteObjects(account.id);
    expect((await fetch(url)).status).toBe(404);
  });
});

test('two nodes on one Postgres share the bucket: each serves and deletes what the other has made', async () => {
  const databaseUrl = await (await testPostgres()).freshDatabase();
  const options = { yaml: catalogFor([backend.baseUrl]), env: s3.env, databaseUrl };
  const [one, other] = [await Gateway.start(options), await Gateway.start(options)];
  const account = await one.account('1');
  const response = await one.image(account.token, { response_format: 'url' });
  const { data } = (await response.json()) as Painted;
  const link = new URL(data[0]!.url!);
  const elsewhere = await fetch(`${other.url}${link.pathname}${link.search}`);
  expect(Buffer.from(await elsewhere.arrayBuffer()).toString('base64')).toBe(PIXEL_BASE64);
  expect(await other.tollgate.services.images.remove(account.id, link.pathname.split('/').at(-1)!)).toBe(
    true,
  );
  expect(s3.objectsOf(account.id)).toEqual([]);
  expect((await fetch(link)).status).toBe(404);
  await one.stop();
  await other.stop();
}, 120_000);

test('doctor writes, reads and deletes an object, and says what is wrong with keys or a bucket', async () => {
  const check = async (env: Record<string, string>) =>
    await checkImageStorage(new ImageBucket(readConfig({ ...s3.env, ...env }).imageBucket!));
  expect(await check({})).toEqual({ ok: true, line: expect.stringContaining('written, read and deleted') });
  expect(s3.objectsOf('doctor')).toEqual([]);
  const wrongKey = await check({ TOLLGATE_S3_SECRET_ACCESS_KEY: 'wrong' });
  expect(wrongKey).toEqual({ ok: false, line: expect.stringContaining('SignatureDoesNotMatch') });
  const noBucket = await check({ TOLLGATE_S3_BUCKET: 'no-such-bucket' });
  expect(noBucket).toEqual({ ok: false, line: expect.stringContaining('NoSuchBucket') });
});

test('the keys are never shown, and half of the settings is refused', () => {
  const shown = effectiveConfiguration(
    readEnvironment({ ...s3.env, TOLLGATE_S3_SECRET_ACCESS_KEY: 'hush-hush' }),
    undefined,
  );
  expect(JSON.stringify(shown)).not.toContain('hush-hush');
  const valueOf = (name: string) => shown.settings.find((one) => one.name === name)?.value;
  expect(valueOf('TOLLGATE_S3_ACCESS_KEY_ID')).toBe('(hidden)');
  expect(() => readConfig({ TOLLGATE_S3_BUCKET: 'images' })).toThrow('are set together');
  expect(() => readConfig({ ...s3.env, TOLLGATE_S3_BUCKET: 'No Bucket' })).toThrow('the name of a bucket');
});
