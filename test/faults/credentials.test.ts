import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { catalogFor, type TestAccount } from '../support/gateway.ts';
import { NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** Who may do what depends on a token in its place, or on a session in its own, and on nothing that they contain. */

const BODY = { endpoint: 'svc_chat', model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const PATHS = ['/api/public/v1/chat/completions', '/v1/chat/completions', '/v1/messages', '/v1/responses'];
/** A database that runs one of these sleeps longer than the test may take, or has no table left. */
const SQL = [
  "' OR (SELECT pg_sleep(120)) IS NULL--",
  "'; SELECT pg_sleep(120); --",
  "'); DROP TABLE account; --",
  '1 UNION SELECT token_hash FROM account',
  "' || (SELECT load_extension('x')) || '",
  "\\'; DELETE FROM receipt; --",
  '$1',
  ':hash',
  '%%%_%',
];

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  let backend: ScriptedBackend;
  let node: NodeProcess;
  let operator: Operator;
  let account: TestAccount;

  beforeAll(async () => {
    backend = new ScriptedBackend();
    backend.script(() => completion('ok', usage(1, 1)));
    node = await NodeProcess.start({
      yaml: catalogFor([backend.baseUrl]),
      ...(store === 'Postgres' ? { databaseUrl: await (await testPostgres()).freshDatabase() } : {}),
    });
    operator = await Operator.open(node.env);
    account = await operator.account('1');
  }, 60_000);
  afterAll(async () => {
    expect((await operator.verify()).breaches).toEqual([]);
    expect(node.log).not.toContain(account.token);
    await operator.close();
    await node.stop();
    await backend.stop();
  });

  const post = async (
    path: string,
    headers: Record<string, string>,
    body: object = BODY,
  ): Promise<number> => {
    const response = await fetch(`${node.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    await response.arrayBuffer();
    return response.status;
  };

  test('a token in a cookie, in a body or as a Basic password is no token, and nobody is called', async () => {
    const before = backend.calls.length;
    const { token } = account;
    for (const path of PATHS) {
      expect(await post(path, { cookie: `token=${token}; authorization=Bearer ${token}` })).toBe(401);
      expect(await post(path, {}, { ...BODY, token, api_key: token, authorization: `Bearer ${token}` })).toBe(
        401,
      );
      expect(await post(path, { authorization: `Basic ${btoa(`user:${token}`)}` })).toBe(401);
      expect(await post(path, { authorization: `Basic ${btoa(`${token}:`)}` })).toBe(401);
      expect(await post(path, { 'x-token': token, 'proxy-authorization': `Bearer ${token}` })).toBe(401);
    }
    expect(backend.calls.length).toBe(before);
    expect(await post(PATHS[0]!, { authorization: `Bearer ${token}` })).toBe(200);
  });

  test('a session of the console is no token', async () => {
    await node.cli('account', 'create', 'keeper@example.com', '--admin', '--json');
    const credentials = { email: 'dora@example.com', password: 'a quiet gate at dawn' };
    const signedUp = await fetch(`${node.url}/api/auth/sign-up/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify(credentials),
    });
    expect(signedUp.status).toBe(200);
    const cookie = signedUp.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ');
    const session = await fetch(`${node.url}/api/console/settings`, { headers: { cookie } });
    expect(session.status).toBe(200);
    for (const path of PATHS) expect(await post(path, { cookie })).toBe(401);
    const value = cookie.split('=').slice(1).join('=');
    for (const path of PATHS) expect(await post(path, { authorization: `Bearer ${value}` })).toBe(401);
  });

  test('SQL in a token, a name, an id or a key is text like any other', async () => {
    const authorization = `Bearer ${account.token}`;
    const before = (await operator.requests(account)).length;
    for (const text of SQL) {
      expect(await post(PATHS[0]!, { authorization: `Bearer ${text}` })).toBe(401);
      expect(await post(PATHS[0]!, { authorization: `Bearer ${account.token}${text}` })).toBe(401);
      expect(await post(PATHS[0]!, { authorization }, { ...BODY, endpoint: text })).toBe(400);
      expect(await post(PATHS[0]!, { authorization }, { ...BODY, model: text })).toBe(400);
      const served = {
        ...BODY,
        user: text,
        metadata: { [text]: text },
        messages: [{ role: 'user', content: text }],
      };
      expect(
        await post(PATHS[0]!, { authorization, 'idempotency-key': text, 'user-agent': text }, served),
      ).toBe(200);
      for (const path of ['requests', 'images', 'endpoints']) {
        const id = encodeURIComponent(text);
        const response = await fetch(`${node.url}/api/public/v1/${path}/${id}?cursor=${id}&limit=${id}`, {
          headers: { authorization },
        });
        await response.arrayBuffer();
        expect([400, 404]).toContain(response.status);
      }
      const query = new URLSearchParams({ email: text, password: text });
      expect(
        await post('/api/auth/sign-in/email', { 'sec-fetch-site': 'same-origin' }, Object.fromEntries(query)),
      ).toBeLessThan(500);
    }
    expect((await operator.requests(account)).length).toBe(before + SQL.length);
  }, 60_000);
});
