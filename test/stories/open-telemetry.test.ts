import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { OtlpCollector, type CollectedSpan } from '../support/otlp-collector.ts';
import {
  chunk,
  completion,
  DONE,
  images,
  openStream,
  ScriptedBackend,
  usage,
  usageEvent,
} from '../support/scripted-backend.ts';

/** Spans and metrics for a collector of OpenTelemetry, which may be of any kind: requests never notice. */

const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const PROMPT = 'the words of a customer that nobody collects';

/** Sent soon, so that a test need not wait. */
function envFor(collector: Pick<OtlpCollector, 'url'>, more: Record<string, string> = {}) {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_METRIC_EXPORT_INTERVAL: '200',
    ...more,
  };
}

function headersSent(backend: ScriptedBackend): Headers {
  return backend.calls.at(-1)?.headers ?? new Headers();
}

function requestSpan(spans: readonly CollectedSpan[], requestId: string | null): CollectedSpan | undefined {
  return spans.find(
    ({ kind, attributes }) => kind === SERVER && attributes['tollgate.request.id'] === requestId,
  );
}

const ask = { messages: [{ role: 'user', content: PROMPT }] };

describe.each(['http/json', 'http/protobuf'])('by %s', (protocol) => {
  const collector = new OtlpCollector();
  const broken = new ScriptedBackend();
  const backend = new ScriptedBackend();
  let gateway: Gateway;
  let account: TestAccount;
  beforeAll(async () => {
    broken.script(() => Response.json({ error: { message: 'busy' } }, { status: 503 }));
    gateway = await Gateway.start({
      yaml: catalogFor([broken.baseUrl, backend.baseUrl]),
      env: envFor(collector, {
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=a%20key%3Dof-mine',
        OTEL_SERVICE_NAME: 'gate',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other',
      }),
    });
    account = await gateway.account('5');
  });
  afterAll(async () => {
    expect((await gateway.verify()).breaches).toEqual([]);
    await gateway.stop();
    await Promise.all([collector.stop(), broken.stop(), backend.stop()]);
    expect(collector.refused).toEqual([]);
  });

  async function spansOf(response: Response): Promise<{ request: CollectedSpan; attempts: CollectedSpan[] }> {
    await response.text();
    const id = response.headers.get('x-request-id');
    await eventually('its span has arrived', () => requestSpan(collector.spans, id) !== undefined);
    const request = requestSpan(collector.spans, id);
    if (!request) throw new Error('it is gone');
    const attempts = collector.spans.filter(({ parentSpanId }) => parentSpanId === request.spanId);
    return { request, attempts: attempts.toSorted((a, b) => a.startMs - b.startMs) };
  }

  test('a request is one span in the trace of its client, and each attempt is one below it', async () => {
    backend.script(() => completion('ok', usage(10, 3)));
    const response = await gateway.chat(account.token, ask, {
      headers: { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=1' },
    });
    expect(response.status).toBe(200);
    const { request, attempts } = await spansOf(response);
    expect(request).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      traceState: 'vendor=1',
      name: 'POST /api/public/v1/chat/completions',
      status: 0,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/api/public/v1/chat/completions',
        'http.response.status_code': 200,
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'm',
        'gen_ai.response.model': 'm',
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.usage.output_tokens': 3,
        'tollgate.charged_usd': 0.000016,
        'tollgate.account.id': account.id,
        'tollgate.endpoint': 'svc_chat',
        'tollgate.backend': 'b1',
        'tollgate.outcome': 'completed',
      },
    });
    const served = attempts.filter(({ status }) => status !== ERROR);
    expect(served).toHaveLength(1);
    expect(served[0]).toMatchObject({
      traceId: TRACE,
      kind: CLIENT,
      name: 'chat m',
      attributes: { 'tollgate.backend': 'b1', 'gen_ai.usage.output_tokens': 3 },
    });
    const failed = attempts.filter(({ status }) => status === ERROR);
    expect(failed.length).toBeGreaterThan(0);
    for (const one of failed)
      expect(one.attributes).toMatchObject({
        'tollgate.backend': 'b0',
        'error.type': 'server',
        'http.response.status_code': 503,
      });
    expect(headersSent(backend).get('traceparent')).toBe(`00-${TRACE}-${served[0]?.spanId}-01`);
    expect(headersSent(backend).get('tracestate')).toBe('vendor=1');
  });

  test('a stream is one span that ends with it, with what it used', async () => {
    const stream = openStream();
    backend.script(() => stream.response);
    stream.send(chunk({ role: 'assistant', content: 'a' }));
    const response = await gateway.chat(account.token, { ...ask, stream: true });
    expect(response.status).toBe(200);
    const earlier = await spansOf(await gateway.chat('sk-nobody', ask));
    expect(earlier.request.attributes['http.response.status_code']).toBe(401);
    expect(requestSpan(collector.spans, response.headers.get('x-request-id'))).toBeUndefined();
    stream.send(chunk({}, 'stop') + usageEvent(7, 2) + DONE);
    stream.end();
    const { request, attempts } = await spansOf(response);
    expect(request.attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 7,
      'gen_ai.usage.output_tokens': 2,
      'tollgate.outcome': 'completed',
    });
    expect(attempts.at(-1)?.endMs).toBeGreaterThanOrEqual(attempts.at(-1)?.startMs ?? Infinity);
  });

  test('a request that was refused is a span without attempts, and no error of the server', async () => {
    const { request, attempts } = await spansOf(await gateway.chat('sk-nobody', ask));
    expect(request).toMatchObject({
      parentSpanId: '',
      status: 0,
      attributes: { 'http.response.status_code': 401, 'error.type': '401' },
    });
    expect(attempts).toEqual([]);
  });

  test('one that no backend could serve is an error', async () => {
    backend.script(() => Response.json({ error: { message: 'busy' } }, { status: 503 }));
    const { request } = await spansOf(await gateway.chat(account.token, ask));
    expect(request.status).toBe(ERROR);
    expect(request.attributes).toMatchObject({
      'tollgate.outcome': 'upstream_failed',
      'http.response.status_code': 500,
    });
  });

  test('a job goes on after its answer in a span of its own, in the same trace', async () => {
    broken.script(() => images(1));
    const body = { endpoint: 'svc_tgter', model: 'p', prompt: PROMPT };
    const response = await gateway.post('/api/public/v1/images/generations', account.token, body, {
      headers: { prefer: 'respond-async', traceparent: `00-${TRACE}-${PARENT}-01` },
    });
    const answered = await spansOf(response);
    expect(answered).toMatchObject({
      request: { traceId: TRACE, attributes: { 'http.response.status_code': response.status } },
      attempts: [],
    });
    const isJob = ({ name }: CollectedSpan): boolean => name === 'image job';
    await eventually('the job is over', () => collector.spans.some(isJob));
    const job = collector.spans.find(isJob);
    expect(job).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      attributes: { 'gen_ai.operation.name': 'image_generation', 'tollgate.charged_usd': 0.01 },
    });
    const attempt = collector.spans.find(({ parentSpanId }) => parentSpanId === job?.spanId);
    expect(headersSent(broken).get('traceparent')).toBe(`00-${TRACE}-${attempt?.spanId}-01`);
  });

  test('metrics are those of /metrics, histograms too', async () => {
    const name = 'tollgate_http_answers_total {"path":"/api/public/v1/chat/completions","status":"401"}';
    await eventually('they have arrived', () => collector.points.has(name));
    expect(collector.points.get(name)).toMatchObject({ asDouble: 2 });
    const route = '{"endpoint":"svc_chat","model":"m","backend":"b1"}';
    await eventually('the durations have arrived', () =>
      collector.points.has(`tollgate_request_duration_seconds ${route}`),
    );
    const durations = collector.points.get(`tollgate_request_duration_seconds ${route}`) ?? {};
    const counts = (durations['bucketCounts'] as (string | number)[]).map(Number);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(Number(durations['count']));
    expect(counts).toHaveLength((durations['explicitBounds'] as number[]).length + 1);
  });

  test('the collector is told who sends, with its key; nobody else sees the key, and no content leaves', () => {
    expect(collector.resources[0]).toMatchObject({
      'service.name': 'gate',
      'deployment.environment.name': 'test',
    });
    expect(collector.headers.every((headers) => headers.get('x-collector-key') === 'a key=of-mine')).toBe(
      true,
    );
    expect(gateway.log.join('\n')).not.toContain('a key=of-mine');
    expect(collector.text).not.toContain(PROMPT);
    expect(collector.text).not.toContain(account.token);
    expect(collector.text).not.toContain(account.email);
  });
});

