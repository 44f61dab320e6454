import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { totp } from '../../src/console/testing/harness.ts';
import { BackendProcess } from '../support/node-process.ts';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';

const PASSWORD = 'a perfectly fine phrase';
/** The proxy that these tests play says where a client is. */
const catalog = (baseUrl: string) => catalogFor([baseUrl], { extra: 'trusted_proxies: [127.0.0.1]' });

const SETUPS = {
  'one node on SQLite': async (yaml: string) => [await Gateway.start({ yaml })],
  'two nodes on one Postgres': async (yaml: string) => {
    const databaseUrl = await (await testPostgres()).freshDatabase();
    return [await Gateway.start({ yaml, databaseUrl }), await Gateway.start({ yaml, databaseUrl })];
  },
};

describe.each(Object.entries(SETUPS))('guessing passwords: %s', (_, start) => {
  let backend: BackendProcess;
  let nodes: Gateway[];
  let turn = 0;

  beforeAll(async () => {
    backend = await BackendProcess.start();
    nodes = await start(catalog(backend.baseUrl));
    const { setupLink } = nodes[0]!.tollgate;
    const token = setupLink?.split('/').at(-1);
    const made = await post('/api/console/setup', { token, email: 'admin@example.com', password: PASSWORD });
    expect(made.status).toBe(200);
  });

  afterAll(async () => {
    for (const node of nodes) await node.stop();
    await backend.stop();
  });

  /** On one node after the other. */
  function post(path: string, body: unknown, from = '192.0.2.1', cookie = ''): Promise<Response> {
    return nodes[turn++ % nodes.length]!.post(path, undefined, body, {
      headers: {
        'sec-fetch-site': 'same-origin',
        'x-forwarded-for': from,
        'x-forwarded-proto': 'https',
        ...(cookie === '' ? {} : { cookie }),
      },
    });
  }

  async function newPerson(email: string, from: string): Promise<string> {
    const reply = await post('/api/auth/sign-up/email', { email, password: PASSWORD }, from);
    expect(reply.status).toBe(200);
    return cookieOf(reply, 'device');
  }

  const signIn = (email: string, password: string, from: string, cookie?: string) =>
    post('/api/auth/sign-in/email', { email, password }, from, cookie);

  const statusesOf = async (tries: number, attempt: (n: number) => Promise<Response>) => {
    const statuses: number[] = [];
    for (let n = 0; n < tries; n++) statuses.push((await attempt(n)).status);
    return statuses;
  };

  test('five wrong passwords from elsewhere do not lock out the owner, and all nodes count them together', async () => {
    await newPerson('owner@example.com', '192.0.2.10');
    const attack = (n: number) => signIn('owner@example.com', `wrong ${n} wrong`, '198.51.100.1');
    expect(await statusesOf(8, attack)).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    for (const _ of nodes)
      expect((await signIn('owner@example.com', PASSWORD, '198.51.100.1')).status).toBe(429);
    for (const _ of nodes)
      expect((await signIn('owner@example.com', PASSWORD, '192.0.2.10')).status).toBe(200);
    const refused = await signIn('owner@example.com', PASSWORD, '198.51.100.1');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({
      error: {
        code: 'rate_limit_exceeded',
        message: expect.stringMatching(/^Too many attempts\. Try again in \d+ seconds?\.$/),
      },
    });
  });

  test('attempts at the same time on all nodes are five in all', async () => {
    await newPerson('burst@example.com', '192.0.2.20');
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => signIn('burst@example.com', `wrong ${n} wrong`, '198.51.100.2')),
    );
    const statuses = replies.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([...Array<number>(5).fill(401), ...Array<number>(15).fill(429)]);
  });

  test('a known device is let in from the very network that guesses, and nobody else’s device is', async () => {
    const own = await newPerson('known@example.com', '192.0.2.30');
    const other = await newPerson('stranger@example.com', '192.0.2.31');
    await statusesOf(6, (n) => signIn('known@example.com', `wrong ${n} wrong`, '198.51.100.3'));
    const from = (cookie: string) => signIn('known@example.com', PASSWORD, '198.51.100.3', cookie);
    expect((await from('')).status).toBe(429);
    expect((await from(other)).status).toBe(429);
    expect((await from(`${own.slice(0, -2)}.~`)).status).toBe(429);
    expect((await from(own)).status).toBe(200);
  });

  test('a known device has five attempts of its own, and is no longer known once the password was changed', async () => {
    const old = await newPerson('changer@example.com', '192.0.2.40');
    const guess = (n: number) => signIn('changer@example.com', `wrong ${n} wrong`, '192.0.2.40', old);
    expect(await statusesOf(7, guess)).toEqual([401, 401, 401, 401, 401, 429, 429]);
    const signedIn = await signIn('changer@example.com', PASSWORD, '192.0.2.41');
    const changed = await post(
      '/api/auth/change-password',
      { currentPassword: PASSWORD, newPassword: 'another fine phrase' },
      '192.0.2.41',
      cookieOf(signedIn, 'session_token'),
    );
    expect(changed.status).toBe(200);
    const fresh = cookieOf(changed, 'device');
    await statusesOf(6, (n) => signIn('changer@example.com', `wrong ${n} wrong`, '198.51.100.4'));
    const from = (cookie: string) =>
      signIn('changer@example.com', 'another fine phrase', '198.51.100.4', cookie);
    expect((await from(cookieOf(signedIn, 'device'))).status).toBe(429);
    expect((await from(fresh)).status).toBe(200);
  });

  /** Somebody with a second factor; the cookie of their known device, and the way to their codes. */
  async function newPersonWithCodes(email: string, from: string): Promise<{ own: string; uri: string }> {
    const signedUp = await post('/api/auth/sign-up/email', { email, password: PASSWORD }, from);
    const session = cookieOf(signedUp, 'session_token');
    const enabled = await post('/api/auth/two-factor/enable', { password: PASSWORD }, from, session);
    const { totpURI: uri } = (await enabled.json()) as { totpURI: string };
    const proved = await post('/api/auth/two-factor/verify-totp', { code: totp(uri) }, from, session);
    expect(proved.status).toBe(200);
    return { own: cookieOf(signedUp, 'device'), uri };
  }

  /** The right password, and then this code. */
  async function signInWithCode(email: string, code: string, from: string, device = ''): Promise<number> {
    const signedIn = await signIn(email, PASSWORD, from, device);
    expect([email, from, signedIn.status]).toEqual([email, from, 200]);
    const cookie = `${cookieOf(signedIn, 'two_factor')}; ${device}`;
    return (await post('/api/auth/two-factor/verify-totp', { code }, from, cookie)).status;
  }

  test('who knows a password and guesses codes waits; the owner elsewhere, a known device and other accounts do not', async () => {
    const { own, uri } = await newPersonWithCodes('coded@example.com', '192.0.2.60');
    const other = await newPersonWithCodes('neighbour@example.com', '192.0.2.61');
    const wrong = wrongCode(uri);
    for (const network of ['198.51.100.6', '198.51.100.7', '198.51.100.8']) {
      const statuses: number[] = [];
      for (let n = 0; n < 7; n++) statuses.push(await signInWithCode('coded@example.com', wrong, network));
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
      expect(await signInWithCode('coded@example.com', totp(uri), network)).toBe(429);
    }
    for (const _ of nodes)
      expect(await signInWithCode('coded@example.com', totp(uri), '192.0.2.60')).toBe(200);
    expect(await signInWithCode('neighbour@example.com', totp(other.uri), '198.51.100.6')).toBe(200);
    expect(await signInWithCode('coded@example.com', totp(uri), '198.51.100.6', own)).toBe(200);
  });

  test('the cookie of a known device cannot be read by scripts, and gives no access', async () => {
    const reply = await signIn('admin@example.com', PASSWORD, '192.0.2.50');
    const line = reply.headers.getSetCookie().find((one) => one.startsWith('__Host-tollgate.device='));
    for (const part of ['HttpOnly', 'Secure', 'SameSite=Lax', 'Path=/']) expect(line).toContain(part);
    expect(line).not.toContain('admin');
    const headers = { cookie: cookieOf(reply, 'device'), 'x-forwarded-proto': 'https' };
    expect((await nodes[0]!.fetch('/api/console/overview', { headers })).status).toBe(401);
  });
});

/** Neither now nor a step before or after. */
function wrongCode(uri: string): string {
  return String((Number(totp(uri)) + 500_000) % 1_000_000).padStart(6, '0');
}

function cookieOf(reply: Response, name: string): string {
  const line = reply.headers.getSetCookie().find((one) => one.startsWith(`__Host-tollgate.${name}=`));
  return line?.split(';')[0] ?? '';
}
