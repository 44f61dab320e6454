import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import { MailServer, readMail } from '../outbox/testing/mail-server.ts';
import type { Answer } from './contract/routes.ts';
import { PASSWORD, testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type SessionState = Answer<'GET /api/console/session'>;

const PUBLIC_URL = 'https://gate.example.com';
const NEW_PASSWORD = 'another perfectly fine phrase';
const HOUR = 3_600_000;

describe.each(['SQLite', 'Postgres'])('mails to the owners of accounts on %s', (name) => {
  let server: MailServer;
  let site: TestConsole;
  beforeAll(async () => {
    server = await MailServer.start();
    const databaseUrl = name === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const mail = { mail: server.config, publicUrl: PUBLIC_URL };
    site = await testConsole({ ...mail, ...(databaseUrl !== undefined && { databaseUrl }) });
    await site.admin();
  }, 120_000);
  afterAll(async () => {
    await site.close();
    await server.stop();
  });
  beforeEach(async () => {
    await site.store.db.deleteFrom('outbox').execute();
    server.received.length = 0;
  });

  const mailsTo = (email: string) =>
    server.received.filter(({ to }) => to.includes(email)).map((mail) => readMail(mail));
  /** Waits until the mails that were asked for have been added, and sends them. */
  const sent = async (count: number): Promise<void> => {
    for (;;) {
      const rows = await site.store.db.selectFrom('outbox').select('id').execute();
      if (rows.length >= count) break;
      await Bun.sleep(5);
    }
    await site.messages.sender.idle();
  };
  const linkIn = (text: string): string => /https:\/\/gate\.example\.com\/[\w-]+#(\S+)/.exec(text)?.[1] ?? '';
  const signIn = async (browser: Browser, email: string, password = PASSWORD): Promise<number> =>
    (await browser.call('POST', '/api/auth/sign-in/email', { email, password })).status;

  test('a forgotten password is reset by a link in a mail, once', async () => {
    const email = 'forgetful@example.com';
    const signedIn = await site.user(email);
    const stranger = site.browser();
    expect((await stranger.must<SessionState>('GET', '/api/console/session')).sendsMail).toBe(true);
    await sent(1);
    server.received.length = 0;
    await stranger.must('POST', '/api/console/password-reset/send', { email: ' Forgetful@Example.com ' });
    await sent(2);
    const [mail] = mailsTo(email);
    const token = linkIn(mail?.text ?? '');
    expect(mail?.html).toContain(token);
    const rows = await site.store.db.selectFrom('outbox').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(token);
    const check = await stranger.must('POST', '/api/console/password-reset/check', { token });
    expect(check).toMatchObject({ valid: true, email });
    await stranger.must('POST', '/api/console/password-reset', { token, password: NEW_PASSWORD });
    const again = await stranger.call('POST', '/api/console/password-reset', { token, password: PASSWORD });
    expect(again.body).toMatchObject({ error: { code: 'code_invalid' } });
    expect((await signedIn.call('GET', '/api/console/overview')).status).toBe(401);
    expect(await signIn(stranger, email, PASSWORD)).toBe(401);
    expect(await signIn(stranger, email, NEW_PASSWORD)).toBe(200);
    // Who has read the mail has the address.
    const { user } = await stranger.must<SessionState>('GET', '/api/console/session');
    expect(user?.emailVerified).toBe(true);
  });

  test('a link in a mail lives half an hour, and so does the mail', async () => {
    const email = 'slow@example.com';
    await site.user(email);
    await sent(1);
    server.received.length = 0;
    const browser = site.browser();
    await browser.must('POST', '/api/console/password-reset/send', { email });
    await sent(2);
    const token = linkIn(mailsTo(email)[0]?.text ?? '');
    site.advance(31 * 60_000);
    const check = await browser.must('POST', '/api/console/password-reset/check', { token });
    expect(check).toMatchObject({ valid: false });
  });

  test('the answer is the same whether or not the address has an account', async () => {
    await site.user('known@example.com');
    const disabled = await site.user('off@example.com');
    await site.store.db
      .updateTable('account')
      .set({ status: 'disabled' })
      .where('id', '=', await disabled.accountId())
      .execute();
    await sent(2);
    server.received.length = 0;
    const replies = [];
    for (const email of ['known@example.com', 'nobody@example.com', 'off@example.com']) {
      const { status, body, headers } = await site
        .browser()
        .call('POST', '/api/console/password-reset/send', { email });
      const shown = [...headers.keys()].filter((key) => key !== 'date').toSorted();
      replies.push(JSON.stringify({ status, body, shown }));
    }
    expect(new Set(replies).size).toBe(1);
    await sent(3);
    expect(server.received.map(({ to }) => to)).toEqual([['known@example.com']]);
  });

  test('mails to one address are few, whoever asks from wherever', async () => {
    const email = 'flooded@example.com';
    await site.user(email);
    const statuses: number[] = [];
    for (let index = 0; index < 8; index++)
      statuses.push(
        (await site.browser().call('POST', '/api/console/password-reset/send', { email })).status,
      );
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
    await sent(4);
    expect(mailsTo(email)).toHaveLength(4);
  });

  test.each([
    'a@example.com\r\nBcc: b@example.com',
    'a@example.com, b@example.com',
    'x',
    `${'x'.repeat(300)}@example.com`,
  ])('no mail is asked for by %j', async (email) => {
    const { status, body } = await site.browser().call('POST', '/api/console/password-reset/send', { email });
    expect([status, body]).toMatchObject([400, { error: { code: 'invalid_field' } }]);
  });

  test('a new account gets a link that confirms its address; a changed one, or one of another account, does not', async () => {
    const email = 'new@example.com';
    const person = await site.user(email);
    const before = await person.must<SessionState>('GET', '/api/console/session');
    expect(before.user?.emailVerified).toBe(false);
    await sent(1);
    const token = linkIn(mailsTo(email)[0]?.text ?? '');
    const other = await (await site.user('other@example.com')).accountId();
    const browser = site.browser();
    const verify = async (given: string) =>
      await browser.must('POST', '/api/console/verify-email', { token: given });
    for (const wrong of ['', 'x', `${token.slice(0, -1)}!`, token.replace(/^acc_\w+/, other)])
      expect([wrong, await verify(wrong)]).toEqual([wrong, { verified: false }]);
    expect(await verify(token)).toEqual({ verified: true });
    expect((await person.must<SessionState>('GET', '/api/console/session')).user?.emailVerified).toBe(true);
    site.advance(49 * HOUR);
    expect(await verify(token)).toEqual({ verified: false });
  });

  test('the confirming mail can be sent again, a few times', async () => {
    const email = 'again@example.com';
    const person = await site.user(email);
    const statuses: number[] = [];
    for (let index = 0; index < 5; index++)
      statuses.push((await person.call('POST', '/api/console/verify-email/send')).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    await sent(4);
    expect(mailsTo(email)).toHaveLength(4);
  });

  test('a sign-in from a new browser is told by mail, one from a known browser is not', async () => {
    const email = 'traveller@example.com';
    const known = await site.user(email);
    await sent(1);
    server.received.length = 0;
    expect(await signIn(known, email)).toBe(200);
    const fresh = site.browser('203.0.113.77');
    const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0 <script>';
    await fresh.call(
      'POST',
      '/api/auth/sign-in/email',
      { email, password: PASSWORD },
      { 'user-agent': userAgent },
    );
    await sent(2);
    const [mail, ...more] = mailsTo(email);
    expect(more).toEqual([]);
    expect(mail?.text).toContain('203.0.113.77');
    expect(mail?.text).toContain('Firefox (Linux)');
    expect(await signIn(fresh, email)).toBe(200);
    expect(await signIn(site.browser(), email, 'a wrong phrase altogether')).toBe(401);
    await site.messages.sender.idle();
    expect(mailsTo(email)).toHaveLength(1);
    // Changing the password in a known browser is no sign-in from elsewhere.
    await fresh.must('POST', '/api/auth/change-password', {
      currentPassword: PASSWORD,
      newPassword: NEW_PASSWORD,
    });
    await site.messages.sender.idle();
    expect(mailsTo(email)).toHaveLength(1);
  });

  test('a mail is in the language of the browser that asked, or of the settings', async () => {
    const email = 'sprache@example.com';
    const person = await site.user(email);
    await sent(1);
    server.received.length = 0;
    const ask = async (language: string) =>
      await site
        .browser()
        .call('POST', '/api/console/password-reset/send', { email }, { 'accept-language': language });
    await ask('de-DE,de;q=0.9,en;q=0.8');
    await sent(2);
    await person.must('PATCH', '/api/console/settings', { language: 'en' });
    await ask('de');
    await sent(3);
    expect(mailsTo(email).map(({ text }) => text.includes('Neues Passwort setzen'))).toEqual([true, false]);
  });

  test('mails that nobody asked for are in the language of the browser that signed in first, until one is chosen', async () => {
    const email = 'erste@example.com';
    const person = await site.user(email);
    const signInFrom = async (language: string): Promise<void> => {
      const credentials = { email, password: PASSWORD };
      const headers = { 'accept-language': language };
      const { status } = await site.browser().call('POST', '/api/auth/sign-in/email', credentials, headers);
      expect(status).toBe(200);
    };
    await sent(1);
    server.received.length = 0;
    await signInFrom('de-AT,de;q=0.9,en;q=0.8');
    await signInFrom('en-US,en;q=0.9');
    await person.must('PATCH', '/api/console/settings', { language: 'en' });
    await signInFrom('de');
    await sent(4);
    expect(mailsTo(email).map(({ html }) => /<html lang="(..)">/.exec(html)?.[1])).toEqual([
      'de',
      'de',
      'en',
    ]);
  });
});

test('without mail nobody can ask for a link, and the operator’s link stays the way', async () => {
  const site = await testConsole();
  try {
    await site.admin();
    const email = 'user@example.com';
    await site.user(email);
    const browser = site.browser();
    expect((await browser.must<SessionState>('GET', '/api/console/session')).sendsMail).toBe(false);
    expect((await browser.call('POST', '/api/console/password-reset/send', { email })).status).toBe(404);
    expect(await site.store.db.selectFrom('outbox').selectAll().execute()).toEqual([]);
  } finally {
    await site.close();
  }
});
