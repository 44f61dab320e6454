import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { testConsole, PASSWORD, totp, type Browser, type TestConsole } from './testing/harness.ts';

let site: TestConsole;
let admin: Browser;

beforeAll(async () => {
  site = await testConsole();
  admin = await site.admin();
});
afterAll(() => site.close());

type ErrorReply = { error: { code: string; message: string; param: string | null } };
const names = (headers: Headers) => [...headers.keys()].toSorted();
const signIn = (browser: Browser, email: string, password = PASSWORD) =>
  browser.call<ErrorReply & { twoFactorRedirect: boolean }>('POST', '/api/auth/sign-in/email', {
    email,
    password,
  });

const alive = async (browser: Browser) => (await browser.call('GET', '/api/console/overview')).status === 200;
const signUp = (body: Record<string, unknown>) =>
  site.browser().call<ErrorReply>('POST', '/api/auth/sign-up/email', { password: PASSWORD, ...body });

describe('signing in', () => {
  test('does not reveal whether an address has an account', async () => {
    await site.user('known@example.com');
    const wrong = await signIn(site.browser(), 'known@example.com', 'not the password');
    const unknown = await signIn(site.browser(), 'unknown@example.com', 'not the password');
    expect(wrong.status).toBe(401);
    expect(unknown.status).toBe(wrong.status);
    expect(unknown.body).toEqual(wrong.body);
    expect(names(unknown.headers)).toEqual(names(wrong.headers));
  });

  test('one mailbox has one account, however its address is written', async () => {
    await site.user('Straße@example.com'.replace('ß', 'ss'));
    for (const email of [
      'STRASSE@example.com',
      ' strasse@EXAMPLE.com ',
      'ｓtrasse@example.com',
      'strasse＠example.com',
    ]) {
      const again = await site
        .browser()
        .call<ErrorReply>('POST', '/api/auth/sign-up/email', { email, password: PASSWORD });
      expect([email, again.status, again.body.error.code]).toEqual([email, 409, 'email_taken']);
      expect((await signIn(site.browser(), email)).status).toBe(200);
    }
  });

  test('a password that is too short, too long or too common is refused before it is hashed', async () => {
    for (const password of [
      'short',
      'x'.repeat(129),
      'Password123!',
      'p@ssw0rd2024',
      'qwertyuiop',
      '12345678',
      'aaaaaaaa',
      'weakling1',
    ]) {
      const reply = await site
        .browser()
        .call<ErrorReply>('POST', '/api/auth/sign-up/email', { email: 'weakling@example.com', password });
      expect([password.slice(0, 20), reply.status, reply.body.error.code]).toEqual([
        password.slice(0, 20),
        400,
        'weak_password',
      ]);
    }
    const huge = await signIn(site.browser(), 'known@example.com', 'x'.repeat(60_000));
    expect([huge.status, huge.body.error.code]).toEqual([400, 'invalid_field']);
  });

  test('passwords that are only tried out are slowed down, because estimating them costs something', async () => {
    const own = await testConsole();
    try {
      await own.admin();
      const browser = own.browser();
      const attempt = async () => {
        const body = { email: 'weakling@example.com', password: 'Password123!' };
        return (await browser.call<ErrorReply>('POST', '/api/auth/sign-up/email', body)).body.error.code;
      };
      const codes: string[] = [];
      while (codes.length < 40 && codes.at(-1) !== 'rate_limit_exceeded') codes.push(await attempt());
      expect(codes.indexOf('rate_limit_exceeded')).toBeGreaterThanOrEqual(10);
      expect(new Set(codes.slice(0, -1))).toEqual(new Set(['weak_password']));
    } finally {
      await own.close();
    }
  });

  test('the same password typed with other code points is the same password', async () => {
    const browser = site.browser();
    await browser.must('POST', '/api/auth/sign-up/email', {
      email: 'accent@example.com',
      password: 'caf\u00e9 au lait fort',
    });
    expect((await signIn(site.browser(), 'accent@example.com', 'cafe\u0301 au lait fort')).status).toBe(200);
  });

  test('cookies are bound to host and HTTPS where there is HTTPS', async () => {
    await site.user('cookie@example.com');
    const body = { email: 'cookie@example.com', password: PASSWORD };
    const [plain] = (
      await site.browser().raw('POST', '/api/auth/sign-in/email', { body })
    ).headers.getSetCookie();
    expect(plain).toMatch(/^tollgate\.session_token=/);
    expect(plain).toMatch(/HttpOnly/);
    expect(plain).toMatch(/SameSite=Lax/);
    const secure = await site
      .browser()
      .raw('POST', '/api/auth/sign-in/email', { body, headers: { 'x-forwarded-proto': 'https' } });
    const [line] = secure.headers.getSetCookie();
    expect(line).toMatch(/^__Host-tollgate\.session_token=/);
    for (const part of ['Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax']) expect(line).toContain(part);
    expect(line).not.toContain('Domain');
  });

  test('a session token read from the database cannot be used', async () => {
    const thief = site.browser();
    const rows = await site.store.db.selectFrom('auth_session').select('token').execute();
    for (const { token } of rows.slice(0, 5)) {
      for (const value of [token, `${token}.`, `${token}.${'A'.repeat(43)}=`]) {
        const headers = { cookie: `tollgate.session_token=${encodeURIComponent(value)}` };
        expect((await thief.call('GET', '/api/console/overview', undefined, headers)).status).toBe(401);
      }
    }
  });
});

