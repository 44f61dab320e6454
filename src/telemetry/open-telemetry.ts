import {
  diag,
  DiagLogLevel,
  type DiagLogger,
  ValueType,
  type Attributes,
  type HrTime,
} from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type MetricProducer,
  type PushMetricExporter,
  AggregationTemporality,
  DataPointType,
  type DataPoint,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  RandomIdGenerator,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import type { MetricFamily } from '../activity/metric-family.ts';
import type { Log } from '../std/log.ts';
import type { RequestSpans } from '../std/access-log.ts';
import { SampledRequestSpans, TraceIds, type CatalogNames } from './request-spans.ts';

export interface Telemetry {
  /** `undefined`: no spans are exported. */
  readonly spans: RequestSpans | undefined;
  /** From now on these are exported at their interval. */
  exportMetrics(read: () => Promise<readonly MetricFamily[]>): void;
  /** Sends what waits, for a bounded time. */
  close(): Promise<void>;
}

interface TelemetryOptions extends CatalogNames {
  readonly settings: TelemetrySettings;
  readonly version: string;
  /** Tells the processes of one service apart. */
  readonly instance: string;
  readonly now: () => number;
  readonly log: Log;
}

const SCOPE = 'tollgate';
/** A collector that is away must not delay a stop. */
const CLOSE_MS = 3_000;
const MAX_ATTRIBUTE_CHARACTERS = 256;
const MAX_TOLD_CHARACTERS = 500;

/** Loaded only where OpenTelemetry is configured. The SDK's queue is bounded, and it sends beside the requests. */
export async function openTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const { settings, version, instance, now, log } = options;
  tellProblems(log);
  const resource = resourceFromAttributes({
    'service.version': version,
    'service.instance.id': instance,
    ...settings.resource,
  });
  const exporters = await exportersFor(settings);
  const closing: (() => Promise<void>)[] = [];
  let spans: RequestSpans | undefined;
  if (exporters.spans) {
    const ids = new TraceIds(new RandomIdGenerator());
    const provider = new TracerProvider({
      resource,
      idGenerator: ids,
      // Whoever is asked for a span has decided that there is one.
      sampler: new AlwaysOnSampler(),
      spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARACTERS },
      spanProcessors: [spanProcessor(exporters.spans, settings)],
    });
    closing.push(() => provider.shutdown());
    const tracer = provider.getTracer(SCOPE, version);
    const { passesTrace } = settings;
    const isSampled = sampler(settings.sampler);
    spans = new SampledRequestSpans({ ...options, tracer, ids, isSampled, passesTrace });
  }
  const startedAtMs = now();
  return {
    spans,
    exportMetrics: (read) => {
      if (!exporters.metrics) return;
      const reader = new PeriodicExportingMetricReader({
        exporter: exporters.metrics,
        exportIntervalMillis: settings.metricsEveryMs,
        exportTimeoutMillis: Math.min(settings.timeoutMs, settings.metricsEveryMs),
        metricProducers: [metricProducer(read, { resource, version, startedAtMs, now })],
      });
      const provider = new MeterProvider({ resource, readers: [reader] });
      closing.push(() => provider.shutdown());
    },
    close: async () => {
      // Both reject when the collector is away, and then there is nobody left to tell.
      const closed = Promise.allSettled(closing.map((close) => close()));
      await Promise.race([closed, Bun.sleep(CLOSE_MS)]);
    },
  };
}

function spanProcessor(exporter: SpanExporter, settings: TelemetrySettings): BatchSpanProcessor {
  const { maxWaitingSpans, spansEveryMs, timeoutMs } = settings;
  return new BatchSpanProcessor({
    exporter,
    maxQueueSize: maxWaitingSpans,
    maxExportBatchSize: Math.min(MAX_BATCH, maxWaitingSpans),
    scheduledDelayMillis: spansEveryMs,
    exportTimeoutMillis: timeoutMs,
  });
}

const MAX_BATCH = 512;

async function exportersFor({
  tracesUrl,
  metricsUrl,
  format,
  headers,
  timeoutMs,
}: TelemetrySettings): Promise<{
  readonly spans: SpanExporter | undefined;
  readonly metrics: PushMetricExporter | undefined;
}> {
  const shared = { headers: { ...headers }, timeoutMillis: timeoutMs, concurrencyLimit: MAX_EXPORTS };
  const [spans, metrics] =
    format === 'json'
      ? await Promise.all([
          import('@opentelemetry/exporter-trace-otlp-http'),
          import('@opentelemetry/exporter-metrics-otlp-http'),
        ])
      : await Promise.all([
          import('@opentelemetry/exporter-trace-otlp-proto'),
          import('@opentelemetry/exporter-metrics-otlp-proto'),
        ]);
  return {
    spans: tracesUrl === undefined ? undefined : new spans.OTLPTraceExporter({ ...shared, url: tracesUrl }),
    metrics:
      metricsUrl === undefined ? undefined : new metrics.OTLPMetricExporter({ ...shared, url: metricsUrl }),
  };
}

/** At once; each has at most {@link MAX_BATCH} spans. */
const MAX_EXPORTS = 4;

