import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Answer, ItemOf } from '../../src/console/contract/routes.ts';
import { Browser } from '../../src/console/testing/harness.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import {
  chunk,
  completion,
  DONE,
  openStream,
  ScriptedBackend,
  usageEvent,
} from '../support/scripted-backend.ts';

/** What an operator sees of the backends that customers use. The tests build on each other. */
let gateway: Gateway;
let admin: Browser;
let account: TestAccount;
const first = new ScriptedBackend();
const second = new ScriptedBackend();

beforeAll(async () => {
  gateway = await Gateway.start();
  admin = new Browser(gateway.url, '127.0.0.1');
  const token = new URL(gateway.tollgate.setupLink ?? '').pathname.split('/').at(-1);
  const person = { email: 'keeper@example.com', password: 'a quiet gate at dawn' };
  await admin.must('POST', '/api/console/setup', { token, ...person });
  const yaml = `upstreams:
  first: { kind: openai, base_url: "${first.baseUrl}" }
  second: { kind: openai, base_url: "${second.baseUrl}" }
lists:
  models: [{ model: m, input: 1, output: 1 }]
endpoints:
  svc_chat: { name: Chat, type: chat_completion, lists: [models], upstreams: [first, second] }
`;
  await admin.must('POST', '/api/console/admin/catalog', { yaml, note: '', revision: 0 });
  account = await gateway.account('5');
});
afterAll(async () => {
  await gateway.stop();
  await first.stop();
  await second.stop();
});

async function card(name: string): Promise<ItemOf<'GET /api/console/admin/backends'>> {
  const { items } = await admin.must<Answer<'GET /api/console/admin/backends'>>(
    'GET',
    '/api/console/admin/backends',
  );
  const found = items.find((one) => one.name === name);
  if (!found) throw new Error(`there is no card of ${name}`);
  return found;
}

async function chat(more: object = {}): Promise<Response> {
  return await gateway.chat(account.token, { endpoint: 'svc_chat', model: 'm', ...more });
}

test('a call that another backend saved is an error of the one that failed, with the reason', async () => {
  first.script(() => Response.json({ error: { message: 'no' } }, { status: 500 }));
  second.script(() => completion('hello'));
  expect((await chat()).status).toBe(200);
  await gateway.settled(account);
  const failed = await card('first');
  expect(failed.lastError).toMatchObject({ message: 'server' });
  expect(failed.recent).toMatchObject({ lastHour: 1, isMore: false, errorRate: 1, durationMs: null });
  const served = await card('second');
  expect(served.lastError).toBeNull();
  expect(served.recent).toMatchObject({ lastHour: 1, errorRate: 0 });
  expect(served.recent.durationMs?.p95).toBeGreaterThanOrEqual(served.recent.durationMs?.p50 ?? Infinity);
});

test('a backend that is paused gets nothing new, shows what it still runs, and lets that come to its end', async () => {
  const stream = openStream();
  first.script(() => stream.response);
  stream.send(chunk({ role: 'assistant', content: 'slow' }));
  const answer = await chat({ stream: true });
  expect((await card('first')).running).toBe(1);
  const before = first.calls.length;
  await admin.must('PUT', '/api/console/admin/backends/first/paused', { paused: true });
  expect(await card('first')).toMatchObject({ paused: true, running: 1 });
  expect((await chat()).status).toBe(200);
  expect(first.calls.length).toBe(before);
  stream.send(chunk({ content: ' and whole' }) + chunk({}, 'stop') + usageEvent(3, 2) + DONE);
  stream.end();
  const text = await answer.text();
  expect(text).toContain('and whole');
  expect(text).toContain('[DONE]');
  await eventually('nothing runs at the backend', async () => (await card('first')).running === 0);
});
