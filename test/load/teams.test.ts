import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chooseTags } from '../../src/identity/accounts/account-limits.ts';
import type { Admission, AdmissionRequest, Ledger } from '../../src/ledger/port.ts';
import {
  accountRow,
  addTeam,
  chatAdmission,
  used,
  type LedgerHarness,
  type TestAccount,
  type TestTeam,
} from '../../src/ledger/testing/contract-harness.ts';
import { sqliteHarness } from '../../src/ledger/testing/sqlite-harness.ts';
import { DAY_MS, periodStart } from '../../src/std/calendar.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { nanoUsd } from '../../src/std/money.ts';
import { catalogFor } from '../support/gateway.ts';
import { BackendProcess, eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { postgresHarness } from '../support/postgres-ledger.ts';
import { testPostgres } from '../support/postgres.ts';

/** Many apps of one team at once: each spends at most its budget, all of them at most the balance, and nothing is lost. */

const APPS = 20;
const EACH = 25;
const HELD = 2_100;
const BUDGET = 10;
const BALANCE = 100;
const PATIENCE_MS = 120_000;

interface Cluster {
  readonly harness: LedgerHarness;
  readonly nodes: readonly Ledger[];
  close(): Promise<void>;
}

const CLUSTERS = {
  async 'three nodes on Postgres'(): Promise<Cluster> {
    const harness = await postgresHarness();
    const nodes = ['one', 'two', 'three'].map((name) => harness.anotherNode(name));
    const close = async (): Promise<void> => {
      await Promise.all(nodes.map((node) => node.close()));
      await harness.close();
    };
    return { harness, nodes, close };
  },
  async 'one node on SQLite'(): Promise<Cluster> {
    const harness = await sqliteHarness();
    return { harness, nodes: [harness.ledger()], close: () => harness.close() };
  },
};

describe.each(Object.entries(CLUSTERS))('%s', (_, open) => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await open();
  }, PATIENCE_MS);
  afterAll(async () => await cluster.close(), PATIENCE_MS);

  const nodeOf = (index: number): Ledger => {
    const node = cluster.nodes[index % cluster.nodes.length];
    if (!node) throw new Error('there are no nodes');
    return node;
  };
  const admitAll = (requests: readonly AdmissionRequest[]): Promise<Admission[]> =>
    Promise.all(requests.map((request, index) => nodeOf(index).admit(request)));

  async function newTeam(): Promise<TestTeam> {
    const team = await addTeam(cluster.harness, BALANCE * HELD, APPS);
    await Promise.all(
      team.apps.map(({ id }) =>
        nodeOf(0).setBudget({ accountId: id, budget: { amount: nanoUsd(BUDGET * HELD), per: 'day' } }),
      ),
    );
    return team;
  }

  /** Each app's requests between those of the others. */
  function burst({ apps }: TestTeam): AdmissionRequest[] {
    return Array.from({ length: EACH }, () => apps)
      .flat()
      .map((app) => chatAdmission(app));
  }

  async function settleAll(
    requests: readonly AdmissionRequest[],
    answers: readonly Admission[],
  ): Promise<void> {
    await Promise.all(
      requests.map(async ({ requestId }, index) => {
        if (answers[index]?.kind === 'admitted')
          await nodeOf(index).settle(requestId, used({ input: 100, output: 1_000 }));
      }),
    );
  }

  function admittedOf(
    { hash }: TestAccount,
    requests: readonly AdmissionRequest[],
    answers: readonly Admission[],
  ): number {
    return requests.filter(
      ({ caller }, index) =>
        caller.kind === 'token' && caller.hash === hash && answers[index]?.kind === 'admitted',
    ).length;
  }

  async function expectSound(): Promise<void> {
    expect((await nodeOf(0).verify({ full: true })).breaches).toEqual([]);
  }

  test(
    `of ${APPS * EACH} at once on a balance for ${BALANCE}, ${BALANCE} get in, no app more than ${BUDGET}`,
    async () => {
      const team = await newTeam();
      const requests = burst(team);
      const answers = await admitAll(requests);
      expect(answers.filter(({ kind }) => kind === 'admitted')).toHaveLength(BALANCE);
      for (const app of team.apps) expect(admittedOf(app, requests, answers)).toBeLessThanOrEqual(BUDGET);
      expect(await accountRow(cluster.harness, team)).toMatchObject({
        held: BALANCE * HELD,
        open_holds: BALANCE,
      });
      await settleAll(requests, answers);
      expect(await accountRow(cluster.harness, team)).toMatchObject({ balance: 0, held: 0, open_holds: 0 });
      const rows = await Promise.all(team.apps.map((app) => accountRow(cluster.harness, app)));
      expect(rows.reduce((sum, row) => sum + row.budget_used, 0)).toBe(BALANCE * HELD);
      await expectSound();
    },
    PATIENCE_MS,
  );

  test(
    'where the budgets are what is short, every app spends exactly its own, also when they are changed meanwhile',
    async () => {
      const team = await newTeam();
      await nodeOf(0).post({
        accountId: team.id,
        kind: 'credit',
        amount: 1_000 * HELD,
        cause: 'more',
        actor: 'test',
      });
      const requests = burst(team);
      const lowered = team.apps.slice(0, 5);
      const [answers] = await Promise.all([
        admitAll(requests),
        ...lowered.map(({ id }) =>
          nodeOf(1).setBudget({ accountId: id, budget: { amount: nanoUsd(3 * HELD), per: 'day' } }),
        ),
      ]);
      for (const app of team.apps) {
        const admitted = admittedOf(app, requests, answers);
        if (lowered.includes(app)) expect(admitted).toBeGreaterThanOrEqual(3);
        else expect(admitted).toBe(BUDGET);
        expect(admitted).toBeLessThanOrEqual(BUDGET);
      }
      await settleAll(requests, answers);
      await expectSound();
    },
    PATIENCE_MS,
  );

  test(
    'at the turn of the day every app has its budget once more, whatever is still under way',
    async () => {
      const team = await newTeam();
      await nodeOf(0).post({
        accountId: team.id,
        kind: 'credit',
        amount: 1_000 * HELD,
        cause: 'more',
        actor: 'test',
      });
      const before = burst(team);
      const first = await admitAll(before);
      const now = await cluster.harness.now();
      await cluster.harness.advance(periodStart('day', now) + DAY_MS - now + 1_000);
      const after = burst(team);
      const [second] = await Promise.all([admitAll(after), settleAll(before, first)]);
      for (const app of team.apps)
        expect([admittedOf(app, before, first), admittedOf(app, after, second)]).toEqual([BUDGET, BUDGET]);
      await settleAll(after, second);
      const rows = await Promise.all(team.apps.map((app) => accountRow(cluster.harness, app)));
      for (const row of rows) expect(row).toMatchObject({ budget_used: BUDGET * HELD, budget_held: 0 });
      await expectSound();
    },
    PATIENCE_MS,
  );

  test(
    'while accounts leave, their tokens open nothing any more and what they began is charged',
    async () => {
      const team = await newTeam();
      await nodeOf(0).post({
        accountId: team.id,
        kind: 'credit',
        amount: 1_000 * HELD,
        cause: 'more',
        actor: 'test',
      });
      const requests = burst(team);
      const leaving = team.apps.slice(0, 10);
      const leave = async ({ id }: TestAccount): Promise<void> => {
        await cluster.harness.store.db
          .updateTable('account')
          .set({ ended_at: 1 })
          .where('id', '=', id)
          .execute();
      };
      const [answers] = await Promise.all([admitAll(requests), ...leaving.map(leave)]);
      for (const app of leaving) {
        const again = await nodeOf(2).admit(chatAdmission(app));
        expect(again).toMatchObject({ kind: 'refused', reason: 'invalid_token' });
      }
      await settleAll(requests, answers);
      expect(await accountRow(cluster.harness, team)).toMatchObject({ held: 0, open_holds: 0 });
      await expectSound();
    },
    PATIENCE_MS,
  );
});

