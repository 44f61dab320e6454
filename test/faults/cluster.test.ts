import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseUsd } from '../../src/std/money.ts';
import { catalogFor } from '../support/gateway.ts';
import { runLoad, startLoad, type LoadPlan, type LoadReport } from '../support/load.ts';
import { BackendProcess, NODE_SECRET, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';

/** Three nodes that share a Postgres and nothing else: what holds on one holds on all of them together. */

const BACKEND_KEY = 'sk-canary-key-of-the-backend';
const PROMPT = 'canary words of a prompt';
const NODES = 3;

let backend: BackendProcess;
let nodes: NodeProcess[];
let operator: Operator;
const urls = () => nodes.map(({ url }) => url);

beforeAll(async () => {
  const [started, databaseUrl] = await Promise.all([
    BackendProcess.start(),
    testPostgres().then((postgres) => postgres.freshDatabase()),
  ]);
  backend = started;
  // One output token costs 2,000 nano-dollars, input is free: a hold of one token is exactly its charge.
  const yaml = catalogFor([backend.baseUrl], {
    prices: 'input: 0, output: 2',
    upstream: 'api_key: "${BACKEND_KEY}"',
  });
  const options = { yaml, databaseUrl, env: { BACKEND_KEY } };
  // Together: migrations run once, under a lock.
  nodes = await Promise.all(Array.from({ length: NODES }, () => NodeProcess.start(options)));
  operator = await Operator.open(nodes[0]!.env);
}, 60_000);

afterAll(async () => {
  await operator.close();
  await Promise.all(nodes.map((node) => node.stop()));
  await backend.stop();
});

const chat = (more: Record<string, unknown> = {}) => ({
  endpoint: 'svc_chat',
  model: 'm',
  messages: [{ role: 'user', content: PROMPT }],
  max_tokens: 1,
  ...more,
});

async function callsOf<T>(work: () => Promise<T>): Promise<{ result: T; calls: number }> {
  const before = (await backend.stats()).calls;
  const result = await work();
  return { result, calls: (await backend.stats()).calls - before };
}

describe('500 at once over three nodes, on a balance for exactly 100', () => {
  test('chats: 100 answered, 400 refused, 100 backend calls, nothing left, nothing held', async () => {
    for (let round = 0; round < 5; round++)
      await burst('0.0002', { body: chat({ script: { delayMs: round * 25 } }) });
  });

  test('streams: the same', async () => {
    const { ends } = await burst('0.0002', {
      body: chat({ stream: true, script: { chunks: 1, everyMs: 50 } }),
    });
    expect(ends).toEqual({ done: 100 });
  });

  test('images: the same', async () => {
    const body = { endpoint: 'svc_tgter', model: 'p', prompt: PROMPT, response_format: 'b64_json' };
    await burst('1', { path: '/api/public/v1/images/generations', body });
  });

  /**
   * A machine too busy to answer within a second says so (500): then fewer may be served, never more, and the burst is
   * made again on a fresh account.
   */
  async function burst(usd: string, plan: Pick<LoadPlan, 'body' | 'path'>): Promise<LoadReport> {
    for (let attempt = 0; attempt < 5; attempt++) {
      const account = await operator.account(usd);
      const { result, calls } = await callsOf(() =>
        runLoad({ urls: urls(), token: account.token, total: 500, concurrent: 500, ...plan }),
      );
      await operator.settled();
      const { balance, held } = await operator.money(account);
      const served = result.statuses['200'] ?? 0;
      expect(result.broken).toEqual({});
      expect(calls).toBe(served);
      expect(balance).toBe((parseUsd(usd) ?? 0) * (1 - served / 100));
      expect(held).toBe(0);
      if (result.codes['service_unavailable'] !== undefined) continue;
      expect(result.statuses).toEqual({ 200: 100, 402: 400 });
      return result;
    }
    throw new Error('this machine is too busy for the test');
  }
});

test('60 a minute is 60 a minute on three nodes: 600 at once are 60 and what grows back meanwhile', async () => {
  const account = await operator.account('1', { chat: 60 });
  const { result, calls } = await callsOf(() =>
    runLoad({ urls: urls(), token: account.token, total: 600, concurrent: 600, retries: 5, body: chat() }),
  );
  const accepted = result.statuses['200'] ?? 0;
  const grownBack = Math.ceil(result.tookMs / 1_000);
  expect(accepted).toBeGreaterThanOrEqual(60);
  expect(accepted).toBeLessThanOrEqual(60 + grownBack);
  expect(result.statuses).toEqual({ 200: accepted, 429: 600 - accepted });
  expect(result.codes).toEqual({ rate_limit_exceeded: 600 - accepted });
  expect(result.refusedWithoutRetryAfter).toBe(0);
  expect(calls).toBe(accepted);
});

test('10 at once is 10 at once on three nodes, and slots come back', async () => {
  const account = await operator.account('1', { concurrent: 10 });
  const body = chat({ script: { delayMs: 2_000 } });
  const result = await runLoad({ urls: urls(), token: account.token, total: 300, concurrent: 300, body });
  // A machine too busy to answer in time refuses more, never fewer.
  const unanswered = result.codes['service_unavailable'] ?? 0;
  expect(result.statuses['200']).toBeGreaterThanOrEqual(10 - unanswered);
  expect(result.statuses['200']).toBeLessThanOrEqual(10);
  expect(Object.keys(result.codes).filter((code) => code !== 'service_unavailable')).toEqual([
    'concurrency_limit_exceeded',
  ]);
  const again = await runLoad({
    urls: urls(),
    token: account.token,
    total: 10,
    concurrent: 10,
    retries: 5,
    body: chat(),
  });
  expect(again.statuses).toEqual({ 200: 10 });
});

test('a token replaced under load: from the reply on no node takes the old one, and every node takes the new one', async () => {
  const account = await operator.account('1');
  let token = account.token;
  for (let round = 0; round < 5; round++) {
    const traffic = startLoad({
      urls: urls(),
      token,
      total: 1_000_000,
      concurrent: 30,
      forMs: 1_500,
      retries: 5,
      body: chat(),
    });
    await Bun.sleep(700);
    const old = token;
    token = await operator.replaceToken(account);
    // Sent after the reply: 300 with the old token and 30 with the new one, on every node.
    const [refused, accepted] = await Promise.all([
      runLoad({ urls: urls(), token: old, total: 300, concurrent: 60, retries: 5, body: chat() }),
      runLoad({ urls: urls(), token, total: 30, concurrent: 30, retries: 5, body: chat() }),
    ]);
    expect(refused.statuses).toEqual({ 401: 300 });
    expect(accepted.statuses).toEqual({ 200: 30 });
    const { statuses, broken } = await traffic.report;
    expect({ ...broken, kinds: Object.keys(statuses).sort() }).toEqual({ kinds: ['200', '401'] });
  }
});

test('one Idempotency-Key, 50 times at once over three nodes: one backend call, one charge, the same bytes for all', async () => {
  for (const more of [{}, { stream: true }]) {
    const account = await operator.account('1');
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const body = chat({ ...more, script: { delayMs: 200 } });
    const { result, calls } = await callsOf(() =>
      runLoad({ urls: urls(), token: account.token, total: 50, concurrent: 50, retries: 5, headers, body }),
    );
    expect({ ...result.statuses, ...result.broken }).toEqual({ 200: 50 });
    expect(calls).toBe(1);
    if (!('stream' in more)) expect(result.texts).toBe(1);
    expect([...(await operator.charges(account)).values()]).toEqual([[2_000]]);
  }
});

test('afterwards the books are right, nothing is held, and no secret is in any log', async () => {
  await operator.settled();
  const { code, output } = await nodes[1]!.cli('verify', '--json');
  expect(JSON.parse(output)).toMatchObject({ ok: true, breaches: [] });
  expect(code).toBe(0);
  for (const { log } of nodes) {
    for (const secret of [...operator.tokens, BACKEND_KEY, NODE_SECRET, PROMPT])
      expect(log).not.toContain(secret);
  }
});