describe('guessing', () => {
  test('makes the network that guesses wait, its owner elsewhere not, and ends by itself', async () => {
    await site.user('target@example.com');
    const thief = () => site.browser('203.0.113.77');
    const statuses: number[] = [];
    for (let n = 0; n < 8; n++)
      statuses.push((await signIn(thief(), 'target@example.com', `wrong ${n} wrong`)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    const blocked = await signIn(thief(), 'target@example.com');
    expect(blocked.status).toBe(429);
    expect(Number(blocked.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await signIn(site.browser(), 'target@example.com')).status).toBe(200);
    site.advance(16_000);
    expect((await signIn(thief(), 'target@example.com')).status).toBe(200);
  });

  test('is slowed down for an address, whichever accounts it tries, with all of a /64 as one', async () => {
    let refused = 0;
    for (let n = 0; n < 40; n++) {
      const reply = await signIn(
        site.browser(`2001:db8:1:2::${n.toString(16)}`),
        `nobody-${n}@example.com`,
        'whatever it is',
      );
      if (reply.status === 429) refused++;
    }
    expect(refused).toBeGreaterThanOrEqual(8);
    expect((await signIn(site.browser('2001:db8:1:3::1'), 'known@example.com')).status).toBe(200);
  });

  test('cannot bypass the limit with concurrent requests', async () => {
    await site.user('burst@example.com');
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        signIn(site.browser('203.0.113.78'), 'burst@example.com', `wrong ${n} wrong`),
      ),
    );
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(5);
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(25);
  });

  test('sign-ups from one address are limited', async () => {
    const statuses = new Set<number>();
    for (let n = 0; n < 12; n++) {
      const browser = site.browser('203.0.113.9');
      statuses.add(
        (
          await browser.call('POST', '/api/auth/sign-up/email', {
            email: `flood-${n}@example.com`,
            password: PASSWORD,
          })
        ).status,
      );
    }
    expect(statuses).toEqual(new Set([200, 429]));
  });
});

describe('a session ends', () => {
  test('with signing out, everywhere with signing out everywhere', async () => {
    const first = await site.user('leaver@example.com');
    const second = site.browser();
    await signIn(second, 'leaver@example.com');
    const stolen = new Map(first.cookies);
    await first.must('POST', '/api/auth/sign-out');
    for (const [name, value] of stolen) first.cookies.set(name, value);
    expect(await alive(first)).toBe(false);
    const third = site.browser();
    await signIn(third, 'leaver@example.com');
    await third.must('POST', '/api/auth/revoke-sessions');
    expect([await alive(second), await alive(third)]).toEqual([false, false]);
  });

  test('with a new password, which goes on in a new session only', async () => {
    const first = await site.user('changer@example.com');
    const second = site.browser();
    await signIn(second, 'changer@example.com');
    const before = new Map(first.cookies);
    const body = { currentPassword: PASSWORD, newPassword: 'another fine phrase' };
    expect(
      (await first.call('POST', '/api/auth/change-password', { ...body, currentPassword: 'wrong' })).status,
    ).toBe(401);
    await first.must('POST', '/api/auth/change-password', body);
    expect([await alive(first), await alive(second)]).toEqual([true, false]);
    const old = site.browser();
    for (const [name, value] of before) old.cookies.set(name, value);
    expect(await alive(old)).toBe(false);
  });

  test('when another session of the account ends it', async () => {
    const first = await site.user('siblings@example.com');
    const second = site.browser();
    await signIn(second, 'siblings@example.com');
    const { items } = await first.must<{ items: { id: string; current: boolean }[] }>(
      'GET',
      '/api/console/sessions',
    );
    expect(items).toHaveLength(2);
    expect(JSON.stringify(items)).not.toContain('token');
    await first.must('DELETE', `/api/console/sessions/${items.find(({ current }) => !current)?.id}`);
    expect([await alive(first), await alive(second)]).toEqual([true, false]);
  });

  test('when the account is disabled or its role changes', async () => {
    const person = await site.user('power@example.com');
    const path = `/api/console/admin/accounts/${await person.accountId()}`;
    for (const [method, act, body] of [
      ['PUT', 'role', { role: 'owner' }],
      ['PUT', 'role', { role: 'support' }],
      ['PUT', 'role', { role: null }],
      ['POST', 'disable', {}],
    ] as const) {
      await signIn(person, 'power@example.com');
      expect(await alive(person)).toBe(true);
      await admin.must(method, `${path}/${act}`, body);
      expect(await alive(person)).toBe(false);
    }
    expect((await signIn(person, 'power@example.com')).status).toBe(403);
    await admin.must('POST', `${path}/enable`);
    expect((await signIn(person, 'power@example.com')).status).toBe(200);
  });
});

