import { describe, expect, test } from 'bun:test';
import type { RequestEnd } from '../std/request-record.ts';
import { mergeMetrics, renderMetrics } from './metric-family.ts';
import { makeMetrics, type Metrics } from './metrics.ts';

const BACKENDS = [{ name: 'house "1"', state: 'resting' }];
const DAY_SECONDS = 86_400;

function metrics(openHolds: () => Promise<number> = () => Promise.resolve(3)): Metrics {
  return makeMetrics({
    release: { version: '1.2.3', commit: '0123456789ab' },
    startedAtMs: 1_000_000,
    maxFiles: 1_024,
    openHolds,
    messagesWaiting: () => Promise.resolve({ mail: 2, webhook: 5 }),
    backends: () => BACKENDS,
    inFlight: () => 4,
    queues: () => ({ settlement_retries: 2 }),
    ledgerLoad: () => ({
      batches: [
        {
          name: 'admissions',
          waiting: 7,
          sizes: { bounds: [1, 2], counts: [5, 1], sum: 20, count: 8 },
          durations: { bounds: [0.001, 0.01], counts: [6, 1], sum: 0.5, count: 8 },
        },
      ],
      connections: [{ name: 'ledger', total: 6, idle: 2, waiting: 1, turnedAway: 9 }],
    }),
    certificateEndsAt: () => Date.now() + 30 * DAY_SECONDS * 1000,
  });
}

interface Changes extends Partial<Omit<RequestEnd, 'ending'>> {
  readonly ending?: Partial<RequestEnd['ending']>;
}

function ended({ ending, ...changes }: Changes = {}): RequestEnd {
  return {
    endpoint: 'svc_chat',
    model: 'm',
    usage: { input: 100, cached: 30, output: 50, reasoning: 20, images: 0 },
    charged: 2_000_000_000,
    ...changes,
    ending: {
      outcome: 'completed',
      upstream: 'b0',
      attempts: [{ upstream: 'b0', result: 'served' }],
      durationMs: 40,
      firstByteMs: 30,
      ...ending,
    },
  };
}

async function linesOf(...all: readonly Metrics[]): Promise<string[]> {
  return renderMetrics(mergeMetrics(await Promise.all(all.map((one) => one.read())))).split('\n');
}

const ROUTE = 'endpoint="svc_chat",model="m",backend="b0"';

test('counts requests by endpoint, model, backend and status, with durations, tokens and money', async () => {
  const m = metrics();
  for (const durationMs of [40, 90, 700_000]) m.request(ended({ ending: { durationMs } }));
  m.request(ended({ ending: { outcome: 'client_left', durationMs: 2_000, firstByteMs: undefined } }));
  m.request(
    ended({
      usage: undefined,
      charged: 0,
      ending: {
        outcome: 'upstream_failed',
        errorCode: 'upstream_timeout',
        attempts: [{ upstream: 'b0', result: 'failed', reason: 'timeout', cost: { amount: 500_000_000 } }],
      },
    }),
  );
  const lines = await linesOf(m);
  for (const line of [
    `tollgate_requests_total{${ROUTE},status="200",outcome="completed"} 3`,
    `tollgate_requests_total{${ROUTE},status="200",outcome="client_left"} 1`,
    `tollgate_requests_total{${ROUTE},status="500",outcome="upstream_failed"} 1`,
    `tollgate_request_duration_seconds_bucket{${ROUTE},le="0.05"} 2`,
    `tollgate_request_duration_seconds_bucket{${ROUTE},le="300"} 4`,
    `tollgate_request_duration_seconds_bucket{${ROUTE},le="+Inf"} 5`,
    `tollgate_first_byte_seconds_count{${ROUTE}} 4`,
    `tollgate_tokens_total{${ROUTE},kind="input"} 280`,
    `tollgate_tokens_total{${ROUTE},kind="cached"} 120`,
    `tollgate_tokens_total{${ROUTE},kind="output"} 120`,
    `tollgate_tokens_total{${ROUTE},kind="reasoning"} 80`,
    `tollgate_charged_usd_total{${ROUTE}} 8`,
    `tollgate_cost_usd_total{${ROUTE}} 0.5`,
    `tollgate_margin_usd{${ROUTE}} -0.5`,
    'tollgate_backend_attempts_total{backend="b0",result="served",reason=""} 4',
    'tollgate_backend_attempts_total{backend="b0",result="failed",reason="timeout"} 1',
  ])
    expect(lines).toContain(line);
});

test('the margin is that of the requests whose cost is known', async () => {
  const m = metrics();
  m.request(ended());
  m.request(
    ended({ ending: { attempts: [{ upstream: 'b0', result: 'served', cost: { amount: 500_000_000 } }] } }),
  );
  expect(await linesOf(m)).toContain(`tollgate_margin_usd{${ROUTE}} 1.5`);
});

test('a charge that follows later is added to what was charged and to the margin, and is no second request', async () => {
  const attempts = [{ upstream: 'b0', result: 'served', cost: { amount: 500_000_000 } }];
  const m = metrics();
  m.request(ended({ charged: undefined, ending: { attempts } }));
  m.chargedLater(ended({ ending: { attempts } }));
  const lines = await linesOf(m);
  for (const line of [
    `tollgate_requests_total{${ROUTE},status="200",outcome="completed"} 1`,
    `tollgate_charged_usd_total{${ROUTE}} 2`,
    `tollgate_cost_usd_total{${ROUTE}} 0.5`,
    `tollgate_margin_usd{${ROUTE}} 1.5`,
  ])
    expect(lines).toContain(line);
});

