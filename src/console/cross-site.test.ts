import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AUTH_ROUTES } from '../identity/sign-in/routes.ts';
import { testConsole, type Browser, type TestConsole } from './testing/harness.ts';
import { ROUTES } from './routes.ts';
import { CONTENT_SECURITY_POLICY } from './security.ts';

let site: TestConsole;
let admin: Browser;

beforeAll(async () => {
  site = await testConsole();
  admin = await site.admin();
});
afterAll(() => site.close());

const changing = [
  ...ROUTES.map(({ name }) => name),
  ...Object.keys(AUTH_ROUTES).map((name) => `POST /api/auth/${name}`),
  'POST /api/auth/sign-up/email',
]
  .filter((route) => !route.startsWith('GET '))
  .map((route) => route.replaceAll(/\{\w+\}/g, 'x').split(' ') as [string, string]);

/** Sent with the admin's cookies, as a browser does for requests from other sites. */
function send(method: string, path: string, headers: Record<string, string>): Promise<Response> {
  const cookie = [...admin.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return fetch(`${site.url}${path}`, {
    method,
    headers: { cookie, ...headers },
    ...(method === 'DELETE' ? {} : { body: '{}' }),
  });
}

describe('what another site makes the browser send', () => {
  const FOREIGN: Record<string, Record<string, string>> = {
    'from another site': { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    'from a sibling domain': { 'sec-fetch-site': 'same-site', origin: 'https://evil.example' },
    'from an old browser elsewhere': { origin: 'https://evil.example' },
    'from a sandboxed frame': { origin: 'null' },
    'from no page at all': {},
    'with a forged method': { 'sec-fetch-site': 'cross-site', 'x-http-method-override': 'GET' },
  };
  for (const [name, headers] of Object.entries(FOREIGN)) {
    test(`is refused on every changing route: ${name}`, async () => {
      for (const [method, path] of changing) {
        const response = await send(method, path, { 'content-type': 'application/json', ...headers });
        expect([
          path,
          response.status,
          ((await response.json()) as { error: { code: string } }).error.code,
        ]).toEqual([path, 403, 'cross_site']);
      }
    });
  }

  test('is refused as a form, even from our own origin', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      for (const [method, path] of changing.filter(([method]) => method !== 'DELETE')) {
        const response = await send(method, path, { 'content-type': type, 'sec-fetch-site': 'same-origin' });
        expect([path, [404, 415].includes(response.status)]).toEqual([path, true]);
      }
    }
  });

  test('is refused when nothing says that it came from our own host', async () => {
    const own = { 'content-type': 'application/json', origin: site.url };
    expect((await send('POST', '/api/console/token', own)).status).toBe(200);
    const elsewhere = { ...own, origin: site.url.replace('localhost', 'localhost.evil.example') };
    expect((await send('POST', '/api/console/token', elsewhere)).status).toBe(403);
  });
});

/** An operator's first look at a month numbers its statement, which the audit log tells. */
const NUMBERS_STATEMENTS = /^GET \/api\/console\/admin\/accounts\/\{id\}\/statements\/\{month\}\/(csv|pdf)$/;

test('reading changes nothing: no GET route writes to the store', async () => {
  const tables = [
    'account',
    'entry',
    'request',
    'audit',
    'setting',
    'invite',
    'redeem_code',
    'preference',
    'auth_user',
    'auth_session',
    'auth_verification',
    'auth_passkey',
  ] as const;
  const snapshot = async () =>
    JSON.stringify(
      await Promise.all(tables.map((table) => site.store.db.selectFrom(table).selectAll().execute())),
    );
  const before = await snapshot();
  const reading = ROUTES.map(({ name }) => name).filter((route) => route.startsWith('GET '));
  for (const route of reading.filter((route) => !NUMBERS_STATEMENTS.test(route))) {
    await admin.call('GET', route.slice(4).replace('{id}', 'x'));
  }
  expect(await snapshot()).toBe(before);
});

test('a page may run no script but ours, and no string becomes markup', () => {
  expect(CONTENT_SECURITY_POLICY).toContain("script-src 'self';");
  expect(CONTENT_SECURITY_POLICY).not.toContain('unsafe');
  for (const rule of [
    "default-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ]) {
    expect(CONTENT_SECURITY_POLICY).toContain(rule);
  }
});
