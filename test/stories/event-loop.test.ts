import { afterAll, beforeAll, expect, test } from 'bun:test';
import { BLOCKED_MS } from '../../src/std/event-loop.ts';
import { Gateway } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';

/** This gateway runs on the event loop of the test, which can therefore block it. */
let gateway: Gateway;

beforeAll(async () => {
  gateway = await Gateway.start();
});
afterAll(async () => {
  await gateway.stop();
});

async function samples(): Promise<number> {
  const text = await gateway.metrics();
  return Number(/^tollgate_event_loop_delay_seconds_count (\d+)$/m.exec(text)?.[1]);
}

test('the delay of the event loop is measured all the time and shown in /metrics', async () => {
  const before = await samples();
  await eventually('it was measured again', async () => (await samples()) > before);
});

test('a step that blocks the event loop is logged with the requests that began last', async () => {
  let reported: Record<string, unknown> | undefined;
  // A busy machine may have caused a report of its own just before, which delays the next one.
  await eventually('a blocked request was logged', async () => {
    const response = await gateway.fetch('/healthz');
    await response.text();
    const lines = gateway.log.length;
    block(BLOCKED_MS * 2);
    await samples();
    reported = gateway.log
      .slice(lines)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .find(({ event }) => event === 'event_loop_blocked');
    return reported !== undefined;
  });
  expect(reported).toMatchObject({ level: 'warn', delay_ms: expect.any(Number) });
  const latest = reported?.['latest_requests'] as { operation: string; request: string }[];
  expect(latest.map(({ operation }) => operation)).toContain('/healthz');
  expect(latest[0]?.request).toStartWith('req_');
});

function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
