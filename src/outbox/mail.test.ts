import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { testConsole, type Browser, type TestConsole } from '../console/testing/harness.ts';
import type { Answer } from '../console/contract/routes.ts';
import { makeMailChannel, readMailAddress, renderMail } from './mail-channel.ts';
import type { MailTemplate } from './mail-data.ts';
import { readAttempts } from './sender.ts';
import { MAIL_SAMPLES } from './testing/mail-samples.ts';
import { MailServer, readMail } from './testing/mail-server.ts';

type MessageAttempt = Answer<'POST /api/console/webhooks/{id}/test'>;

const PUBLIC_URL = 'https://gate.example.com';
let server: MailServer;
let site: TestConsole;
let admin: Browser;
let account: string;
beforeAll(async () => {
  server = await MailServer.start();
  site = await testConsole({ mail: server.config, publicUrl: PUBLIC_URL });
  admin = await site.admin();
  account = await admin.accountId();
});
afterAll(async () => {
  await site.close();
  await server.stop();
});
beforeEach(async () => {
  await site.store.db.deleteFrom('outbox').execute();
  server.received.length = 0;
  server.refuse(undefined);
});

test.each(Object.keys(MAIL_SAMPLES) as MailTemplate[])(
  '%s says the same in plain text and in HTML, in both languages, without images',
  (template) => {
    const render = (language: string) =>
      renderMail(template, MAIL_SAMPLES[template], {
        language,
        site: { name: 'Gate & Co', url: PUBLIC_URL },
      });
    const [english, german] = [render('en'), render('de-AT')];
    expect(english.subject).not.toBe(german.subject);
    for (const { subject, text, html } of [english, german]) {
      expect(subject).toContain('Gate & Co');
      expect(html).not.toMatch(/<img|<script|<link|url\(/i);
      for (const line of text.split('\n').filter((one) => one.length > 20 && !one.startsWith('http')))
        expect(html).toContain(line.replaceAll('&', '&amp;').replace(/:$/, ''));
      for (const value of Object.entries(MAIL_SAMPLES[template]).flatMap(([field, one]) =>
        typeof one === 'string' && field !== 'per' ? one : [],
      ))
        expect([template, text]).toEqual([template, expect.stringContaining(value)]);
    }
  },
);

test.each([
  ['balance.low', { team: 'Acme' }, 'The balance of Acme', 'Das Guthaben von Acme'],
  ['payment.receipt', { team: 'Acme' }, 'A payment for Acme', 'Eine Zahlung für Acme'],
  ['top-up.failed', { team: 'Acme' }, 'Automatic top-up of Acme', 'Automatische Aufladung von Acme'],
  ['budget.low', {}, 'Your budget at', 'Ihr Budget bei'],
  ['budget.low', { team: 'Acme' }, 'Your budget in Acme', 'Ihr Budget in Acme'],
  [
    'token.expiring',
    { team: 'Acme', account: 'bot' },
    'The token of bot in Acme',
    'Der Token von bot in Acme',
  ],
] as const)('the subject of %s says whose affairs it is about: %j', (template, about, english, german) => {
  const site = { name: 'x', url: undefined, ...about };
  for (const [language, words] of [
    ['en', english],
    ['de', german],
  ] as const)
    expect(renderMail(template, MAIL_SAMPLES[template], { language, site }).subject).toStartWith(words);
});

test.each([
  ['insufficient_funds', 'not enough money on the card', 'nicht genug Geld'],
  ['authentication_required', 'requires your confirmation', 'verlangt eine Bestätigung'],
  ['do_not_honor', 'refused it (do_not_honor)', 'abgelehnt (do_not_honor)'],
  ['constructor', 'refused it (constructor)', 'abgelehnt (constructor)'],
])('why a card could not be charged is a sentence: %s', (reason, english, german) => {
  const data = { ...MAIL_SAMPLES['top-up.failed'], reason };
  for (const [language, words] of [
    ['en', english],
    ['de', german],
  ] as const) {
    const { text } = renderMail('top-up.failed', data, { language, site: { name: 'x', url: undefined } });
    expect(text).toContain(words);
  }
});

test('what others wrote cannot become markup', () => {
  const data = { at: 0, address: '203.0.113.9', device: '<img src=x onerror=alert(1)>"\'&' };
  const { html } = renderMail('sign-in.new-device', data, {
    language: 'en',
    site: { name: 'x', url: undefined },
  });
  expect(html).not.toContain('<img');
  expect(html).toContain('&lt;img src=x');
});

test('a mail arrives in the language of its account, and is sent once', async () => {
  await admin.must('PATCH', '/api/console/settings', { language: 'de' });
  const mail = {
    accountId: account,
    template: 'balance.low',
    data: MAIL_SAMPLES['balance.low'],
    once: 'low-1',
  } as const;
  for (let index = 0; index < 3; index++) await site.messages.notices.mail(site.store.db, mail);
  await site.messages.sender.idle();
  await admin.must('PATCH', '/api/console/settings', { language: 'en' });
  expect(server.received).toHaveLength(1);
  const [received] = server.received;
  expect(received).toMatchObject({ from: 'gate@example.com', to: ['admin@example.com'] });
  const { headers, text, html } = readMail(received!);
  expect(headers).toMatch(/^Message-ID: <msg_\w+@example\.com>$/im);
  expect(headers).toMatch(/^Auto-Submitted: auto-generated$/im);
  expect(text).toContain('Ihr Guthaben beträgt $1.50');
  expect(html).toContain('Ihr Guthaben beträgt $1.50');
  expect(await site.store.db.selectFrom('outbox').selectAll().execute()).toMatchObject([
    { state: 'sent', payload: null, destination: 'admin@example.com' },
  ]);
});

test('a server that refuses for now is asked again, one that refuses for good is not; its words are not kept', async () => {
  const mail = { accountId: account, template: 'mail.test', data: { at: 0 } } as const;
  const rows = async () => await site.store.db.selectFrom('outbox').selectAll().orderBy('id').execute();
  server.refuse({ message: 'try later, hunter2', responseCode: 451 });
  await site.messages.notices.mail(site.store.db, mail);
  await site.messages.sender.idle();
  expect(await rows()).toMatchObject([{ state: 'waiting', attempts: 1 }]);
  server.refuse(undefined);
  site.advance(60_000);
  await site.messages.sender.idle();
  expect(await rows()).toMatchObject([{ state: 'sent', attempts: 2 }]);
  server.refuse({ message: 'no such user, hunter2', responseCode: 550 });
  await site.messages.notices.mail(site.store.db, mail);
  await site.messages.sender.idle();
  expect((await rows())[1]).toMatchObject({ state: 'failed', attempts: 1, payload: null });
  expect((await rows()).flatMap(readAttempts)).toMatchObject([
    { status: 451 },
    { error: null },
    { status: 550 },
  ]);
  expect(JSON.stringify(await rows())).not.toContain('hunter2');
});

test.each([
  'victim@example.com\r\nBcc: all@example.com',
  'victim@example.com\nBcc: all@example.com',
  'victim@example.com\u2028x',
  'a@example.com, b@example.com',
  'Name <a@example.com>',
  'no address',
  `${'x'.repeat(300)}@example.com`,
  '',
])('no mail goes to %j', async (to) => {
  const channel = makeMailChannel({
    config: server.config,
    site: () => Promise.resolve({ name: 'x', url: undefined }),
  });
  const message = {
    id: 'msg_1',
    topic: 'mail.test',
    accountId: account,
    to,
    payload: { language: 'en', data: { at: 0 } },
  };
  const result = await channel.send(message, AbortSignal.timeout(10_000));
  expect(result).toEqual({ kind: 'failed', reason: 'this is not a mail address', isFinal: true });
  expect(server.received).toEqual([]);
});

test.each(['Gate\r\nBcc: all@example.com', 'Gate\nX: y', 'x'.repeat(5_000)])(
  'a site name cannot become a header: %j',
  async (name) => {
    const channel = makeMailChannel({
      config: server.config,
      site: () => Promise.resolve({ name, url: undefined }),
    });
    const payload = { language: 'en', data: { at: 0 } };
    const message = { id: 'msg_1', topic: 'mail.test', accountId: account, to: 'a@example.com', payload };
    expect(await channel.send(message, AbortSignal.timeout(10_000))).toMatchObject({
      kind: 'failed',
      isFinal: true,
    });
    expect(server.received).toEqual([]);
  },
);

test('the sender of mails is one address, with a name or without', () => {
  expect(readMailAddress('gate@example.com')).toEqual({ name: '', address: 'gate@example.com' });
  expect(readMailAddress('"The Gate" <gate@example.com>')).toEqual({
    name: 'The Gate',
    address: 'gate@example.com',
  });
  for (const text of [
    '',
    'gate',
    'a@b.example, c@d.example',
    'Gate\r\nBcc: x <gate@example.com>',
    `${'x'.repeat(200)} <a@b.example>`,
  ])
    expect([text, readMailAddress(text)]).toEqual([text, undefined]);
});

test('the test button sends to the admin who pressed it and shows the result', async () => {
  expect(await admin.must('GET', '/api/console/admin/mail')).toEqual({
    mail: { from: 'gate@example.com', server: expect.stringMatching(/^127\.0\.0\.1:\d+$/) },
  });
  const attempt = await admin.must<MessageAttempt>('POST', '/api/console/admin/mail/test');
  expect(attempt.error).toBeNull();
  expect(server.received.map(({ to }) => to)).toEqual([['admin@example.com']]);
  server.refuse({ message: 'no', responseCode: 550 });
  const refused = await admin.must<MessageAttempt>('POST', '/api/console/admin/mail/test');
  expect(refused).toMatchObject({ status: 550, error: expect.stringContaining('refused') });
});

test('a mail server that is down costs an attempt and nothing else', async () => {
  const closed = await new Promise<number>((resolve) => {
    const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
    const { port } = probe;
    probe.stop(true);
    connect(port, '127.0.0.1').on('error', () => resolve(port));
  });
  const config = { ...server.config, smtpUrl: `smtp://127.0.0.1:${closed}` };
  const channel = makeMailChannel({ config, site: () => Promise.resolve({ name: 'x', url: undefined }) });
  const payload = { language: 'en', data: { at: 0 } };
  const message = { id: 'msg_1', topic: 'mail.test', accountId: account, to: 'a@example.com', payload };
  const result = await channel.send(message, AbortSignal.timeout(20_000));
  expect(result).toMatchObject({
    kind: 'failed',
    reason: expect.stringMatching(/^the mail server refused it/),
  });
  expect(result).not.toMatchObject({ isFinal: true });
});
