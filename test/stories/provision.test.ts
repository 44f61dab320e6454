import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';

/** The guide for programs that operate, as it is printed: each command is run, and what it says to keep is kept. */
const DATABASES: Record<string, () => Promise<{ databaseUrl?: string }>> = {
  SQLite: () => Promise.resolve({}),
  Postgres: async () => ({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};
const PASSWORD = 'a perfectly fine phrase';
const GUIDE = new URL('../../docs/provision-customers.md', import.meta.url);
const catalogWith = (input: number): string => `
upstreams: { house: { kind: house } }
lists: { models: [{ model: house-echo, input: ${input}, output: 200 }] }
endpoints: { svc_house: { name: house, type: chat_completion, lists: [models], upstreams: [house] } }
groups: { vip: { factor: 0.9 } }
`;
const ROLES = ['full', 'support', 'finance', 'read'] as const;
type Role = (typeof ROLES)[number];

type Kept = Record<string, string>;
interface Step {
  readonly command: string;
  /** Name of the variable, and where its value is in the answer. */
  readonly keeps: readonly (readonly [name: string, path: string])[];
}

describe.each(Object.entries(DATABASES))('on %s', (_name, database) => {
  let node: NodeProcess;
  let operator: Operator;
  let kept: Kept;
  let tokens: Record<Role, string>;

  beforeAll(async () => {
    node = await NodeProcess.start(await database());
    operator = await Operator.open(node.env);
    const token = /\/setup\/(\S+)/.exec(node.greeting)?.[1];
    const made = await ownPage('/api/console/setup', {
      token,
      email: 'owner@example.com',
      password: PASSWORD,
    });
    const cookie = made.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ');
    const operatorToken = async (role: Role): Promise<string> => {
      const body = { name: `billing (${role})`, role, expiresAt: Date.now() + 86_400_000 };
      const answer = await ownPage('/api/console/admin/operator-tokens', body, cookie);
      return ((await answer.json()) as { token: string }).token;
    };
    tokens = Object.fromEntries(
      await Promise.all(ROLES.map(async (role) => [role, await operatorToken(role)] as const)),
    ) as Record<Role, string>;
    kept = { URL: node.url, OPERATOR_TOKEN: tokens.full, SUPPORT_TOKEN: tokens.support };
    await must('full', 'POST catalog', { yaml: catalogWith(50), note: '', revision: 0 });
  }, 60_000);
  afterAll(async () => {
    await operator.close();
    await node.stop();
  });

  const ownPage = (path: string, body: object, cookie = ''): Promise<Response> =>
    fetch(`${node.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', cookie },
      body: JSON.stringify(body),
    });

  const call = (role: Role, name: string, body?: object, key?: string): Promise<Response> => {
    const [method = '', path = ''] = name.split(' ');
    return fetch(`${node.url}/api/operator/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${tokens[role]}`,
        'content-type': 'application/json',
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  };
  async function must<T>(role: Role, name: string, body?: object, key?: string): Promise<T> {
    const answer = await call(role, name, body, key);
    expect([name, answer.status, answer.ok ? '' : await answer.clone().text()]).toEqual([name, 200, '']);
    return (await answer.json()) as T;
  }

  test('every command of the guide does what it says, and the books add up', async () => {
    const steps = stepsOf(await Bun.file(GUIDE).text());
    expect(steps.length).toBeGreaterThan(9);
    let answer: unknown;
    for (const { command, keeps } of steps) {
      answer = await run(command, kept);
      for (const [name, path] of keeps) kept[name] = valueAt(answer, path);
    }
    // The last one is the audit log: under the names of the tokens, with what changed.
    const actors = (answer as { items: { actorToken: string | null; action: string; detail: object }[] })
      .items;
    expect(new Set(actors.flatMap(({ actorToken }) => actorToken ?? []))).toEqual(
      new Set(['billing (full)', 'billing (support)']),
    );
    expect(actors.find(({ action }) => action === 'account.limits.changed')?.detail).toMatchObject({
      budget: '$5.00 per day → $1.00 per day',
      models: 'any → svc_house/*',
    });
    // 20 to begin with, 50 paid, and what the one request cost came back.
    const team = await operator.services.accounts.get(kept['TEAM'] as never);
    expect([team.balance, team.held]).toEqual([70_000_000_000, 0]);
    expect((await operator.services.ledger.ledger.verify({ full: true })).breaches).toEqual([]);
    const { status } = await fetch(`${node.url}/v1/models`, {
      headers: { authorization: `Bearer ${kept['APP_TOKEN']}` },
    });
    expect(status).toBe(401);
  }, 60_000);

  test('a refund above the limit of the day is refused, and leaves a record', async () => {
    const response = await fetch(`${node.url}/api/operator/v1/accounts/${kept['TEAM']}/refund`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${kept['SUPPORT_TOKEN']}`,
        'content-type': 'application/json',
        'idempotency-key': 'too much',
      },
      body: JSON.stringify({ amountUsd: '50.01', cause: 'too much' }),
    });
    expect([response.status, await response.json()]).toMatchObject([403, { error: { code: 'not_allowed' } }]);
    const row = await operator.services.store.db
      .selectFrom('audit')
      .select('detail')
      .where('action', '=', 'account.refund.refused')
      .executeTakeFirst();
    expect(row?.detail).toContain('not_allowed');
  });

  test('a program makes a customer of a group, prices change at a date, and each receipt is exact', async () => {
    await must('full', 'POST accounts', { email: 'erin@example.com', name: 'Erin' });
    const newTeam = { name: 'Erin and co', owner: 'erin@example.com', balanceUsd: '20' };
    const { id: team } = await must<{ id: string }>('full', 'POST teams', newTeam, 'erin-team');
    await must('full', `PUT accounts/${team}/price-group`, { group: 'vip' });
    const newApp = { name: 'website', budget: { amountUsd: '5', per: 'day' } };
    const made = await must<{ token: string; app: { id: string } }>(
      'full',
      `POST teams/${team}/apps`,
      newApp,
    );
    const asked = async (): Promise<{ id: string; chargedUsd: string }> => {
      const headers = { authorization: `Bearer ${made.token}`, 'content-type': 'application/json' };
      const body = { model: 'svc_house/house-echo', messages: [{ role: 'user', content: 'Hello' }] };
      const answer = await fetch(`${node.url}/v1/chat/completions`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      expect(answer.status).toBe(200);
      const id = answer.headers.get('x-request-id') ?? '';
      const receipt = await fetch(`${node.url}/api/public/v1/requests/${id}`, { headers });
      const { lines, charged_usd: chargedUsd, price_group: group } = (await receipt.json()) as Receipt;
      expect(group).toBe('vip');
      const exact = lines.reduce((sum, line) => sum + line.quantity * nano(line.unit_price_usd), 0);
      expect(nano(chargedUsd)).toBe(Math.ceil(exact / 1_000_000));
      prices.push(...lines.filter(({ item }) => item === 'input').map((line) => line.unit_price_usd));
      return { id, chargedUsd };
    };
    const prices: string[] = [];
    await asked();

    // New prices, first with a date that is over, then by whoever may not, then by whoever may.
    const { revision } = await must<{ revision: number }>('full', 'GET catalog');
    const draft = { yaml: catalogWith(60), note: 'new year', revision };
    expect((await call('full', 'POST catalog', { ...draft, from: Date.now() - 60_000 })).status).toBe(400);
    const from = Date.now() + 3_600_000;
    for (const role of ['support', 'finance', 'read'] as const)
      expect((await call(role, 'POST catalog', { ...draft, from })).status).toBe(403);
    expect(await must('full', 'POST catalog', { ...draft, from })).toEqual({ revision, from });
    expect((await call('support', 'GET catalog/plans')).status).toBe(403);
    const plan = async () => (await must<{ items: Plan[] }>('read', 'GET catalog/plans')).items[0];
    expect(await plan()).toMatchObject({ from, state: 'waiting', actor: 'billing (full)' });
    expect((await call('read', `POST catalog/plans/${(await plan())?.id}/cancel`, {})).status).toBe(403);
    await asked();

    // An hour later: a database's clock cannot be moved, so the moment is.
    const { db } = operator.services.store;
    await db
      .updateTable('catalog_plan')
      .set({ from_at: Date.now() - 1 })
      .where('state', '=', 'waiting')
      .execute();
    const newest = async () => (await must<{ revision: number }>('full', 'GET catalog')).revision;
    await eventually('the plan is in force', async () => (await newest()) === revision + 1);
    const last = await asked();
    expect(prices).toEqual(['45.00', '45.00', '54.00']);
    expect(await plan()).toMatchObject({ state: 'published', revision: revision + 1 });

    // Support gives back what it cost, and no more than it may on a day.
    const refund = { amountUsd: last.chargedUsd, cause: 'cut', requestId: last.id };
    const path = `POST accounts/${made.app.id}/refund`;
    expect((await call('read', path, refund, 'r')).status).toBe(403);
    await must('support', path, refund, 'r');
    expect((await call('support', path, { ...refund, amountUsd: '0.01' }, 'r')).status).toBe(400);
    expect(
      (await call('support', `POST accounts/${team}/refund`, { amountUsd: '50.01', cause: 'much' }, 's'))
        .status,
    ).toBe(403);
    expect((await operator.services.ledger.ledger.verify({ full: true })).breaches).toEqual([]);
    for (const [action, actorToken] of [
      ['catalog.save', 'billing (full)'],
      ['catalog.save.refused', 'billing (full)'],
      ['catalog.save.refused', 'billing (read)'],
      ['catalog.cancel-plan.refused', 'billing (read)'],
      ['account.refund', 'billing (support)'],
      ['account.refund.refused', 'billing (support)'],
    ] as const) {
      // By action: the looks for the plan above are entries too, as many as the machine is quick.
      const { items } = await must<{ items: { action: string; actorToken: string | null }[] }>(
        'full',
        `GET audit?action=${action}&limit=100`,
      );
      expect(items).toContainEqual(expect.objectContaining({ action, actorToken }));
    }
  }, 60_000);
});

