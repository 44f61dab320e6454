import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';

/** A node that is killed while programs operate: whoever sends the same keys again has what they asked for, once. */

const ROUNDS = 3;
const PATIENCE_MS = 170_000;
const USD = 1_000_000_000;
const PASSWORD = 'a perfectly fine phrase';
const HALF_MADE = 'half-made@example.com';

interface Operation {
  readonly path: string;
  readonly body: object;
  readonly key: string;
}

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  let node: NodeProcess;
  let operator: Operator;
  let token: string;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    node = await NodeProcess.start(databaseUrl === undefined ? {} : { databaseUrl });
    operator = await Operator.open(node.env);
    token = await operatorToken(node);
  }, PATIENCE_MS);
  afterAll(async () => {
    expect((await operator.verify()).breaches).toEqual([]);
    await operator.close();
    await node.stop();
  });

  /** 0 and no text if there was no whole answer. */
  async function send({ path, body, key }: Operation): Promise<{ status: number; text: string }> {
    try {
      const answer = await fetch(`${node.url}/api/operator/v1${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify(body),
      });
      return { status: answer.status, text: await answer.text() };
    } catch {
      return { status: 0, text: '' };
    }
  }

  /** What a minute does to the keys of a dead node. */
  async function outlastLeases(): Promise<void> {
    const { db } = operator.services.store;
    await db.updateTable('answer').set({ lease_until: 0 }).where('state', '=', 'running').execute();
  }

  async function balanceOf(column: 'id' | 'name' | 'email', value: string): Promise<number[]> {
    const rows = await operator.services.store.db
      .selectFrom('account')
      .select('balance')
      .where(column, '=', value)
      .execute();
    return rows.map(({ balance }) => balance);
  }

  test(
    'each key’s money is booked once, whenever the node was killed, and a team or account has its opening balance',
    async () => {
      let broken = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const customers = await Promise.all(Array.from({ length: 4 }, () => operator.account('10')));
        const team = `team ${round}`;
        const email = `made-${round}@example.com`;
        const owner = customers[3]!.email;
        const cause = 'paid';
        const of = (at: number, act: string) => `/accounts/${customers[at]!.id}/${act}`;
        const operations: Operation[] = [
          { path: of(0, 'credit'), body: { amountUsd: '3', cause }, key: `credit ${round}` },
          { path: of(1, 'refund'), body: { amountUsd: '2', cause }, key: `refund ${round}` },
          { path: of(2, 'adjust'), body: { amountUsd: '-1', cause }, key: `adjust ${round}` },
          { path: '/teams', body: { name: team, owner, balanceUsd: '20' }, key: `team ${round}` },
          {
            path: '/accounts',
            body: { email, password: PASSWORD, balanceUsd: '7' },
            key: `account ${round}`,
          },
        ];
        const first = Promise.all(operations.map(send));
        // Later in each round: before the first is booked, in between, after the last.
        await Promise.race([first, eachTurn(round * 100)]);
        await node.kill();
        broken += (await first).filter(({ status }) => status === 0).length;
        await node.restart();
        await outlastLeases();
        const again = await Promise.all(operations.map(send));
        for (const [index, { status, text }] of again.entries())
          // The answer with a password is kept under no key.
          if (status !== 200) expect([operations[index]?.path, text]).toEqual(['/accounts', expect.stringContaining('"idempotency_answer_gone"')]); // prettier-ignore
        const balances = [
          ...(await Promise.all(customers.slice(0, 3).map(({ id }) => balanceOf('id', id)))),
          await balanceOf('name', team),
          await balanceOf('email', email),
        ];
        expect(balances).toEqual([[13], [12], [9], [20], [7]].map(([usd = 0]) => [usd * USD]));
        expect((await Promise.all(operations.map(send))).map(({ status }) => status)).toEqual(
          again.map(({ status }, index) => (operations[index]?.path === '/accounts' ? 400 : status)),
        );
      }
      // Otherwise nothing was in the way.
      expect(broken).toBeGreaterThan(0);
    },
    PATIENCE_MS,
  );

  test.if(store === 'Postgres')(
    'killed between making and paying: whoever sends the key again gets the balance, and nobody else’s money',
    async () => {
      const owner = await operator.account('1');
      const team = { name: 'half made', owner: owner.email, balanceUsd: '5' };
      const operations: Operation[] = [
        { path: '/teams', body: team, key: 'half a team' },
        { path: '/accounts', body: { email: HALF_MADE, balanceUsd: '5' }, key: 'half an account' },
      ];
      const { db } = operator.services.store;
      const [isLocked, isOver] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const lock = db.transaction().execute(async (tx) => {
        await sql`LOCK TABLE entry IN EXCLUSIVE MODE`.execute(tx);
        isLocked.resolve();
        await isOver.promise;
      });
      await isLocked.promise;
      const first = Promise.all(operations.map(send));
      await eventually('both are made, and not paid', async () => {
        const found = [await balanceOf('name', team.name), await balanceOf('email', HALF_MADE)];
        return found.every(([balance]) => balance === 0);
      });
      await node.kill();
      isOver.resolve();
      await Promise.all([lock, first]);
      await node.restart();
      await outlastLeases();
      const again = await Promise.all(operations.map(send));
      expect(again.map(({ status }) => status)).toEqual([200, 200]);
      expect(await balanceOf('name', team.name)).toEqual([5 * USD]);
      expect(await balanceOf('email', HALF_MADE)).toEqual([5 * USD]);
      const { password } = JSON.parse(again[1]?.text ?? '') as { password: string };
      const signedIn = await ownPage(node, '/api/auth/sign-in/email', { email: HALF_MADE, password });
      expect(signedIn.status).toBe(200);
    },
    PATIENCE_MS,
  );

  test(
    'a day later nobody remembers a key: what was made under it is neither made, paid nor opened again',
    async () => {
      const owner = await operator.account('1');
      const email = 'a-day-ago@example.com';
      const operations: Operation[] = [
        { path: '/teams', body: { name: 'old', owner: owner.email, balanceUsd: '5' }, key: 'old team' },
        { path: '/accounts', body: { email, balanceUsd: '5' }, key: 'old account' },
      ];
      expect((await Promise.all(operations.map(send))).map(({ status }) => status)).toEqual([200, 200]);
      const { db } = operator.services.store;
      const passwords = () => db.selectFrom('auth_account').select('password').orderBy('id').execute();
      await db.deleteFrom('answer').execute();
      const yesterday = { created_at: Date.now() - 86_400_000 };
      await db.updateTable('account').set(yesterday).where('email', '=', email).execute();
      const before = await passwords();
      const again = await Promise.all(operations.map(send));
      expect([again[0]?.status, again[1]?.text]).toEqual([200, expect.stringContaining('"email_taken"')]);
      expect(await passwords()).toEqual(before);
      expect([await balanceOf('name', 'old'), await balanceOf('email', email)]).toEqual([
        [5 * USD],
        [5 * USD],
      ]);
    },
    PATIENCE_MS,
  );

  test('an account gets no opening balance without a key', async () => {
    const answer = await fetch(`${node.url}/api/operator/v1/accounts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'unkeyed@example.com', balanceUsd: '5' }),
    });
    expect([answer.status, await balanceOf('email', 'unkeyed@example.com')]).toEqual([400, []]);
  });
});

/** So many turns of the event loop, which are no time. */
async function eachTurn(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function ownPage(node: NodeProcess, path: string, body: object, cookie = ''): Promise<Response> {
  return fetch(`${node.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', cookie },
    body: JSON.stringify(body),
  });
}

async function operatorToken(node: NodeProcess): Promise<string> {
  const token = /\/setup\/(\S+)/.exec(node.greeting)?.[1];
  const owner = { token, email: 'owner@example.com', password: PASSWORD };
  const made = await ownPage(node, '/api/console/setup', owner);
  const cookie = made.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const wanted = { name: 'a program', role: 'full', expiresAt: Date.now() + 86_400_000 };
  const answer = await ownPage(node, '/api/console/admin/operator-tokens', wanted, cookie);
  return ((await answer.json()) as { token: string }).token;
}
