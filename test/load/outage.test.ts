import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { catalogFor, type TestAccount } from '../support/gateway.ts';
import { startLoad } from '../support/load.ts';
import { BackendProcess, eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { startPostgres, testPostgres } from '../support/postgres.ts';

/**
 * The store is unavailable for a while, under load. Clients are told so, quickly and with a retry time; none is told
 * that a token is wrong or a balance empty; the process survives and recovers by itself.
 */

const LONG = process.env['TOLLGATE_LONG'] === '1';
const OUTAGE_MS = LONG ? 20_000 : 3_000;
const PATIENCE_MS = 120_000;
/** The promise is one second; a busy machine gets some more. */
const SOON_MS = 8_000;

let backend: BackendProcess;
let yaml: string;

beforeAll(async () => {
  backend = await BackendProcess.start();
  yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' });
});
afterAll(async () => {
  await backend.stop();
});

interface Outage {
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
}

const chat = { endpoint: 'svc_chat', model: 'm', messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 };

/** Every route that needs the store, each with its peculiarities. */
const WAYS_IN: readonly { name: string; path: string; init: RequestInit }[] = [
  { name: 'a chat', path: '/api/public/v1/chat/completions', init: post(chat) },
  { name: 'a stream', path: '/api/public/v1/chat/completions', init: post({ ...chat, stream: true }) },
  {
    name: 'a chat with an Idempotency-Key',
    path: '/api/public/v1/chat/completions',
    init: post(chat, { 'idempotency-key': 'one' }),
  },
  { name: 'a malformed chat', path: '/api/public/v1/chat/completions', init: post({}) },
  {
    name: 'an image',
    path: '/api/public/v1/images/generations',
    init: post({ endpoint: 'svc_tgter', model: 'p', prompt: 'x' }),
  },
  { name: 'the account', path: '/api/public/v1/account', init: {} },
  { name: 'a receipt', path: '/api/public/v1/requests/req_0000000000000000000000', init: {} },
  { name: "an endpoint's models", path: '/api/public/v1/endpoints/svc_chat/models', init: {} },
  { name: "OpenAI's chat", path: '/v1/chat/completions', init: post(chat) },
  { name: "OpenAI's models", path: '/v1/models', init: {} },
  { name: "Anthropic's messages", path: '/v1/messages', init: post({ ...chat, model: 'svc_chat/m' }) },
];

function post(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  };
}

/** Load before, during and after; every answer is 200 or `service_unavailable` with a retry time. */
async function survive(
  node: NodeProcess,
  operator: Operator,
  outage: Outage,
  ways: typeof WAYS_IN,
): Promise<void> {
  const account = await operator.account('10');
  const urls = [node.url];
  const load = startLoad({
    urls,
    token: account.token,
    total: 1e6,
    concurrent: 40,
    forMs: OUTAGE_MS + 60_000,
    body: { ...chat, script: { delayMs: 50 } },
  });
  await eventually('answers arrive', async () => (await operator.requests(account)).length > 100);
  await outage.begin();
  const begun = performance.now();
  await eventually('the node says that it is not ready', async () => (await node.probe('/readyz')) === 503);
  expect(await node.probe('/healthz')).toBe(200);
  await expectTold(node, account, ways);
  await Bun.sleep(Math.max(0, OUTAGE_MS - (performance.now() - begun)));
  await outage.end();
  await eventually(
    'a request is answered again',
    async () => (await ask(node, account, WAYS_IN[0]!)).status === 200,
    6_000,
  );
  expect(await node.probe('/readyz')).toBe(200);
  const report = await load.stop();
  expect(report.broken).toEqual({});
  expect(Object.keys(report.statuses).sort()).toEqual(['200', '500']);
  expect(Object.keys(report.codes)).toEqual(['service_unavailable']);
  expect(report.refusedWithoutRetryAfter).toBe(0);
  expect(report.slowestRefusalMs).toBeLessThan(SOON_MS);
  // Requests answered while the store was unavailable are charged once it is back.
  const charges = async () => [...(await operator.charges(account)).values()].flat();
  await eventually(
    'all who were answered are charged',
    async () => (await charges()).length >= (report.statuses['200'] ?? 0),
  );
  await operator.settled();
  expect(new Set(await charges())).toEqual(new Set([2_000]));
  expect((await operator.verify()).breaches).toEqual([]);
  expect(node.alive).toBe(true);
}

