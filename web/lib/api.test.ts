import { afterEach, beforeEach, expect, test } from 'bun:test';
import { call, fetchRoute, urlOf } from './api.ts';

const realFetch = globalThis.fetch;
let server: ReturnType<typeof Bun.serve>;
let asked: { method: string; path: string; body: string }[];

beforeEach(() => {
  asked = [];
  server = Bun.serve({
    port: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      asked.push({ method: request.method, path: pathname + search, body: await request.text() });
      return Response.json({});
    },
  });
  // A page's paths are relative to its origin, which a test does not have.
  globalThis.fetch = Object.assign(
    (path: string | URL | Request, init?: RequestInit) =>
      realFetch(typeof path === 'string' ? new URL(path, server.url) : path, init),
    { preconnect: realFetch.preconnect },
  );
});
afterEach(async () => {
  globalThis.fetch = realFetch;
  await server.stop(true);
});

test('a route is called by its method and path, with parameters encoded and empty filters left out', async () => {
  await call('GET /api/console/requests/{id}', { params: { id: 'a/b c' } });
  await call('GET /api/console/usage', { query: { from: '2026-11-01', to: '' } });
  await call('POST /api/console/redeem', { body: { code: 'x' }, query: { wallet: 'team' } });
  await call('POST /api/console/token');
  await call('DELETE /api/console/token');
  expect(asked).toEqual([
    { method: 'GET', path: '/api/console/requests/a%2Fb%20c', body: '' },
    { method: 'GET', path: '/api/console/usage?from=2026-11-01', body: '' },
    { method: 'POST', path: '/api/console/redeem?wallet=team', body: '{"code":"x"}' },
    { method: 'POST', path: '/api/console/token', body: '{}' },
    { method: 'DELETE', path: '/api/console/token', body: '' },
  ]);
});

/** Each line must be an error of the compiler; if one compiles, `tsc` fails because the expected error is missing. */
test('what the server does not declare does not compile', async () => {
  // @ts-expect-error there is no such route
  urlOf('GET /api/console/nothing');
  // @ts-expect-error nor one to read a stream from
  await fetchRoute('POST /api/console/nothing');
  // @ts-expect-error not by this method
  await call('PUT /api/console/token');
  // @ts-expect-error not JSON
  await call('GET /api/console/usage.csv');
  // @ts-expect-error the path has a parameter
  await call('GET /api/console/requests/{id}');
  // @ts-expect-error of another name
  await call('GET /api/console/requests/{id}', { params: { name: 'x' } });
  // @ts-expect-error not a field of its body
  await call('POST /api/console/redeem', { body: { coupon: 'x' }, query: { wallet: 'own' } });
  // @ts-expect-error whose money it is must be said
  await call('POST /api/console/redeem', { body: { code: 'x' } });
  // @ts-expect-error not a filter of its list
  await call('GET /api/console/usage', { query: { account: 'x' } });
  // @ts-expect-error the answer has no such field
  expect((await call('POST /api/console/token')).secret).toBeUndefined();
  // @ts-expect-error and is not of any type
  const balance: number = (await call('GET /api/console/overview')).balanceUsd;
  expect(balance).toBeUndefined();
});
