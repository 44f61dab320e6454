import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../std/clock.ts';
import { systemRandom, type TokenHash } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import { CallerAuth } from './caller-auth.ts';
import { healthRoutes, MetricsGuard } from './health.ts';
import { RequestSlots } from '../std/request-slots.ts';
import { NO_BODY } from './request-body.ts';
import { json, PLAIN_ERRORS } from './response.ts';
import { Router, type IncomingRequest } from './router.ts';
import { startServer, type RunningServer } from './server.ts';
import { readTls, type TlsPair } from './tls.ts';

const HEALTH = {
  storeAnswers: async () => true,
  draining: () => false,
  metrics: async () => 'a_metric 1',
  guard: new MetricsGuard('token-for-metrics'),
};

/** A server on all addresses, behind a trusted proxy on loopback. */
let server: RunningServer;
let callerAuth: CallerAuth;
const exposed: string[] = [];

beforeAll(async () => {
  callerAuth = new CallerAuth({} as never, {
    hashToken: (token) => (token.startsWith('sk-') ? (token as TokenHash) : undefined),
    trustedProxies: ['127.0.0.1'],
    onExposed: (hash) => exposed.push(hash),
  });
  const echo = {
    method: 'GET',
    path: '/echo',
    door: 'api',
    body: NO_BODY,
    errors: PLAIN_ERRORS,
    handle: async (incoming) =>
      json({ origin: incoming.origin, address: incoming.address }, incoming.requestId),
  } as const satisfies Routes[number];
  server = await serverWith([echo, ...healthRoutes(HEALTH)], { host: '0.0.0.0' });
});
afterAll(() => server.stop());

type Routes = ConstructorParameters<typeof Router>[0];

function serverWith(
  routes: Routes,
  { host = '127.0.0.1', tls }: { readonly host?: string; readonly tls?: TlsPair | undefined },
): Promise<RunningServer> {
  return startServer({
    host,
    port: 0,
    shared: false,
    tls,
    router: new Router(routes),
    callerAuth,
    requestSlots: new RequestSlots({ max: 100, eventLoop: { isOverloaded: false }, onShed: () => undefined }),
    activeRequests: new Set(),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    eventLoop: { began: () => undefined },
    accessLog: { isOn: false, answered: () => undefined },
    metrics: { answered: () => undefined },
  });
}

const at = (host: string, path = '/echo', headers: Record<string, string> = {}) =>
  fetch(`http://${host}:${server.port}${path}`, { headers });

test('a trusted proxy that says https is believed, and names the client', async () => {
  const response = await at('127.0.0.1', '/echo', {
    'x-forwarded-proto': 'https',
    'x-forwarded-for': '203.0.113.9, 127.0.0.1',
    host: 'gate.example',
  });
  expect(await response.json()).toEqual({ origin: 'https://gate.example', address: '203.0.113.9' });
});

test('a trusted proxy that says http is refused, without a redirect, and the token is marked as exposed', async () => {
  const response = await at('127.0.0.1', '/echo', {
    'x-forwarded-proto': 'http',
    authorization: 'Bearer sk-exposed',
  });
  expect(response.status).toBe(400);
  expect(response.redirected).toBe(false);
  expect(((await response.json()) as { error: { code: string } }).error.code).toBe('https_required');
  expect(exposed).toEqual(['sk-exposed']);
});

test.each([
  // A proxy appends to what the client sent.
  ['https, http', '203.0.113.9', false],
  ['http, https', '203.0.113.9', true],
  ['https, http', undefined, false],
  // Two trusted proxies: the first one saw the client.
  ['https, http', '203.0.113.9, 127.0.0.1', true],
  ['http, https', '203.0.113.9, 127.0.0.1', false],
  ['https, http, https', '203.0.113.9, 127.0.0.1', false],
  // A trusted address that the client itself wrote is no hop.
  ['https, http', '127.0.0.1, 203.0.113.9', false],
])(
  'of schemes "%s" forwarded for %s, the one that a trusted proxy saw decides',
  (scheme, addresses, secure) => {
    const headers = {
      'x-forwarded-proto': scheme,
      ...(addresses === undefined ? {} : { 'x-forwarded-for': addresses }),
    };
    const request = new Request('http://gate.example/echo', { headers });
    expect(callerAuth.isSecure('127.0.0.1', request)).toBe(secure);
  },
);

