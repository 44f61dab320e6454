import { describe, expect, test } from 'bun:test';
import { imageBytesOf } from '../../src/activity/image-store.ts';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { PIXEL_BASE64, ScriptedBackend } from '../support/scripted-backend.ts';

const MEGABYTE = 1_048_576;
const PICTURE = Buffer.concat([Buffer.from(PIXEL_BASE64, 'base64'), Buffer.alloc(25 * MEGABYTE)]);

describe.each(['SQLite', 'Postgres'])('the images of one account on %s', (store) => {
  test('occupy no more than its quota: the oldest make room, and those of others stay', async () => {
    const backend = new ScriptedBackend();
    backend.script(() => Response.json({ created: 1, data: [{ b64_json: PICTURE.toString('base64') }] }));
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const gateway = await Gateway.start({
      yaml: catalogFor([backend.baseUrl]),
      // Rows of 25 MB: the database may take longer for them than a request waits for it.
      env: { TOLLGATE_IMAGE_QUOTA_MB: '64', TOLLGATE_DATABASE_DEADLINE_MS: '30000' },
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
    });
    const [one, other] = [await gateway.account('10'), await gateway.account('10')];
    const paint = async ({ token }: TestAccount): Promise<string> => {
      const response = await gateway.image(token, { response_format: 'url' });
      const text = await response.text();
      expect(text).toContain('"data"');
      const { data } = JSON.parse(text) as { data: { url: string }[] };
      return data[0]!.url;
    };
    const statusOf = async (link: string): Promise<number> => {
      const response = await fetch(link);
      await response.arrayBuffer();
      return response.status;
    };
    const links = [
      await paint(other),
      await paint(one),
      await paint(one),
      await paint(one),
      await paint(one),
    ];
    expect(await Promise.all(links.map(statusOf))).toEqual([200, 404, 404, 200, 200]);
    const { db } = gateway.tollgate.services.store;
    expect(await imageBytesOf(db, one.id)).toBe(2 * PICTURE.length);
    expect(await imageBytesOf(db, other.id)).toBe(PICTURE.length);
    await gateway.stop();
    await backend.stop();
  }, 120_000);
});
