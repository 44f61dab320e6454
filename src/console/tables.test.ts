import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { z } from 'zod';
import { testPostgres } from '../../test/support/postgres.ts';
import type { SearchedPage } from './contract.ts';
import type { RouteAccess, RouteDeclaration } from './route.ts';
import { ROUTES } from './routes.ts';
import { testConsole, type Browser, type TestConsole } from './testing/harness.ts';

const DATABASES: Record<string, () => Promise<TestConsole>> = {
  SQLite: () => testConsole(),
  Postgres: async () => testConsole({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};

const OWN = listsOf('user');
const OPERATOR = listsOf('operator');
const HOSTILE = ['%%', '__', '\\\\', "'; DROP TABLE account; --", '""', '🦊🦊', '../..', '<script>'];

describe.each(Object.entries(DATABASES))('the lists of the console on %s', (_name, open) => {
  let site: TestConsole;
  let admin: Browser;
  let ann: Browser;

  beforeAll(async () => {
    site = await open();
    admin = await site.admin();
    ann = await site.user('ann@example.com');
    const ben = await site.user('ben@example.com');
    for (const [index, browser] of [ann, ben].entries()) {
      const accountId = await browser.accountId();
      await site.credit(accountId, 5);
      await site.charge(accountId);
      await addRows(accountId, index);
    }
  }, 60_000);
  afterAll(() => site.close());

  async function addRows(account_id: string, index: number): Promise<void> {
    const at = Date.now() - 10_000 + index;
    const { db } = site.store;
    const call = { first_at: at, last_at: at, operation: '/v1/x', endpoint: 'e', model: 'm', client: 'curl' };
    for (const reason of ['limit_reached', 'invalid_field'])
      await db
        .insertInto('refused_call')
        .values({
          ...call,
          account_id,
          id: `row-${reason}`,
          calls: reason.length,
          request_id: `req_refused${index}`,
          status: 402,
          reason,
          message: 'shared message',
        })
        .execute();
    await db
      .insertInto('entry')
      .values({ account_id, kind: 'credit', amount: 0, cause: 'opening gift', actor: 'test', created_at: at })
      .execute();
    await db
      .insertInto('payment')
      .values({
        id: `pay_${index}`,
        account_id,
        kind: 'top_up',
        state: 'failed',
        amount: 5,
        intent_id: `pi_${index}`,
        reason: 'shared_reason',
        created_at: at,
      })
      .execute();
  }

  const list = (browser: Browser, path: string, query: Record<string, string> = {}) =>
    browser.must<SearchedPage<Record<string, unknown>>>('GET', `${path}?${new URLSearchParams(query)}`);
  const status = async (browser: Browser, path: string, query: Record<string, string>): Promise<number> => {
    const response = await browser.raw('GET', `${path}?${new URLSearchParams(query)}`);
    await response.text();
    return response.status;
  };

  test('a customer finds only what is the customer’s own, whatever is searched for and sorted by', async () => {
    const found = {
      '/api/console/refused-calls': 'shared message',
      '/api/console/entries': 'opening gift',
      '/api/console/payments/history': 'shared_reason',
    };
    expect(Object.keys(OWN).toSorted()).toEqual(Object.keys(found).toSorted());
    expect(OWN['/api/console/refused-calls']).toContain('-calls');
    for (const [path, search] of Object.entries(found)) {
      const own = await list(ann, path, { search });
      expect(own.items.length).toBeGreaterThan(0);
      const all = await list(admin, path.replace('console/', 'console/admin/').replace('/history', ''), {
        search,
        ...(path.endsWith('entries') ? { kind: 'all' } : {}),
      });
      expect(all.items).toHaveLength(own.items.length * 2);
      for (const sort of OWN[path] ?? [])
        expect((await list(ann, path, { search, sort })).items).toHaveLength(own.items.length);
      for (const other of ['ben@example.com', 'req_refused1', 'pay_1', 'pi_1'])
        expect((await list(ann, path, { search: other })).items).toEqual([]);
    }
  });

  test('a customer cannot name an account, and an order of operators is refused', async () => {
    for (const path of Object.keys(OWN)) {
      expect(await status(ann, path, { account: 'ben@example.com' })).toBe(400);
      expect(await status(ann, path, { sort: 'account' })).toBe(400);
    }
  });

  test.each(Object.entries({ ...OWN, ...OPERATOR }))(
    '%s takes its orders, pages through them, and refuses what is no order, no cursor or no search',
    async (path, orders) => {
      const browser = path in OWN ? ann : admin;
      for (const order of ['', ...orders]) {
        const sort = order === '' ? {} : { sort: order };
        const all = await list(browser, path, sort);
        const paged: unknown[] = [];
        for (let cursor = ''; ;) {
          const page = await list(browser, path, { ...sort, limit: '1', cursor });
          paged.push(...page.items);
          if (page.next === null) break;
          cursor = page.next;
        }
        expect(paged).toEqual(all.items);
        expect(await status(browser, path, { ...sort, cursor: 'nonsense' })).toBe(400);
      }
      expect(await status(browser, path, { sort: 'password' })).toBe(400);
      expect(await status(browser, path, { search: 'x' })).toBe(400);
      expect(await status(browser, path, { search: 'x'.repeat(10_000) })).toBe(400);
      expect(await status(browser, path, { search: 'nul\0' })).toBe(400);
      for (const search of HOSTILE)
        for (const sort of ['', ...orders.filter((one) => !one.startsWith('-'))])
          expect((await list(browser, path, { search, ...(sort ? { sort } : {}) })).items).toEqual([]);
    },
  );

  test('the filters offer what occurs, and a customer’s only what is the customer’s own', async () => {
    const own = await ann.must<Record<string, string[]>>('GET', '/api/console/list-values');
    expect(own).toEqual({ entryKinds: ['charge', 'credit'], paymentStates: ['failed'] });
    const nobody = await site.user('nobody@example.com');
    expect(await nobody.must<unknown>('GET', '/api/console/list-values')).toEqual({
      entryKinds: [],
      paymentStates: [],
    });
    await admin.must('POST', '/api/console/admin/ledger/verify', {});
    const values = await admin.must<Record<string, string[]>>('GET', '/api/console/admin/list-values');
    expect(values).toMatchObject({
      entryKinds: ['charge', 'credit'],
      paymentStates: ['failed'],
      auditActions: expect.arrayContaining(['ledger.verify']),
      paymentEvents: [],
    });
  });

  test('accounts are found by the name of whoever signs in to them', async () => {
    const accountId = await ann.accountId();
    await site.store.db
      .updateTable('auth_user')
      .set({ name: 'Grace Hopper' })
      .where('id', '=', accountId)
      .execute();
    const { items } = await list(admin, '/api/console/admin/accounts', { search: 'hopper' });
    expect(items).toMatchObject([{ id: accountId, name: 'Grace Hopper', email: 'ann@example.com' }]);
  });
});

/** The lists that can be searched, each with its orders; the log of requests has pages of its own kind, and tests. */
function listsOf(who: RouteAccess): Record<string, readonly string[]> {
  const routes: readonly RouteDeclaration[] = ROUTES;
  return Object.fromEntries(
    routes.flatMap((one) => {
      const path = one.name.replace('GET ', '');
      if (one.who !== who || !(one.query instanceof z.ZodObject) || /\/requests(?:\.csv)?$/.test(path))
        return [];
      const { search, sort } = one.query.shape as Record<string, z.ZodType | undefined>;
      return search ? [[path, sort ? ordersOf(sort) : []]] : [];
    }),
  );
}

function ordersOf(sort: z.ZodType): string[] {
  const names = sort instanceof z.ZodOptional ? sort.unwrap() : sort;
  if (!(names instanceof z.ZodEnum)) throw new Error('an order is one of several names');
  return names.options.map(String);
}
