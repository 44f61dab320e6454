import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import type { RouteDeclaration } from '../../src/console/route.ts';
import { ROUTES } from '../../src/console/routes.ts';
import { RedeemCodes } from '../../src/ledger/codes.ts';
import { systemClock } from '../../src/std/clock.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { nanoUsd } from '../../src/std/money.ts';
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
  /** By a token that may give so much a day and no more. */
  readonly isSupport?: boolean;
}

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  let node: NodeProcess;
  let operator: Operator;
  let cookie: string;
  let token: string;
  let supportToken: string;
  let databaseUrl: string | undefined;

  beforeAll(async () => {
    databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    node = await NodeProcess.start(databaseUrl === undefined ? {} : { databaseUrl });
    operator = await Operator.open(node.env);
    cookie = await ownerCookie(node);
    token = await operatorToken(node, cookie, { name: 'a program', role: 'full' });
    supportToken = await operatorToken(node, cookie, { name: 'a help desk', role: 'support' });
  }, PATIENCE_MS);
  afterAll(async () => {
    expect((await operator.verify()).breaches).toEqual([]);
    await operator.close();
    await node.stop();
  });

  /** 0 and no text if there was no whole answer. */
  async function send(
    { path, body, key, isSupport }: Operation,
    { to = node, as = isSupport ? supportToken : token }: { to?: NodeProcess; as?: string } = {},
  ): Promise<{ status: number; text: string }> {
    try {
      const answer = await fetch(`${to.url}/api/operator/v1${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${as}`,
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

  /** What a server leaves that is killed after it has done what a key asks for, and before it has recorded its answer. */
  async function forgetAnswers(): Promise<void> {
    const { db } = operator.services.store;
    const lost = { state: 'running', status: null, headers: null, body: null, lease_until: 0 } as const;
    await db.updateTable('answer').set(lost).where('state', '=', 'done').execute();
  }

  /** A customer with ten dollars of which six are paid into a team, and a gift of one there. */
  async function paidTeam(): Promise<string> {
    const { email } = await operator.account('10');
    const { accounts, teams, ledger } = operator.services;
    const owner = await accounts.require(email);
    const team = await teams.create(`of ${owner.id}`, owner, { moved: nanoUsd(6 * USD), actor: 'test' });
    const gift = { kind: 'credit', amount: nanoUsd(USD), cause: 'gift', actor: 'welcome' } as const;
    await ledger.ledger.post({ ...gift, accountId: team.id as AccountId });
    return team.id;
  }

  async function hashesOfCodes(): Promise<string[]> {
    const rows = operator.services.store.db.selectFrom('redeem_code').select('code_hash');
    return (await rows.execute()).map(({ code_hash: hash }) => hash);
  }

  function codes(): RedeemCodes {
    const { store, secret, ledger } = operator.services;
    return new RedeemCodes({ store, ledger: ledger.ledger, key: secret.key('codes'), clock: systemClock });
  }

  /** One call of every operation that changes money, by its route. */
  async function everyOperation(mark: string): Promise<Record<string, Operation>> {
    const [credited, refunded, adjusted, owner, removed, helped] = await Promise.all(
      Array.from({ length: 6 }, () => operator.account('10')),
    );
    const teamId = await paidTeam();
    const { batch } = await codes().make({
      amount: nanoUsd(USD),
      count: 3,
      batch: `old ${mark}`,
      actor: 'test',
    });
    const cause = 'paid';
    const of = (account: { id: string } | undefined, act: string) => `/accounts/${account?.id}/${act}`;
    const email = `made-${mark}@example.com`.replaceAll(' ', '-');
    return Object.fromEntries(
      Object.entries<Omit<Operation, 'key'>>({
        'POST accounts/{id}/credit': { path: of(credited, 'credit'), body: { amountUsd: '3', cause } },
        'POST accounts/{id}/refund': { path: of(refunded, 'refund'), body: { amountUsd: '2', cause } },
        'POST accounts/{id}/refund without a limitless role': {
          path: of(helped, 'refund'),
          body: { amountUsd: '20', cause },
          isSupport: true,
        },
        'POST accounts/{id}/adjust': { path: of(adjusted, 'adjust'), body: { amountUsd: '-1', cause } },
        'POST accounts/{id}/remove': { path: of(removed, 'remove'), body: { reason: 'asked for it' } },
        'POST accounts': { path: '/accounts', body: { email, password: PASSWORD, balanceUsd: '7' } },
        'POST teams': {
          path: '/teams',
          body: { name: `team ${mark}`, owner: owner?.email, balanceUsd: '20' },
        },
        'POST teams/{id}/close': { path: `/teams/${teamId}/close`, body: {} },
        'POST codes': { path: '/codes', body: { amountUsd: '5', count: 4, batch: `named ${mark}` } },
        'POST codes without a name': { path: '/codes', body: { amountUsd: '5', count: 3 } },
        'POST codes/{id}/cancel': { path: `/codes/${encodeURIComponent(batch)}/cancel`, body: {} },
        'POST provider-bills': {
          path: '/provider-bills',
          body: { export: BILL, backends: ['house'], cause: `bill ${mark}` },
        },
      }).map(([name, operation]) => [name, { ...operation, key: `${name} ${mark}` }]),
    );
  }

  /** All that is booked, all that codes are worth, and what of its limit support has given. */
  async function money(): Promise<unknown> {
    const { db } = operator.services.store;
    const entries = db.selectFrom('entry').select(['account_id', 'kind', 'amount', 'cause']);
    const codes = db.selectFrom('redeem_code').select(['batch', 'hint', 'amount', 'expires_at']);
    const bills = db.selectFrom('cost_entry').select(['day', 'backend', 'cost', 'cause']);
    const given = db.selectFrom('operator_grant').select(['operator_id', 'day', 'amount']);
    const texts = async (rows: Promise<object[]>) => (await rows).map((row) => JSON.stringify(row)).sort();
    return await Promise.all(
      [entries.execute(), codes.execute(), bills.execute(), given.execute()].map(texts),
    );
  }

  test('every operation that changes money is here', async () => {
    const here = Object.keys(await everyOperation('listed'));
    expect([...new Set(here.map((name) => name.split(' without')[0]))].sort()).toEqual(MONEY_OPERATIONS);
  });

  test(
    'what was done and not recorded when a server was killed is answered in the same words, and done once',
    async () => {
      const operations = await everyOperation('told again');
      const all = async () =>
        Object.fromEntries(
          await Promise.all(
            Object.entries(operations).map(async ([name, one]) => [name, await send(one)] as const),
          ),
        );
      const first = await all();
      for (const [name, { status }] of Object.entries(first)) expect([name, status]).toEqual([name, 200]);
      const booked = await money();
      await node.kill();
      await forgetAnswers();
      await node.restart();
      expect(await all()).toEqual(first);
      expect(await money()).toEqual(booked);
      for (const name of ['POST codes', 'POST codes without a name']) {
        const { id } = await operator.account('1');
        const [code = ''] = (JSON.parse(first[name]?.text ?? '') as { codes: string[] }).codes;
        expect(await codes().redeem(code, id)).toMatchObject({ amount: 5 * USD });
      }
    },
    PATIENCE_MS,
  );

  test(
    'each key’s money is booked once and its codes are made once, whenever the node was killed, and a team or account has its opening balance',
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
          { path: '/codes', body: { amountUsd: '1', count: 1_000, batch: team }, key: `named ${round}` },
          { path: '/codes', body: { amountUsd: '1', count: 999 }, key: `unnamed ${round}` },
        ];
        const codesBefore = await hashesOfCodes();
        const first = Promise.all(operations.map((one) => send(one)));
        // Later in each round: before the first is booked, in between, after the last.
        await Promise.race([first, eachTurn(round * 100)]);
        await node.kill();
        const told = await first;
        broken += told.filter(({ status }) => status === 0).length;
        await node.restart();
        await outlastLeases();
        const again = await Promise.all(operations.map((one) => send(one)));
        for (const [index, { status, text }] of again.entries())
          // The answer with a password is kept under no key.
          if (status !== 200) expect([operations[index]?.path, text]).toEqual(['/accounts', expect.stringContaining('"idempotency_answer_gone"')]); // prettier-ignore
        const balances = [
          ...(await Promise.all(customers.slice(0, 3).map(({ id }) => balanceOf('id', id)))),
          await balanceOf('name', team),
          await balanceOf('email', email),
        ];
        expect(balances).toEqual([[13], [12], [9], [20], [7]].map(([usd = 0]) => [usd * USD]));
        const made = again.flatMap(({ text }, index) => {
          if (operations[index]?.path !== '/codes') return [];
          if (told[index]?.status === 200) expect(told[index].text).toBe(text);
          return (JSON.parse(text) as { codes: string[] }).codes;
        });
        const newCodes = (await hashesOfCodes()).length - codesBefore.length;
        expect([made.length, new Set(made).size, newCodes]).toEqual([1_999, 1_999, 1_999]);
        expect((await Promise.all(operations.map((one) => send(one)))).map(({ status }) => status)).toEqual(
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
      const first = Promise.all(operations.map((one) => send(one)));
      await eventually('both are made, and not paid', async () => {
        const found = [await balanceOf('name', team.name), await balanceOf('email', HALF_MADE)];
        return found.every(([balance]) => balance === 0);
      });
      await node.kill();
      isOver.resolve();
      await Promise.all([lock, first]);
      await node.restart();
      await outlastLeases();
      const again = await Promise.all(operations.map((one) => send(one)));
      expect(again.map(({ status }) => status)).toEqual([200, 200]);
      expect(await balanceOf('name', team.name)).toEqual([5 * USD]);
      expect(await balanceOf('email', HALF_MADE)).toEqual([5 * USD]);
      const { password } = JSON.parse(again[1]?.text ?? '') as { password: string };
      const signedIn = await ownPage(node, '/api/auth/sign-in/email', { email: HALF_MADE, password });
      expect(signedIn.status).toBe(200);
    },
    PATIENCE_MS,
  );

  test.if(store === 'Postgres')(
    'a key that is sent to two nodes at once with many bodies, for many operations and by two tokens counts once for each token',
    async () => {
      const other = await NodeProcess.start({ databaseUrl: databaseUrl ?? '' });
      const another = await operatorToken(node, cookie, { name: 'another program', role: 'full' });
      const key = 'one key for all';
      const [one, two] = [await operator.account('10'), await operator.account('10')];
      const cause = 'paid';
      const asked = [
        ...['1', '2', '3'].flatMap((amountUsd) =>
          ['credit', 'refund', 'adjust'].flatMap((act) =>
            [one, two].map(({ id }) => ({ path: `/accounts/${id}/${act}`, body: { amountUsd, cause }, key })),
          ),
        ),
        ...[1, 2].map((count) => ({ path: '/codes', body: { amountUsd: '4', count }, key })),
      ];
      const tokens = [token, another];
      const answers = await Promise.all(
        asked.flatMap((operation) =>
          [node, other, node, other].flatMap((to) =>
            tokens.map(async (as) => ({ as, operation, ...(await send(operation, { to, as })) })),
          ),
        ),
      );
      const before = await money();
      for (const as of tokens) {
        const done = answers.filter((answer) => answer.as === as && answer.status === 200);
        // One of them, as often as it was asked, in the same words.
        expect(done).toHaveLength(4);
        expect(new Set(done.map(({ operation, text }) => `${JSON.stringify(operation)} ${text}`)).size).toBe(
          1,
        );
        for (const { text, status } of answers.filter((answer) => answer.as === as && answer.status !== 200))
          expect([status, text]).toEqual([400, expect.stringContaining('"idempotency_key_reused"')]);
      }
      await Promise.all(asked.map((operation) => send(operation, { to: other })));
      expect(await money()).toEqual(before);
      await other.stop();
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
      expect((await Promise.all(operations.map((one) => send(one)))).map(({ status }) => status)).toEqual([
        200, 200,
      ]);
      const { db } = operator.services.store;
      const passwords = () => db.selectFrom('auth_account').select('password').orderBy('id').execute();
      await db.deleteFrom('answer').execute();
      const yesterday = { created_at: Date.now() - 86_400_000 };
      await db.updateTable('account').set(yesterday).where('email', '=', email).execute();
      const before = await passwords();
      const again = await Promise.all(operations.map((one) => send(one)));
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

const DAY_SECONDS = 86_400;
/** A provider's costs of a day that is over. */
const BILL = {
  data: [
    {
      start_time: (Math.floor(Date.now() / 1_000 / DAY_SECONDS) - 3) * DAY_SECONDS,
      results: [{ amount: { value: 0.5, currency: 'usd' }, line_item: 'house-echo, output' }],
    },
  ],
};

/** What the list of operations says of them; `POST accounts` takes a key where the account begins with a balance. */
const MONEY_OPERATIONS = (ROUTES as readonly RouteDeclaration[])
  .filter(({ name, money, may }) => {
    const isMoney = may === 'give_money' || may === 'adjust_money';
    return (
      money === true || name === 'POST /api/console/admin/accounts' || (isMoney && !name.startsWith('GET '))
    );
  })
  .map(({ name }) => name.replace('/api/console/admin/', ''))
  .sort();

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

async function ownerCookie(node: NodeProcess): Promise<string> {
  const token = /\/setup\/(\S+)/.exec(node.greeting)?.[1];
  const owner = { token, email: 'owner@example.com', password: PASSWORD };
  const made = await ownPage(node, '/api/console/setup', owner);
  return made.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
}

async function operatorToken(
  node: NodeProcess,
  cookie: string,
  who: { readonly name: string; readonly role: 'full' | 'support' },
): Promise<string> {
  const wanted = { ...who, expiresAt: Date.now() + 86_400_000 };
  const answer = await ownPage(node, '/api/console/admin/operator-tokens', wanted, cookie);
  return ((await answer.json()) as { token: string }).token;
}
