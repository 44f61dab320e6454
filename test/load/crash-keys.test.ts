import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { catalogFor, type TestAccount } from '../support/gateway.ts';
import { BackendProcess, eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';

/** A node that crashes during requests with an Idempotency-Key: a retry with the same key is charged at most once. */

const CALLS = 40;
const PATIENCE_MS = 170_000;

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  let backend: BackendProcess;
  let node: NodeProcess;
  let operator: Operator;

  beforeAll(async () => {
    backend = await BackendProcess.start();
    const yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' });
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    node = await NodeProcess.start({
      yaml,
      env: { TOLLGATE_LEASE_SECONDS: '4' },
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
    });
    operator = await Operator.open(node.env);
  }, PATIENCE_MS);
  afterAll(async () => {
    expect((await operator.verify()).breaches).toEqual([]);
    await operator.close();
    await node.stop();
    await backend.stop();
  });

  interface Call {
    readonly account: TestAccount;
    readonly stream: boolean;
    readonly delayMs: number;
  }

  /** The status, and the code if it was refused; 0 if there was no whole answer. */
  async function send({ account, stream, delayMs }: Call): Promise<{ status: number; text: string }> {
    try {
      const response = await fetch(`${node.url}/api/public/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.token}`, 'idempotency-key': 'one' },
        body: JSON.stringify({
          endpoint: 'svc_chat',
          model: 'm',
          messages: [{ role: 'user', content: 'hi' }],
          max_tokens: 100,
          stream,
          script: stream ? { chunks: 5, everyMs: delayMs / 5 } : { delayMs },
        }),
      });
      return { status: response.status, text: await response.text() };
    } catch {
      return { status: 0, text: '' };
    }
  }

  const charges = async (account: TestAccount): Promise<number> => (await operator.charges(account)).size;

  /** What a minute does to the keys of a dead node. */
  async function outlastLeases(): Promise<void> {
    await operator.services.store.db
      .updateTable('answer')
      .set({ lease_until: 0 })
      .where('state', '=', 'running')
      .execute();
  }

  test(
    `kill -9 with ${CALLS} in flight, half of them streams: each is charged once at most, and whoever asks again is answered or told`,
    async () => {
      const calls = await Promise.all(
        Array.from({ length: CALLS }, async (_, index) => ({
          account: await operator.account('1'),
          stream: index % 2 === 0,
          delayMs: 100 + index * 10,
        })),
      );
      const first = Promise.all(calls.map(send));
      // Some are finished then, some nearly, some have just started.
      await eventually('a few are charged', async () => {
        const counts = await Promise.all(calls.slice(0, 10).map(({ account }) => charges(account)));
        return counts.some((count) => count > 0);
      });
      await node.kill();
      const before = await first;
      const chargedBefore = await Promise.all(calls.map(({ account }) => charges(account)));
      await node.restart();
      await outlastLeases();
      const after = await Promise.all(calls.map(send));
      for (const [index, { account, stream }] of calls.entries()) {
        const { status, text } = after[index] ?? { status: 0, text: '' };
        if (status === 400) expect(text).toContain('"idempotency_answer_gone"');
        else expect(status).toBe(200);
        // What a stream had delivered is charged when its lease ends.
        if (chargedBefore[index] === 0 && !stream) expect(status).toBe(200);
        expect(await charges(account)).toBe(1);
        if (before[index]?.status === 200 && status === 200) expect(text).toBe(before[index].text);
      }
    },
    PATIENCE_MS,
  );

  test(
    'kill -9 between the charge and the keeping of the answer: the key is told so, and not charged again',
    async () => {
      const call: Call = { account: await operator.account('1'), stream: false, delayMs: 0 };
      expect((await send(call)).status).toBe(200);
      await node.kill();
      // What such a crash leaves behind: charged, and no answer.
      await operator.services.store.db
        .updateTable('answer')
        .set({ state: 'running', status: null, headers: null, body: null, lease_until: 0 })
        .where('account_id', '=', call.account.id)
        .execute();
      await node.restart();
      const { calls: callsBefore } = await backend.stats();
      for (let turn = 0; turn < 3; turn++) {
        const { status, text } = await send(call);
        expect(status).toBe(400);
        expect(text).toContain('"idempotency_answer_gone"');
      }
      expect((await backend.stats()).calls).toBe(callsBefore);
      expect(await charges(call.account)).toBe(1);
    },
    PATIENCE_MS,
  );
});