describe('what is sensitive', () => {
  test('needs the password again after a while', async () => {
    const person = await site.user('sudo@example.com');
    await person.must('POST', '/api/console/token');
    site.advance(16 * 60_000);
    const late = await person.call<ErrorReply>('POST', '/api/console/token');
    expect([late.status, late.body.error.code]).toEqual([403, 'confirmation_required']);
    expect((await person.call('POST', '/api/console/confirm', { password: 'wrong' })).status).toBe(401);
    await person.must('POST', '/api/console/confirm', { password: PASSWORD });
    await person.must('POST', '/api/console/token');
    await person.must('DELETE', '/api/console/token');
    expect(await person.must('GET', '/api/console/token')).toMatchObject({ token: null, team: null });
  });
});

describe('who may sign up', () => {
  test('is an admin’s to decide: open, by invite, or nobody', async () => {
    await admin.must('POST', '/api/console/confirm', { password: PASSWORD });
    await admin.must('PATCH', '/api/console/admin/settings', { signUp: 'closed' });
    expect((await signUp({ email: 'late@example.com' })).body.error.code).toBe('sign_up_closed');
    await admin.must('PATCH', '/api/console/admin/settings', { signUp: 'invite' });
    expect((await signUp({ email: 'late@example.com' })).body.error.code).toBe('invite_required');
    const { code, invite } = await admin.must<{ code: string; invite: { id: string } }>(
      'POST',
      '/api/console/admin/invites',
      {},
    );
    const replies = await Promise.all(
      Array.from({ length: 5 }, (_, n) => signUp({ email: `late${n}@example.com`, inviteCode: code })),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    const accounts = await site.store.db
      .selectFrom('account')
      .select('id')
      .where('email', 'like', 'late%')
      .execute();
    expect(accounts).toHaveLength(1);
    expect((await admin.call('DELETE', `/api/console/admin/invites/${invite.id}`)).status).toBe(404);
    await admin.must('PATCH', '/api/console/admin/settings', { signUp: 'open' });
    expect((await signUp({ email: 'open@example.com' })).status).toBe(200);
  });
});

describe('a second factor', () => {
  test('is asked for once it was proved, and a backup code works once', async () => {
    const person = await site.user('factor@example.com');
    const { totpURI, backupCodes } = await person.must<{ totpURI: string; backupCodes: string[] }>(
      'POST',
      '/api/auth/two-factor/enable',
      { password: PASSWORD },
    );
    expect((await signIn(site.browser(), 'factor@example.com')).body.twoFactorRedirect).toBe(false);
    await person.must('POST', '/api/auth/two-factor/verify-totp', { code: totp(totpURI) });

    const second = site.browser();
    expect((await signIn(second, 'factor@example.com')).body.twoFactorRedirect).toBe(true);
    expect((await second.call('GET', '/api/console/overview')).status).toBe(401);
    const wrong = await second.call<ErrorReply>('POST', '/api/auth/two-factor/verify-totp', {
      code: '000000',
    });
    expect([wrong.status, wrong.body.error.code]).toEqual([401, 'invalid_second_factor']);
    await second.must('POST', '/api/auth/two-factor/verify-totp', { code: totp(totpURI) });
    expect((await second.call('GET', '/api/console/overview')).status).toBe(200);

    for (const expected of [200, 401]) {
      const third = site.browser();
      await signIn(third, 'factor@example.com');
      expect(
        (await third.call('POST', '/api/auth/two-factor/verify-backup-code', { code: backupCodes[0] }))
          .status,
      ).toBe(expected);
    }
    await second.must('POST', '/api/auth/two-factor/disable', { password: PASSWORD });
    expect((await signIn(site.browser(), 'factor@example.com')).body.twoFactorRedirect).toBe(false);
  });
});
