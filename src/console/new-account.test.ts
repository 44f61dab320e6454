import { afterEach, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import { createSetup } from '../identity/sign-in/setup.ts';
import type { AccountId } from '../std/ids.ts';
import type { Answer } from './contract/routes.ts';
import { PASSWORD, testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type Overview = Answer<'GET /api/console/overview'>;

const sites: TestConsole[] = [];
const DATABASES: Record<string, () => Promise<TestConsole>> = {
  SQLite: () => testConsole(),
  Postgres: async () => testConsole({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};
afterEach(async () => {
  for (const site of sites.splice(0)) await site.close();
});

const overviewOf = (visitor: Browser): Promise<Overview> => visitor.must('GET', '/api/console/overview');

describe.each(Object.entries(DATABASES))('on %s', (_name, start) => {
  const open = async (): Promise<TestConsole> => {
    const site = await start();
    sites.push(site);
    return site;
  };

  describe('the starting credit', () => {
    test('is on the first administrator’s account and no other, with its reason in the ledger', async () => {
      const site = await open();
      const admin = await site.admin();
      const customer = await site.user('customer@example.com');
      expect((await overviewOf(admin)).balanceUsd).toBe('10.00');
      expect((await overviewOf(customer)).balanceUsd).toBe('0.00');
      const { items } = await admin.must<{ items: unknown[] }>('GET', '/api/console/entries');
      expect(items).toMatchObject([
        { kind: 'credit', amountUsd: '10.00', cause: 'starting credit of the first administrator' },
      ]);
      expect((await site.ledger.verify()).breaches).toEqual([]);
    });

    test('is given once, however many setups run at once', async () => {
      const site = await open();
      const token = (await site.setup.issue())?.token;
      const tries = Array.from({ length: 20 }, (_, n) =>
        site
          .browser()
          .call('POST', '/api/console/setup', { token, email: `admin${n}@example.com`, password: PASSWORD }),
      );
      await Promise.all(tries);
      expect(await site.store.db.selectFrom('entry').select(['amount', 'once']).execute()).toEqual([
        { amount: 10_000_000_000, once: 'setup:starting-credit' },
      ]);
      expect((await site.ledger.verify()).breaches).toEqual([]);
    });

    test('is not given again when the last admin was removed by hand and the setup came back', async () => {
      const site = await open();
      const { users } = site.auth;
      const first = createSetup({ store: site.store, users, clock: site.clock });
      const token = (await first.issue())?.token ?? '';
      await first.consume(token, { email: 'first@example.com', password: PASSWORD });
      await site.store.db.updateTable('account').set({ role: 'user' }).where('role', '=', 'admin').execute();

      const again = createSetup({ store: site.store, users, clock: site.clock });
      const next = (await again.issue())?.token ?? '';
      const id = await again.consume(next, { email: 'second@example.com', password: PASSWORD });
      const row = await site.store.db
        .selectFrom('account')
        .select(['balance', 'role'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      expect(row).toEqual({ balance: 0, role: 'admin' });
      expect(await site.store.db.selectFrom('entry').select('id').execute()).toHaveLength(1);
    });
  });

  test('an empty account is told apart from one that ran empty', async () => {
    const site = await open();
    await site.admin();
    const customer = await site.user('customer@example.com');
    const id = (await customer.accountId()) as AccountId;
    expect(await overviewOf(customer)).toMatchObject({ balanceUsd: '0.00', everFunded: false });
    await site.credit(id, 1);
    expect(await overviewOf(customer)).toMatchObject({ balanceUsd: '1.00', everFunded: true });
    const all = { kind: 'adjustment', amount: -1_000_000_000, cause: 'spent', actor: 'test' } as const;
    await site.ledger.post({ accountId: id, ...all });
    expect(await overviewOf(customer)).toMatchObject({ balanceUsd: '0.00', everFunded: true });
  });
});