describe('which requests get spans', () => {
  const collector = new OtlpCollector();
  const backend = new ScriptedBackend();
  const parent = (flags: string): string => `00-${TRACE}-${PARENT}-${flags}`;
  afterAll(() => Promise.all([collector.stop(), backend.stop()]));

  async function run(env: Record<string, string>, traceparents: readonly (string | undefined)[]) {
    backend.script(() => completion('ok', usage(10, 3)));
    const gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]), env: envFor(collector, env) });
    collector.spans.length = 0;
    const { token } = await gateway.account('5');
    const sent: (string | null)[] = [];
    for (const traceparent of traceparents) {
      const headers = traceparent === undefined ? {} : { traceparent };
      await (await gateway.chat(token, ask, { headers })).text();
      sent.push(headersSent(backend).get('traceparent'));
    }
    await gateway.stop();
    return { sent, spans: [...collector.spans] };
  }

  test('by default all, but not those of a client whose trace is not sampled', async () => {
    const { sent, spans } = await run({}, [undefined, parent('01'), parent('00')]);
    expect(spans.filter(({ kind }) => kind === SERVER)).toHaveLength(2);
    expect(spans.filter(({ kind }) => kind === CLIENT)).toHaveLength(2);
    expect(sent.slice(0, 2).every((one) => spans.some(({ spanId }) => one?.includes(spanId)))).toBe(true);
    expect(sent[2]).toBe(parent('00'));
  });

  test('a share of them, each with all its attempts or with none', async () => {
    const env = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' };
    const { sent, spans } = await run(env, Array.from({ length: 100 }));
    const requests = spans.filter(({ kind }) => kind === SERVER);
    // Fewer than 20 or more than 80 of 100 happen once in a thousand million runs.
    expect(requests.length).toBeWithin(20, 81);
    const parents = spans.filter(({ kind }) => kind === CLIENT).map(({ parentSpanId }) => parentSpanId);
    expect(parents.toSorted()).toEqual(requests.map(({ spanId }) => spanId).toSorted());
    expect(sent.filter((one) => one !== null)).toHaveLength(requests.length);
  });

  test('none, while a client that is traced is passed on as it came', async () => {
    const { sent, spans } = await run({ OTEL_TRACES_SAMPLER: 'always_off' }, [undefined, parent('01')]);
    expect(spans).toEqual([]);
    expect(sent).toEqual([null, parent('01')]);
  });

  test('nothing leaves when it is turned off, or no trace is to be passed on', async () => {
    const before = collector.requests;
    const off = await run({ OTEL_SDK_DISABLED: 'true' }, [parent('01')]);
    expect(collector.requests).toBe(before);
    expect(off.sent).toEqual([parent('01')]);
    const alone = await run({ OTEL_PROPAGATORS: 'none' }, [parent('01')]);
    expect(alone.sent).toEqual([null]);
    expect(alone.spans.filter(({ kind }) => kind === SERVER)).toMatchObject([{ parentSpanId: '' }]);
  });
});

