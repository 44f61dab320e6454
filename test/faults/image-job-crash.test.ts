import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { catalogFor, type TestAccount } from '../support/gateway.ts';
import { ASYNC, endOfJob, type SeenJob } from '../support/image-jobs.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';
import { images, ScriptedBackend } from '../support/scripted-backend.ts';

/** A node that dies while image jobs run: every job ends, nothing is paid twice, nothing stays on hold. */

const CENT = 10_000_000;
const PATIENCE_MS = 170_000;

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  const backend = new ScriptedBackend();
  let node: NodeProcess;
  let operator: Operator;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    node = await NodeProcess.start({
      yaml: catalogFor([backend.baseUrl]).replace(
        'image: 0.01,',
        'image: 0.01, cost: { b0: { image: 0.004 } },',
      ),
      env: { TOLLGATE_LEASE_SECONDS: '4', TOLLGATE_GRACE_SECONDS: '1' },
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
    operator = await Operator.open(node.env);
  }, PATIENCE_MS);
  afterEach(async () => {
    const { code } = await node.cli('verify', '--json');
    expect(code).toBe(0);
  });
  afterAll(async () => {
    await operator.close();
    await node.stop();
    await backend.stop();
  });

  async function start(
    { token }: TestAccount,
    prefer: object = ASYNC,
    more: object = {},
  ): Promise<{ status: number; job: SeenJob }> {
    const response = await fetch(`${node.url}/api/public/v1/images/generations`, {
      method: 'POST',
      headers: { ...prefer, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ endpoint: 'svc_tgter', model: 'p', prompt: 'a gate', ...more }),
    });
    return { status: response.status, job: (await response.json()) as SeenJob };
  }

  /** What the backend takes for what was delivered, and may take for what was not, in thousandths of a dollar. */
  async function costs({ id }: TestAccount): Promise<{ delivered: number; possible: number }> {
    const { db } = operator.services.store;
    const rows = db.selectFrom('receipt').select(['cost', 'possible_cost']).where('account_id', '=', id);
    const sum = { delivered: 0, possible: 0 };
    for (const { cost, possible_cost } of await rows.execute()) {
      sum.possible += possible_cost / 1e6;
      sum.delivered += (cost ?? 0) / 1e6;
    }
    return sum;
  }

  /** A hundred on a balance for ten; the first three are painted, the others hang. */
  async function startHundred(account: TestAccount): Promise<SeenJob[]> {
    const first = backend.calls.length;
    backend.script((_, index) => (index < first + 3 ? images(1) : new Promise(() => undefined)));
    const answers = await Promise.all(Array.from({ length: 100 }, () => start(account)));
    // What the first three paid is gone, so a job that comes after them is refused too.
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(90);
    const jobs = answers.filter(({ status }) => status === 200).map(({ job }) => job);
    expect(jobs).toHaveLength(10);
    await backend.called(first + 10);
    await eventually('three are charged', async () => (await operator.charges(account)).size === 3);
    return jobs;
  }

  async function expectAllEnded(account: TestAccount, jobs: readonly SeenJob[]): Promise<void> {
    const ends = await Promise.all(jobs.map(({ id }) => endOfJob(node.url, account.token, id)));
    expect(ends.filter(({ status }) => status === 'done')).toHaveLength(3);
    const failed = ends.filter(({ status }) => status === 'failed');
    expect(failed.map(({ error }) => error?.code)).toEqual(Array(7).fill('service_unavailable') as string[]);
    expect(await operator.money(account)).toEqual({ balance: 7 * CENT, held: 0, open: 0 });
    expect([...(await operator.charges(account)).values()]).toEqual([[CENT], [CENT], [CENT]]);
    for (const { data } of ends.filter(({ status }) => status === 'done'))
      expect((await fetch(data?.[0]?.url ?? '')).status).toBe(200);
  }

  test(
    'kill -9 with a hundred jobs sent on a balance for ten: those that were painted are done and paid once, the others failed and free',
    async () => {
      const account = await operator.account('0.10');
      const jobs = await startHundred(account);
      await node.kill();
      await node.restart();
      await expectAllEnded(account, jobs);
      // Seven that the backend may have made and billed.
      expect(await costs(account)).toEqual({ delivered: 12, possible: 28 });
    },
    PATIENCE_MS,
  );

  test(
    'kill -9 with clients waiting, and a job that the backend had too long: they end free, and what they may have cost is booked',
    async () => {
      const account = await operator.account('1');
      const first = backend.calls.length;
      backend.script(() => new Promise(() => undefined));
      const { job } = await start(account);
      const wishes = [{ response_format: 'url' }, { response_format: 'b64_json' }, { stream: true }];
      const waiting = wishes.map((wish) => start(account, {}, wish).catch(() => 'the connection broke'));
      await backend.called(first + 4);
      await node.kill();
      await Promise.all(waiting);
      const { db } = operator.services.store;
      await db
        .updateTable('image_job')
        .set({ backend_job: 'its-job', deadline: Date.now() - 1_000 })
        .where('id', '=', job.id)
        .execute();
      await node.restart();
      expect(await endOfJob(node.url, account.token, job.id)).toMatchObject({
        status: 'failed',
        error: { code: 'upstream_timeout' },
      });
      await operator.settled();
      expect(await operator.money(account)).toEqual({ balance: 100 * CENT, held: 0, open: 0 });
      expect(await costs(account)).toEqual({ delivered: 0, possible: 16 });
      const rows = db.selectFrom('image_job').select('id').where('account_id', '=', account.id);
      await eventually('no request is left among the jobs', async () => (await rows.execute()).length === 1);
    },
    PATIENCE_MS,
  );

  test(
    'SIGTERM: jobs that cannot go on elsewhere have the grace, then fail and cost nothing',
    async () => {
      const account = await operator.account('0.10');
      const jobs = await startHundred(account);
      node.signal('SIGTERM');
      expect(await node.exited()).toBe(0);
      await node.restart();
      await expectAllEnded(account, jobs);
    },
    PATIENCE_MS,
  );
});
