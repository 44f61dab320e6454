import { hideFromLogs } from '../std/log.ts';
import { SettingError } from '../std/startup-error.ts';
import type { SamplerSettings, TelemetrySettings } from '../telemetry/open-telemetry.ts';
import { ENVIRONMENT, readText, readWholeNumber, type Env } from './environment.ts';

/**
 * The standard variables of OpenTelemetry (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 * and …/protocol/exporter/), as far as they apply. `undefined`: no collector is named, or all is turned off.
 */
export function readTelemetry(env: Env): TelemetrySettings | undefined {
  // Also where nothing is collected: a number that cannot be is a mistake.
  const numbers = {
    timeoutMs: readWholeNumber(env, 'OTEL_EXPORTER_OTLP_TIMEOUT'),
    metricsEveryMs: readWholeNumber(env, 'OTEL_METRIC_EXPORT_INTERVAL'),
    spansEveryMs: readWholeNumber(env, 'OTEL_BSP_SCHEDULE_DELAY'),
    maxWaitingSpans: readWholeNumber(env, 'OTEL_BSP_MAX_QUEUE_SIZE'),
  };
  if (readText(env, 'OTEL_SDK_DISABLED')?.trim().toLowerCase() === 'true') return undefined;
  const tracesUrl = signalUrl(env, 'traces');
  const metricsUrl = signalUrl(env, 'metrics');
  if (tracesUrl === undefined && metricsUrl === undefined) return undefined;
  return {
    ...numbers,
    tracesUrl,
    metricsUrl,
    format: readFormat(env),
    headers: readHeaders(env),
    resource: readResource(env),
    sampler: readSampler(env),
    passesTrace: passesTrace(env),
  };
}

const SIGNALS = {
  traces: { endpoint: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', exporter: 'OTEL_TRACES_EXPORTER' },
  metrics: { endpoint: 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', exporter: 'OTEL_METRICS_EXPORTER' },
} as const;

/** An address of one signal is used as it is; that of all has the path of each added. */
function signalUrl(env: Env, signal: keyof typeof SIGNALS): string | undefined {
  const { endpoint, exporter } = SIGNALS[signal];
  const wanted = readText(env, exporter) ?? ENVIRONMENT[exporter].fallback;
  if (wanted === 'none') return undefined;
  if (wanted !== 'otlp') throw new SettingError(`${exporter} must be otlp or none, not '${wanted}'.`);
  const own = collectorUrl(env, endpoint);
  if (own) return own.href;
  const shared = collectorUrl(env, 'OTEL_EXPORTER_OTLP_ENDPOINT');
  if (!shared) return undefined;
  shared.pathname = `${shared.pathname.replace(/\/$/, '')}/v1/${signal}`;
  return shared.href;
}

function collectorUrl(env: Env, name: CollectorVariable): URL | undefined {
  const text = readText(env, name)?.trim();
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new SettingError(`${name} must be an address such as http://127.0.0.1:4318, not '${text}'.`);
}

type CollectorVariable =
  | 'OTEL_EXPORTER_OTLP_ENDPOINT'
  | 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  | 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT';

function readFormat(env: Env): TelemetrySettings['format'] {
  const protocol =
    readText(env, 'OTEL_EXPORTER_OTLP_PROTOCOL') ?? ENVIRONMENT.OTEL_EXPORTER_OTLP_PROTOCOL.fallback;
  if (protocol === 'http/protobuf') return 'protobuf';
  if (protocol === 'http/json') return 'json';
  throw new SettingError(
    `OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or http/json, not '${protocol}'.`,
  );
}

/** Their values are keys more often than not. */
function readHeaders(env: Env): Readonly<Record<string, string>> {
  const headers = readPairs(env, 'OTEL_EXPORTER_OTLP_HEADERS');
  for (const value of Object.values(headers)) hideFromLogs(value);
  return headers;
}

function readResource(env: Env): Readonly<Record<string, string>> {
  const attributes = readPairs(env, 'OTEL_RESOURCE_ATTRIBUTES');
  const name = readText(env, 'OTEL_SERVICE_NAME')?.trim() ?? attributes['service.name'];
  return { ...attributes, 'service.name': name ?? ENVIRONMENT.OTEL_SERVICE_NAME.fallback };
}

/** `name=value,name=value`, with percent signs as in W3C Baggage. The value is not repeated in an error: it may be a key. */
function readPairs(
  env: Env,
  name: 'OTEL_EXPORTER_OTLP_HEADERS' | 'OTEL_RESOURCE_ATTRIBUTES',
): Record<string, string> {
  const parts = (readText(env, name) ?? '').split(',').filter((part) => part.trim() !== '');
  return Object.fromEntries(
    parts.map((part) => {
      const [, key = '', value = ''] = /^\s*([^=\s]+)\s*=(.*)$/s.exec(part) ?? [];
      if (key === '') throw wrongPairs(name);
      try {
        return [decodeURIComponent(key), decodeURIComponent(value.trim())];
      } catch {
        throw wrongPairs(name);
      }
    }),
  );
}

function wrongPairs(name: string): SettingError {
  return new SettingError(`${name} must be a list such as name=value,name=value.`);
}

const SAMPLERS: Readonly<Record<string, { followsParent: boolean; share: 0 | 1 | 'given' }>> = {
  always_on: { followsParent: false, share: 1 },
  always_off: { followsParent: false, share: 0 },
  traceidratio: { followsParent: false, share: 'given' },
  parentbased_always_on: { followsParent: true, share: 1 },
  parentbased_always_off: { followsParent: true, share: 0 },
  parentbased_traceidratio: { followsParent: true, share: 'given' },
};

function readSampler(env: Env): SamplerSettings {
  const name = readText(env, 'OTEL_TRACES_SAMPLER')?.trim() ?? ENVIRONMENT.OTEL_TRACES_SAMPLER.fallback;
  const sampler = SAMPLERS[name];
  if (!sampler)
    throw new SettingError(`OTEL_TRACES_SAMPLER must be ${Object.keys(SAMPLERS).join(', ')}, not '${name}'.`);
  const { followsParent, share } = sampler;
  return { followsParent, share: share === 'given' ? readShare(env) : share };
}

function readShare(env: Env): number {
  const text = readText(env, 'OTEL_TRACES_SAMPLER_ARG') ?? ENVIRONMENT.OTEL_TRACES_SAMPLER_ARG.fallback;
  const share = Number(text);
  if (share >= 0 && share <= 1) return share;
  throw new SettingError(`OTEL_TRACES_SAMPLER_ARG must be a share from 0 to 1, not '${text}'.`);
}

/** Whether a client's trace is taken over and passed on to backends. */
export function passesTrace(env: Env): boolean {
  const names = (readText(env, 'OTEL_PROPAGATORS') ?? ENVIRONMENT.OTEL_PROPAGATORS.fallback)
    .split(',')
    .map((name) => name.trim());
  return names.includes('tracecontext');
}
