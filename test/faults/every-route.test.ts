import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { consoleRoutes } from '../../src/console/app.ts';
import type { HttpRoute } from '../../src/http/router.ts';
import { allRoutes } from '../../src/main/all-routes.ts';
import { NodeProcess, eventually } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';

/** Every route of the list gets what a careless or hostile client may send, and answers each as it is documented. */

const unused = {} as never;
const { routes } = allRoutes({
  api: unused,
  health: unused,
  payments: unused,
  console: { routes: consoleRoutes(unused) },
  site: unused,
});
const PASSWORD = 'a perfectly fine phrase';

let node: NodeProcess;
let operator: Operator;
let token: string;
let cookie: string;
let operatorToken: string;

beforeAll(async () => {
  node = await NodeProcess.start({
    yaml: `
upstreams: { house: { kind: house } }
lists: { models: [{ model: house-echo, input: 0.05, output: 0.20 }] }
endpoints: { svc_house: { name: house, type: chat_completion, lists: [models], upstreams: [house] } }
`,
    env: { TOLLGATE_STRIPE_SECRET_KEY: 'sk_test_x', TOLLGATE_STRIPE_WEBHOOK_SECRET: 'whsec_x' },
  });
  operator = await Operator.open(node.env);
  ({ token } = await operator.account('10'));
  const setupToken = /\/setup\/(\S+)/.exec(node.greeting)?.[1];
  const body = JSON.stringify({ token: setupToken, email: 'admin@example.com', password: PASSWORD });
  const made = await fetch(`${node.url}/api/console/setup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body,
  });
  expect(made.status).toBe(200);
  cookie = made.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ');
  const making = await fetch(`${node.url}/api/console/admin/operator-tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', cookie },
    body: JSON.stringify({ name: 'a program', role: 'owner', expiresAt: Date.now() + 86_400_000 }),
  });
  ({ token: operatorToken } = (await making.json()) as { token: string });
});
afterAll(async () => {
  await operator.close();
  await node.stop();
});

const withBody = routes.filter(({ body }) => body.kind !== 'none');
const titleOf = ({ method, path }: HttpRoute): string => `${method} ${path}`;

/** A path of this route. Ids that nobody has: whoever is refused for a body is refused before an id is looked for. */
function pathOf({ path }: HttpRoute): string {
  return path.replaceAll('**', 'nobody-has-this').replaceAll('*', 'nobody-has-this');
}

/** An owner's session, an account's token, an owner's operator token: nothing is refused for who sends it. */
function headersFor({ door, path }: HttpRoute): Record<string, string> {
  if (path.startsWith('/api/operator/')) return { authorization: `Bearer ${operatorToken}` };
  if (door === 'api') return { authorization: `Bearer ${token}` };
  return door === 'console'
    ? { cookie, 'sec-fetch-site': 'same-origin' }
    : { 'stripe-signature': 't=1,v1=0' };
}

interface Sent {
  readonly method?: string;
  readonly type?: string;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
}

async function send(route: HttpRoute, { method = route.method, type, body }: Sent): Promise<Answered> {
  const response = await fetch(`${node.url}${pathOf(route)}`, {
    method,
    headers: { 'content-type': type ?? typeFor(route), ...headersFor(route) },
    ...(body === undefined ? {} : { body }),
    redirect: 'manual',
  });
  return { status: response.status, allow: response.headers.get('allow'), text: await response.text() };
}

interface Answered {
  readonly status: number;
  readonly allow: string | null;
  readonly text: string;
}

function typeFor({ body }: HttpRoute): string {
  return body.kind === 'form' ? 'multipart/form-data; boundary=b' : 'application/json';
}

/** Setup is over, so its routes are gone; the others say what is wrong with the body. */
function refusalOf(route: HttpRoute): number {
  return route.path === '/api/console/setup' ? 404 : 400;
}

/** The status of the answer to a request that says how long its body is, sends this much of it and no more. */
function statusOfUnfinished(route: HttpRoute, declared: number, sent: string): Promise<number> {
  const { hostname, port, host } = new URL(node.url);
  const headers = {
    host,
    'content-type': typeFor(route),
    'content-length': String(declared),
    ...headersFor(route),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let text = '';
    socket.on('data', (bytes) => (text += bytes.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)));
    socket.write(`${route.method} ${pathOf(route)} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${sent}`);
  });
}

function maxBytes({ body }: HttpRoute): number {
  return body.kind === 'none' ? 0 : body.maxBytes;
}

/** What some routes answered that was not expected. */
async function unexpected(
  asked: readonly HttpRoute[],
  statusOf: (route: HttpRoute) => Promise<number>,
  expected: (route: HttpRoute) => number = refusalOf,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const route of asked) {
    const status = await statusOf(route);
    if (status !== expected(route)) wrong.push(`${titleOf(route)}: ${status} instead of ${expected(route)}`);
  }
  return wrong;
}

