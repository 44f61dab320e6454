import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AUTH_ROUTES } from '../identity/sign-in/routes.ts';
import type { ConsoleRoute } from './contract/routes.ts';
import type { RouteAccess, RouteDeclaration } from './route.ts';
import { ROUTES } from './routes.ts';
import { testConsole, type Browser, type TestConsole } from './testing/harness.ts';

let site: TestConsole;
let who: Record<'nobody' | 'user' | 'other' | 'disabled' | 'admin', Browser>;

beforeAll(async () => {
  site = await testConsole();
  const admin = await site.admin();
  const disabled = await site.user('disabled@example.com');
  await site.store.db
    .updateTable('account')
    .set({ status: 'disabled' })
    .where('email', '=', 'disabled@example.com')
    .execute();
  who = {
    nobody: site.browser(),
    user: await site.user('user@example.com'),
    other: await site.user('other@example.com'),
    disabled,
    admin,
  };
});
afterAll(() => site.close());

/** Signing in and out is tried by itself below: it would change who the callers are. */
const routes = (ROUTES as readonly RouteDeclaration[]).filter(({ name }) => !name.includes(' /api/auth/'));
/** An id that does not exist: callers with access get 404, the others are refused before that. */
const pathOf = (route: string): string =>
  (route.split(' ')[1] ?? '').replaceAll(/\{\w+\}/g, 'nobody-has-this');
const methodOf = (route: string): string => route.split(' ')[0] ?? '';