describe('a collector that', () => {
  const REQUESTS = 300;
  /** The backend is called by the same process, which has 256 outgoing requests at most. */
  const AT_ONCE = 50;
  const QUEUE = 32;
  const backend = new ScriptedBackend();
  afterAll(() => backend.stop());

  async function served(gateway: Gateway, token: string): Promise<number[]> {
    const statuses = new Set<number>();
    for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) {
      const responses = await Promise.all(Array.from({ length: AT_ONCE }, () => gateway.chat(token, ask)));
      for (const response of responses) {
        statuses.add(response.status);
        await response.text();
      }
    }
    return [...statuses];
  }

  test.each(['hangs', 'fails', 'lies'] as const)(
    '%s disturbs no request and no stop, and the rest is dropped',
    async (mood) => {
      backend.script(() => completion('ok', usage(10, 3)));
      const collector = new OtlpCollector();
      collector.mood = mood;
      const gateway = await Gateway.start({
        yaml: catalogFor([backend.baseUrl]),
        env: envFor(collector, {
          OTEL_BSP_MAX_QUEUE_SIZE: String(QUEUE),
          OTEL_EXPORTER_OTLP_TIMEOUT: '500',
        }),
      });
      const { token } = await gateway.account('5000');
      expect(await served(gateway, token)).toEqual([200]);
      await eventually('it was asked', () => collector.requests > 0);
      expect(await served(gateway, token)).toEqual([200]);
      expect((await gateway.verify()).breaches).toEqual([]);
      await eventually('the operator is told', () =>
        gateway.log.some((line) => line.includes('"event":"telemetry_problem"')),
      );
      const told = gateway.log.filter((line) => line.includes('"event":"telemetry_problem"'));
      expect(told.every((line) => line.length < 1_000)).toBe(true);
      expect(collector.spans).toEqual([]);
      await gateway.stop();
      await collector.stop();
    },
    20_000,
  );

  test('is well again gets the spans of what comes then', async () => {
    backend.script(() => completion('ok', usage(10, 3)));
    const collector = new OtlpCollector();
    collector.mood = 'fails';
    const gateway = await Gateway.start({
      yaml: catalogFor([backend.baseUrl]),
      env: envFor(collector, { OTEL_BSP_MAX_QUEUE_SIZE: String(QUEUE), OTEL_EXPORTER_OTLP_TIMEOUT: '500' }),
    });
    const { token } = await gateway.account('5000');
    expect(await served(gateway, token)).toEqual([200]);
    collector.mood = 'well';
    await eventually('a span arrives', async () => {
      const response = await gateway.chat(token, ask);
      await response.text();
      return collector.spans.length > 0;
    });
    await gateway.stop();
    await collector.stop();
    expect(collector.spans.length).toBeLessThan(2 * REQUESTS);
  }, 60_000);

  test('is away, from the start to the end, disturbs nothing', async () => {
    backend.script(() => completion('ok', usage(10, 3)));
    const collector = new OtlpCollector();
    const { url } = collector;
    await collector.stop();
    const gateway = await Gateway.start({
      yaml: catalogFor([backend.baseUrl]),
      env: envFor({ url }, { OTEL_EXPORTER_OTLP_TIMEOUT: '500' }),
    });
    const { token } = await gateway.account('5000');
    expect(await served(gateway, token)).toEqual([200]);
    expect((await gateway.verify()).breaches).toEqual([]);
    await gateway.stop();
  }, 60_000);
});
