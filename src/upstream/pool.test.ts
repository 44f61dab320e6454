import { expect, test } from 'bun:test';
import page from '../../docs/providers.md' with { type: 'text' };
import { parseCatalog } from '../catalog/parse.ts';
import { CLOSED, failed, Pool, releaseProbe, requestPermit, RetryBudget, succeeded } from './pool.ts';
import { UpstreamFailure } from './port.ts';
import { kindOf } from './response.ts';

function poolAt(now: number): Pool {
  const yaml = `
upstreams: { b: { kind: openai, base_url: "http://127.0.0.1:9/v1" } }
lists: { models: [{ model: m, free: true }] }
endpoints: { chat: { name: Chat, type: chat_completion, lists: [models], upstreams: [b] } }
`;
  return new Pool(parseCatalog(yaml, { fileName: 'test', env: {} }), { now: () => now }, {});
}

const busy = { kind: 'failed', reason: 'rate_limited', cooldownMs: 120_000 } as const;
const good = { kind: 'ok', firstByteMs: 1 } as const;

test('a model with an open breaker is listed by its name, and the backend is not shown as resting', () => {
  const pool = poolAt(1_000);
  pool.report({ upstream: 'b', model: 'slow' }, busy);
  expect(pool.list()).toMatchObject([{ state: 'resting', resting: [{ model: 'slow', until: 16_000 }] }]);
  pool.report({ upstream: 'b', model: 'm' }, good);
  expect(pool.list()).toMatchObject([{ state: 'failing', resting: [{ model: 'slow' }] }]);
  expect(pool.admit({ upstream: 'b', model: 'm' })).toBe(0);
  expect(pool.admit({ upstream: 'b', model: 'slow' })).toBe(15_000);
});

const broken = (now: number) =>
  Array.from({ length: 5 }).reduce<typeof CLOSED>((state) => failed(state, now), CLOSED);

test('a few failures among many successes do not open it', () => {
  let state = CLOSED;
  for (let round = 0; round < 100; round++) {
    state = round % 10 === 0 ? failed(state, round) : succeeded(state, round);
    expect(state.kind).toBe('closed');
  }
});

test('five failures in a row open it for a while; then one probe is let through', () => {
  const state = broken(1_000);
  expect(state.kind).toBe('open');
  expect(requestPermit(state, 1_500).waitMs).toBe(1_500);
  const probe = requestPermit(state, 3_000);
  expect(probe.waitMs).toBe(0);
  expect(requestPermit(probe.state, 3_001).waitMs).toBeGreaterThan(0);
});

test('a successful probe closes it, a failed one opens it for twice as long, up to a minute', () => {
  let state = broken(0);
  expect(succeeded(requestPermit(state, 10_000).state, 10_000)).toEqual(CLOSED);
  let now = 0;
  const rests: number[] = [];
  for (let round = 0; round < 8; round++) {
    now = state.openUntil;
    state = failed(requestPermit(state, now).state, now);
    rests.push(state.openUntil - now);
  }
  expect(rests).toEqual([4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000]);
});

test('a probe without a result makes room for the next', () => {
  const probing = requestPermit(broken(0), 10_000).state;
  expect(requestPermit(releaseProbe(probing, 10_001), 10_002).waitMs).toBe(0);
});

test('a backend that says when to retry is not called before then', () => {
  expect(requestPermit(failed(CLOSED, 0, 10_000), 9_999).waitMs).toBe(1);
  expect(requestPermit(failed(CLOSED, 0, 10_000), 10_000).waitMs).toBe(0);
});

test('however long a cooldown it asks for, it is called again after fifteen seconds', () => {
  expect(requestPermit(failed(CLOSED, 0, 120_000), 14_999).waitMs).toBe(1);
  expect(requestPermit(failed(CLOSED, 0, 120_000), 15_000).waitMs).toBe(0);
});

test('old failures do not count', () => {
  let state = CLOSED;
  for (let round = 0; round < 20; round++) state = failed(state, round * 11_000);
  expect(state.kind).toBe('closed');
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

test('the page about providers names the failures that a request can cause, and how long a breaker stays open', () => {
  const section = /## When a backend fails\n(.*?)\n## /s.exec(page)?.[1] ?? '';
  const caused = Array.from({ length: 200 }, (_, index) => 400 + index).filter(
    (status) => new UpstreamFailure(kindOf(status), '').blameless,
  );
  expect(section).toContain(
    `**Refusals that a request can cause** (${caused.join(', ')}) say nothing about health`,
  );
  expect(section).toContain(`at most ${failed(CLOSED, 0, 3_600_000).openUntil / 1_000} seconds`);
  expect(section).toContain(`rest the model there for ${broken(0).openUntil / 1_000} seconds`);
});
