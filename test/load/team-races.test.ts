import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Account } from '../../src/identity/accounts/accounts.ts';
import { newRequestId, type AccountId } from '../../src/std/ids.ts';
import { nanoUsd } from '../../src/std/money.ts';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** What two nodes, or two requests of one, do to a team at the same instant: one of them is first, and the other hears so. */

const PATIENCE_MS = 120_000;
const BUDGET = { amount: nanoUsd(1_000_000_000), per: 'month' } as const;
const LIMITS = { chatPerMinute: 1_000_000, imagesPerMinute: 1_000_000, concurrent: 100_000 };

describe.each([
  ['two nodes on Postgres', 2],
  ['one node on SQLite', 1],
] as const)('%s', (_, size) => {
  const backend = new ScriptedBackend();
  let nodes: Gateway[];
  let count = 0;

  beforeAll(async () => {
    const yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 10' });
    const databaseUrl = size > 1 ? await (await testPostgres()).freshDatabase() : undefined;
    const options = { yaml, ...(databaseUrl === undefined ? {} : { databaseUrl }) };
    nodes = [];
    for (let node = 0; node < size; node++) nodes.push(await Gateway.start(options));
  }, PATIENCE_MS);
  afterAll(async () => {
    expect((await node(0).verify()).breaches).toEqual([]);
    for (const one of nodes) await one.stop();
    await backend.stop();
  }, PATIENCE_MS);

  function node(index: number): Gateway {
    const one = nodes[index % size];
    if (!one) throw new Error('there are no nodes');
    return one;
  }
  const teamsOf = (index: number) => node(index).tollgate.services.teams;

  async function person(): Promise<Account> {
    const { accounts } = node(0).tollgate.services;
    return (await accounts.create(`racer-${size}-${++count}@example.com`, { actor: 'test' })).account;
  }

  async function newTeam(): Promise<{ readonly team: Account; readonly owner: Account }> {
    const owner = await person();
    const name = `race ${size} ${++count}`;
    const team = await teamsOf(0).create(name, owner, { balance: nanoUsd(5_000_000_000), actor: 'test' });
    return { team, owner };
  }

  async function membership({ id }: Account): Promise<Account> {
    const found = await teamsOf(0).membership(id);
    if (!found) throw new Error('not in a team');
    return found;
  }

  /** What each of them came to: those that were done first, then the sentences with which the others were refused. */
  async function outcomes(all: readonly Promise<unknown>[]): Promise<string[]> {
    const settled = await Promise.allSettled(all);
    return settled
      .map((one) => (one.status === 'fulfilled' ? 'done' : (one.reason as Error).message))
      .toSorted((one, other) => Number(other === 'done') - Number(one === 'done'));
  }

  const times = <T>(number: number, work: (index: number) => Promise<T>): Promise<T>[] =>
    Array.from({ length: number }, (_unused, index) => work(index));

  test(
    'of two teams that one person makes at once there is one, and the other is refused for what it is',
    async () => {
      const owner = await person();
      const make = (index: number) =>
        teamsOf(index).create(`at once ${size} ${index}`, owner, { actor: 'test' });
      expect(await outcomes(times(2, make))).toEqual([
        'done',
        expect.stringMatching(/is in a team already\.$/) as never,
      ]);
      const of = async (index: number) =>
        (await teamsOf(0).list()).filter(({ name }) => name === `at once ${size} ${index}`).length;
      expect((await of(0)) + (await of(1))).toBe(1);
    },
    PATIENCE_MS,
  );

  test(
    'of two people who use one invitation at once one joins, and a person with two is in one team',
    async () => {
      const [first, second] = [await newTeam(), await newTeam()];
      const invited = async ({ owner }: typeof first): Promise<string> =>
        (await teamsOf(0).invite(await membership(owner), { role: 'member', budget: BUDGET })).secret;
      const shared = await invited(first);
      const guests = [await person(), await person()];
      const join = (secret: string, guest: Account | undefined, index: number) =>
        teamsOf(index).accept(secret, guest ?? first.owner);
      const tried = guests.map((guest, index) => join(shared, guest, index));
      expect(await outcomes(tried)).toEqual(['done', expect.stringMatching(/invitation was used/i) as never]);
      expect(await teamsOf(0).accounts(first.team.id)).toHaveLength(2);
      const wanted = await person();
      const secrets = [await invited(first), await invited(second)];
      const both = secrets.map((secret, index) => join(secret, wanted, index));
      expect(await outcomes(both)).toEqual([
        'done',
        expect.stringMatching(/is in a team already\.$/) as never,
      ]);
    },
    PATIENCE_MS,
  );

  test(
    'of ten apps that are made at once in a team of ninety-nine accounts there is one',
    async () => {
      const { team } = await newTeam();
      for (let made = 0; made < 98; made++) await teamsOf(0).makeApp(team.id, `app ${made}`, {});
      const tried = times(10, (index) => teamsOf(index).makeApp(team.id, `late ${index}`, {}));
      expect((await outcomes(tried)).filter((one) => one === 'done')).toHaveLength(1);
      expect(await teamsOf(0).accounts(team.id)).toHaveLength(100);
    },
    PATIENCE_MS,
  );

  test(
    'what a member asked for before they were removed on another node is charged to the team, and nothing after it is served',
    async () => {
      const { team } = await newTeam();
      const guest = await person();
      const member = await teamsOf(0).add(team.id, guest, { budget: BUDGET });
      const token = await node(0).tollgate.services.accounts.replaceToken(member.id as AccountId);
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
      backend.script(async () => {
        arrive();
        await held;
        return completion('x', usage(1, 100));
      });
      const asked = node(0).chat(token, { max_tokens: 200 });
      await arrived;
      await teamsOf(1).end(member);
      for (let index = 0; index < 2; index++) expect((await node(index).chat(token, {})).status).toBe(401);
      release();
      expect((await asked).status).toBe(200);
      const { accounts } = node(1).tollgate.services;
      expect(await accounts.get(team.id as AccountId)).toMatchObject({
        balance: 5_000_000_000 - 1_000_000,
        held: 0,
        open_holds: 0,
      });
      expect(await accounts.get(member.id as AccountId)).toMatchObject({
        balance: 0,
        budget_used: 1_000_000,
        budget_held: 0,
        open_holds: 0,
      });
    },
    PATIENCE_MS,
  );

  test(
    'a token is good until the moment at which it expires, and on no node from then on',
    async () => {
      const { team } = await newTeam();
      const { app } = await teamsOf(0).makeApp(team.id, 'short', { budget: BUDGET });
      const id = app.id as AccountId;
      await node(0).tollgate.services.accounts.setLimits(id, LIMITS);
      const expiresAt = Date.now() + 1_000;
      await teamsOf(0).setLimits(id, { expiresAt });
      const admit = async (index: number): Promise<string | undefined> => {
        const requestId = newRequestId(Date.now());
        const { ledger } = node(index).tollgate.services.ledger;
        const caller = { kind: 'token', hash: app.token_hash ?? '', address: '127.0.0.1' } as const;
        const admission = await ledger.admit({ ...REQUEST, requestId, caller } as never);
        return admission.kind === 'admitted' ? requestId : undefined;
      };
      const admitted: string[] = [];
      const { db } = node(0).tollgate.services.store;
      for (let isOpen = true; isOpen;) {
        const ids = await Promise.all(times(4, admit));
        admitted.push(...ids.filter((one) => one !== undefined));
        isOpen = ids.includes(undefined) ? false : Date.now() < expiresAt + 60_000;
      }
      // Another node asks after the first refusal, when the moment is over for all of them.
      expect(await Promise.all(times(4, admit))).toEqual(Array.from({ length: 4 }, () => undefined));
      const holds = await db.selectFrom('hold').select('created_at').where('id', 'in', admitted).execute();
      expect(holds).toHaveLength(admitted.length);
      expect(Math.max(0, ...holds.map(({ created_at }) => created_at))).toBeLessThan(expiresAt);
      const { ledger } = node(0).tollgate.services.ledger;
      for (const requestId of admitted)
        await ledger.void(requestId as never, { outcome: 'client_left', attempts: [], durationMs: 1 });
    },
    PATIENCE_MS,
  );
});

const REQUEST = {
  rate: 'chat',
  endpoint: 'svc_chat',
  model: 'm',
  price: { kind: 'tokens', input: 0, cachedInput: 0, output: 1_000_000 },
  ceiling: { kind: 'tokens', input: 1, output: 1, choices: 1 },
  stream: false,
  client: 'test',
  limits: LIMITS,
} as const;
