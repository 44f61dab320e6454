import { expect, test } from 'bun:test';
import { readConfig } from './config.ts';

test('the log and the metrics are configured by the environment, and a mistake is named', () => {
  expect(readConfig({})).toMatchObject({
    logLevel: 'info',
    accessShare: 0,
    metricsToken: undefined,
    metricsAddress: undefined,
    stripe: undefined,
  });
  expect(
    readConfig({
      TOLLGATE_LOG_LEVEL: 'warn',
      TOLLGATE_ACCESS_LOG: '0.05',
      TOLLGATE_METRICS_TOKEN: 'sixteen-letters-x',
      TOLLGATE_METRICS_ADDRESS: '[::1]:9700',
    }),
  ).toMatchObject({
    logLevel: 'warn',
    accessShare: 0.05,
    metricsToken: 'sixteen-letters-x',
    metricsAddress: { host: '::1', port: 9_700 },
  });
  expect(readConfig({ TOLLGATE_ACCESS_LOG: 'json' }).accessShare).toBe(1);
});

test.each([
  ['TOLLGATE_LOG_LEVEL', 'loud'],
  ['TOLLGATE_ACCESS_LOG', 'yes'],
  ['TOLLGATE_ACCESS_LOG', '1.5'],
  ['TOLLGATE_METRICS_TOKEN', 'short'],
  ['TOLLGATE_METRICS_TOKEN', 'sixteen letters and spaces'],
  ['TOLLGATE_METRICS_ADDRESS', '9700'],
  ['TOLLGATE_METRICS_ADDRESS', '10.0.0.1:99999'],
])('%s must not be %s', (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(name);
});
