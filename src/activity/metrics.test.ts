import { expect, test } from 'bun:test';
import { makeMetrics } from './metrics.ts';

const BACKENDS = [{ name: 'house "1"', state: 'resting', requests: 5, failures: 2 }];

function metrics(openHolds: () => Promise<number> = () => Promise.resolve(3)) {
  return makeMetrics({ version: '1.2.3', startedAtMs: 1_000_000, openHolds, backends: () => BACKENDS });
}

test('counts requests by endpoint and outcome, and their durations in cumulative buckets', async () => {
  const m = metrics();
  for (const durationMs of [40, 90, 700_000])
    m.request({ endpoint: 'svc_chat', outcome: 'completed', durationMs, firstByteMs: 30 });
  m.request({ endpoint: 'svc_chat', outcome: 'client_left', durationMs: 2_000 });
  m.refused('insufficient_balance');
  m.overrun(1_500_000_000);
  m.verified(0);
  const lines = (await m.render()).split('\n');
  for (const line of [
    'tollgate_requests_total{endpoint="svc_chat",outcome="completed"} 3',
    'tollgate_requests_total{endpoint="svc_chat",outcome="client_left"} 1',
    'tollgate_refusals_total{reason="insufficient_balance"} 1',
    'tollgate_request_duration_seconds_bucket{endpoint="svc_chat",le="0.05"} 1',
    'tollgate_request_duration_seconds_bucket{endpoint="svc_chat",le="2.5"} 3',
    'tollgate_request_duration_seconds_bucket{endpoint="svc_chat",le="300"} 3',
    'tollgate_request_duration_seconds_bucket{endpoint="svc_chat",le="+Inf"} 4',
    'tollgate_first_byte_seconds_count{endpoint="svc_chat"} 3',
    'tollgate_holds_open 3',
    'tollgate_ledger_breaches 0',
    'tollgate_overrun_usd_total 1.5',
    'tollgate_backend_state{backend="house \\"1\\"",state="resting"} 1',
    'tollgate_backend_state{backend="house \\"1\\"",state="ok"} 0',
    'tollgate_backend_failures_total{backend="house \\"1\\""} 2',
  ]) {
    expect(lines).toContain(line);
  }
  expect(lines.some((line) => line.startsWith('tollgate_build_info{version="1.2.3"'))).toBe(true);
});

test('every line is a comment or a sample, and every metric has its help and type once', async () => {
  const m = metrics();
  m.request({ endpoint: 'a\n"b"\\', outcome: 'x', durationMs: 1 });
  const lines = (await m.render()).trimEnd().split('\n');
  const sample = /^[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)+\})? -?[0-9.e+-]+$/;
  expect(lines.filter((line) => !line.startsWith('# ') && !sample.test(line))).toEqual([]);
  const types = lines.filter((line) => line.startsWith('# TYPE ')).map((line) => line.split(' ')[2]);
  expect(new Set(types).size).toBe(types.length);
});

test('many different names do not create unlimited series', async () => {
  const m = metrics();
  for (let n = 0; n < 5_000; n++)
    m.request({ endpoint: `endpoint-${n}`, outcome: 'completed', durationMs: n });
  const lines = (await m.render()).split('\n');
  expect(lines.filter((line) => line.startsWith('tollgate_requests_total{'))).toHaveLength(201);
  expect(lines).toContain('tollgate_requests_total{endpoint="other",outcome="other"} 4800');
  expect(lines).toContain('tollgate_request_duration_seconds_count{endpoint="other"} 4800');
});

test('an unavailable store leaves out only its own metric', async () => {
  const text = await metrics(() => Promise.reject(new Error('away'))).render();
  expect(text).not.toContain('tollgate_holds_open');
  expect(text).toContain('tollgate_build_info');
});
