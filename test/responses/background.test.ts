import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { catalogFor, type TestAccount } from '../support/gateway.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';
import {
  chunk,
  completion,
  eventStream,
  ScriptedBackend,
  streamed,
  usage,
  type RecordedCall,
} from '../support/scripted-backend.ts';
import type { SeenResponse } from './stored-responses.ts';

/** Responses that are made in the background: each ends, whatever happens to its process, and is paid once. */

const PATIENCE_MS = 120_000;

interface Answered {
  readonly status: number;
  readonly body: SeenResponse;
}

async function call(
  url: string,
  path: string,
  { token }: TestAccount,
  init: RequestInit = {},
): Promise<Answered> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/responses${path}`, { ...init, headers });
  return { status: response.status, body: (await response.json()) as SeenResponse };
}

const begin = async (url: string, account: TestAccount, more: object = {}): Promise<Answered> =>
  await call(url, '', account, {
    method: 'POST',
    body: JSON.stringify({ model: 'svc_chat/m', input: 'Think long.', background: true, ...more }),
  });

async function endOf(url: string, account: TestAccount, id: string): Promise<SeenResponse> {
  let seen: SeenResponse | undefined;
  await eventually('it is over', async () => {
    ({ body: seen } = await call(url, `/${id}`, account));
    return seen.status !== 'queued' && seen.status !== 'in_progress';
  });
  if (!seen) throw new Error('never seen');
  return seen;
}

/** Says a few words and then nothing more until it is left. */
function stalled({ signal }: Pick<RecordedCall, 'signal'>): Response {
  return eventStream(
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(Buffer.from(chunk({ role: 'assistant', content: 'one two three four' })));
        signal.addEventListener('abort', () => controller.error(new Error('left')));
      },
    }),
  );
}

const done = (): Response => streamed(['All ', 'done.'], { prompt: 100, completion: 50 });
const PRICES = 'input: 1, output: 2, cost: { b0: { input: 0.5, output: 1 } }';
/** 100 tokens of input at 1 dollar for a million, 50 of output at 2. */
const PRICE = 200_000;

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  const backend = new ScriptedBackend();
  let node: NodeProcess;
  let other: NodeProcess | undefined;
  let operator: Operator;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const options = {
      yaml: catalogFor([backend.baseUrl], { prices: PRICES }),
      env: { TOLLGATE_LEASE_SECONDS: '4', TOLLGATE_GRACE_SECONDS: '1' },
      ...(databaseUrl !== undefined && { databaseUrl }),
    };
    node = await NodeProcess.start(options);
    if (store === 'Postgres') other = await NodeProcess.start(options);
    operator = await Operator.open(node.env);
  }, PATIENCE_MS);
  afterEach(async () => {
    await operator.settled();
    expect((await operator.verify()).breaches).toEqual([]);
  });
  afterAll(async () => {
    await operator.close();
    await node.stop();
    await other?.stop();
    await backend.stop();
  });

  /** What it was charged for, once nothing of it is on hold: a response is found a moment before it is charged. */
  const paid = async (account: TestAccount): Promise<number[]> => {
    await operator.settled();
    return [...(await operator.charges(account)).values()].flat();
  };

  test(
    'one is answered at once, found when it is done, goes on from stored ones and can be continued',
    async () => {
      const account = await operator.account('10');
      const gate = Promise.withResolvers<void>();
      backend.script(async () => {
        await gate.promise;
        return done();
      });
      const first = await begin(node.url, account, { instructions: 'Be brief.' });
      expect(first).toMatchObject({ status: 200, body: { status: 'queued', output: [] } });
      const early = await begin(node.url, account, { previous_response_id: first.body.id });
      expect([early.status, early.body.error?.code]).toEqual([400, 'previous_response_not_found']);
      gate.resolve();
      const whole = await endOf(node.url, account, first.body.id);
      expect(whole).toMatchObject({
        id: first.body.id,
        status: 'completed',
        background: true,
        instructions: 'Be brief.',
        output: [{ content: [{ text: 'All done.' }] }],
        usage: { input_tokens: 100, output_tokens: 50 },
      });
      expect(await paid(account)).toEqual([PRICE]);
      const next = await begin(node.url, account, { previous_response_id: whole.id, input: 'And?' });
      await endOf(node.url, account, next.body.id);
      expect(backend.calls.at(-1)?.body['messages']).toEqual([
        { role: 'user', content: 'Think long.' },
        { role: 'assistant', content: 'All done.' },
        { role: 'user', content: 'And?' },
      ]);
    },
    PATIENCE_MS,
  );

  test(
    'what cannot be is refused: streamed, not stored, or without money; and nothing of it stays',
    async () => {
      const account = await operator.account('0');
      for (const more of [{ stream: true }, { store: false }]) {
        const { status, body } = await begin(node.url, account, more);
        expect([status, body.error?.code, body.error?.param]).toEqual([400, 'invalid_field', 'background']);
      }
      expect((await begin(node.url, account)).status).toBe(402);
      const { db } = operator.services.store;
      expect(
        await db.selectFrom('stored_response').select('id').where('account_id', '=', account.id).execute(),
      ).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    'one that its backend refuses has failed, says why and costs nothing',
    async () => {
      const account = await operator.account('10');
      backend.script(() => Response.json({ error: { message: 'no such model' } }, { status: 404 }));
      const { body } = await begin(node.url, account);
      const failed = await endOf(node.url, account, body.id);
      expect(failed).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } });
      expect(await paid(account)).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    'a cancelled one pays what it has used, stays cancelled, and nobody else can cancel it',
    async () => {
      const [account, stranger] = [await operator.account('10'), await operator.account('10')];
      backend.script(stalled);
      const calls = backend.calls.length;
      const { body } = await begin(node.url, account);
      await backend.called(calls + 1);
      await eventually(
        'it has begun',
        async () => (await call(node.url, `/${body.id}`, account)).body.status === 'in_progress',
      );
      const path = `/${body.id}/cancel`;
      expect((await call(node.url, path, stranger, { method: 'POST' })).status).toBe(404);
      // On the other node, where there is one.
      const cancelled = await call(other?.url ?? node.url, path, account, { method: 'POST' });
      expect(cancelled).toMatchObject({ status: 200, body: { id: body.id, status: 'cancelled' } });
      await operator.settled();
      const [charge = 0, ...further] = await paid(account);
      expect(further).toEqual([]);
      expect(charge).toBeGreaterThan(0);
      expect(charge).toBeLessThan(PRICE);
      expect(await call(node.url, path, account, { method: 'POST' })).toMatchObject({
        body: { status: 'cancelled' },
      });
      backend.script(() => completion('Well.', usage(5, 5)));
      const plain = await begin(node.url, account, { background: false });
      expect(plain.body.status).toBe('completed');
      expect((await call(node.url, `/${plain.body.id}/cancel`, account, { method: 'POST' })).status).toBe(
        400,
      );
    },
    PATIENCE_MS,
  );

  test.each([
    ['kill -9', async () => await node.kill()],
    ['SIGTERM, when its grace is over', async () => await stop(node)],
  ])(
    'after %s it is made by another process and paid once, and what the first may have cost is booked as possible',
    async (_how, end) => {
      const account = await operator.account('10');
      backend.script((seen, index) => (index === calls ? stalled(seen) : done()));
      const calls = backend.calls.length;
      const { body } = await begin(node.url, account);
      await backend.called(calls + 1);
      await eventually(
        'it has begun',
        async () => (await call(node.url, `/${body.id}`, account)).body.status === 'in_progress',
      );
      await end();
      if (!other) await node.restart();
      const whole = await endOf(other?.url ?? node.url, account, body.id);
      expect(whole).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'All done.' }] }] });
      await operator.settled();
      expect(await paid(account)).toEqual([PRICE]);
      expect(backend.calls.length).toBe(calls + 2);
      const [request] = await operator.requests(account);
      // All output that the request allowed, at a dollar for a million.
      expect(request?.possible_cost).toBeGreaterThanOrEqual((request?.output_cap ?? 0) * 1_000);
      if (other) await node.restart();
    },
    PATIENCE_MS,
  );

  test(
    'after kill -9, where no backend makes it any more, it costs nothing, and what the first may have cost is booked as possible',
    async () => {
      const account = await operator.account('10');
      const calls = backend.calls.length;
      backend.script((seen, index) => (index === calls ? stalled(seen) : new Response('', { status: 400 })));
      const { body } = await begin(node.url, account);
      await backend.called(calls + 1);
      await node.kill();
      if (!other) await node.restart();
      expect(await endOf(other?.url ?? node.url, account, body.id)).toMatchObject({ status: 'failed' });
      await operator.settled();
      expect(await paid(account)).toEqual([]);
      const [request] = await operator.requests(account);
      expect(request?.possible_cost).toBeGreaterThanOrEqual((request?.output_cap ?? 0) * 1_000);
      if (other) await node.restart();
    },
    PATIENCE_MS,
  );
});

async function stop(node: NodeProcess): Promise<void> {
  node.signal('SIGTERM');
  await node.exited();
}
