import { describe, expect, test } from 'bun:test';
import { importsIn, isTest, sourcesIn, SRC } from '../../test/architecture/source-graph.ts';
import { readConfig } from './config.ts';

const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

describe('OpenTelemetry', () => {
  test.each([
    ['no collector is named', {}],
    ['it is turned off', { ...COLLECTOR, OTEL_SDK_DISABLED: 'true' }],
    ['no signal is wanted', { ...COLLECTOR, OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' }],
  ])('is off where %s', (_, env) => {
    expect(readConfig(env).telemetry).toBeUndefined();
  });

  test('sends each signal to its path, or to an address of its own', () => {
    expect(
      readConfig({
        OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example/otlp/',
        OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://metrics.example/in',
      }).telemetry,
    ).toMatchObject({
      tracesUrl: 'https://collector.example/otlp/v1/traces',
      metricsUrl: 'http://metrics.example/in',
    });
    expect(readConfig({ ...COLLECTOR, OTEL_METRICS_EXPORTER: 'none' }).telemetry?.metricsUrl).toBeUndefined();
  });

  test('reads lists with percent signs, and the name of the service before the list of attributes', () => {
    const env = {
      ...COLLECTOR,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abcd%3D%3D, x-team = a ',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=listed,host.name=h1',
    };
    expect(readConfig(env).telemetry).toMatchObject({
      headers: { authorization: 'Basic abcd==', 'x-team': 'a' },
      resource: { 'service.name': 'listed', 'host.name': 'h1' },
    });
    expect(readConfig({ ...env, OTEL_SERVICE_NAME: 'gate' }).telemetry?.resource['service.name']).toBe(
      'gate',
    );
    expect(readConfig(COLLECTOR).telemetry?.resource).toEqual({ 'service.name': 'tollgate' });
  });

  test.each([
    ['always_on', undefined, { followsParent: false, share: 1 }],
    ['parentbased_always_off', undefined, { followsParent: true, share: 0 }],
    ['traceidratio', '0', { followsParent: false, share: 0 }],
    ['parentbased_traceidratio', '0.25', { followsParent: true, share: 0.25 }],
    [undefined, undefined, { followsParent: true, share: 1 }],
  ])('samples by %p and %p', (sampler, share, expected) => {
    const env = { ...COLLECTOR, OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: share };
    expect(readConfig(env).telemetry?.sampler).toEqual(expected);
  });

  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'no pair'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a=%zz'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
  ])('refuses %s=%s in one sentence', (name, value) => {
    expect(() => readConfig({ ...COLLECTOR, [name]: value })).toThrow(`${name} must be`);
  });

  test('a header that cannot be read is not repeated in the error: it may be a key', () => {
    const env = { ...COLLECTOR, OTEL_EXPORTER_OTLP_HEADERS: 'hunter2' };
    expect(() => readConfig(env)).toThrow(/^(?!.*hunter2)/s);
  });

  test('is loaded only where it is configured: nothing else imports its packages, or that folder but for types', async () => {
    const loading = (await importsIn(SRC)).filter(
      ({ from, to, kind }) =>
        kind === 'value' && to.startsWith('telemetry/') && !from.startsWith('telemetry/'),
    );
    expect(loading).toEqual([]);
    const users = (await sourcesIn(SRC)).filter(
      ({ file, text }) =>
        !isTest(file) && !file.startsWith('telemetry/') && text.includes("'@opentelemetry/"),
    );
    expect(users.map(({ file }) => file)).toEqual([]);
  });
});