async function expectTold(node: NodeProcess, account: TestAccount, ways: typeof WAYS_IN): Promise<void> {
  const told = await Promise.all(
    ways.map(async (way) => ({ way: way.name, ...(await ask(node, account, way)) })),
  );
  expect(told.map(({ way, status, code, retry }) => ({ way, status, code, retry }))).toEqual(
    ways.map(({ name }) => ({ way: name, status: 500, code: 'service_unavailable', retry: true })),
  );
  expect(told.filter(({ tookMs }) => tookMs > SOON_MS)).toEqual([]);
}

async function ask(node: NodeProcess, { token }: TestAccount, { path, init }: (typeof WAYS_IN)[number]) {
  const begun = performance.now();
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${token}`);
  const response = await fetch(`${node.url}${path}`, { ...init, headers, keepalive: false });
  const text = await response.text();
  // Anthropic's errors have a type and no code.
  const code =
    /"code":"(\w+)"/.exec(text)?.[1] ?? (text.includes('"overloaded_error"') ? 'service_unavailable' : text);
  const retry = Number(response.headers.get('retry-after')) >= 1;
  return { status: response.status, code, retry, tookMs: performance.now() - begun };
}

const USUAL_DEADLINE = { TOLLGATE_DATABASE_DEADLINE_MS: '900' };

test.concurrent(
  `Postgres stopped for ${OUTAGE_MS / 1_000} s and started again`,
  async () => {
    const postgres = await startPostgres({ fsync: false });
    const node = await NodeProcess.start({
      yaml,
      databaseUrl: await postgres.freshDatabase(),
      env: USUAL_DEADLINE,
    });
    const operator = await Operator.open(node.env);
    const outage = { begin: () => postgres.stopServer('immediate'), end: () => postgres.startServer() };
    await survive(node, operator, outage, WAYS_IN);
    await operator.close();
    await node.stop();
    await postgres.stop();
  },
  PATIENCE_MS,
);

test.concurrent(
  `Postgres silent for ${OUTAGE_MS / 1_000} s: it takes what it is sent and answers nothing`,
  async () => {
    const postgres = await testPostgres();
    const direct = await postgres.freshDatabase();
    const proxy = await startFaultProxy(postgres.port);
    const databaseUrl = direct.replace(`:${postgres.port}/`, `:${proxy.port}/`);
    const node = await NodeProcess.start({ yaml, databaseUrl, env: USUAL_DEADLINE });
    const operator = await Operator.open({ ...node.env, DATABASE_URL: direct });
    await survive(node, operator, { begin: () => proxy.freeze(), end: () => proxy.thaw() }, WAYS_IN);
    await operator.close();
    await node.stop();
    await proxy.close();
  },
  PATIENCE_MS,
);

/** Reading continues while writes fail. */
const WRITING = WAYS_IN.filter(({ name }) =>
  ['a chat', 'a stream', 'a chat with an Idempotency-Key', 'an image', "OpenAI's chat"].includes(name),
);

test.concurrent(
  `SQLite locked by another process for ${OUTAGE_MS / 1_000} s`,
  async () => {
    await onSqlite(async (node, operator) => {
      const other = new Database(join(node.folder, 'data/tollgate.db'));
      const lock = {
        begin: () => {
          other.run('PRAGMA busy_timeout = 5000');
          other.run('BEGIN EXCLUSIVE');
        },
        end: () => void other.run('ROLLBACK'),
      };
      await survive(node, operator, lock, WRITING);
      other.close();
    });
  },
  PATIENCE_MS,
);

test.concurrent(
  `SQLite with its disk full for ${OUTAGE_MS / 1_000} s, until there is space again`,
  async () => {
    await onSqlite(async (node, operator) => {
      const limit = (bytes: string) => {
        const { exitCode } = Bun.spawnSync(['prlimit', `--pid=${node.pid}`, `--fsize=${bytes}:unlimited`]);
        if (exitCode !== 0) throw new Error('prlimit failed');
      };
      await survive(node, operator, { begin: () => limit('1'), end: () => limit('unlimited') }, WRITING);
    });
  },
  PATIENCE_MS,
);

/** Afterwards `tollgate verify` finds the ledger consistent, and no token is in the log. */
async function onSqlite(work: (node: NodeProcess, operator: Operator) => Promise<void>): Promise<void> {
  const node = await NodeProcess.start({ yaml });
  const operator = await Operator.open(node.env);
  await work(node, operator);
  const { code, output } = await node.cli('verify', '--json');
  expect({ code, ...(JSON.parse(output) as object) }).toMatchObject({ code: 0, ok: true });
  for (const token of operator.tokens) expect(node.log).not.toContain(token);
  await operator.close();
  await node.stop();
}