describe('a body', () => {
  test('that is one byte too large is refused at every route, before it is received', async () => {
    const over = (route: HttpRoute) => statusOfUnfinished(route, maxBytes(route) + 1, '{}');
    expect(await unexpected(withBody, over)).toEqual([]);
  });

  test('that never ends is refused in time at every route, and its connection closed', async () => {
    const statuses = await Promise.all(withBody.map((route) => statusOfUnfinished(route, 1_000, '{"a":')));
    const wrong = withBody.flatMap((route, index) =>
      statuses[index] === refusalOf(route) ? [] : [`${titleOf(route)}: ${statuses[index]}`],
    );
    expect(wrong).toEqual([]);
  }, 60_000);

  test('is not received where none is taken: the answer comes at once, and the connection ends', async () => {
    const without = routes.filter(({ method, body }) => body.kind === 'none' && method !== 'GET');
    const before = node.rssMegabytes();
    const statuses = await Promise.all(
      without.map((route) => statusOfUnfinished(route, 20_000_000, ' '.repeat(1_000_000))),
    );
    const wrong = without.flatMap((route, index) => {
      const status = statuses[index] ?? 0;
      return status >= 200 && status < 500 ? [] : [`${titleOf(route)}: ${status}`];
    });
    expect(wrong).toEqual([]);
    expect(node.rssMegabytes() - before).toBeLessThan(without.length);
  }, 60_000);

  test('that is no JSON is refused at every route', async () => {
    const noJson = async (route: HttpRoute) => (await send(route, { body: 'hello' })).status;
    expect(await unexpected(withBody, noJson)).toEqual([]);
  });

  test('of brackets or of keys is refused at every route, and takes no memory with it', async () => {
    const brackets = new Uint8Array(10_000_000).fill(0x5b);
    const keys = Buffer.from(`{${Array.from({ length: 1_000_000 }, (_, n) => `"k${n}":0`).join(',')}}`);
    const heldBefore = node.rssMegabytes();
    for (const body of [brackets, new Uint8Array(keys)]) {
      // As much of it as the route takes, where that is less: all of it would be too large.
      const sent = async (route: HttpRoute) =>
        (await send(route, { body: body.slice(0, maxBytes(route)), type: 'application/json' })).status;
      expect(await unexpected(withBody, sent)).toEqual([]);
    }
    await eventually('the memory is free again', () => node.rssMegabytes() < heldBefore + 200);
  }, 120_000);

  test('of another type is refused at every route', async () => {
    const html = async (route: HttpRoute) => (await send(route, { body: '{}', type: 'text/html' })).status;
    const expected = (route: HttpRoute) => {
      if (route.path === '/api/console/setup') return 404;
      return route.door === 'console' ? 415 : 400;
    };
    expect(await unexpected(withBody, html, expected)).toEqual([]);
  });
});

test('a method that a path does not take is refused with those that it takes', async () => {
  const byPath = Map.groupBy(routes, ({ path }) => path);
  const wrong: string[] = [];
  for (const [path, own] of byPath) {
    const [route] = own;
    // Another route may match where this one has a name of any kind.
    if (!route || path.includes('*')) continue;
    const taken = new Set(own.map(({ method }) => method));
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      if (taken.has(method)) continue;
      const { status, allow } = await send(route, { method });
      const listed = new Set(allow?.split(', '));
      if (status !== 405 || [...taken].some((one) => !listed.has(one)) || listed.has(method))
        wrong.push(`${method} ${path}: ${status}, Allow: ${allow}`);
    }
  }
  expect(wrong).toEqual([]);
}, 60_000);

test('errors below the paths of a dialect are in its form, also where there is nothing', async () => {
  const errorAt = async (path: string, method = 'POST') =>
    (await (
      await fetch(`${node.url}${path}`, { method, ...(method === 'GET' ? {} : { body: '{}' }) })
    ).json()) as {
      type?: string;
      error: { status?: string; type?: string; code?: unknown };
    };
  for (const path of ['/v1beta/nothing', '/v1alpha/models/m:nothing', '/v1beta/models'])
    expect((await errorAt(path)).error).toMatchObject({
      code: expect.any(Number),
      status: expect.any(String),
    });
  for (const path of ['/v1/messages/nothing', '/v1/messages/count_tokens/more'])
    expect(await errorAt(path)).toMatchObject({ type: 'error', error: { type: 'not_found_error' } });
  expect(await errorAt('/v1/messages', 'GET')).toMatchObject({ type: 'error' });
  expect((await errorAt('/api/console/nothing')).error).toMatchObject({ code: 'not_found' });
});

test('none of it is logged as our own mistake', () => {
  expect(node.log).not.toContain('internal_error');
  expect(node.log).not.toContain('request_failed');
});
