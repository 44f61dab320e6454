import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Answer, ItemOf } from '../../src/console/contract/routes.ts';
import { Browser, PASSWORD } from '../../src/console/testing/harness.ts';
import { Gateway } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';
import { PIXEL_BASE64, ScriptedBackend } from '../support/scripted-backend.ts';

type ImageJobItem = ItemOf<'GET /api/console/image-jobs'>;
type ImageJobList = Answer<'GET /api/console/image-jobs'>;
type PlaygroundReceipt = Answer<'POST /api/console/playground/images'>['receipt'];

/** Images in the playground: on the session, with everything that the public API can. An image costs $0.01. */

const PICTURE = `data:image/png;base64,${PIXEL_BASE64}`;
const ORDER = { endpoint: 'images', model: 'p', prompt: 'a gate' };
const IMAGES = '/api/console/playground/images';
const JOBS = '/api/console/playground/image-jobs';

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;
  let user: Browser;

  beforeAll(async () => {
    const yaml = `
upstreams: { b: { kind: openai, base_url: "${backend.baseUrl}" }, house: { kind: house } }
lists:
  images:
    - { model: p, image: 0.01, sizes: [512x512], abilities: { reference_images: 2, mask: true, seed: true } }
  paint:
    - { model: house-paint, image: 0.01, partial_image: 0.001, sizes: [256x256], abilities: { partial_images: 3, seed: true } }
endpoints:
  images: { name: Images, type: image_generation, lists: [images], upstreams: [b] }
  paint: { name: Paint, type: image_generation, lists: [paint], upstreams: [house] }
`;
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    gateway = await Gateway.start({ yaml, ...(databaseUrl !== undefined && { databaseUrl }) });
    user = await signedIn('admin@example.com');
    await user.accountId();
  }, 120_000);
  beforeEach(() => {
    backend.calls.length = 0;
    backend.script(() => Response.json({ created: 1, data: [{ b64_json: PIXEL_BASE64 }] }));
  });
  afterEach(async () => {
    expect((await gateway.verify()).breaches).toEqual([]);
  });
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
  });

  async function signedIn(email: string): Promise<Browser> {
    const browser = new Browser(gateway.url, '127.0.0.1');
    const token = gateway.tollgate.setupLink?.split('/').at(-1);
    await browser.must('POST', '/api/console/setup', { token, email, password: PASSWORD });
    return browser;
  }

  const gallery = async (): Promise<ItemOf<'GET /api/console/images'>[]> =>
    (await user.must<Answer<'GET /api/console/images'>>('GET', '/api/console/images')).items;

  const job = async (id: string): Promise<ImageJobItem | undefined> =>
    (await user.must<ImageJobList>('GET', '/api/console/image-jobs')).items.find((one) => one.id === id);

  test('an edit starts from a picture and a mask that the page sends', async () => {
    const body = { ...ORDER, image: [PICTURE], mask: PICTURE, seed: 5 };
    expect(await user.must<object>('POST', IMAGES, body)).toMatchObject({
      data: [{ url: expect.stringContaining('/images/img_') }],
      receipt: { state: 'posted', costUsd: '0.01', images: 1 },
    });
    const { path, text } = backend.calls[0]!;
    expect(path).toBe('/v1/images/edits');
    expect([...text.matchAll(/filename="/g)]).toHaveLength(2);
    expect(text).toMatch(/name="seed"\r\n\r\n5\r\n/);
  });

  test('an edit starts from an image of the own gallery by its path, and of no other', async () => {
    await user.must('POST', IMAGES, { ...ORDER, prompt: 'to be edited' });
    const made = (await gallery()).find(({ prompt }) => prompt === 'to be edited');
    expect(made).toMatchObject({ endpoint: 'images', model: 'p' });
    backend.calls.length = 0;
    await user.must('POST', IMAGES, { ...ORDER, image: [made?.src] });
    expect(backend.calls.map(({ path }) => path)).toEqual(['/v1/images/edits']);
    for (const image of ['/api/console/images/img_0', 'https://example.com/a.png']) {
      const refused = await user.call('POST', IMAGES, { ...ORDER, image });
      expect([refused.status, refused.body]).toMatchObject([400, { error: { param: 'image' } }]);
    }
    const alone = await user.call('POST', IMAGES, { ...ORDER, mask: PICTURE });
    expect([alone.status, alone.body]).toMatchObject([400, { error: { param: 'image' } }]);
    expect(backend.calls).toHaveLength(1);
  });

  test('images of the gallery have room in memory while their jobs run, or are not loaded', async () => {
    const bytes = Buffer.concat([Buffer.from(PIXEL_BASE64, 'base64'), Buffer.alloc(21 * 1_048_576)]);
    const at = { created_at: Date.now(), expires_at: Date.now() + 3_600_000 };
    const row = { id: 'img_large', request_id: 'req_large', mime: 'image/png', prompt: 'large' };
    await gateway.tollgate.services.store.db
      .insertInto('image')
      .values({ ...row, ...at, account_id: await user.accountId(), bytes, size: bytes.length })
      .execute();
    const image = '/api/console/images/img_large';
    const twice = await user.call('POST', IMAGES, { ...ORDER, image: [image], mask: image });
    expect([twice.status, twice.body]).toMatchObject([400, { error: { param: 'mask' } }]);
    const gate = Promise.withResolvers<void>();
    backend.script(async () => {
      await gate.promise;
      return Response.json({ created: 1, data: [{ b64_json: PIXEL_BASE64 }] });
    });
    const start = () => user.call<{ id: string }>('POST', JOBS, { ...ORDER, image });
    const started = [await start(), await start()];
    expect(started.map(({ status }) => status)).toEqual([200, 200]);
    expect((await start()).body).toMatchObject({ error: { code: 'service_unavailable' } });
    gate.resolve();
    for (const { body } of started)
      await eventually('the job is done', async () => (await job(body.id))?.state === 'done');
    await eventually('there is room again', async () => (await start()).status === 200);
  }, 60_000);

  test('a stream shows previews, then the image by its link, then what was charged', async () => {
    const body = { ...ORDER, endpoint: 'paint', model: 'house-paint', stream: true, partial_images: 2 };
    const response = await user.raw('POST', IMAGES, { body });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const events = (await response.text())
      .trim()
      .split('\n\n')
      .filter((event) => event.startsWith('event: '))
      .map((event) => {
        const [name = '', data = ''] = event.split('\ndata: ');
        return { name: name.replace('event: ', ''), data: JSON.parse(data) as Record<string, unknown> };
      });
    expect(events.map(({ name }) => name)).toEqual([
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.completed',
      'tollgate',
    ]);
    expect(events[2]?.data['url']).toStartWith(gateway.url);
    const receipt = events[3]?.data as unknown as PlaygroundReceipt;
    expect(receipt).toMatchObject({ state: 'posted', costUsd: '0.012', images: 1 });
    expect(await gateway.receipt(receipt.requestId)).toMatchObject({ charged: 12_000_000 });
  });

  test('a background job is listed while it runs, and afterwards with its images and its charge', async () => {
    const gate = Promise.withResolvers<void>();
    backend.script(async () => {
      await gate.promise;
      return Response.json({ created: 1, data: [{ b64_json: PIXEL_BASE64 }] });
    });
    const { id } = await user.must<{ id: string }>('POST', JOBS, { ...ORDER, image: PICTURE, n: 1 });
    await backend.called(1);
    expect(await job(id)).toMatchObject({
      state: 'running',
      endpoint: 'images',
      model: 'p',
      prompt: 'a gate',
      count: 1,
      endedAt: null,
      chargedUsd: null,
      // Images of this model were made before.
      typicalMs: expect.any(Number),
    });
    gate.resolve();
    await eventually('the job is done', async () => (await job(id))?.state === 'done');
    const done = await job(id);
    expect(done).toMatchObject({ prompt: 'a gate', chargedUsd: '0.01', error: null, model: 'p' });
    expect(done?.images).toHaveLength(1);
    expect((await user.raw('GET', done?.images[0]?.thumbnail ?? '')).status).toBe(200);
  });

  test('a job that failed says why and that nothing was charged, and its prompt is kept nowhere', async () => {
    backend.script(() => Response.json({ error: { message: 'no such thing' } }, { status: 400 }));
    const { id } = await user.must<{ id: string }>('POST', JOBS, { ...ORDER, prompt: 'a secret' });
    await eventually('the job has failed', async () => (await job(id))?.state === 'failed');
    const failed = await job(id);
    expect(failed).toMatchObject({ model: 'p', prompt: null, chargedUsd: '0.00', images: [] });
    expect(failed?.error).not.toBe('');
    const shown = await user.must<ImageJobList>('GET', '/api/console/image-jobs');
    expect(JSON.stringify(shown)).not.toContain('a secret');
  });
});