function sampler({ followsParent, share }: SamplerSettings): (id: string, parent?: boolean) => boolean {
  const byRatio = new TraceIdRatioBasedSampler(share);
  return (traceId, isParentSampled) =>
    followsParent && isParentSampled !== undefined
      ? isParentSampled
      : byRatio.shouldSample(undefined, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
}

function metricProducer(
  read: () => Promise<readonly MetricFamily[]>,
  {
    resource,
    version,
    startedAtMs,
    now,
  }: {
    readonly resource: ReturnType<typeof resourceFromAttributes>;
    readonly version: string;
    readonly startedAtMs: number;
    readonly now: () => number;
  },
): MetricProducer {
  return {
    collect: async () => {
      const times = { startTime: hrTime(startedAtMs), endTime: hrTime(now()) };
      const metrics = metricPoints(await read(), times);
      return {
        resourceMetrics: { resource, scopeMetrics: [{ scope: { name: SCOPE, version }, metrics }] },
        errors: [],
      };
    },
  };
}

function hrTime(ms: number): [number, number] {
  return [Math.floor(ms / 1000), Math.round((ms % 1000) * 1_000_000)];
}

/** What the SDK has to say is in our own log, where bursts of it are cut as all others are. */
function tellProblems(log: Log): void {
  const ignore = (): void => undefined;
  const tell = (message: string, ...more: readonly unknown[]): void =>
    log.warn('telemetry_problem', {
      message: [message, ...more.map(String)].join(' ').slice(0, MAX_TOLD_CHARACTERS),
    });
  const logger: DiagLogger = { error: tell, warn: tell, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** What the `OTEL_…` variables say, checked. */
export interface TelemetrySettings {
  /** `undefined`: no spans are exported. */
  readonly tracesUrl: string | undefined;
  /** `undefined`: no metrics are exported. */
  readonly metricsUrl: string | undefined;
  readonly format: 'json' | 'protobuf';
  readonly headers: Readonly<Record<string, string>>;
  /** The timeout of one export. */
  readonly timeoutMs: number;
  /** With `service.name`. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: SamplerSettings;
  readonly passesTrace: boolean;
  readonly metricsEveryMs: number;
  /** How long spans gather before they are sent. */
  readonly spansEveryMs: number;
  /** How many spans may wait; further ones are dropped. */
  readonly maxWaitingSpans: number;
}

export interface SamplerSettings {
  /** Whether a request whose caller is traced follows the caller's decision. */
  readonly followsParent: boolean;
  /** The share of all other requests, from 0 to 1. */
  readonly share: number;
}

interface PointTimes {
  /** Since when counters count. */
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

/** The metrics that Prometheus reads, under the same names, in the form that OpenTelemetry exports. */
function metricPoints(families: readonly MetricFamily[], times: PointTimes): MetricData[] {
  return families.flatMap((family) => (family.samples.length === 0 ? [] : [dataOf(family, times)]));
}

function dataOf(family: MetricFamily, times: PointTimes): MetricData {
  const { name, help: description, type } = family;
  const base = {
    descriptor: { name, description, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  if (type === 'histogram')
    return { ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(family, times) };
  const dataPoints = family.samples.map(([key, value]) => ({
    ...times,
    attributes: parseKey(key).attributes,
    value,
  }));
  return type === 'counter'
    ? { ...base, dataPointType: DataPointType.SUM, dataPoints, isMonotonic: true }
    : { ...base, dataPointType: DataPointType.GAUGE, dataPoints };
}

interface GatheredHistogram {
  readonly attributes: Attributes;
  readonly boundaries: number[];
  /** Each with those below it, as Prometheus has them. */
  readonly cumulative: number[];
  sum: number;
  count: number;
}

function histograms({ samples }: MetricFamily, times: PointTimes): DataPoint<Histogram>[] {
  const gathered = new Map<string, GatheredHistogram>();
  for (const [key, value] of samples) {
    const { suffix, attributes, bound } = parseKey(key);
    const labels = JSON.stringify(attributes);
    let one = gathered.get(labels);
    if (!one) gathered.set(labels, (one = { attributes, boundaries: [], cumulative: [], sum: 0, count: 0 }));
    if (suffix === '_sum') one.sum = value;
    else if (suffix === '_count') one.count = value;
    else if (bound !== undefined && bound !== '+Inf') {
      one.boundaries.push(Number(bound));
      one.cumulative.push(value);
    }
  }
  return [...gathered.values()].map(({ attributes, boundaries, cumulative, sum, count }) => {
    const counts = [...cumulative, count].map((upTo, index, all) => upTo - (all[index - 1] ?? 0));
    return { ...times, attributes, value: { buckets: { boundaries, counts }, sum, count } };
  });
}

const KEY = /^(_bucket|_sum|_count)?(?:\{(.*)\})?$/s;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/gs;

function parseKey(key: string): {
  readonly suffix: string | undefined;
  readonly attributes: Attributes;
  readonly bound: string | undefined;
} {
  const [, suffix, labels = ''] = KEY.exec(key) ?? [];
  const all = [...labels.matchAll(LABEL)].map(([, name = '', text = '']) => [name, unescaped(text)] as const);
  const attributes = Object.fromEntries(all.filter(([name]) => name !== 'le'));
  return { suffix, attributes, bound: all.find(([name]) => name === 'le')?.[1] };
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, (_, character: string) => (character === 'n' ? '\n' : character));
}