/** One token of output, which costs $0.000002; the backend uses exactly what is held for it. */
const ONE = 2_000;

describe.each([
  ['three nodes on Postgres', 3],
  ['one node on SQLite', 1],
] as const)('%s, one of which is killed during the burst', (_, size) => {
  let backend: BackendProcess;
  let nodes: NodeProcess[];
  let operator: Operator;

  beforeAll(async () => {
    backend = await BackendProcess.start();
    const yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' });
    const databaseUrl = size > 1 ? await (await testPostgres()).freshDatabase() : undefined;
    const options = {
      yaml,
      env: { TOLLGATE_LEASE_SECONDS: '4' },
      ...(databaseUrl !== undefined && { databaseUrl }),
    };
    nodes = await Promise.all(Array.from({ length: size }, () => NodeProcess.start(options)));
    operator = await Operator.open(nodes[0]?.env ?? {});
  }, PATIENCE_MS);
  afterAll(async () => {
    await operator.close();
    await Promise.all(nodes.map((node) => node.stop()));
    await backend.stop();
  }, PATIENCE_MS);

  interface App {
    readonly id: AccountId;
    readonly token: string;
  }

  async function makeTeam(): Promise<{ readonly id: string; readonly apps: readonly App[] }> {
    const { teams, store } = operator.services;
    const owner = await operator.account('0');
    const { id } = await teams.create('burst', owner, { balance: nanoUsd(BALANCE * ONE), actor: 'test' });
    await chooseTags(store, id, ['run'], Date.now());
    const apps: App[] = [];
    for (let number = 0; number < APPS; number++) {
      const budget = { amount: nanoUsd(BUDGET * ONE), per: 'total' } as const;
      const { app, token } = await teams.makeApp(id, `app ${number}`, { budget });
      operator.tokens.push(token);
      // The primary key of an account is an account id.
      apps.push({ id: app.id as AccountId, token });
    }
    return { id, apps };
  }

  /** A node that keeps the tags of an account keeps those of a team that asked for them before. */
  async function tagsAreKnown(): Promise<void> {
    const { store } = operator.services;
    const probe = await operator.account('1');
    await chooseTags(store, probe.id, ['run'], Date.now());
    for (const node of nodes)
      await eventually('the node keeps tags', async () => {
        const response = await fetch(`${node.url}/api/public/v1/chat/completions`, requestOf(probe.token, 0));
        await response.arrayBuffer();
        return (await untagged([response.headers.get('x-request-id') ?? ''])).length === 0;
      });
  }

  /** Those of these requests that have no tag. */
  async function untagged(ids: readonly string[]): Promise<string[]> {
    const query = operator.services.store.db.selectFrom('request_tag').select('request_id');
    const rows = await query.where('request_id', 'in', ids).where('value', '=', 'the burst').execute();
    const tagged = new Set(rows.map(({ request_id }) => request_id));
    return ids.filter((id) => !tagged.has(id));
  }

  function requestOf(token: string, delayMs: number): RequestInit {
    const body = {
      endpoint: 'svc_chat',
      model: 'm',
      messages: [{ role: 'user', content: 'x' }],
      max_tokens: 1,
      metadata: { run: 'the burst' },
      script: { delayMs },
    };
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return { method: 'POST', headers, body: JSON.stringify(body) };
  }

  /** The ids of the requests that were answered; all others were refused, or their node died. */
  async function answered(apps: readonly App[], delayMs: number): Promise<string[]> {
    const ask = async ({ token }: App, node: NodeProcess | undefined): Promise<string[]> => {
      try {
        const url = `${node?.url}/api/public/v1/chat/completions`;
        const response = await fetch(url, requestOf(token, delayMs));
        await response.arrayBuffer();
        return response.status === 200 ? [response.headers.get('x-request-id') ?? ''] : [];
      } catch {
        // Its node was killed.
        return [];
      }
    };
    const all = Array.from({ length: EACH }, () => apps).flat();
    return (await Promise.all(all.map((app, index) => ask(app, nodes[index % size])))).flat();
  }

  test(
    'no app spends more than its budget, nothing that was answered is lost, every charge has its tag, and every dollar can still be spent',
    async () => {
      const team = await makeTeam();
      await tagsAreKnown();
      const [victim] = nodes;
      const burst = answered(team.apps, 1_000);
      await eventually('many are under way', async () => (await operator.pending()) >= 50);
      await victim?.kill();
      const promised = await burst;
      await victim?.restart();
      await operator.settled();
      // What was held for the dead is free again, so further bursts spend the rest.
      for (let more = 1; more > 0;) {
        const served = await answered(team.apps, 0);
        promised.push(...served);
        await operator.settled();
        more = served.length;
      }
      const charges = new Map<string, number[]>();
      for (const { id } of team.apps) {
        const own = await operator.charges({ id, email: '', token: '' });
        for (const [request, amounts] of own) charges.set(request, amounts);
        const spent = [...own.values()].flat().reduce((sum, amount) => sum + amount, 0);
        expect(spent).toBeLessThanOrEqual(BUDGET * ONE);
        const row = await operator.services.accounts.get(id);
        expect(row).toMatchObject({ budget_used: spent, budget_held: 0, open_holds: 0 });
      }
      for (const id of promised) expect([id, charges.get(id)]).toEqual([id, [ONE]]);
      // Whatever was charged has its tag, also where its node died in between.
      expect(await untagged([...charges.keys()])).toEqual([]);
      expect([...charges.values()].flat().reduce((sum, amount) => sum + amount, 0)).toBe(BALANCE * ONE);
      const wallet = await operator.services.accounts.get(team.id as AccountId);
      expect(wallet).toMatchObject({ balance: 0, held: 0, open_holds: 0 });
      expect((await operator.services.ledger.ledger.verify({ full: true })).breaches).toEqual([]);
    },
    PATIENCE_MS,
  );
});
