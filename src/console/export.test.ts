import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { bulkWriter } from '../../scripts/seed/bulk.ts';
import { testPostgres } from '../../test/support/postgres.ts';
import { UsageHours } from '../activity/usage-hours.ts';
import { Accounts } from '../identity/accounts/accounts.ts';
import { newRequestId, type AccountId } from '../std/ids.ts';
import { testConsole, type TestConsole } from './testing/harness.ts';

const DATABASES: Record<string, () => Promise<TestConsole>> = {
  SQLite: () => testConsole(),
  Postgres: async () => testConsole({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};

type Line = { readonly type: string } & Record<string, unknown>;

describe.each(Object.entries(DATABASES))('the export of an account on %s', (_name, open) => {
  let site: TestConsole;
  beforeAll(async () => {
    site = await open();
    await site.admin();
  }, 60_000);
  afterAll(() => site.close());

  function parsed(text: string): Line[] {
    expect(text).toEndWith('\n');
    return text
      .slice(0, -1)
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  }

  test('has all that is kept about it, nothing of anybody else, and no secret', async () => {
    const owner = await site.user('owner@example.com');
    const other = await site.user('other@example.com');
    const [id, otherId] = [await owner.accountId(), await other.accountId()];
    for (const one of [id, otherId]) await site.credit(one, 5);
    const requests = [await site.charge(id), await site.charge(id, { failed: true })];
    await site.charge(otherId, { model: 'their-model' });
    const accounts = new Accounts({
      store: site.store,
      ledger: site.ledger,
      pepper: new Uint8Array(32),
      clock: site.clock,
    });
    const token = await accounts.replaceToken(id as AccountId);
    await site.store.db
      .insertInto('image')
      .values({
        id: 'img_1',
        account_id: id,
        request_id: requests[0] ?? '',
        mime: 'image/png',
        bytes: Buffer.from('the bytes'),
        size: 9,
        prompt: 'a tree',
        created_at: 1,
        expires_at: 2,
      })
      .execute();
    await new UsageHours(site).count();
    const setUp = { created_at: 1, account_id: id };
    await site.store.db
      .insertInto('webhook')
      .values({
        ...setUp,
        id: 'hook_1',
        url: 'https://owner.example/hook',
        events: '["balance.low"]',
        sealed: 'sealed secret',
        hint: 'whsec_ab',
      })
      .execute();
    await site.store.db
      .insertInto('receipt_link')
      .values({ ...setUp, id: 'link_1', request_id: requests[0] ?? '', expires_at: 5_000 })
      .execute();
    await site.store.db
      .insertInto('top_up')
      .values({ account_id: id, customer_id: 'cus_1', threshold: 2_000_000_000, updated_at: 1 })
      .execute();
    const response = await owner.raw('GET', '/api/console/export');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toStartWith('application/x-ndjson');
    expect(response.headers.get('content-disposition')).toContain('attachment');
    const text = await response.text();
    const lines = parsed(text);
    const ofType = (type: string) => lines.filter((line) => line.type === type);
    expect(ofType('account')).toMatchObject([{ id, email: 'owner@example.com', balance_usd: '4.99982' }]);
    expect(ofType('token')).toHaveLength(1);
    expect(ofType('entry')).toMatchObject([{ kind: 'credit', amount_usd: '5.00' }]);
    expect(ofType('receipt').map((line) => line['id'])).toEqual([...requests].toSorted());
    expect(ofType('usage_day')).toMatchObject([{ requests: 2, failures: 1, charged_usd: '0.00018' }]);
    expect(ofType('usage_client')).toMatchObject([
      { client: '=cmd|test', requests: 2, charged_usd: '0.00018' },
    ]);
    expect(ofType('image')).toMatchObject([{ id: 'img_1', prompt: 'a tree', size: 9 }]);
    expect(ofType('webhook')).toMatchObject([{ url: 'https://owner.example/hook', events: ['balance.low'] }]);
    expect(ofType('receipt_link')).toMatchObject([{ request_id: requests[0], ended_at: null }]);
    expect(ofType('automatic_top_up')).toMatchObject([{ customer_id: 'cus_1', below_usd: '2.00' }]);
    expect(lines.at(-1)).toEqual({ type: 'end', lines: lines.length - 1 });
    const { token_hash } = await site.store.db
      .selectFrom('account')
      .select('token_hash')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    for (const secret of [token, token_hash ?? '', otherId, 'their-model', 'the bytes', 'sealed secret'])
      expect(text).not.toContain(secret);
  });

  test('is read page by page, whole and in order, and ends for a reader who leaves', async () => {
    const owner = await site.user('busy@example.com');
    const id = await owner.accountId();
    await site.credit(id, 5);
    await site.charge(id);
    const one = await site.store.db
      .selectFrom('receipt')
      .selectAll()
      .where('account_id', '=', id)
      .executeTakeFirstOrThrow();
    const more = Array.from({ length: 1_499 }, (_, place) => ({ ...one, id: newRequestId(1_000 + place) }));
    await bulkWriter(site.store).insert('receipt', more);
    const lines = parsed(await (await owner.raw('GET', '/api/console/export')).text());
    const ids = lines.filter(({ type }) => type === 'receipt').map((line) => String(line['id']));
    expect(ids).toEqual([...more.map((row) => row.id as string), one.id].toSorted());
    const left = await owner.raw('GET', '/api/console/export');
    await left.body?.cancel();
    await owner.must('GET', '/api/console/overview');
  });

  test('needs a session, and a fourth one within minutes is refused with the time to wait', async () => {
    expect((await site.browser().call('GET', '/api/console/export')).status).toBe(401);
    const owner = await site.user('often@example.com');
    for (let time = 0; time < 3; time++)
      expect((await owner.call('GET', '/api/console/export')).status).toBe(200);
    const refused = await owner.call('GET', '/api/console/export');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});
