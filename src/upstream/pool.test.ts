import { expect, test } from 'bun:test';
import page from '../../docs/providers.md' with { type: 'text' };
import { parseCatalog } from '../catalog/parse.ts';
import type { AccountId } from '../std/ids.ts';
import { CLOSED, failed } from './breaker.ts';
import { Pool, RetryBudget } from './pool.ts';
import { UpstreamFailure, type AttemptResult } from './port.ts';
import { kindOf } from './response.ts';

const clock = { ms: 1_000, now: () => clock.ms };

function poolAt(now: number, keys = 'api_key: "${A}"'): Pool {
  clock.ms = now;
  const yaml = `
upstreams: { b: { kind: openai, base_url: "http://127.0.0.1:9/v1", ${keys} } }
lists: { models: [{ model: m, free: true }] }
endpoints: { chat: { name: Chat, type: chat_completion, lists: [models], upstreams: [b] } }
`;
  return new Pool(parseCatalog(yaml, { fileName: 'test', env: { A: 'a', B: 'b', C: 'c' } }), clock, {});
}

const busy = { kind: 'failed', reason: 'rate_limited', cooldownMs: 120_000 } as const;
const broke = { kind: 'failed', reason: 'server', cooldownMs: undefined } as const;
const good = { kind: 'ok', firstByteMs: 1 } as const;

const targetOf = (account: string, model: string) => ({
  upstream: 'b',
  model,
  account: account as AccountId,
});

/** How long the account must wait; 0 if it is served, with the result. */
function call(pool: Pool, account: string, result: AttemptResult = good, model = 'm'): number {
  const permit = pool.admit(targetOf(account, model));
  if (permit.kind === 'wait') return permit.waitMs;
  permit.report(result);
  return 0;
}

test('a paused backend gets no new requests', () => {
  expect(poolAt(1_000).has('b')).toBe(true);
  expect(poolAt(1_000, 'api_key: "${A}", paused: true').has('b')).toBe(false);
});

test('a test that failed is told until something succeeds', async () => {
  const pool = poolAt(1_000);
  const hasFailed = () => pool.list()[0]?.hasFailedTest;
  expect(hasFailed()).toBe(false);
  // Nothing listens on the port.
  expect((await pool.test('b', AbortSignal.timeout(10_000))).ok).toBe(false);
  expect(hasFailed()).toBe(true);
  call(pool, 'one', broke);
  expect(hasFailed()).toBe(true);
  call(pool, 'one');
  expect(hasFailed()).toBe(false);
});

test('a model with an open breaker is listed by its name, and the backend is not shown as resting', () => {
  const pool = poolAt(1_000);
  call(pool, 'one', busy, 'slow');
  expect(pool.list()).toMatchObject([
    { state: 'resting', resting: [{ model: 'slow', until: 16_000, account: 'one', key: undefined }] },
  ]);
  call(pool, 'one');
  expect(pool.list()).toMatchObject([{ state: 'failing', resting: [{ model: 'slow' }] }]);
  expect(call(pool, 'one')).toBe(0);
  expect(call(pool, 'one', good, 'slow')).toBe(15_000);
});

test('no account can close a model for others, whatever its requests draw from the backend', () => {
  const pool = poolAt(1_000);
  call(pool, 'other');
  for (let round = 0; round < 20; round++) call(pool, 'attacker', broke);
  expect(call(pool, 'attacker')).toBe(2_000);
  expect(call(pool, 'other')).toBe(0);
  clock.ms += 3_000;
  call(pool, 'attacker', busy);
  expect(call(pool, 'attacker')).toBe(15_000);
  expect(call(pool, 'other')).toBe(0);
  expect(pool.list()).toMatchObject([{ state: 'failing', resting: [{ account: 'attacker' }] }]);
});

test('one failure of another account does not help an attacker: most of those who use a model must fail', () => {
  const pool = poolAt(1_000);
  for (let round = 0; round < 20; round++) call(pool, 'attacker', broke);
  for (let round = 0; round < 2; round++) for (const account of ['a', 'b']) call(pool, account);
  for (const account of ['a', 'b']) call(pool, account, broke);
  for (const account of ['a', 'b', 'c']) expect(call(pool, account)).toBe(0);
});