interface Receipt {
  readonly charged_usd: string;
  readonly price_group?: string;
  readonly lines: readonly {
    readonly item: string;
    readonly quantity: number;
    readonly unit_price_usd: string;
  }[];
}

interface Plan {
  readonly id: number;
  readonly state: string;
}

function nano(usd: string): number {
  const [whole = '0', fraction = ''] = usd.split('.');
  return Number(whole) * 1_000_000_000 + Number(fraction.padEnd(9, '0'));
}

function stepsOf(guide: string): Step[] {
  const blocks = guide.split('```sh\n').slice(1);
  return blocks.map((block) => {
    const [command = '', after = ''] = block.split('\n```\n');
    const keeps = Array.from(
      after.matchAll(/`([\w.]+)` as `([A-Z_]+)`/g),
      ([, path = '', name = '']) => [name, path] as const,
    );
    return { command, keeps };
  });
}

async function run(command: string, env: Kept): Promise<unknown> {
  const child = Bun.spawn(['bash', '-euc', command], {
    env: { ...env, PATH: process.env['PATH'] ?? '' },
    stderr: 'pipe',
  });
  const [text, said, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command}\n${text}\n${said}`);
  return JSON.parse(text);
}

function valueAt(answer: unknown, path: string): string {
  let value: unknown = answer;
  for (const name of path.split('.')) value = (value as Record<string, unknown>)[name];
  if (typeof value !== 'string') throw new Error(`there is no ${path} in ${JSON.stringify(answer)}`);
  return value;
}