const matches = (route: string, asked: string): boolean =>
  new RegExp(`^${route.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(asked);

/** What each kind of caller must get from each kind of route; `in`: access is granted, whatever the result. */
const MATRIX: Record<RouteAccess, Record<keyof typeof who, 'in' | 401 | 403 | 404>> = {
  public: { nobody: 'in', user: 'in', other: 'in', disabled: 'in', admin: 'in' },
  setup: { nobody: 404, user: 404, other: 404, disabled: 404, admin: 404 },
  user: { nobody: 401, user: 'in', other: 'in', disabled: 401, admin: 'in' },
  operator: { nobody: 401, user: 403, other: 403, disabled: 401, admin: 'in' },
};

describe('every route grants access exactly as the table says', () => {
  for (const { name: route, who: access } of routes) {
    test(route, async () => {
      for (const [name, visitor] of Object.entries(who) as [keyof typeof who, Browser][]) {
        const expected = MATRIX[access][name];
        const { status } = await visitor.call(methodOf(route), pathOf(route));
        const got = status === 401 || status === 403 || (expected === 404 && status === 404) ? status : 'in';
        expect([name, got]).toEqual([name, expected]);
        expect(status).toBeLessThan(500);
      }
    });
  }

  for (const [name, route] of Object.entries(AUTH_ROUTES)) {
    if (route.who !== 'user') continue;
    test(`POST /api/auth/${name} needs a session`, async () => {
      for (const visitor of [who.nobody, who.disabled])
        expect((await visitor.call('POST', `/api/auth/${name}`)).status).toBe(401);
    });
  }

  test('an API token is not a session', async () => {
    const { token } = await who.user.must<{ token: string }>('POST', '/api/console/token');
    const stranger = site.browser();
    for (const headers of [
      { authorization: `Bearer ${token}` },
      { 'x-api-key': token },
      { cookie: `tollgate.session_token=${token}` },
    ]) {
      expect((await stranger.call('GET', '/api/console/overview', undefined, headers)).status).toBe(401);
    }
    expect((await stranger.call('GET', `/api/console/overview?token=${token}`)).status).toBe(401);
  });
});

describe('the table is complete', () => {
  test('the server has no route that is not in it', async () => {
    const listed = new Set(routes.map(({ name }) => `${methodOf(name)} ${pathOf(name)}`));
    for (const path of new Set(routes.map(({ name }) => pathOf(name)))) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        if (listed.has(`${method} ${path}`)) continue;
        const { status, headers } = await who.admin.call(method, path);
        const allowed = headers.get('allow')?.split(', ') ?? [];
        expect([method, path, status, allowed.includes(method)]).toEqual([method, path, 405, false]);
        for (const other of allowed.filter((name) => name !== 'HEAD'))
          expect([other, path, listed.has(`${other} ${path}`)]).toEqual([other, path, true]);
      }
    }
  });

  test('no two routes answer to the same method and path', () => {
    for (const { name } of routes) {
      const matching = routes.filter((other) => matches(other.name, `${methodOf(name)} ${pathOf(name)}`));
      expect(matching.map((other) => other.name)).toEqual([name]);
    }
  });

  test('a path that is longer, shorter or written differently is no route', async () => {
    for (const path of ['session/x', 'admin', 'Session', 'usage-csv']) {
      expect([path, (await who.admin.call('GET', `/api/console/${path}`)).status]).toEqual([path, 404]);
    }
  });

  test('only the listed routes of the sign-in library are exposed', async () => {
    const hidden = ['sign-up/email/x', 'update-user', 'delete-user', 'change-email', 'get-session', 'list-sessions', 'reset-password',
      'request-password-reset', 'set-password', 'link-social', 'unlink-account', 'refresh-token', 'get-access-token', 'verify-password',
      'two-factor/get-totp-uri', 'two-factor/send-otp', 'two-factor/verify-otp', 'two-factor/view-backup-codes',
      'passkey/list-user-passkeys', 'passkey/update-passkey', 'passkey/delete-passkey', 'constructor']; // prettier-ignore
    for (const name of hidden) {
      for (const method of ['GET', 'POST']) {
        expect([name, (await who.admin.call(method, `/api/auth/${name}`)).status]).toEqual([name, 404]);
      }
    }
    for (const name of Object.keys(AUTH_ROUTES))
      expect((await who.admin.call('GET', `/api/auth/${name}`)).status).toBe(405);
  });

  test('every admin route that changes something is written to the audit log', () => {
    const NOT_IN_FORCE: ConsoleRoute[] = [
      'POST /api/console/admin/catalog/propose',
      'PUT /api/console/admin/catalog/draft',
      'POST /api/console/admin/catalog/draft/edit',
      'POST /api/console/admin/catalog/draft/merge',
      'POST /api/console/admin/catalog/draft/discard',
    ];
    const silent = routes.filter(
      ({ name, who: access, audit }) =>
        access === 'operator' && !name.startsWith('GET') && audit === undefined,
    );
    expect(silent.map(({ name }) => name)).toEqual(NOT_IN_FORCE);
  });

  test('every response forbids caching and use by other origins', async () => {
    for (const path of [
      '/api/console/session',
      '/api/console/overview',
      '/api/console/nothing',
      '/api/auth/nothing',
    ]) {
      const { headers } = await who.nobody.call('GET', path);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });
});

describe('what belongs to one account', () => {
  test('is not found by another, whichever id is sent', async () => {
    const id = await who.user.accountId();
    await site.credit(id, 1);
    const requestId = await site.charge(id);
    const { items } = await who.user.must<{ items: { id: string }[] }>('GET', '/api/console/sessions');
    for (const [method, path] of [
      ['GET', `/api/console/requests/${requestId}`],
      ['DELETE', `/api/console/sessions/${items[0]?.id}`],
    ] as const) {
      expect((await who.other.call(method, path)).status).toBe(404);
    }
    expect((await who.user.call('GET', '/api/console/overview')).status).toBe(200);
  });

  test('stays out of the lists and files of another, with filters and without', async () => {
    const id = await who.user.accountId();
    await site.credit(id, 1);
    const requestId = await site.charge(id, { model: 'only-hers' });
    const lists = [
      'requests',
      'requests.csv',
      'entries',
      'usage',
      'usage.csv',
      'images',
      'overview',
      'quickstart',
    ];
    for (const list of lists) {
      const text = await (await who.other.raw('GET', `/api/console/${list}`)).text();
      expect([list, text.includes(requestId) || text.includes('only-hers')]).toEqual([list, false]);
    }
    for (const query of [`account=${id}`, `accountId=${id}`, `account_id=${id}`]) {
      expect((await who.other.call('GET', `/api/console/requests?${query}`)).status).toBe(400);
    }
  });
});

describe('a field that is not part of a form', () => {
  const SMUGGLED = { role: 'admin', balance: 1e15, balanceUsd: '1000', held: 0, is_admin: true, status: 'active', token_hash: 'x', accountId: 'acc_overrun', userId: 'x', monthlyUsd: null }; // prettier-ignore

  test('changes nothing on any route', async () => {
    const id = await who.other.accountId();
    const before = await site.store.db
      .selectFrom('account')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    const forms = routes
      .filter(({ name }) => /^(POST|PUT|PATCH)/.test(name))
      .map(({ name }) => [methodOf(name), pathOf(name)] as const);
    const signIn = Object.keys(AUTH_ROUTES).map((name) => ['POST', `/api/auth/${name}`] as const);
    const harmless = new Set([
      '/api/auth/sign-out',
      '/api/auth/revoke-sessions',
      '/api/auth/revoke-other-sessions',
    ]);
    for (const [method, path] of [...forms, ...signIn]) {
      if (harmless.has(path)) continue;
      const { status } = await who.other.call(method, path, { ...SMUGGLED, name: 'x' });
      expect([path, status >= 400 && status < 500]).toEqual([path, true]);
    }
    for (const { name: route } of routes.filter(
      ({ name, who: access }) => access === 'operator' && /^(POST|PUT|PATCH)/.test(name),
    )) {
      const path = (route.split(' ')[1] ?? '').replace('{id}', id);
      const { status } = await who.admin.call(methodOf(route), path, SMUGGLED);
      expect([path, status]).toEqual([path, 400]);
    }
    const after = await site.store.db
      .selectFrom('account')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(after).toEqual(before);
  });

  test('does not make a new user an admin at sign-up', async () => {
    const smuggler = site.browser();
    const body = { email: 'smuggler@example.com', password: 'a perfectly fine phrase' };
    expect((await smuggler.call('POST', '/api/auth/sign-up/email', { ...body, role: 'admin' })).status).toBe(
      400,
    );
    await smuggler.must('POST', '/api/auth/sign-up/email', body);
    expect((await smuggler.call('GET', '/api/console/admin/overview')).status).toBe(403);
  });
});
