import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { ImageJobStore } from '../../src/activity/image-job-store.ts';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { ASYNC, endOfJob, jobPath, type SeenJob } from '../support/image-jobs.ts';
import { eventually } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';
import { images, PIXEL_BASE64, ScriptedBackend, type Script } from '../support/scripted-backend.ts';

/** `Prefer: respond-async`: answered at once, held before that, charged once for what was delivered. An image costs $0.01. */

const CENT = 10_000_000;
const DAY_MS = 86_400_000;
/** More than are sent at once where the balance decides. */
const MOST_JOBS = 110;

describe.each(['SQLite', 'Postgres'])('image jobs on %s', (store) => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    gateway = await Gateway.start({
      yaml: catalogFor([backend.baseUrl], {
        extra: `  svc_hasty: { name: hasty, type: image_generation, lists: [image_models], upstreams: [hasty] }`,
      }).replace(
        'upstreams:\n',
        `upstreams:\n  hasty: { kind: openai, base_url: "${backend.baseUrl}", timeouts: { total_ms: 20 } }\n`,
      ),
      env: { TOLLGATE_MAX_IMAGE_JOBS: String(MOST_JOBS) },
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
  }, 120_000);
  afterEach(async () => {
    expect((await gateway.verify()).breaches).toEqual([]);
  });
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
  });

  /** The backend answers when it is told to. */
  function gated(script: Script = ({ body }) => images(Number(body['n'] ?? 1))): () => void {
    const gate = Promise.withResolvers<void>();
    backend.script(async (call, index) => {
      await gate.promise;
      return await script(call, index);
    });
    return gate.resolve;
  }

  async function start(account: TestAccount, body: object = {}, headers: object = {}): Promise<SeenJob> {
    const response = await gateway.image(account.token, { ...body }, { headers: { ...ASYNC, ...headers } });
    expect(response.status).toBe(200);
    return (await response.json()) as SeenJob;
  }

  const jobOf = async (account: TestAccount, id: string): Promise<SeenJob> =>
    (await (await gateway.fetch(jobPath(id), { token: account.token })).json()) as SeenJob;

  const ended = (account: TestAccount, { id }: SeenJob) => endOfJob(gateway.url, account.token, id);

  test('a job is answered before its backend answers, is held, and is charged once for what was delivered', async () => {
    const account = await gateway.account('1');
    const release = gated(() => images(2));
    const before = backend.calls.length;
    const response = await gateway.image(account.token, { n: 3 }, { headers: ASYNC });
    expect(response.headers.get('preference-applied')).toBe('respond-async');
    expect(response.headers.get('x-tollgate-held')).toBe('0.03');
    const job = (await response.json()) as SeenJob;
    expect(job).toEqual({
      id: response.headers.get('x-request-id') ?? '',
      status: 'queued',
      created: expect.any(Number) as number,
    });
    await backend.called(before + 1);
    expect(await gateway.money(account)).toMatchObject({ held: 3 * CENT, open: 1 });
    expect(await jobOf(account, job.id)).toEqual({ ...job, status: 'running' });
    release();
    const done = await ended(account, job);
    expect(done).toMatchObject({ status: 'done', created: job.created });
    expect(done.data).toHaveLength(2);
    expect(done.error).toBeUndefined();
    for (const { url } of done.data ?? []) {
      const image = await fetch(url);
      expect(image.headers.get('content-type')).toBe('image/png');
      expect(Buffer.from(await image.arrayBuffer()).toString('base64')).toBe(PIXEL_BASE64);
    }
    expect(await gateway.money(account)).toMatchObject({ balance: 98 * CENT, held: 0, open: 0 });
    expect(await gateway.receipt(job.id)).toMatchObject({
      charged: 2 * CENT,
      outcome: 'completed',
      images: 2,
    });
    const { db } = gateway.tollgate.services.store;
    const row = db.selectFrom('image_job').selectAll().where('id', '=', job.id);
    expect(await row.executeTakeFirst()).toMatchObject({ request: null, backend: 'b0' });
  });

  test('the edits and the routes of OpenAI take the preference too', async () => {
    const account = await gateway.account('1');
    backend.script(() => images(1));
    const v1 = await gateway.post(
      '/v1/images/generations',
      account.token,
      { model: 'svc_tgter/p', prompt: 'a gate', response_format: 'b64_json' },
      { headers: { prefer: 'wait=5, Respond-Async' } },
    );
    const form = new FormData();
    form.set('model', 'svc_tgter/p');
    form.set('prompt', 'a gate');
    form.set('image', new Blob([Buffer.from(PIXEL_BASE64, 'base64')], { type: 'image/png' }), 'a.png');
    const { token } = account;
    const edit = await gateway.fetch('/v1/images/edits', {
      method: 'POST',
      body: form,
      headers: ASYNC,
      token,
    });
    for (const response of [v1, edit]) {
      expect(response.status).toBe(200);
      const job = await ended(account, (await response.json()) as SeenJob);
      expect(job.data?.[0]?.url).toContain('/api/public/v1/images/img_');
    }
    expect(await gateway.money(account)).toMatchObject({ balance: 98 * CENT, open: 0 });
  });

  test('webhooks that ask for it are told once that a job is done, or failed', async () => {
    const account = await gateway.account('1');
    const { db } = gateway.tollgate.services.store;
    // Nothing is sent there: the name does not exist.
    const events = JSON.stringify(['image_job.done', 'image_job.failed']);
    const webhook = {
      id: `whk_${account.id}`,
      account_id: account.id,
      url: 'https://hooks.invalid/a',
      events,
    };
    await db
      .insertInto('webhook')
      .values({ ...webhook, sealed: '', hint: '', created_at: 1 })
      .execute();
    backend.script(() => images(1));
    await ended(account, await start(account));
    backend.script(() => Response.json({ error: { message: 'no' } }, { status: 400 }));
    await ended(account, await start(account));
    await gateway.image(account.token);
    const told = db.selectFrom('outbox').select('topic').where('account_id', '=', account.id).orderBy('id');
    expect((await told.execute()).map(({ topic }) => topic)).toEqual(['image_job.done', 'image_job.failed']);
  });

  test('a stream cannot be a job: both together are refused before anything is held or asked for', async () => {
    const account = await gateway.account('1');
    const before = backend.calls.length;
    const response = await gateway.image(account.token, { stream: true }, { headers: ASYNC });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_field', param: 'stream' } });
    expect(backend.calls.length).toBe(before);
    expect(await gateway.requests(account)).toEqual([]);
  });

  test('a job that fails costs nothing, and says why as a request would', async () => {
    const account = await gateway.account('1');
    backend.script(() => Response.json({ error: { message: 'that is not allowed here' } }, { status: 400 }));
    const job = await ended(account, await start(account));
    expect(job).toMatchObject({ status: 'failed', error: { code: 'invalid_field', param: null } });
    expect(job.data).toBeUndefined();
    expect(await gateway.money(account)).toMatchObject({ balance: 100 * CENT, held: 0, open: 0 });
  });

  test('past its deadline a job fails and its hold is released', async () => {
    const account = await gateway.account('1');
    backend.script(() => new Promise(() => undefined));
    const job = await ended(account, await start(account, { endpoint_code: 'svc_hasty' }));
    expect(job).toMatchObject({ status: 'failed', error: { code: 'upstream_timeout' } });
    expect(await gateway.money(account)).toMatchObject({ balance: 100 * CENT, held: 0, open: 0 });
  });

  test('nobody else can ask for a job', async () => {
    const [owner, other] = [await gateway.account('1'), await gateway.account('1')];
    backend.script(() => images(1));
    const { id } = await ended(owner, await start(owner));
    const statuses = [
      (await gateway.fetch(jobPath(id), { token: other.token })).status,
      (await gateway.fetch(jobPath(id))).status,
      (await gateway.fetch(jobPath('req_unknown'), { token: owner.token })).status,
      (await gateway.fetch(jobPath(id), { token: owner.token })).status,
    ];
    expect(statuses).toEqual([404, 401, 404, 200]);
  });

  test('jobs count in the limit of concurrent requests, and a process takes a bounded number of them', async () => {
    const account = await gateway.account('1', { concurrent: 2 });
    const release = gated();
    const jobs = [await start(account), await start(account)];
    for (const headers of [ASYNC, {}]) {
      const refused = await gateway.image(account.token, {}, { headers });
      expect(refused.status).toBe(429);
      expect(await refused.json()).toMatchObject({ error: { code: 'concurrency_limit_exceeded' } });
    }
    const crowd = await gateway.account('10');
    const crowded = await Promise.all(Array.from({ length: MOST_JOBS - 2 }, () => start(crowd)));
    const late = await gateway.account('1');
    const refused = await gateway.image(late.token, {}, { headers: ASYNC });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await gateway.money(late)).toMatchObject({ balance: 100 * CENT, held: 0, open: 0 });
    release();
    for (const job of jobs) await ended(account, job);
    for (const job of crowded) expect((await ended(crowd, job)).status).toBe('done');
    expect((await ended(late, await start(late))).status).toBe('done');
  });

  test('the same Idempotency-Key gives the same job, and is charged once', async () => {
    const account = await gateway.account('1');
    const release = gated();
    const before = backend.calls.length;
    const key = { 'idempotency-key': 'job-1' };
    const [first, second] = [await start(account, {}, key), await start(account, {}, key)];
    expect(second.id).toBe(first.id);
    release();
    await ended(account, first);
    expect(await start(account, {}, key)).toEqual(first);
    expect(backend.calls.length).toBe(before + 1);
    expect(await gateway.money(account)).toMatchObject({ balance: 99 * CENT, open: 0 });
  });

  test.each([
    ['requests', {}],
    ['jobs', ASYNC],
  ])('100 concurrent %s on a balance for 10: ten run, ninety are 402', async (_, headers) => {
    const account = await gateway.account('0.10');
    const release = gated();
    const sent = Array.from({ length: 100 }, () => gateway.image(account.token, {}, { headers }));
    let refused = 0;
    for (const one of sent) void one.then(({ status }) => (refused += status === 402 ? 1 : 0));
    await eventually('ninety are refused', () => refused === 90);
    release();
    const answers = await Promise.all(sent);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(90);
    const accepted = answers.filter(({ status }) => status === 200);
    const bodies = await Promise.all(accepted.map(async (one) => (await one.json()) as SeenJob));
    if (headers === ASYNC) for (const job of bodies) expect((await ended(account, job)).status).toBe('done');
    expect(await gateway.money(account)).toMatchObject({ balance: 0, held: 0, open: 0 });
  });

  test.each(['url', 'b64_json'])(
    'a client that leaves a plain request (%s) finds its images in the gallery, and pays once',
    async (format) => {
      const account = await gateway.account('1');
      const release = gated();
      const before = backend.calls.length;
      const client = new AbortController();
      const asked = gateway.image(
        account.token,
        { response_format: format, n: 2 },
        { signal: client.signal },
      );
      await backend.called(before + 1);
      client.abort();
      expect(asked).rejects.toThrow();
      // The gateway sees the end of the connection no later than requests that come after it.
      for (let turn = 0; turn < 5; turn++) await (await gateway.fetch('/healthz')).text();
      release();
      await gateway.settled(account);
      expect(await gateway.money(account)).toMatchObject({ balance: 98 * CENT });
      const { db } = gateway.tollgate.services.store;
      const gallery = db.selectFrom('image').select('id').where('account_id', '=', account.id);
      await eventually('the images are there', async () => (await gallery.execute()).length === 2);
    },
  );

  test('a job can be asked for days after it ended, and is gone afterwards', async () => {
    const account = await gateway.account('1');
    backend.script(() => images(1));
    const { id } = await ended(account, await start(account));
    const { store, images: kept } = gateway.tollgate.services;
    const inDays = (days: number) =>
      new ImageJobStore({
        store,
        clock: { now: () => Date.now() + days * DAY_MS },
        images: kept,
        onEnded: () => Promise.resolve(),
      });
    while ((await inDays(6).sweep()) > 0);
    expect((await jobOf(account, id)).status).toBe('done');
    while ((await inDays(8).sweep()) > 0);
    expect((await gateway.fetch(jobPath(id), { token: account.token })).status).toBe(404);
  });
});
