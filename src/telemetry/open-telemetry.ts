import { diag, DiagLogLevel, type DiagLogger } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type MetricProducer,
  type PushMetricExporter,
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
import type { RequestSpans } from '../std/request-spans.ts';
import { metricPoints } from './metric-points.ts';
import { SampledRequestSpans, TraceIds, type CatalogNames } from './request-spans.ts';
import type { SamplerSettings, TelemetrySettings } from './settings.ts';

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
