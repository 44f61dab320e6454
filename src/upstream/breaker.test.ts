import { expect, test } from 'bun:test';
import { CLOSED, failed, releaseProbe, requestPermit, succeeded } from './breaker.ts';

const broken = (now: number) =>
  Array.from({ length: 5 }).reduce<typeof CLOSED>((state) => failed(state, now), CLOSED);

test('a few failures among many successes do not open it', () => {
  let state = CLOSED;
  for (let round = 0; round < 100; round++) {
    state = round % 10 === 0 ? failed(state, round) : succeeded(state, round);
    expect(state.kind).toBe('closed');
  }
});

test('five failures in a row open it for a while; then a few probes are let through', () => {
  const state = broken(1_000);
  expect(state.kind).toBe('open');
  expect(requestPermit(state, 1_500).waitMs).toBe(1_500);
  let probing = state;
  for (let probe = 0; probe < 3; probe++) {
    const { waitMs, state: next } = requestPermit(probing, 3_000);
    expect(waitMs).toBe(0);
    probing = next;
  }
  expect(requestPermit(probing, 3_001).waitMs).toBe(1_000);
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
  let probing = requestPermit(broken(0), 10_000).state;
  for (let probe = 1; probe < 3; probe++) probing = requestPermit(probing, 10_000).state;
  expect(requestPermit(probing, 10_001).waitMs).toBeGreaterThan(0);
  expect(requestPermit(releaseProbe(probing, 10_001), 10_002).waitMs).toBe(0);
  for (let probe = 0; probe < 3; probe++) probing = releaseProbe(probing, 10_001);
  expect(probing).toMatchObject({ kind: 'open', probes: 0 });
  expect(requestPermit(probing, 10_001).waitMs).toBe(0);
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

test('failures of requests that were sent before it opened do not prolong the pause', () => {
  const open = broken(0);
  expect(failed(failed(open, 100), 200)).toEqual(open);
});

test('probes that never report are given up', () => {
  let probing = requestPermit(broken(0), 10_000).state;
  for (let probe = 1; probe < 3; probe++) probing = requestPermit(probing, 10_000).state;
  expect(requestPermit(probing, 129_999).waitMs).toBeGreaterThan(0);
  expect(requestPermit(probing, 130_000)).toMatchObject({ waitMs: 0, state: { probes: 1 } });
});