test('a backend that fails for several accounts rests for all, though none of them met five failures', () => {
  const pool = poolAt(1_000);
  for (const account of ['a', 'b', 'c', 'd', 'e']) call(pool, account, broke);
  expect(call(pool, 'new')).toBe(2_000);
  expect(pool.list()).toMatchObject([{ state: 'resting', resting: [{ account: undefined, until: 3_000 }] }]);
});

test('a rate limit that two accounts meet rests the model for all', () => {
  const pool = poolAt(1_000);
  call(pool, 'a', busy);
  call(pool, 'b', busy);
  expect(call(pool, 'new')).toBe(15_000);
});

test('an account at the provider without credit rests the model at once, though there is a single key', () => {
  const pool = poolAt(1_000);
  call(pool, 'a', { ...broke, reason: 'out_of_credit' });
  expect(call(pool, 'a')).toBe(15_000);
  call(pool, 'b', { ...broke, reason: 'out_of_credit' });
  expect(call(pool, 'new')).toBe(15_000);
});

test('one success after a rest ends it for all', () => {
  const pool = poolAt(1_000);
  for (const account of ['a', 'b']) call(pool, account, busy);
  clock.ms += 15_000;
  expect(call(pool, 'new')).toBe(0);
  for (const account of ['a', 'b', 'new']) expect(call(pool, account)).toBe(0);
});

test('the memory of accounts is bounded, and the latest are kept', () => {
  const pool = poolAt(1_000);
  call(pool, 'first', busy);
  for (let index = 0; index < 199; index++) call(pool, `account ${index}`);
  expect(call(pool, 'first')).toBe(15_000);
  call(pool, 'one more');
  expect(call(pool, 'first')).toBe(0);
});

test('several keys share the load', () => {
  const pool = poolAt(1_000, 'api_keys: ["${A}", "${B}", "${C}"]');
  const used = Array.from({ length: 6 }, () => pool.admit(targetOf('one', 'm')));
  const upstreams = used.map((permit) => (permit.kind === 'permit' ? permit.upstream : undefined));
  expect(new Set(upstreams).size).toBe(3);
  expect(upstreams.slice(3)).toEqual(upstreams.slice(0, 3));
});

test.each([
  ['over its limit', busy, 16_000],
  ['over its limit and does not say for how long', { ...busy, cooldownMs: undefined }, 3_000],
  ['refused', { ...broke, reason: 'unauthorized' }, 16_000],
  ['without credit', { ...broke, reason: 'out_of_credit' }, 16_000],
] as const)('a key that is %s rests alone, and the others serve', (_, result, until) => {
  const pool = poolAt(1_000, 'api_keys: ["${A}", "${B}"]');
  call(pool, 'one', result);
  for (let round = 0; round < 10; round++) expect(call(pool, 'one')).toBe(0);
  expect(pool.list()).toMatchObject([{ failures: 1, resting: [{ model: 'm', key: 1, until }] }]);
  call(pool, 'one', result);
  expect(call(pool, 'one')).toBe(until - 1_000);
});

test('retries are a tenth of the requests and a small reserve, however many fail', () => {
  const budget = new RetryBudget();
  let retries = 0;
  for (let request = 0; request < 10_000; request++) {
    budget.earn();
    if (budget.spend()) retries++;
  }
  expect(retries).toBeGreaterThanOrEqual(1_000);
  expect(retries).toBeLessThanOrEqual(1_020);
});

const OPENED = Array.from({ length: 5 }).reduce<typeof CLOSED>((state) => failed(state, 0), CLOSED);

test('the page about providers names the failures that a request can cause, and how long a breaker stays open', () => {
  const section = /## When a backend fails\n(.*?)\n## /s.exec(page)?.[1] ?? '';
  const caused = Array.from({ length: 200 }, (_, index) => 400 + index).filter(
    (status) => new UpstreamFailure(kindOf(status), '').blameless,
  );
  expect(section).toContain(
    `**Refusals that a request can cause** (${caused.join(', ')}) say nothing about health`,
  );
  expect(section).toContain(`at most ${failed(CLOSED, 0, 3_600_000).openUntil / 1_000} seconds`);
  expect(section).toContain(`rest the model there for ${OPENED.openUntil / 1_000} seconds`);
});
