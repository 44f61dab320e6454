import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import type { Answer } from './contract/routes.ts';
import { PRICE, testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type Models = Answer<'GET /api/console/models'>;

describe.each(['SQLite', 'Postgres'])('price groups in the console on %s', (store) => {
  let site: TestConsole;
  let admin: Browser;
  let customer: Browser;
  let customerId: string;
  let yaml: string;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    site = await testConsole(databaseUrl === undefined ? {} : { databaseUrl });
    admin = await site.admin();
    customer = await site.user('customer@example.com');
    customerId = await customer.accountId();
    await site.credit(customerId, 10);
    const shown = await admin.must<{ yaml: string; revision: number }>('GET', '/api/console/admin/catalog');
    yaml = `${shown.yaml}groups:\n  vip: { factor: 0.5, hide: [svc_chat/house-echo] }\n`;
    await admin.must('POST', '/api/console/admin/catalog', { yaml, note: '', revision: shown.revision });
  });
  afterAll(() => site.close());

  const setGroup = (group: string | null) =>
    admin.call('PUT', `/api/console/admin/accounts/${customerId}/price-group`, { group });
  const pricesOf = async (browser: Browser) => {
    const { models } = await browser.must<Models>('GET', '/api/console/models');
    return new Map(
      models.map(({ endpoint, model, price }) => [
        `${endpoint}/${model}`,
        price.kind === 'tokens' ? price.inputUsd : undefined,
      ]),
    );
  };

  test('whoever is in one sees its prices and not what is hidden; everybody else sees the list', async () => {
    const list = await pricesOf(admin);
    expect((await setGroup('vip')).status).toBe(200);
    const own = await pricesOf(customer);
    expect(list.get('svc_chat/house-guide')).toBe('0.10');
    expect(own.get('svc_chat/house-guide')).toBe('0.05');
    expect(list.has('svc_chat/house-echo')).toBe(true);
    expect(own.has('svc_chat/house-echo')).toBe(false);
    expect(await pricesOf(admin)).toEqual(list);
    expect(await pricesOf(site.browser())).toEqual(list);
    await setGroup(null);
    expect(await pricesOf(customer)).toEqual(list);
  });

  test('one that the catalog does not have is refused, customers may not choose, and every choice is in the audit log', async () => {
    expect(await setGroup('vipp')).toMatchObject({ status: 400 });
    const path = `/api/console/admin/accounts/${customerId}/price-group`;
    expect((await customer.call('PUT', path, { group: 'vip' })).status).toBe(403);
    expect((await setGroup('vip')).status).toBe(200);
    const { items } = await admin.must<{ items: { action: string; target: string; detail: object }[] }>(
      'GET',
      '/api/console/admin/audit',
    );
    expect(items.find(({ action }) => action === 'account.price-group')).toMatchObject({
      target: customerId,
      detail: { group: 'vip' },
    });
  });

  test('the margin by group adds up the receipts of each, and a receipt names its group', async () => {
    await setGroup('vip');
    const price = { ...PRICE, group: 'vip' };
    const ids = [await site.charge(customerId, { price }), await site.charge(customerId, { price })];
    await setGroup(null);
    await site.charge(customerId);
    const { rows } = await admin.must<Answer<'GET /api/console/admin/margin'>>(
      'GET',
      '/api/console/admin/margin?by=group&days=7',
    );
    expect(rows).toEqual([expect.objectContaining({ key: 'vip', requests: 2, chargedUsd: '0.00036' })]);
    const receipt = await customer.must<Answer<'GET /api/console/requests/{id}'>>(
      'GET',
      `/api/console/requests/${ids[0]}`,
    );
    expect(receipt.priceGroup).toBe('vip');
  });

  test('a price below what a backend takes is told before it is published', async () => {
    const costly = yaml.replace(
      /(model: house-guide,[^\n]*?)( })/,
      '$1, cost: { house: { input: 0.06, output: 0.01 } }$2',
    );
    expect(costly).not.toBe(yaml);
    const { belowCost } = await admin.must<Answer<'POST /api/console/admin/catalog/propose'>>(
      'POST',
      '/api/console/admin/catalog/propose',
      { yaml: costly },
    );
    expect(belowCost).toContainEqual({
      group: 'vip',
      model: 'svc_chat/house-guide',
      item: 'input',
      priceUsd: '0.05',
      costUsd: '0.06',
      backend: 'house',
    });
    expect(belowCost.every(({ group }) => group === 'vip')).toBe(true);
  });
});
