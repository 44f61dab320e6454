import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { StrictBfl } from '../providers/bfl.ts';
import { StrictFal } from '../providers/fal.ts';
import { PICTURE, PICTURE_PATH } from '../providers/image-stand-in.ts';
import type { TestAccount } from '../support/gateway.ts';
import { ASYNC, endOfJob, type SeenJob } from '../support/image-jobs.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';

/** A backend that works by jobs goes on while nodes come and go: the next one asks for its jobs, and charges them once. */

const CENT = 10_000_000;
const PATIENCE_MS = 170_000;
const MODEL = 'fal-ai/flux/dev';
const JOBS = 5;

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  const fal = new StrictFal();
  const bfl = new StrictBfl();
  let node: NodeProcess;
  let operator: Operator;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    node = await NodeProcess.start({
      yaml: `
upstreams:
  fal: { kind: fal, base_url: "${fal.baseUrl}", api_key: "\${FAL_KEY}", options: { image_path: ${PICTURE_PATH} } }
  bfl: { kind: bfl, base_url: "${bfl.baseUrl}", api_key: "\${FAL_KEY}", options: { image_path: ${PICTURE_PATH} } }
lists:
  image_models:
    - { model: ${MODEL}, image: 0.01, sizes: [512x512] }
  editors:
    - { model: flux-kontext-pro, input: 5, output: 10, image_output: 40, max_output: 1000, sizes: [512x512], abilities: { reference_images: 1 } }
endpoints:
  svc_image: { name: images, type: image_generation, lists: [image_models], upstreams: [fal] }
  svc_edit: { name: edits, type: image_generation, lists: [editors], upstreams: [bfl] }
`,
      env: { TOLLGATE_LEASE_SECONDS: '4', TOLLGATE_GRACE_SECONDS: '60', FAL_KEY: fal.key },
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
    operator = await Operator.open(node.env);
  }, PATIENCE_MS);
  afterEach(async () => {
    expect((await node.cli('verify', '--json')).code).toBe(0);
  });
  afterAll(async () => {
    await operator.close();
    await node.stop();
    await fal.stop();
    await bfl.stop();
  });

  const paint = ({ token }: TestAccount, headers: object = ASYNC, more: object = {}): Promise<Response> =>
    fetch(`${node.url}/api/public/v1/images/generations`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ endpoint: 'svc_image', model: MODEL, prompt: 'a gate', n: 2, ...more }),
    });

  /** They are at the backend, which is not done with any of them before it is told to. */
  async function startJobs(account: TestAccount): Promise<SeenJob[]> {
    fal.pollsBeforeDone = Number.MAX_SAFE_INTEGER;
    const jobs: SeenJob[] = [];
    for (let n = 0; n < JOBS; n++) jobs.push((await (await paint(account)).json()) as SeenJob);
    await eventually('every job has one at the backend', async () => (await named()) === JOBS);
    return jobs;
  }

  /** How many jobs know what their backend calls them. */
  async function named(): Promise<number> {
    const { db } = operator.services.store;
    const rows = db.selectFrom('image_job').select('id').where('backend_job', 'is not', null);
    return (await rows.execute()).length;
  }

  function finishAtBackend(): void {
    for (const job of fal.jobs.values()) job.polls = 0;
    fal.pollsBeforeDone = 1;
  }

  async function expectDoneOnce(
    account: TestAccount,
    jobs: readonly SeenJob[],
    billed: number,
  ): Promise<void> {
    for (const { id } of jobs) {
      const job = await endOfJob(node.url, account.token, id, PATIENCE_MS);
      expect(job).toMatchObject({ status: 'done', data: [{}, {}] });
      for (const { url } of job.data ?? []) expect((await fetch(url)).status).toBe(200);
    }
    expect(await operator.money(account)).toEqual({ balance: CENT * (100 - 2 * JOBS), held: 0, open: 0 });
    expect([...(await operator.charges(account)).values()]).toEqual(
      Array.from({ length: JOBS }, () => [2 * CENT]),
    );
    expect(fal.jobs.size - billed).toBe(JOBS);
    const { db } = operator.services.store;
    const gallery = db.selectFrom('image').select('id').where('account_id', '=', account.id);
    expect(await gallery.execute()).toHaveLength(2 * JOBS);
  }

  test(
    'kill -9: the next process goes on with every job, each is delivered and charged once, and nothing is ordered again',
    async () => {
      const account = await operator.account('1');
      const before = fal.jobs.size;
      const jobs = await startJobs(account);
      await node.kill();
      finishAtBackend();
      // The backend fails to say for a while: that it could not be asked says nothing about its jobs.
      for (let n = 0; n < 3 * JOBS; n++) fal.pollFailures.push(new Response('failed', { status: 500 }));
      await node.restart();
      await expectDoneOnce(account, jobs, before);
      expect(fal.pollFailures).toEqual([]);
      expect([...fal.jobs.values()].some(({ cancelled }) => cancelled)).toBe(false);
    },
    PATIENCE_MS,
  );

  test(
    'kill -9 while clients wait for plain answers: their images are in the gallery, and each is paid once',
    async () => {
      const account = await operator.account('1');
      const before = fal.jobs.size;
      const started = await named();
      fal.pollsBeforeDone = Number.MAX_SAFE_INTEGER;
      const wishes = [{ response_format: 'url' }, { response_format: 'b64_json' }, { stream: true }];
      const waiting = wishes.map((wish) =>
        paint(account, {}, wish)
          .then((response) => response.text())
          .catch(() => 'the connection broke'),
      );
      await eventually('every request has a job', async () => (await named()) === started + wishes.length);
      await node.kill();
      await Promise.all(waiting);
      finishAtBackend();
      await node.restart();
      const { db } = operator.services.store;
      const gallery = db.selectFrom('image').select('request_id').where('account_id', '=', account.id);
      await eventually(
        'the images are there',
        async () => (await gallery.execute()).length === 6,
        PATIENCE_MS,
      );
      await operator.settled();
      expect(await operator.money(account)).toEqual({ balance: 94 * CENT, held: 0, open: 0 });
      expect(fal.jobs.size - before).toBe(wishes.length);
      const [{ request_id } = { request_id: '' }] = await gallery.execute();
      const job = await endOfJob(node.url, account.token, request_id);
      expect(job).toMatchObject({ status: 'done', data: [{}, {}] });
    },
    PATIENCE_MS,
  );

  test(
    'kill -9: an edit at a token price is charged as one that was not interrupted, although its picture is gone',
    async () => {
      const [whole, interrupted] = [await operator.account('1'), await operator.account('1')];
      const picture = new Uint8Array(await new Bun.Image(PICTURE).resize(256, 1024).png().bytes());
      const edit = async ({ token }: TestAccount): Promise<SeenJob> => {
        const body = new FormData();
        const fields = { endpoint: 'svc_edit', model: 'flux-kontext-pro', prompt: 'a gate' };
        for (const [name, value] of Object.entries(fields)) body.set(name, value);
        body.set('image', new Blob([picture], { type: 'image/png' }), 'in.png');
        const headers = { ...ASYNC, authorization: `Bearer ${token}` };
        const init = { method: 'POST', headers, body };
        return (await (await fetch(`${node.url}/api/public/v1/images/edits`, init)).json()) as SeenJob;
      };
      const { id: first } = await edit(whole);
      expect(await endOfJob(node.url, whole.token, first)).toMatchObject({ status: 'done', data: [{}] });
      bfl.pollsBeforeDone = Number.MAX_SAFE_INTEGER;
      const known = await named();
      const { id } = await edit(interrupted);
      await eventually('the edit has a job', async () => (await named()) === known + 1);
      await node.kill();
      for (const job of bfl.jobs.values()) job.polls = 0;
      bfl.pollsBeforeDone = 1;
      await node.restart();
      expect(await endOfJob(node.url, interrupted.token, id, PATIENCE_MS)).toMatchObject({
        status: 'done',
        data: [{}],
      });
      const [charge] = (await operator.charges(whole)).get(first) ?? [];
      expect(charge).toBeGreaterThan(40_000_000);
      expect((await operator.charges(interrupted)).get(id)).toEqual([charge!]);
      expect(bfl.jobs.size).toBe(2);
    },
    PATIENCE_MS,
  );

  test('a plain request that is answered leaves no row among the jobs', async () => {
    const account = await operator.account('1');
    finishAtBackend();
    const response = await paint(account, {}, { response_format: 'b64_json' });
    expect(response.status).toBe(200);
    const id = response.headers.get('x-request-id') ?? '';
    const { db } = operator.services.store;
    const row = db.selectFrom('image_job').select('id').where('id', '=', id);
    await eventually('it is gone', async () => (await row.execute()).length === 0);
    expect(await operator.money(account)).toEqual({ balance: 98 * CENT, held: 0, open: 0 });
  });

  test(
    'SIGTERM: the jobs are left to the next process at once, without waiting for their end',
    async () => {
      const account = await operator.account('1');
      const before = fal.jobs.size;
      const jobs = await startJobs(account);
      node.signal('SIGTERM');
      // The grace is a minute, and the backend is not done before the node is gone.
      expect(await node.exited()).toBe(0);
      expect(await operator.money(account)).toMatchObject({ held: 2 * JOBS * CENT, open: JOBS });
      finishAtBackend();
      await node.restart();
      await expectDoneOnce(account, jobs, before);
    },
    PATIENCE_MS,
  );
});
