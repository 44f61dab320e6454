import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import type { Answer } from './contract/routes.ts';
import { testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type ImageFacets = Answer<'GET /api/console/image-facets'>;

const DATABASES: Record<string, () => Promise<TestConsole>> = {
  SQLite: () => testConsole(),
  Postgres: async () => testConsole({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};
const DAY_MS = 86_400_000;

interface NewImage {
  readonly id: string;
  readonly prompt?: string;
  readonly parameters?: object;
  readonly size?: [width: number, height: number];
  readonly ageMs?: number;
}

describe.each(Object.entries(DATABASES))('the gallery on %s', (_name, open) => {
  let site: TestConsole;
  let ann: Browser;
  let bob: Browser;

  beforeAll(async () => {
    site = await open();
    await site.admin();
    ann = await site.user('ann@example.com');
    bob = await site.user('bob@example.com');
    await add(ann, { id: 'img_gate', prompt: 'A Gate at dawn', parameters: { seed: 7, style: 'vivid' } });
    await add(ann, { id: 'img_wide', prompt: '100% wide_gate', size: [1792, 1024] });
    await add(ann, { id: 'img_flux', prompt: 'a lake', parameters: { model: 'flux', endpoint: 'fal' } });
    // A customer writes what they like, and Postgres reads no such JSON.
    await add(ann, {
      id: 'img_nul',
      prompt: 'a wood',
      parameters: { negative_prompt: '\0"model":"flux"' },
      ageMs: 3 * DAY_MS,
    });
    await add(ann, { id: 'img_gone', prompt: 'a gate', ageMs: 40 * DAY_MS });
    await add(bob, { id: 'img_bob', prompt: 'the gate of Bob' });
  }, 60_000);
  afterAll(() => site.close());

  async function add(owner: Browser, { id, prompt = 'p', parameters, size, ageMs = 0 }: NewImage) {
    const [width, height] = size ?? [512, 512];
    const created_at = site.clock.now() - ageMs;
    await site.store.db
      .insertInto('image')
      .values({
        id,
        account_id: await owner.accountId(),
        request_id: `req_${id}`,
        mime: 'image/png',
        bytes: Buffer.from([1, 2, 3]),
        size: 3,
        prompt,
        created_at,
        expires_at: created_at + 30 * DAY_MS,
        width,
        height,
        parameters: JSON.stringify({ endpoint: 'svc_tgter', model: 'house-paint', ...parameters }),
      })
      .execute();
  }

  const list = (query = '') =>
    ann.must<Answer<'GET /api/console/images'>>('GET', `/api/console/images?${query}`);
  const found = async (query: string): Promise<string[]> =>
    (await list(query)).items.map(({ id }) => id).toSorted();

  test.each([
    ['q=gate', ['img_gate', 'img_wide']],
    ['q=DAWN gate', ['img_gate']],
    ['q=flux', ['img_flux']],
    ['q=100%25', ['img_wide']],
    ['q=wide_', ['img_wide']],
    ['q=e_g', ['img_wide']],
    ['q=nothing', []],
    ['model=flux', ['img_flux']],
    ['model=FLUX', []],
    ['size=1792x1024', ['img_wide']],
    ['size=512x512&model=house-paint&q=gate', ['img_gate']],
    [`from=${Date.now() - DAY_MS}`, ['img_flux', 'img_gate', 'img_wide']],
  ])('finds by prompt, model, size and date: %s', async (query, ids) => {
    expect(await found(query)).toEqual(ids);
  });

  test('pages through what was found, each image once', async () => {
    const first = await list('q=gate&limit=1');
    const second = await list(`q=gate&limit=1&cursor=${first.next}`);
    expect([...first.items, ...second.items].map(({ id }) => id).toSorted()).toEqual([
      'img_gate',
      'img_wide',
    ]);
    expect(second.next).toBeNull();
  });

  test('tells what made an image, and what can be asked for', async () => {
    const { items } = await list('q=dawn');
    expect(items).toEqual([
      expect.objectContaining({
        width: 512,
        height: 512,
        endpoint: 'svc_tgter',
        model: 'house-paint',
        parameters: { seed: 7, style: 'vivid' },
        thumbnail: '/api/console/images/img_gate/thumbnail',
      }),
    ]);
    expect(await ann.must<ImageFacets>('GET', '/api/console/image-facets')).toEqual({
      total: 4,
      models: [
        { model: 'house-paint', images: 3 },
        { model: 'flux', images: 1 },
      ],
      sizes: [
        { size: '512x512', images: 3 },
        { size: '1792x1024', images: 1 },
      ],
    });
  });

  test.each(['size=large', 'from=today', 'account=x', 'model='])('refuses the filter %s', async (query) => {
    expect((await ann.call('GET', `/api/console/images?${query}`)).status).toBe(400);
  });

  test('deletes several at once, and never those of another account', async () => {
    await add(ann, { id: 'img_d1', prompt: 'short-lived' });
    await add(ann, { id: 'img_d2', prompt: 'short-lived' });
    const path = '/api/console/image-deletions';
    expect((await ann.call('POST', path, { ids: [] })).status).toBe(400);
    expect((await ann.call('POST', path, { ids: Array.from({ length: 201 }, String) })).status).toBe(400);
    const ids = ['img_d1', 'img_d2', 'img_bob', 'img_none'];
    expect(await ann.must<object>('POST', path, { ids })).toEqual({ deleted: 2 });
    expect(await found('q=short-lived')).toEqual([]);
    expect((await bob.call('GET', '/api/console/images/img_bob')).status).toBe(200);
  });
});
