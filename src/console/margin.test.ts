import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { nanoUsd } from '../std/money.ts';
import { testPostgres } from '../../test/support/postgres.ts';
import type { Answer } from './contract/routes.ts';
import { testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type AdminMargin = Answer<'GET /api/console/admin/margin'>;
type AdminReceipt = Answer<'GET /api/console/admin/requests/{id}'>;

/** Each chat brings 0.00018 dollars: 60 tokens of input at 1, 40 at 0.5, 50 of output at 2 dollars a million. */
describe.each(['SQLite', 'Postgres'])('the margin on %s', (store) => {
  let site: TestConsole;
  let admin: Browser;
  let customer: Browser;
  let lossId: string;

  const served = (upstream: string, amount: number) =>
    ({
      upstream,
      result: 'served',
      durationMs: 5,
      cost: { amount: nanoUsd(amount), basis: 'priced' },
    }) as const;

  beforeAll(async () => {
    site = await testConsole(
      store === 'Postgres' ? { databaseUrl: await (await testPostgres()).freshDatabase() } : {},
    );
    admin = await site.admin();
    customer = await site.user('customer@example.com');
    const id = await customer.accountId();
    await site.credit(id, 10);
    await site.charge(id, { model: 'dear', attempts: [served('hosted', 100_000)] });
    await site.charge(id, { model: 'untold' });
    lossId = await site.charge(id, {
      model: 'dear',
      attempts: [
        {
          upstream: 'first',
          result: 'failed',
          reason: 'connection_lost',
          durationMs: 3,
          cost: { amount: nanoUsd(70_000), basis: 'possible' },
        },
        served('hosted', 150_000),
      ],
    });
  });
  afterAll(() => site.close());

  const margin = (by: string): Promise<AdminMargin> =>
    admin.must<AdminMargin>('GET', `/api/console/admin/margin?by=${by}&days=7`);

  test('is what requests of known cost brought less what they cost, and what is not known says so', async () => {
    const { rows, total } = await margin('model');
    expect(rows.find(({ key }) => key === 'dear')).toEqual({
      key: 'dear',
      requests: 2,
      chargedUsd: '0.00036',
      unknownUsd: '0.00',
      costUsd: '0.00025',
      possibleCostUsd: '0.00007',
      marginUsd: '0.00004',
      isLoss: false,
    });
    expect(rows.find(({ key }) => key === 'untold')).toMatchObject({
      chargedUsd: '0.00018',
      unknownUsd: '0.00018',
      costUsd: null,
      marginUsd: null,
      isLoss: false,
    });
    expect(total).toMatchObject({ requests: 3, chargedUsd: '0.00054', marginUsd: '0.00004' });
  });

  test('is known by backend and day, and below zero is marked', async () => {
    const byBackend = await margin('backend');
    expect(byBackend.rows.find(({ key }) => key === 'first')).toMatchObject({
      possibleCostUsd: '0.00007',
      marginUsd: '-0.00007',
      isLoss: true,
    });
    const { rows, days, belowZero } = await margin('day');
    expect(belowZero).toEqual([{ by: 'backend', key: 'first' }]);
    expect(days).toBe(7);
    expect(rows).toHaveLength(1);
    expect(rows[0]!.key).toMatch(/^\d{4}-\d\d-\d\d$/);
  });

  test('names the latest requests that cost more than they brought', async () => {
    expect((await margin('day')).losses).toEqual([
      {
        id: lossId,
        model: 'dear',
        upstream: 'hosted',
        chargedUsd: '0.00018',
        costUsd: '0.00015',
        possibleCostUsd: '0.00007',
      },
    ]);
  });

  test('stands in the receipt of the administrator, attempt by attempt, and never in that of the customer', async () => {
    const shown = await admin.must<AdminReceipt>('GET', `/api/console/admin/requests/${lossId}`);
    expect(shown).toMatchObject({
      costUsd: '0.00015',
      possibleCostUsd: '0.00007',
      marginUsd: '-0.00004',
      attempts: [
        { upstream: 'first', cost: { usd: '0.00007', basis: 'possible' } },
        { upstream: 'hosted', cost: { usd: '0.00015', basis: 'priced' } },
      ],
    });
    const own = await (await customer.raw('GET', `/api/console/requests/${lossId}`)).text();
    const list = await (await customer.raw('GET', '/api/console/requests')).text();
    const file = await (await customer.raw('GET', '/api/console/requests.csv')).text();
    for (const text of [own, list, file]) expect(text).not.toMatch(/cost|possible|margin/i);
    expect(await (await admin.raw('GET', '/api/console/admin/requests.csv')).text()).toContain(
      '0.00015,0.00007',
    );
    expect((await customer.call('GET', '/api/console/admin/margin')).status).toBe(403);
  });

  test('is kept from roles that do not see margins, in receipts and files', async () => {
    const made = { name: 'desk', role: 'support', expiresAt: site.clock.now() + 86_400_000 };
    const { token } = await admin.must<{ token: string }>('POST', '/api/console/admin/operator-tokens', made);
    const headers = { authorization: `Bearer ${token}` };
    const { status, body } = await site
      .browser()
      .call<AdminReceipt>('GET', `/api/operator/v1/requests/${lossId}`, undefined, headers);
    expect([status, body.costUsd, body.possibleCostUsd, body.marginUsd]).toEqual([200, null, null, null]);
    expect(body.attempts.map(({ upstream, cost }) => [upstream, cost])).toEqual([
      ['first', null],
      ['hosted', null],
    ]);
    const file = await site.browser().raw('GET', '/api/operator/v1/requests.csv', { headers });
    expect([file.status, /cost/.test(await file.text())]).toEqual([200, false]);
  });

  test('knows what failed attempts cost once a provider’s bill is booked: through the API, once, and under a name', async () => {
    const start_time = Math.floor(site.clock.now() / 86_400_000) * 86_400;
    const bill = (value: number, more: object = {}) => ({
      data: [{ start_time, results: [{ amount: { value, currency: 'usd' }, line_item: 'dear, output' }] }],
      ...more,
    });
    type Shown = Answer<'POST /api/console/admin/provider-bills'>;
    const send = (path: string, body: object) =>
      admin.call<Shown & { error: { param: string } }>('POST', `/api/console/admin/${path}`, body);
    const compared = await send('provider-bills/compare', { export: bill(0.000_03), backends: ['first'] });
    expect(compared.body).toMatchObject({
      unit: 'usd',
      rows: [{ model: 'dear', provider: '0.00003', books: '0.00', retries: '0.00003', unknown: '0.00' }],
    });
    const book = { export: bill(0.000_03), backends: ['first'], cause: 'invoice 12' };
    const early = await send('provider-bills', book);
    expect(early.body.booked).toMatchObject([{ model: 'dear', billedUsd: null, kept: 'not_over' }]);
    site.advance(3 * 86_400_000);
    for (const [param, body] of [
      ['backends', { ...book, backends: ['first', 'nobody'] }],
      ['export', { ...book, export: bill(0.000_03, { has_more: true }) }],
      ['export', { ...book, export: { data: [{ start_time, results: [{ input_tokens: 1 }] }] } }],
      ['export', { ...book, export: { data: ['no bucket'] } }],
      ['cause', { ...book, cause: ' ' }],
    ] as const) {
      const { status, body: refused } = await send('provider-bills', body);
      expect([param, status, refused.error.param]).toEqual([param, 400, param]);
    }
    for (const _again of [1, 2])
      expect((await send('provider-bills', book)).body.booked).toEqual([
        {
          day: new Date(start_time * 1_000).toISOString().slice(0, 10),
          model: 'dear',
          atMostUsd: '0.00007',
          billedUsd: '0.00003',
          kept: null,
        },
      ]);
    const row = await site.store.db
      .selectFrom('backend_day')
      .select(['cost', 'possible_cost'])
      .where('backend', '=', 'first')
      .executeTakeFirstOrThrow();
    expect([row.cost, row.possible_cost]).toEqual([30_000, 0]);
    const { items } = await admin.must<{ items: { detail: object }[] }>(
      'GET',
      '/api/console/admin/audit?action=ledger.book-bill',
    );
    expect(items[0]?.detail).toEqual({ backends: ['first'], cause: 'invoice 12' });
    expect((await site.ledger.verify({ full: true })).breaches).toEqual([]);
  });
});
