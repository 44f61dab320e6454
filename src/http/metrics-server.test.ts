import { expect, test } from 'bun:test';
import { startMetricsServer } from './metrics-server.ts';

test('the address of the metrics serves them and nothing else, and says so while they cannot be read', async () => {
  let metrics = async (): Promise<string> => 'a_metric 1\n';
  const server = startMetricsServer({ host: '127.0.0.1', port: 0, shared: false, metrics: () => metrics() });
  const status = async (path: string) => (await fetch(`http://127.0.0.1:${server.port}${path}`)).status;
  const response = await fetch(`http://127.0.0.1:${server.port}/metrics`);
  expect(await response.text()).toBe('a_metric 1\n');
  expect(response.headers.get('content-type')).toStartWith('text/plain; version=0.0.4');
  expect([await status('/'), await status('/healthz')]).toEqual([404, 404]);
  metrics = () => Promise.reject(new Error('the supervisor does not answer'));
  expect(await status('/metrics')).toBe(503);
  await server.stop();
});

test('an address that cannot be listened on is named with its setting', () => {
  expect(() =>
    startMetricsServer({ host: '203.0.113.1', port: 9_700, shared: false, metrics: async () => '' }),
  ).toThrow('203.0.113.1:9700 (TOLLGATE_METRICS_ADDRESS)');
});
