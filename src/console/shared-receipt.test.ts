import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { ReceiptDetail, ReceiptLink, SharedReceipt } from './contract.ts';
import { testConsole, type Browser, type TestConsole } from './testing/harness.ts';

let site: TestConsole;
let owner: Browser;
let accountId: string;
let requestId: string;
const DAY_MS = 86_400_000;

beforeAll(async () => {
  site = await testConsole();
  await site.admin();
  owner = await site.user('owner-of-it@example.com');
  accountId = await owner.accountId();
  await site.credit(accountId, 1);
  requestId = await site.charge(accountId, {
    attempts: [
      { upstream: 'house', result: 'skipped', reason: 'retry_of:req_other', durationMs: 0 },
      { upstream: 'house', result: 'served', durationMs: 5 },
    ],
  });
});
afterAll(() => site.close());

const share = (days: unknown, by = owner) =>
  by.call<ReceiptLink>('POST', `/api/console/requests/${requestId}/share`, { days });
const codeOf = ({ path }: ReceiptLink): string => path.replace('/receipt#', '');
const opened = (code: string) =>
  site.browser().call<SharedReceipt>('POST', '/api/console/shared-receipt', { code });

test('a shared receipt shows the bill and nothing of whom it belongs to', async () => {
  const { status, body } = await opened(codeOf((await share(7)).body));
  expect(status).toBe(200);
  const own = await owner.must<ReceiptDetail>('GET', `/api/console/requests/${requestId}`);
  expect(body.lines).toEqual(own.lines);
  expect(body.chargedUsd).toBe(own.chargedUsd);
  expect([own.endpointName, own.modelName]).toEqual([body.endpointName, body.modelName]);
  const text = JSON.stringify(body);
  for (const secret of [accountId, 'owner-of-it', own.client, 'req_other', '"client"'])
    expect([secret, text.includes(secret)]).toEqual([secret, false]);
});

test('a receipt says what became of the money that was held', async () => {
  const own = await owner.must<ReceiptDetail>('GET', `/api/console/requests/${requestId}`);
  const nano = (usd: string | null) => Math.round(Number(usd) * 1e9);
  expect(nano(own.releasedUsd)).toBe(nano(own.heldUsd) - nano(own.chargedUsd));
  expect(nano(own.releasedUsd)).toBeGreaterThan(0);
});

test('only the owner can make a link, for one of the offered times', async () => {
  const other = await site.user('somebody-else@example.com');
  expect((await share(7, other)).status).toBe(404);
  for (const days of [0, 2, 365, '7', undefined]) expect((await share(days)).status).toBe(400);
});

test('a link that was changed in any place opens nothing', async () => {
  const code = codeOf((await share(1)).body);
  const other = await site.charge(accountId);
  const [, expires = '', signature = ''] = code.split('.');
  const later = (Number.parseInt(expires, 36) + 1).toString(36);
  const forged = [
    `${other}.${expires}.${signature}`,
    `${requestId}.${later}.${signature}`,
    `${requestId}.${expires}.${signature.slice(1)}`,
    `${requestId}.${expires}.${'A'.repeat(43)}`,
    requestId,
    '',
  ];
  for (const one of forged) expect([one, (await opened(one)).status]).toEqual([one, 404]);
});

test('a link expires, and stops at once when the account is closed', async () => {
  const short = await share(1);
  const long = codeOf((await share(30)).body);
  expect(short.body.expiresAt).toBeLessThanOrEqual(site.clock.now() + DAY_MS);
  site.advance(DAY_MS + 1_000);
  expect((await opened(codeOf(short.body))).status).toBe(404);
  expect((await opened(long)).status).toBe(200);
  await site.store.db
    .updateTable('account')
    .set({ status: 'disabled' })
    .where('id', '=', accountId)
    .execute();
  expect((await opened(long)).status).toBe(404);
});
