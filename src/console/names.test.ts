import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import type { Answer, ItemOf } from './contract/routes.ts';
import type { Page } from './contract.ts';
import { PASSWORD, testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type AdminCatalog = Answer<'GET /api/console/admin/catalog'>;

const DATABASES: Record<string, () => Promise<TestConsole>> = {
  SQLite: () => testConsole(),
  Postgres: async () => testConsole({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};

describe.each(Object.entries(DATABASES))('on %s', (_name, open) => {
  let site: TestConsole;
  let admin: Browser;
  let user: Browser;
  beforeAll(async () => {
    site = await open();
    admin = await site.admin();
    user = await site.user('user@example.com');
    await admin.must('POST', '/api/console/confirm', { password: PASSWORD });
  }, 60_000);
  afterAll(() => site.close());

  const batches = async (): Promise<ItemOf<'GET /api/console/admin/codes'>[]> =>
    (await admin.must<Answer<'GET /api/console/admin/codes'>>('GET', '/api/console/admin/codes')).items;
  const make = (batch: string) =>
    admin.must<Answer<'POST /api/console/admin/codes'>>('POST', '/api/console/admin/codes', {
      amountUsd: '2',
      count: 3,
      batch,
    });

  test('of a batch that is cancelled no code can be redeemed, and what was redeemed stays', async () => {
    const { codes } = await make('spring / sale');
    const others = await make('another');
    await user.must('POST', '/api/console/redeem', { code: codes[0] });
    const path = `/api/console/admin/codes/${encodeURIComponent('spring / sale')}/cancel`;
    expect(await admin.must<{ cancelled: number }>('POST', path)).toEqual({ cancelled: 2 });
    for (const code of codes)
      expect((await user.call('POST', '/api/console/redeem', { code })).body).toMatchObject({
        error: { code: 'code_invalid' },
      });
    expect(await admin.must<{ cancelled: number }>('POST', path)).toEqual({ cancelled: 2 });
    expect((await admin.call('POST', path.replace('spring', 'autumn'))).status).toBe(404);
    await user.must('POST', '/api/console/redeem', { code: others.codes[0] });
    const shown = (await batches()).map(({ batch, count, redeemed, open }) => [batch, count, redeemed, open]);
    expect(shown.toSorted()).toEqual([
      ['another', 3, 1, 2],
      ['spring / sale', 3, 1, 0],
    ]);
    expect(await site.ledger.verify()).toMatchObject({ breaches: [] });
  });

  test('only an administrator cancels, and it is recorded', async () => {
    await make('mine');
    expect((await user.call('POST', '/api/console/admin/codes/mine/cancel')).status).toBe(403);
    await admin.must('POST', '/api/console/admin/codes/mine/cancel');
    const { items } = await admin.must<Answer<'GET /api/console/admin/audit'>>(
      'GET',
      '/api/console/admin/audit?action=codes.cancel&actor=admin%40example.com',
    );
    expect(items[0]).toMatchObject({ actorEmail: 'admin@example.com', target: 'mine', targetEmail: null });
  });

  test('accounts have names where they did, made or got something', async () => {
    const id = await user.accountId();
    const credit = { amountUsd: '1', cause: 'a test' };
    await admin.must('POST', `/api/console/admin/accounts/${id}/credit`, credit);
    const audit = await admin.must<Answer<'GET /api/console/admin/audit'>>('GET', '/api/console/admin/audit');
    expect(audit.items[0]).toMatchObject({ target: id, targetEmail: 'user@example.com' });
    const entries = '/api/console/admin/entries?account=user%40example.com';
    const booked = await admin.must<Answer<'GET /api/console/admin/entries'>>('GET', entries);
    expect(booked.items.map(({ email, actor }) => [email, actor])).toContainEqual([
      'user@example.com',
      'admin@example.com',
    ]);
    await make('named');
    expect((await batches()).map(({ createdBy }) => createdBy)).toContain('admin@example.com');
    const { yaml, revision } = await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog');
    await admin.must('POST', '/api/console/admin/catalog', {
      yaml: `${yaml}\n# edited\n`,
      note: '',
      revision,
    });
    const history = await admin.must<Answer<'GET /api/console/admin/catalog/history'>>(
      'GET',
      '/api/console/admin/catalog/history',
    );
    expect(history.items.map(({ actor }) => actor)).toEqual(['admin@example.com', 'tollgate']);
  });

  test('requests and refused calls are found by the email address of their account', async () => {
    const requestId = await charged();
    for (const account of ['user@example.com', await user.accountId()]) {
      const path = `/api/console/admin/requests?account=${encodeURIComponent(account)}`;
      const { items } = await admin.must<Page<{ id: string }>>('GET', path);
      expect(items.map((item) => item.id)).toEqual([requestId]);
    }
    const nobody = await admin.must<Page<unknown>>(
      'GET',
      '/api/console/admin/requests?account=x%40example.com',
    );
    expect(nobody.items).toEqual([]);
    const refused = '/api/console/admin/refused-calls?account=x%40example.com';
    expect((await admin.must<Page<unknown>>('GET', refused)).items).toEqual([]);
  });

  async function charged(): Promise<string> {
    const id = await user.accountId();
    await site.credit(id, 1);
    return await site.charge(id);
  }
});