test('the forwarded scheme of an untrusted peer is ignored: plain HTTP from outside loopback is refused', () => {
  const request = new Request('http://gate.example/echo', { headers: { 'x-forwarded-proto': 'https' } });
  expect(() => callerAuth.requireSecure('203.0.113.5', request)).toThrow('Use https');
  expect(callerAuth.clientAddress('203.0.113.5', request)).toBe('203.0.113.5');
});

test('before the listener closes, every answer asks for its connection to be closed, refusals too', async () => {
  const secure = { 'x-forwarded-proto': 'https' };
  expect((await at('127.0.0.1', '/echo', secure)).headers.get('connection')).not.toBe('close');
  server.closeAfterAnswers();
  for (const path of ['/echo', '/healthz', '/nowhere']) {
    const answer = await at('127.0.0.1', path, secure);
    expect([path, answer.headers.get('connection')]).toEqual([path, 'close']);
  }
});

test.skipIf(process.platform !== 'linux').each(['plain', 'TLS'])(
  'when new connections are refused, all that a client has made before are served, also those not accepted yet, over %s',
  async (transport) => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-refusing-'));
    const tls = transport === 'TLS' ? await readTls({ kind: 'self-signed' }, folder) : undefined;
    const closing = await serverWith(healthRoutes(HEALTH), { tls });
    const { port } = closing;
    const connected = join(folder, 'connected');
    await using client = Bun.spawn(
      [
        process.execPath,
        join(import.meta.dir, 'testing/late-clients.ts'),
        String(port),
        connected,
        transport,
      ],
      { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' },
    );
    // This thread accepts nothing meanwhile, so all of them wait in the system's queue.
    for (let looks = 0; !existsSync(connected) && looks < 5_000; looks++) Bun.sleepSync(5);
    expect(closing.refuseConnections()).toBe(true);
    const refused = await fetch(`${closing.url}/healthz`).catch((error: unknown) => error);
    expect(String(refused)).toContain('ECONNREFUSED');
    await client.stdin.end();
    expect(await new Response(client.stdout).text()).toBe('20 answered\n');
    await closing.stop();
    rmSync(folder, { recursive: true, force: true });
  },
);

test('over our own TLS every answer, a refusal too, tells browsers to come by https for a year', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-hsts-'));
  const tls = await readTls({ kind: 'self-signed' }, folder);
  const secure = await serverWith(healthRoutes(HEALTH), { tls });
  for (const path of ['/healthz', '/nowhere']) {
    const answer = await fetch(`${secure.url}${path}`, { tls: { ca: tls?.cert } });
    expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000');
  }
  await secure.stop();
  rmSync(folder, { recursive: true, force: true });
  expect((await at('127.0.0.1', '/healthz')).headers.has('strict-transport-security')).toBe(false);
});

test('metrics are for the bearer of their token, and for nobody else, wherever a request comes from', async () => {
  const status = async (headers: Record<string, string> = {}) =>
    (await at('127.0.0.1', '/metrics', headers)).status;
  for (const from of [{}, { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }]) {
    expect(await status(from)).toBe(401);
    expect(await status({ ...from, authorization: 'Bearer wrong-token-here' })).toBe(401);
    expect(await status({ ...from, authorization: 'Bearer token-for-metrics' })).toBe(200);
  }
});

test.each(['plain', 'TLS'])(
  'whether a client has left is known without its signal, over %s',
  async (transport) => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-left-'));
    const tls = transport === 'TLS' ? await readTls({ kind: 'self-signed' }, folder) : undefined;
    const entered = Promise.withResolvers<IncomingRequest>();
    const mayAnswer = Promise.withResolvers<void>();
    const wait = {
      method: 'GET',
      path: '/wait',
      door: 'api',
      body: NO_BODY,
      errors: PLAIN_ERRORS,
      async handle(incoming) {
        entered.resolve(incoming);
        await mayAnswer.promise;
        return json({}, incoming.requestId);
      },
    } as const satisfies Routes[number];
    const own = await serverWith([wait], { tls });
    const client = new AbortController();
    const options = { signal: client.signal, ...(tls && { tls: { ca: tls.cert } }) };
    const answer = fetch(`${own.url}/wait`, options).catch((error: unknown) => error);
    const incoming = await entered.promise;
    expect(incoming.hasLeft).toBe(false);
    client.abort();
    await answer;
    // The test's own time limit ends this.
    while (!incoming.hasLeft) await Bun.sleep(5);
    // The runtime tells a signal that was made since then a moment later.
    while (!incoming.signal.aborted) await Bun.sleep(5);
    mayAnswer.resolve();
    await own.stop();
    rmSync(folder, { recursive: true, force: true });
  },
);
