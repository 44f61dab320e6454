import { afterAll, beforeAll, expect, test } from 'bun:test';
import { testConsole, type Browser, type TestConsole } from '../console/testing/harness.ts';
import type { Answer } from '../console/contract/routes.ts';
import { WebhookReceiver } from './testing/webhook-receiver.ts';

type MadeWebhook = Answer<'POST /api/console/webhooks'>;
type MessageAttempt = Answer<'POST /api/console/webhooks/{id}/test'>;
type WebhookList = Answer<'GET /api/console/webhooks'>;

/** Whoever names a webhook could name anything that this machine can reach. */

let site: TestConsole;
let receiver: WebhookReceiver;
let owner: Browser;
let admin: Browser;
const addresses = new Map([
  ['public.example', ['93.184.216.34']],
  ['private.example', ['10.0.0.7']],
  ['half.example', ['93.184.216.34', '127.0.0.1']],
]);
const lookup = async (host: string): Promise<readonly string[]> => {
  const found = addresses.get(host);
  if (!found) throw new Error('ENOTFOUND');
  return await Promise.resolve(found);
};

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  site = await testConsole({ webhookRules: { lookup } });
  admin = await site.admin();
  owner = await site.user('owner@example.com');
});
afterAll(async () => {
  await site.close();
  await receiver.stop();
});

const EVENTS = ['balance.low'];

test.each([
  'http://public.example/hook',
  'ftp://public.example/hook',
  'file:///etc/passwd',
  'https://127.0.0.1/hook',
  'https://[::1]/hook',
  'https://[::ffff:10.0.0.1]/hook',
  'https://[64:ff9b::7f00:1]/hook',
  'https://169.254.169.254/latest/meta-data',
  'https://2130706433/hook',
  'https://0x7f.1/hook',
  'https://0/hook',
  'https://private.example/hook',
  'https://half.example/hook',
  'https://unknown.example/hook',
  'https://user:password@public.example/hook',
  'https://',
  'hook',
  `https://public.example/${'x'.repeat(600)}`,
])('a customer may not name %s', async (url) => {
  const accountId = await owner.accountId();
  const refusal = await site.messages.webhooks
    .add(accountId, { url, events: EVENTS })
    .then(() => undefined)
    .catch((thrown: unknown) => thrown);
  expect(refusal).toMatchObject({ code: 'invalid_field', param: 'url' });
  expect(await site.messages.webhooks.list(accountId)).toEqual([]);
});

test('a refusal has the shape of every other, and those who ask too often have to wait', async () => {
  const person = await site.user('busy@example.com');
  const wanted = { url: 'https://10.0.0.1/hook', events: EVENTS };
  const { status, body } = await person.call('POST', '/api/console/webhooks', wanted);
  expect([status, body]).toMatchObject([400, { error: { code: 'invalid_field', param: 'url' } }]);
  const statuses: number[] = [];
  for (let index = 0; index < 12; index++)
    statuses.push((await person.call('POST', '/api/console/webhooks', wanted)).status);
  expect(new Set(statuses)).toEqual(new Set([400, 429]));
});

test('neither may the operator, unless the setting says so', async () => {
  const url = 'http://127.0.0.1:9/hook';
  const wanted = { url, events: ['backend.down'] };
  expect((await admin.call('POST', '/api/console/admin/webhooks', wanted)).status).toBe(400);
  const other = await testConsole({ webhookRules: { lookup, operatorMayBePrivate: true } });
  try {
    const operator = await other.admin();
    const { webhook } = await operator.must<MadeWebhook>('POST', '/api/console/admin/webhooks', wanted);
    expect(webhook.url).toBe(url);
    const customer = await other.user('customer@example.com');
    const refused = await customer.call('POST', '/api/console/webhooks', { url, events: EVENTS });
    expect(refused.status).toBe(400);
  } finally {
    await other.close();
  }
});

test('an account has five webhooks at most, however many are asked for at once', async () => {
  const person = await site.user('many@example.com');
  const accountId = await person.accountId();
  const add = async () =>
    await site.messages.webhooks
      .add(accountId, { url: 'https://public.example/hook', events: EVENTS })
      .then(() => 'added')
      .catch((error: Error) => error.message);
  const results = await Promise.all(Array.from({ length: 12 }, add));
  expect(results.filter((result) => result === 'added')).toHaveLength(5);
  expect(results.find((result) => result !== 'added')).toContain('5 webhooks at most');
});

test('only the events of the owner’s kind can be asked for, and at least one', async () => {
  for (const events of [[], ['backend.down'], ['no.such.event']]) {
    const wanted = { url: 'https://public.example/hook', events };
    const { status, body } = await owner.call('POST', '/api/console/webhooks', wanted);
    expect([events, status, body]).toMatchObject([events, 400, { error: { param: 'events' } }]);
  }
});

test('the test button makes one attempt and shows its result; nobody sees or changes another’s webhook', async () => {
  const url = 'https://public.example/hook';
  const { webhook, secret } = await owner.must<MadeWebhook>('POST', '/api/console/webhooks', {
    url,
    events: EVENTS,
  });
  expect(secret).toMatch(/^whsec_[\w+/]{42,44}=*$/);
  addresses.set('public.example', ['10.0.0.7']);
  const path = `/api/console/webhooks/${webhook.id}`;
  const attempt = await owner.must<MessageAttempt>('POST', `${path}/test`);
  expect(attempt.error).toBe('the name leads into a private network');
  addresses.set('public.example', ['93.184.216.34']);
  const { items } = await owner.must<{ items: unknown[] }>('GET', `${path}/messages`);
  expect(items).toMatchObject([
    { topic: 'webhook.test', state: 'failed', attempts: [{ error: attempt.error }] },
  ]);
  for (const stranger of [await site.user('stranger@example.com'), admin]) {
    for (const [method, end] of [
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/rotate'],
      ['POST', '/test'],
      ['GET', '/messages'],
    ] as const)
      expect([method, end, (await stranger.call(method, `${path}${end}`)).status]).toEqual([
        method,
        end,
        404,
      ]);
  }
  const shown = await admin.must<{ items: { destination: string }[] }>('GET', '/api/console/admin/messages');
  expect(shown.items).toMatchObject([{ destination: url, state: 'failed' }]);
  await owner.must('DELETE', path);
  expect((await owner.must<WebhookList>('GET', '/api/console/webhooks')).items).toEqual([]);
});
