import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import alerts from '../../deploy/prometheus/alerts.yaml' with { type: 'text' };
import dashboard from '../../deploy/grafana/tollgate.json' with { type: 'json' };
import { METRICS_TOKEN } from '../support/leaks.ts';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { completion, images, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** What Prometheus reads, and what the dashboard and the alerts of `deploy/` make of it. */

const ROOT = join(import.meta.dir, '../..');
const promtool = Bun.which('promtool');
const backend = new ScriptedBackend();
let gateway: Gateway;
let account: TestAccount;
let text: string;

beforeAll(async () => {
  backend.script(({ path, text: sent }) => {
    if (path.endsWith('/images/generations')) return images(1);
    return sent.includes('fail')
      ? Response.json({ error: { message: 'busy' } }, { status: 503 })
      : completion('ok', usage(10, 3));
  });
  gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]) });
  account = await gateway.account('5');
  for (const answer of [
    gateway.chat(account.token),
    gateway.chat(account.token, { messages: [{ role: 'user', content: 'fail' }] }),
    gateway.image(account.token),
    gateway.chat((await gateway.account('0')).token),
    gateway.chat('sk-nobody'),
  ])
    await (await answer).text();
  text = await scrape();
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

async function scrape(): Promise<string> {
  const response = await gateway.fetch('/metrics', { token: METRICS_TOKEN });
  expect(response.headers.get('content-type')).toStartWith('text/plain; version=0.0.4');
  return await response.text();
}

test('what requests did is there: by endpoint, model, backend and status, with tokens and money', () => {
  const lines = text.split('\n');
  const chat = 'endpoint="svc_chat",model="m",backend="b0"';
  for (const line of [
    `tollgate_requests_total{${chat},status="200",outcome="completed"} 1`,
    `tollgate_requests_total{${chat},status="500",outcome="upstream_failed"} 1`,
    `tollgate_tokens_total{${chat},kind="input"} 10`,
    `tollgate_tokens_total{${chat},kind="output"} 3`,
    `tollgate_charged_usd_total{${chat}} 0.000016`,
    'tollgate_images_total{endpoint="svc_tgter",model="p",backend="b0"} 1',
    'tollgate_backend_attempts_total{backend="b0",result="served",reason=""} 2',
    'tollgate_backend_attempts_total{backend="b0",result="failed",reason="server"} 2',
    'tollgate_refusals_total{reason="insufficient_balance"} 1',
    'tollgate_http_answers_total{path="/api/public/v1/chat/completions",status="200"} 1',
    'tollgate_http_answers_total{path="/api/public/v1/chat/completions",status="401"} 1',
    'tollgate_http_answers_total{path="/api/public/v1/chat/completions",status="402"} 1',
    'tollgate_ledger_breaches 0',
  ])
    expect(lines).toContain(line);
  expect(text).toMatch(/^tollgate_ledger_batch_size_count\{queue="ledger"\} [1-9]/m);
  expect(text).toMatch(/^process_open_fds [1-9]/m);
});

test('messages that wait are there by kind, 0 from the start', async () => {
  const waiting = async () => (await scrape()).match(/^tollgate_outbox_waiting.*$/gm);
  expect(await waiting()).toEqual([
    'tollgate_outbox_waiting{kind="mail"} 0',
    'tollgate_outbox_waiting{kind="webhook"} 0',
  ]);
  const { outbox, store } = gateway.tollgate.services;
  const message = {
    kind: 'webhook',
    topic: 'backend.down',
    accountId: '',
    to: 'whk_1',
    payload: {},
  } as const;
  await outbox.add(store.db, { ...message, delayMs: 3_600_000 });
  expect(await waiting()).toContain('tollgate_outbox_waiting{kind="webhook"} 1');
});

test('counters do not fall when the catalog changes', async () => {
  const attempts = (from: string) => Number(/result="failed",reason="server"\} (\d+)/.exec(from)?.[1]);
  await Bun.write(
    join(gateway.folder, 'tollgate.yaml'),
    catalogFor([backend.baseUrl], { upstream: 'headers: { x-other: "1" }' }),
  );
  await gateway.tollgate.reload();
  expect(attempts(await scrape())).toBe(attempts(text));
});

test('a charge that follows when the store is back is in the money charged, once', async () => {
  const charged = async (): Promise<number> =>
    Number(/^tollgate_charged_usd_total\{.*model="m".*\} (\S+)$/m.exec(await scrape())?.[1]);
  const before = await charged();
  const gate = Promise.withResolvers<void>();
  backend.script(async () => {
    await gate.promise;
    return completion('ok', usage(10, 3));
  });
  const calls = backend.calls.length;
  const answer = gateway.chat(account.token);
  await backend.called(calls + 1);
  const other = new Database(join(gateway.folder, 'data/tollgate.db'));
  other.run('PRAGMA busy_timeout = 5000');
  other.run('BEGIN EXCLUSIVE');
  gate.resolve();
  const response = await answer;
  expect(response.status).toBe(200);
  expect(response.headers.has('x-tollgate-cost')).toBe(false);
  await response.text();
  expect(await charged()).toBe(before);
  other.run('ROLLBACK');
  other.close();
  await gateway.settled(account);
  await eventually('the charge is counted', async () => (await charged()) > before);
  expect(await charged()).toBeCloseTo(before + 0.000016, 9);
});

describe('promtool', () => {
  test.skipIf(promtool === null)('accepts the metrics (skipped where it is not installed)', async () => {
    expect(await check(['check', 'metrics'], text)).toEqual({ code: 0, said: '' });
  });

  test.skipIf(promtool === null)('accepts the alerts (skipped where it is not installed)', async () => {
    const { code, said } = await check(['check', 'rules', join(ROOT, 'deploy/prometheus/alerts.yaml')], '');
    expect(said).toContain('SUCCESS');
    expect(code).toBe(0);
  });
});

async function check(words: readonly string[], input: string): Promise<{ code: number; said: string }> {
  const child = Bun.spawn([promtool ?? '', ...words], {
    stdin: new Blob([input]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const said = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, said: said.join('') };
}

describe('every metric is there that is named in', () => {
  test.each([
    ['the dashboard', queriesOf(dashboard)],
    [
      'the alerts',
      [...alerts.matchAll(/expr: (?:\|\n)?((?:.*\n?)*?)(?=\s+(?:for|labels):)/g)].map(([, one = '']) => one),
    ],
  ])('%s', (_, queries) => {
    const named = queries.flatMap((query) => query.match(/\b(?:tollgate|process)_[a-z_]+/g) ?? []);
    const known = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    expect(named.length).toBeGreaterThan(8);
    const missing = named.filter(
      (name) => !known.has(name) && !known.has(name.replace(/_(?:bucket|sum|count)$/, '')),
    );
    expect(missing).toEqual([]);
  });
});

function queriesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(queriesOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    (key === 'expr' || key === 'query') && typeof inner === 'string' ? [inner] : queriesOf(inner),
  );
}
