import { afterEach, describe, expect, test } from 'bun:test';
import { Browser } from '../../src/console/testing/harness.ts';
import type { Answer } from '../../src/console/contract/routes.ts';
import { Gateway } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';

type AdminBackendTest = Answer<'POST /api/console/admin/backends/{id}/test'>;

type AdminCatalogProposal = Answer<'POST /api/console/admin/catalog/propose'>;

const PASSWORD = 'a quiet gate at dawn';
const KEY = 'sk-the-provider-key-0001';
const DATABASES: Record<string, () => Promise<string | undefined>> = {
  SQLite: () => Promise.resolve(undefined),
  Postgres: async () => await (await testPostgres()).freshDatabase(),
};

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** An admin who may be the wrong person at the right desk, a provider, and the server that the keys must not reach. */
describe.each(Object.entries(DATABASES))('provider keys on %s', (_name, database) => {
  test('an open session cannot publish a catalog, nor an older version of one, without the password', async () => {
    const scene = await open(database);
    const { admin } = scene;
    await storeKey(scene, 'PROVIDER_API_KEY', scene.provider.url);
    await publish(admin, catalog(scene.provider.url));
    await leaveSessionOpen(scene.gateway);
    for (const yaml of [catalog(scene.thief.url), (await current(admin)).yaml]) {
      const refused = await save(admin, yaml);
      await testCall(admin);
      expect(scene.thief.heard()).toBe('');
      expect([refused.status, refused.body.error?.code]).toEqual([403, 'confirmation_required']);
    }
    await admin.must('POST', '/api/console/confirm', { password: PASSWORD });
    expect((await save(admin, catalog(scene.provider.url))).status).toBe(200);
    expect(scene.thief.heard()).toBe('');
  });

  test('a key is sent to the host it was entered for, and never along a redirect', async () => {
    const scene = await open(database);
    await storeKey(scene, 'PROVIDER_API_KEY', scene.provider.url);
    await publish(scene.admin, catalog(scene.provider.url));
    expect(await testCall(scene.admin)).toMatchObject({ ok: true });
    expect(scene.provider.keys()).toEqual([KEY]);
    scene.provider.redirectTo(scene.thief.url);
    expect(await testCall(scene.admin)).toMatchObject({ ok: false });
    expect(scene.thief.heard()).toBe('');
  });

  test('a stored key is not sent to another host, as a key or in a header, and a draft is told so', async () => {
    const scene = await open(database);
    const { admin, thief, provider } = scene;
    await storeKey(scene, 'PROVIDER_API_KEY', provider.url);
    await publish(admin, catalog(provider.url));
    const drafts = [
      catalog(thief.url),
      catalog(thief.url, 'headers: { authorization: "${PROVIDER_API_KEY}" }'),
      catalog(thief.url, 'headers: { x-note: "${PROVIDER_API_KEY}" }'),
    ];
    const told = `the key PROVIDER_API_KEY was entered for ${provider.url}; enter it again for ${thief.url}`;
    for (const yaml of drafts) {
      const proposal = await propose(admin, yaml);
      const refused = await save(admin, yaml);
      await testCall(admin);
      expect(thief.heard()).toBe('');
      expect(proposal).toMatchObject({ ok: false, problems: [{ line: 3, message: told }] });
      expect([refused.status, refused.body.error?.message]).toEqual([400, `Line 3: ${told}`]);
    }
    expect(provider.keys()).toEqual([KEY, KEY, KEY]);
  });

  test('a backend that a key was not entered for is shown with the reason and is never called', async () => {
    const scene = await open(database);
    const { admin, gateway, thief, provider } = scene;
    await storeKey(scene, 'PROVIDER_API_KEY', thief.url, 'sk-of-somebody-else');
    await publish(admin, catalog(thief.url));
    await storeKey(scene, 'PROVIDER_API_KEY', provider.url);
    const problem = `the key PROVIDER_API_KEY was entered for ${provider.url}; enter it again for ${thief.url}`;
    const tested = await testCall(admin);
    const { token } = await gateway.account('1');
    const asked = await gateway.chat(token);
    expect(thief.heard()).toBe('');
    expect(tested).toMatchObject({ ok: false, detail: problem });
    expect(asked.status).toBeGreaterThanOrEqual(500);
    const { items } = await admin.must<Answer<'GET /api/console/admin/backends'>>(
      'GET',
      '/api/console/admin/backends',
    );
    expect(items).toMatchObject([{ name: 'main', state: 'open', problem }]);
    expect(gateway.log.join('\n')).toContain('provider_key_withheld');
  });

  test('a key from the environment is sent to its provider and to hosts that the operator listed', async () => {
    const provider = listen();
    const listed = `TEAM_API_KEY=${provider.url}, PLAIN_NAME`;
    const env = {
      OPENAI_API_KEY: KEY,
      TEAM_API_KEY: KEY,
      PLAIN_NAME: KEY,
      HIDDEN_NAME: KEY,
      TOLLGATE_CATALOG_ENV: listed,
    };
    const { admin, thief } = await open(database, env);
    const using = (name: string, url: string) => catalog(url).replace('PROVIDER_API_KEY', name);
    const drafts: [string, string, string][] = [
      [
        'OPENAI_API_KEY',
        thief.url,
        `OPENAI_API_KEY is a key for https://api.openai.com and is not sent to ${thief.url}`,
      ],
      [
        'TEAM_API_KEY',
        thief.url,
        `TEAM_API_KEY is a key for ${provider.url} and is not sent to ${thief.url}`,
      ],
      ['HIDDEN_NAME', provider.url, 'must not read HIDDEN_NAME'],
    ];
    for (const [name, url, told] of drafts) {
      const yaml = using(name, url);
      const { ok, problems } = await propose(admin, yaml);
      const refused = await save(admin, yaml);
      await testCall(admin);
      expect(thief.heard()).toBe('');
      expect([ok, problems[0]?.line, problems[0]?.message]).toEqual([
        false,
        3,
        expect.stringContaining(told),
      ]);
      expect(refused.status).toBe(400);
    }
    for (const name of ['TEAM_API_KEY', 'PLAIN_NAME']) {
      await publish(admin, using(name, provider.url));
      expect(await testCall(admin)).toMatchObject({ ok: true });
    }
    expect(provider.keys()).toEqual([KEY, KEY]);
  });
});

