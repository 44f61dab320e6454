import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { testPostgres } from '../../test/support/postgres.ts';
import { removeAccount } from '../identity/accounts/removal.ts';
import type { Answer, ItemOf } from './contract/routes.ts';
import { MAX_RECEIPT_LINKS } from './receipt-links.ts';
import { KEY, testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type KeptReceiptLink = ItemOf<'GET /api/console/receipt-links'>;
type ReceiptDetail = Answer<'GET /api/console/requests/{id}'>;
type ReceiptLink = Answer<'POST /api/console/requests/{id}/share'>;
type SharedReceipt = Answer<'POST /api/console/shared-receipt'>;

const DAY_MS = 86_400_000;

/** As links were made before they had ids. */
function oldReceiptCode(requestId: string, expiresAt: number): string {
  const signed = `${requestId}.${Math.floor(expiresAt / 1000).toString(36)}`;
  return `${signed}.${createHmac('sha256', KEY).update(signed).digest('base64url')}`;
}

describe.each(['SQLite', 'Postgres'])('a shared receipt on %s', (name) => {
  let site: TestConsole;
  let owner: Browser;
  let accountId: string;
  let requestId: string;

  beforeAll(async () => {
    const databaseUrl = name === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    site = await testConsole(databaseUrl === undefined ? {} : { databaseUrl });
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
  }, 120_000);
  afterAll(() => site.close());

  const share = (days: unknown, by = owner) =>
    by.call<ReceiptLink>('POST', `/api/console/requests/${requestId}/share`, { days });
  const codeOf = ({ path }: ReceiptLink): string => path.replace('/receipt#', '');
  const opened = (code: string) =>
    site.browser().call<SharedReceipt>('POST', '/api/console/shared-receipt', { code });

  const links = async (by = owner) =>
    (await by.must<{ items: KeptReceiptLink[] }>('GET', '/api/console/receipt-links')).items;
  const end = (link: KeptReceiptLink | undefined, by = owner) =>
    by.call('DELETE', `/api/console/receipt-links/${link?.id}`);

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
    const [, expires = '', id = '', signature = ''] = code.split('.');
    const later = (Number.parseInt(expires, 36) + 1).toString(36);
    const forged = [
      `${other}.${expires}.${id}.${signature}`,
      `${requestId}.${later}.${id}.${signature}`,
      `${requestId}.${expires}.${'A'.repeat(16)}.${signature}`,
      `${requestId}.${expires}.${signature}`,
      `${requestId}.${expires}.${id}.${signature.slice(1)}`,
      `${requestId}.${expires}.${id}.${'A'.repeat(43)}`,
      requestId,
      '',
    ];
    for (const one of forged) expect([one, (await opened(one)).status]).toEqual([one, 404]);
  });

  test('its owner sees the links and ends one; that one says so, and the others go on', async () => {
    const [first, second] = [await share(1), await share(30)];
    const made = (await links()).filter(({ endedAt }) => endedAt === null);
    const ended = made.find(({ expiresAt }) => expiresAt === second.body.expiresAt);
    expect(made.map((link) => link.requestId)).toContain(requestId);
    expect(ended?.createdAt).toBeLessThanOrEqual(site.clock.now());
    const other = await site.user('a-stranger@example.com');
    expect(await links(other)).toEqual([]);
    expect((await end(ended, other)).status).toBe(404);
    expect((await opened(codeOf(second.body))).status).toBe(200);
    expect((await end(ended)).status).toBe(200);
    const answer = await opened(codeOf(second.body));
    expect([answer.status, answer.body]).toMatchObject([410, { error: { code: 'link_ended' } }]);
    expect((await opened(codeOf(first.body))).status).toBe(200);
    const at = (await links()).find(({ id }) => id === ended?.id)?.endedAt;
    expect(at).toBeNumber();
    site.advance(5_000);
    expect((await end(ended)).status).toBe(200);
    expect((await links()).find(({ id }) => id === ended?.id)?.endedAt).toBe(at);
  });

  test('a link of an earlier version, which has no row, works until it expires', async () => {
    const code = oldReceiptCode(requestId, site.clock.now() + DAY_MS);
    expect((await opened(code)).status).toBe(200);
    expect((await opened(oldReceiptCode(requestId, site.clock.now() - 1_000))).status).toBe(404);
  });

  test('there is a bound to the links at once, and expired ones make room', async () => {
    const many = await site.user('shares-a-lot@example.com');
    const id = await many.accountId();
    await site.credit(id, 1);
    const own = await site.charge(id);
    const make = () => many.call('POST', `/api/console/requests/${own}/share`, { days: 1 });
    for (let made = 0; made < MAX_RECEIPT_LINKS; made++) expect((await make()).status).toBe(200);
    expect((await make()).status).toBe(409);
    expect(await links(many)).toHaveLength(MAX_RECEIPT_LINKS);
    site.advance(DAY_MS + 1_000);
    expect(await links(many)).toEqual([]);
    expect((await make()).status).toBe(200);
    const { rows } = await site.store.db
      .selectFrom('receipt_link')
      .select(({ fn }) => fn.countAll().as('rows'))
      .where('account_id', '=', id)
      .executeTakeFirstOrThrow();
    expect(Number(rows)).toBe(1);
  });

  test('the links go with the account', async () => {
    const leaving = await site.user('leaves@example.com');
    const id = await leaving.accountId();
    await site.credit(id, 1);
    const own = await site.charge(id);
    const { body } = await leaving.call<ReceiptLink>('POST', `/api/console/requests/${own}/share`, {
      days: 7,
    });
    const images = { removeOfAccount: () => Promise.resolve() };
    const removal = { accountId: id, reason: 'asked for', actor: 'test' };
    await removeAccount({ store: site.store, ledger: site.ledger, clock: site.clock, images }, removal);
    expect((await opened(codeOf(body))).status).toBe(404);
    const rows = await site.store.db
      .selectFrom('receipt_link')
      .select('id')
      .where('account_id', '=', id)
      .execute();
    expect(rows).toEqual([]);
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
});
