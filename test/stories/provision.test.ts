import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';

/** The guide for programs that operate, as it is printed: each command is run, and what it says to keep is kept. */
const DATABASES: Record<string, () => Promise<{ databaseUrl?: string }>> = {
  SQLite: () => Promise.resolve({}),
  Postgres: async () => ({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};
const PASSWORD = 'a perfectly fine phrase';
const GUIDE = new URL('../../docs/provision-customers.md', import.meta.url);
const YAML = `
upstreams: { house: { kind: house } }
lists: { models: [{ model: house-echo, input: 50, output: 200 }] }
endpoints: { svc_house: { name: house, type: chat_completion, lists: [models], upstreams: [house] } }
`;

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

  beforeAll(async () => {
    node = await NodeProcess.start({ yaml: YAML, ...(await database()) });
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
    const operatorToken = async (role: string): Promise<string> => {
      const body = { name: `billing (${role})`, role, expiresAt: Date.now() + 86_400_000 };
      const answer = await ownPage('/api/console/admin/operator-tokens', body, cookie);
      return ((await answer.json()) as { token: string }).token;
    };
    kept = {
      URL: node.url,
      OPERATOR_TOKEN: await operatorToken('full'),
      SUPPORT_TOKEN: await operatorToken('support'),
    };
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
});

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