test('shows what an operator watches besides', async () => {
  const m = metrics();
  m.refused('insufficient_balance');
  m.shed('places');
  m.overrun(1_500_000_000);
  m.loss(250_000_000);
  m.answered('/v1/models', 401);
  const lines = await linesOf(m);
  for (const line of [
    'tollgate_refusals_total{reason="insufficient_balance"} 1',
    'tollgate_shed_requests_total{reason="places"} 1',
    'tollgate_overrun_usd_total 1.5',
    'tollgate_loss_usd_total 0.25',
    'tollgate_http_answers_total{path="/v1/models",status="401"} 1',
    'tollgate_holds_open 3',
    'tollgate_outbox_waiting{kind="mail"} 2',
    'tollgate_outbox_waiting{kind="webhook"} 5',
    'tollgate_requests_in_flight 4',
    'tollgate_ledger_breaches 0',
    'tollgate_ledger_batch_size_bucket{queue="admissions",le="2"} 6',
    'tollgate_ledger_batch_size_count{queue="admissions"} 8',
    'tollgate_queue_length{queue="admissions"} 7',
    'tollgate_queue_length{queue="settlement_retries"} 2',
    'tollgate_database_connections{pool="ledger",state="busy"} 4',
    'tollgate_database_connections{pool="ledger",state="waiting"} 1',
    'tollgate_backend_state{backend="house \\"1\\"",state="resting"} 1',
    'tollgate_backend_state{backend="house \\"1\\"",state="ok"} 0',
    'process_max_fds 1024',
    'process_start_time_seconds 1000',
  ])
    expect(lines).toContain(line);
  const remaining = lines.find((line) => line.startsWith('tollgate_certificate_remaining_seconds '));
  expect(Math.round(Number(remaining?.split(' ')[1]) / DAY_SECONDS)).toBe(30);
  expect(
    lines.some((line) => line.startsWith('tollgate_build_info{version="1.2.3",commit="0123456789ab"')),
  ).toBe(true);
});

test('the ledger has no breaches from the start on, and as many as the latest check found', async () => {
  const m = metrics();
  expect(await linesOf(m)).toContain('tollgate_ledger_breaches 0');
  m.verified(2);
  expect(await linesOf(m)).toContain('tollgate_ledger_breaches 2');
});

test('every line is a comment or a sample, and every metric has its help and type once', async () => {
  const m = metrics();
  m.request(ended({ endpoint: 'a\n"b"\\' }));
  const lines = (await linesOf(m)).filter((line) => line !== '');
  const sample = /^[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)+\})? -?[0-9.e+-]+$/;
  expect(lines.filter((line) => !line.startsWith('# ') && !sample.test(line))).toEqual([]);
  const types = lines.filter((line) => line.startsWith('# TYPE ')).map((line) => line.split(' ')[2]);
  expect(new Set(types).size).toBe(types.length);
});

describe('many different names', () => {
  test('of models are one beyond a hundred', async () => {
    const m = metrics();
    for (let n = 0; n < 250; n++) m.request(ended({ model: `model-${n}` }));
    const lines = (await linesOf(m)).filter((line) => line.startsWith('tollgate_requests_total{'));
    expect(lines).toHaveLength(101);
    expect(lines).toContain(
      'tollgate_requests_total{endpoint="svc_chat",model="other",backend="b0",status="200",outcome="completed"} 150',
    );
  });

  test('of anything do not create unlimited series', async () => {
    const m = metrics();
    for (let n = 0; n < 5_000; n++) {
      m.request(ended({ endpoint: `endpoint-${n}` }));
      m.refused(`reason-${n}`);
    }
    const lines = await linesOf(m);
    expect(lines.filter((line) => line.startsWith('tollgate_requests_total{'))).toHaveLength(301);
    expect(lines).toContain(
      'tollgate_requests_total{endpoint="other",model="other",backend="other",status="200",outcome="completed"} 4700',
    );
    expect(lines).toContain('tollgate_refusals_total{reason="other"} 4800');
  });
});

test('an unavailable store leaves out only its own metric', async () => {
  const text = (await linesOf(metrics(() => Promise.reject(new Error('away'))))).join('\n');
  expect(text).not.toMatch(/^tollgate_holds_open /m);
  expect(text).toContain('tollgate_build_info');
});

test('several processes are one: counters and sizes add up, what is the same everywhere is not counted twice', async () => {
  const [first, second] = [metrics(), metrics()];
  first.request(ended());
  second.request(ended());
  second.request(ended({ model: 'other-model' }));
  second.verified(1);
  const lines = await linesOf(first, second);
  for (const line of [
    `tollgate_requests_total{${ROUTE},status="200",outcome="completed"} 2`,
    `tollgate_request_duration_seconds_bucket{${ROUTE},le="0.05"} 2`,
    'tollgate_requests_in_flight 8',
    'tollgate_processes 2',
    'tollgate_holds_open 3',
    'tollgate_outbox_waiting{kind="mail"} 2',
    'tollgate_outbox_waiting{kind="webhook"} 5',
    'tollgate_ledger_breaches 1',
    'tollgate_backend_state{backend="house \\"1\\"",state="resting"} 2',
  ])
    expect(lines).toContain(line);
  expect(lines.filter((line) => line === '# TYPE tollgate_requests_total counter')).toHaveLength(1);
});
