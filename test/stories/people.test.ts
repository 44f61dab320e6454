import { afterEach, describe, expect, test } from 'bun:test';
import { catalogFor } from '../support/gateway.ts';
import { NodeProcess } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';

/** The command line beside a running server, as an operator uses it. */
const nodes: NodeProcess[] = [];
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.stop();
});

const DATABASES: Record<string, () => Promise<{ databaseUrl?: string }>> = {
  SQLite: () => Promise.resolve({}),
  Postgres: async () => ({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};
const PASSWORD = 'a quiet gate at dawn';
const NEW_PASSWORD = 'a louder gate at dusk';
const EMAIL = 'dora@example.com';

const post = (node: NodeProcess, path: string, body: object): Promise<Response> =>
  fetch(`${node.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify(body),
  });
const signUp = async (node: NodeProcess) =>
  (await post(node, '/api/auth/sign-up/email', { email: EMAIL, password: PASSWORD })).status;
const signIn = async (node: NodeProcess, password: string) =>
  (await post(node, '/api/auth/sign-in/email', { email: EMAIL, password })).status;

interface Made {
  readonly link: string;
  readonly expires_at: string;
}

describe.each(Object.entries(DATABASES))('on %s', (_name, database) => {
  const start = async (): Promise<NodeProcess> => {
    const node = await NodeProcess.start({ yaml: catalogFor(['http://127.0.0.1:9']), ...(await database()) });
    nodes.push(node);
    return node;
  };
  const command = async (node: NodeProcess, ...words: string[]): Promise<string> => {
    const { code, output } = await node.cli(...words);
    expect([words.join(' '), code]).toEqual([words.join(' '), 0]);
    return output;
  };

  test('an administrator made by the command line opens registration on the running server', async () => {
    const node = await start();
    expect(await signUp(node)).toBe(403);
    await command(node, 'account', 'create', 'somebody@example.com', '--json');
    expect(await signUp(node)).toBe(403);
    await command(node, 'account', 'create', 'keeper@example.com', '--admin', '--json');
    expect(await signUp(node)).toBe(200);
  });

  test('a reset link made by the command line works once on the running server, and its token is logged nowhere', async () => {
    const node = await start();
    await command(node, 'account', 'create', 'keeper@example.com', '--admin', '--json');
    expect(await signUp(node)).toBe(200);
    const make = async (...flags: string[]): Promise<Made & { token: string }> => {
      const made = JSON.parse(
        await command(node, 'account', 'reset-link', EMAIL, '--json', ...flags),
      ) as Made;
      return { ...made, token: made.link.split('#')[1] ?? '' };
    };
    const older = await make();
    const before = Date.now();
    const made = await make('--hours', '2', '--url', 'https://gate.example');
    expect(made.link).toBe(`https://gate.example/reset-password#${made.token}`);
    expect(made.token).toMatch(/^[0-9A-Za-z]{43}$/);
    expect(Date.parse(made.expires_at)).toBeGreaterThanOrEqual(before + 2 * 3_600_000);

    const use = async (token: string) =>
      (await post(node, '/api/console/password-reset', { token, password: NEW_PASSWORD })).status;
    expect(await use(older.token)).toBe(400);
    expect(await use(made.token)).toBe(200);
    expect(await use(made.token)).toBe(400);
    expect([await signIn(node, PASSWORD), await signIn(node, NEW_PASSWORD)]).toEqual([401, 200]);

    const page = await fetch(`${node.url}/reset-password`);
    expect([page.status, page.headers.get('referrer-policy')]).toEqual([200, 'no-referrer']);
    for (const { token } of [older, made]) expect(node.log).not.toContain(token);
  });
});
