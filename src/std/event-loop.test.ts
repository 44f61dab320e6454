import { expect, test } from 'bun:test';
import { EventLoop } from './event-loop.ts';
import { makeLog } from './log.ts';

/** An event loop whose timer the test runs, at the times it likes. */
function measured() {
  const lines: string[] = [];
  let now = 0;
  const loop = new EventLoop({ log: makeLog((line) => lines.push(line)), maxDelayMs: 50, nowMs: () => now });
  const after = (ms: number): void => {
    now += ms;
    loop.sample();
  };
  const reports = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { loop, after, reports };
}

test('counts how late each step began in buckets', () => {
  const { loop, after } = measured();
  for (const late of [0, 3, 60, 60, 9_000]) after(20 + late);
  const { bounds, counts, sum, count } = loop.delays();
  expect(Object.fromEntries(bounds.map((bound, index) => [bound, counts[index]]))).toMatchObject({
    0.005: 2,
    0.05: 0,
    0.1: 2,
    5: 0,
  });
  expect(count).toBe(5);
  expect(sum).toBeCloseTo(9.123);
});

test('a step longer than 200 ms is reported with the latest requests, a shorter one is not', () => {
  const { loop, after, reports } = measured();
  for (let n = 0; n < 12; n++) loop.began(`/v1/op${n}`, `req_${n}`);
  after(20 + 200);
  expect(reports()).toEqual([]);
  after(20 + 201);
  expect(reports()).toHaveLength(1);
  expect(reports()[0]).toMatchObject({ level: 'warn', event: 'event_loop_blocked', delay_ms: 201 });
  const latest = reports()[0]?.['latest_requests'] as { operation: string; request: string }[];
  expect(latest.map(({ request }) => request)).toEqual([11, 10, 9, 8, 7, 6, 5, 4].map((n) => `req_${n}`));
  expect(latest[0]?.operation).toBe('/v1/op11');
});

test('a process that is blocked all the time reports it every few seconds, and how often it did not', () => {
  const { after, reports } = measured();
  for (let n = 0; n < 12; n++) after(20 + 980);
  expect(reports().map(({ unreported_before }) => unreported_before)).toEqual([0, 4, 4]);
});

test('one long step is no overload; five late ones in a row are, until one is in time', () => {
  const { loop, after } = measured();
  after(20 + 5_000);
  after(20);
  for (let n = 0; n < 4; n++) after(20 + 51);
  expect(loop.isOverloaded).toBe(false);
  after(20 + 51);
  expect(loop.isOverloaded).toBe(true);
  after(20 + 50);
  expect(loop.isOverloaded).toBe(false);
});
