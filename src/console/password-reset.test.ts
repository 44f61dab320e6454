import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import { RESET_LIFE_MS } from '../identity/sign-in/reset.ts';
import { makeAuth } from '../identity/sign-in/auth.ts';
import { silentLog } from '../std/log.ts';
import {
  MAILBOX_KEY,
  PASSWORD,
  testConsole,
  totp,
  type Browser,
  type TestConsole,
} from './testing/harness.ts';

const DATABASES: Record<string, () => Promise<TestConsole>> = {
  SQLite: () => testConsole(),
  Postgres: async () => testConsole({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};
const NEW_PASSWORD = 'a new and longer phrase';

interface ErrorReply {
  error: { code: string };
}

describe.each(Object.entries(DATABASES))('a reset link on %s', (_name, start) => {
  let site: TestConsole;
  let admin: Browser;
  beforeAll(async () => {
    site = await start();
    admin = await site.admin();
  }, 60_000);
  afterAll(() => site.close());

  const linkPath = (id: string) => `/api/console/admin/accounts/${id}/reset-link`;
  const confirmed = () => admin.must('POST', '/api/console/confirm', { password: PASSWORD });
  const makeLink = async (id: string): Promise<string> => {
    await confirmed();
    return (await admin.must<{ token: string }>('POST', linkPath(id))).token;
  };
  const use = (token: string, password = NEW_PASSWORD) =>
    site.browser().call<ErrorReply>('POST', '/api/console/password-reset', { token, password });
  const check = (token: string) =>
    site.browser().must('POST', '/api/console/password-reset/check', { token });
  const codeOf = ({ status, body }: { status: number; body: ErrorReply }) => [status, body.error.code];
  const signIn = (email: string, password: string, browser = site.browser()) =>
    browser.call<{ twoFactorRedirect: boolean }>('POST', '/api/auth/sign-in/email', { email, password });
  const NOT_GOOD = [400, 'code_invalid'];
  const NOT_VALID = { valid: false, email: null, expiresAt: null };

  test('lets its holder choose a new password, ends every session and leaves the API token alone', async () => {
    const person = await site.user('forgot@example.com');
    const elsewhere = site.browser();
    await signIn('forgot@example.com', PASSWORD, elsewhere);
    const id = await person.accountId();
    await person.must('POST', '/api/console/token');
    const tokenHash = () =>
      site.store.db.selectFrom('account').select('token_hash').where('id', '=', id).executeTakeFirstOrThrow();
    const before = await tokenHash();
    const token = await makeLink(id);
    expect(await check(token)).toMatchObject({ valid: true, email: 'forgot@example.com' });
    const done = await use(token);
    expect([done.status, done.body]).toEqual([200, { email: 'forgot@example.com' } as never]);
    expect(done.headers.getSetCookie().map((line) => line.split('=')[0])).toEqual(['tollgate.device']);
    for (const browser of [person, elsewhere])
      expect((await browser.call('GET', '/api/console/overview')).status).toBe(401);
    expect((await signIn('forgot@example.com', PASSWORD)).status).toBe(401);
    expect((await signIn('forgot@example.com', NEW_PASSWORD)).status).toBe(200);
    expect(await tokenHash()).toEqual(before);
    expect(before.token_hash).toBeString();
  });

  test('works once, however many use it at the same moment', async () => {
    const id = await (await site.user('once@example.com')).accountId();
    const token = await makeLink(id);
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, n) => use(token, `${NEW_PASSWORD} ${n}`)),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const reply of replies.filter(({ status }) => status !== 200))
      expect(codeOf(reply)).toEqual(NOT_GOOD);
    expect(codeOf(await use(token))).toEqual(NOT_GOOD);
    expect(await check(token)).toEqual(NOT_VALID);
    const winner = replies.findIndex(({ status }) => status === 200);
    const loser = (winner + 1) % replies.length;
    expect((await signIn('once@example.com', `${NEW_PASSWORD} ${loser}`)).status).toBe(401);
    expect((await signIn('once@example.com', `${NEW_PASSWORD} ${winner}`)).status).toBe(200);
  });

  test('ends after an hour, with a newer one, and with any other change of the password', async () => {
    const person = await site.user('ends@example.com');
    const id = await person.accountId();
    const [older, newer] = [await makeLink(id), await makeLink(id)];
    expect(codeOf(await use(older))).toEqual(NOT_GOOD);
    expect(await check(newer)).toMatchObject({ valid: true });
    const body = { currentPassword: PASSWORD, newPassword: 'chosen while signed in' };
    await person.must('POST', '/api/auth/change-password', body);
    expect(codeOf(await use(newer))).toEqual(NOT_GOOD);
    const third = await makeLink(id);
    await site.auth.users.setPassword(id, 'set by the operator');
    expect(codeOf(await use(third))).toEqual(NOT_GOOD);
    const late = await makeLink(id);
    site.advance(RESET_LIFE_MS);
    expect(await check(late)).toEqual(NOT_VALID);
    expect(codeOf(await use(late))).toEqual(NOT_GOOD);
    expect((await signIn('ends@example.com', 'set by the operator')).status).toBe(200);
    await site.auth.sweep();
    site.advance(1);
    await site.auth.sweep();
    const kept = site.store.db.selectFrom('reset_link').select('account_id').where('account_id', '=', id);
    expect(await kept.execute()).toEqual([]);
  });

  test('is not used up by a password that is refused', async () => {
    const id = await (await site.user('weakling@example.com')).accountId();
    const token = await makeLink(id);
    for (const password of ['short', 'Password123!', 'weakling1', 'x'.repeat(129)])
      expect(codeOf(await use(token, password))).toEqual([400, 'weak_password']);
    expect((await use(token)).status).toBe(200);
  });

  test('ends the wait after wrong passwords, on every node', async () => {
    const id = await (await site.user('guessed@example.com')).accountId();
    const { store, clock } = site;
    const node = makeAuth({ store, clock, secret: 'another node', mailboxKey: MAILBOX_KEY, log: silentLog });
    const meta = { address: '192.0.2.77', secure: false, origin: site.url };
    const onNode = (password: string) =>
      node
        .post('sign-in/email', { email: 'guessed@example.com', password }, { headers: new Headers(), meta, visitor: undefined })
        .then(({ status }) => status, (error: { code: string }) => error.code); // prettier-ignore
    const here = (password: string) => signIn('guessed@example.com', password, site.browser('203.0.113.80'));
    for (let n = 0; n < 6; n++) {
      await here(`wrong ${n} wrong`);
      await onNode(`wrong ${n} wrong`);
    }
    expect((await here(PASSWORD)).status).toBe(429);
    expect(await onNode(PASSWORD)).toBe('rate_limit_exceeded');
    expect((await use(await makeLink(id))).status).toBe(200);
    expect((await here(NEW_PASSWORD)).status).toBe(200);
    expect(await onNode(NEW_PASSWORD)).toBe(200);
    const statuses: number[] = [];
    for (let n = 0; n < 6; n++) statuses.push((await here(`wrong ${n}`)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
  });

  test('does not replace the second factor, and ends trusted devices', async () => {
    const person = await site.user('factor@example.com');
    const id = await person.accountId();
    const { totpURI } = await person.must<{ totpURI: string }>('POST', '/api/auth/two-factor/enable', {
      password: PASSWORD,
    });
    await person.must('POST', '/api/auth/two-factor/verify-totp', { code: totp(totpURI) });
    const trusted = site.browser();
    await signIn('factor@example.com', PASSWORD, trusted);
    await trusted.must('POST', '/api/auth/two-factor/verify-totp', {
      code: totp(totpURI),
      trustDevice: true,
    });
    await trusted.must('POST', '/api/auth/sign-out');
    expect((await signIn('factor@example.com', PASSWORD, trusted)).body.twoFactorRedirect).toBe(false);
    const halfway = site.browser();
    expect((await signIn('factor@example.com', PASSWORD, halfway)).body.twoFactorRedirect).toBe(true);

    await use(await makeLink(id));
    const late = await halfway.call('POST', '/api/auth/two-factor/verify-totp', { code: totp(totpURI) });
    expect(late.status).toBe(401);
    for (const browser of [trusted, site.browser()]) {
      const reply = await signIn('factor@example.com', NEW_PASSWORD, browser);
      expect(reply.body.twoFactorRedirect).toBe(true);
      expect((await browser.call('GET', '/api/console/overview')).status).toBe(401);
      await browser.must('POST', '/api/auth/two-factor/verify-totp', { code: totp(totpURI) });
      expect((await browser.call('GET', '/api/console/overview')).status).toBe(200);
    }
  });

  test('is kept as a hash only, and the audit log says who made it and that it was used', async () => {
    const id = await (await site.user('trace@example.com')).accountId();
    const token = await makeLink(id);
    expect(token).toMatch(/^[0-9A-Za-z]{43}$/);
    const rows = await site.store.db.selectFrom('reset_link').selectAll().execute();
    expect(rows.map(({ account_id }) => account_id)).toContain(id);
    expect(JSON.stringify(rows)).not.toContain(token);
    await use(token);
    const lines = await site.store.db
      .selectFrom('audit')
      .selectAll()
      .where('target', '=', id)
      .orderBy('id')
      .execute();
    const adminId = await admin.accountId();
    expect(lines.map(({ actor, action }) => [actor, action])).toEqual([
      [adminId, 'account.reset-link'],
      [id, 'account.reset-link.used'],
    ]);
    expect(JSON.parse(lines[1]?.detail ?? '')).toMatchObject({ madeBy: adminId });
    expect(JSON.stringify(lines)).not.toContain(token);
  });

  test('is made only after the operator’s password, and only for an account that is not disabled', async () => {
    const id = await (await site.user('careful@example.com')).accountId();
    site.advance(16 * 60_000);
    expect(codeOf(await admin.call<ErrorReply>('POST', linkPath(id)))).toEqual([
      403,
      'confirmation_required',
    ]);
    const token = await makeLink(id);
    await admin.must('POST', `/api/console/admin/accounts/${id}/disable`);
    expect(codeOf(await use(token))).toEqual(NOT_GOOD);
    expect(codeOf(await admin.call<ErrorReply>('POST', linkPath(id)))).toEqual([409, 'conflict']);
    expect(codeOf(await admin.call<ErrorReply>('POST', linkPath('acc_nobody')))).toEqual([404, 'not_found']);
  });

  test('guesses from one address are slowed down', async () => {
    const guesser = site.browser();
    const body = { token: 'x'.repeat(43), password: NEW_PASSWORD };
    const statuses: number[] = [];
    for (let n = 0; n < 25; n++)
      statuses.push((await guesser.call('POST', '/api/console/password-reset', body)).status);
    expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 400));
    expect(statuses.at(-1)).toBe(429);
  });

  test('gives a password to an account that had none', async () => {
    const id = 'acc_without_sign_in';
    const made = { id, email: 'api-only@example.com', created_at: site.clock.now() };
    await site.store.db.insertInto('account').values(made).execute();
    expect((await use(await makeLink(id))).status).toBe(200);
    expect((await signIn('api-only@example.com', NEW_PASSWORD)).status).toBe(200);
  });

  test('the sign-in page shows the contact from the site settings', async () => {
    const contact = async () =>
      (await site.browser().must<{ site: { contact: string } }>('GET', '/api/console/session')).site.contact;
    expect(await contact()).toBe('');
    await admin.must('PATCH', '/api/console/admin/settings', { contact: ' help@example.com ' });
    expect(await contact()).toBe('help@example.com');
    await admin.must('PATCH', '/api/console/admin/settings', { contact: '' });
  });
});