interface Scene {
  readonly gateway: Gateway;
  readonly admin: Browser;
  readonly provider: Server;
  readonly thief: Server;
}

async function open(database: () => Promise<string | undefined>, env = {}): Promise<Scene> {
  const databaseUrl = await database();
  const gateway = await Gateway.start({ env, ...(databaseUrl === undefined ? {} : { databaseUrl }) });
  closing.push(() => gateway.stop());
  const admin = new Browser(gateway.url, '127.0.0.1');
  const token = new URL(gateway.tollgate.setupLink ?? '').pathname.split('/').at(-1);
  await admin.must('POST', '/api/console/setup', { token, email: 'keeper@example.com', password: PASSWORD });
  return { gateway, admin, provider: listen(), thief: listen() };
}

interface Server {
  readonly url: string;
  /** Every byte that came in, in any connection. */
  heard(): string;
  /** The keys that requests carried. */
  keys(): string[];
  redirectTo(url: string): void;
}

/** On a bare socket, so that nothing that arrives is overlooked. Answers every request with an empty list of models. */
function listen(): Server {
  let heard = '';
  let head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, bytes) {
        heard += bytes.toString('latin1');
        const body = '{"data":[]}';
        socket.end(`${head}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
      },
    },
  });
  closing.push(() => server.stop(true));
  return {
    url: `http://127.0.0.1:${server.port}`,
    heard: () => heard,
    keys: () => [...heard.matchAll(/^authorization: Bearer (.*?)\r$/gim)].map(([, key = '']) => key),
    redirectTo: (url) => void (head = `HTTP/1.1 307 Temporary Redirect\r\nlocation: ${url}/models\r\n`),
  };
}

function catalog(url: string, credentials = 'api_key: "${PROVIDER_API_KEY}"'): string {
  return `# One backend with a key.
upstreams:
  main: { kind: openai, base_url: "${url}", ${credentials} }
lists:
  models: [{ model: m, input: 1, output: 2 }]
endpoints:
  svc_chat: { name: Chat, type: chat_completion, lists: [models], upstreams: [main] }
`;
}

async function storeKey({ admin }: Scene, name: string, host: string, value = KEY): Promise<void> {
  await admin.must('PUT', `/api/console/admin/catalog/keys/${name}`, { value, host });
}

async function current(admin: Browser): Promise<{ yaml: string; revision: number }> {
  return await admin.must('GET', '/api/console/admin/catalog');
}

async function save(admin: Browser, yaml: string) {
  const { revision } = await current(admin);
  const draft = { yaml, note: 'change', revision };
  return await admin.call<{ error?: { code: string; message: string } }>(
    'POST',
    '/api/console/admin/catalog',
    draft,
  );
}

async function publish(admin: Browser, yaml: string): Promise<void> {
  expect(await save(admin, yaml)).toMatchObject({ status: 200 });
}

async function propose(admin: Browser, yaml: string): Promise<AdminCatalogProposal> {
  return await admin.must('POST', '/api/console/admin/catalog/propose', { yaml });
}

/** As the button on the page of the backends does; there may be no such backend yet. */
async function testCall(admin: Browser): Promise<AdminBackendTest> {
  return (await admin.call<AdminBackendTest & object>('POST', '/api/console/admin/backends/main/test')).body;
}

/** An hour passes for every session. */
async function leaveSessionOpen({ tollgate }: Gateway): Promise<void> {
  const createdAt = new Date(Date.now() - 3_600_000).toISOString();
  await tollgate.services.store.db
    .updateTable('auth_session')
    .set({ createdAt, confirmedAt: null })
    .execute();
}
