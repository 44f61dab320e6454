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
      yaml: catalogFor([backend.baseUrl]),
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

  async function start({ token }: TestAccount): Promise<{ status: number; job: SeenJob }> {
    const response = await fetch(`${node.url}/api/public/v1/images/generations`, {
      method: 'POST',
      headers: { ...ASYNC, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ endpoint: 'svc_tgter', model: 'p', prompt: 'a gate' }),
    });
    return { status: response.status, job: (await response.json()) as SeenJob };
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
