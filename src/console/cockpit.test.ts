import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import { dayOf } from '../std/calendar.ts';
import type { AccountId } from '../std/ids.ts';
import { nanoUsd } from '../std/money.ts';
import type { UpstreamStatus } from '../upstream/pool.ts';
import type { Answer } from './contract/routes.ts';
import { HEALTHY, testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type AdminAttention = Answer<'GET /api/console/admin/attention'>;
type AdminOverview = Answer<'GET /api/console/admin/overview'>;
type AdminTraffic = Answer<'GET /api/console/admin/traffic'>;
type AttentionItem = AdminAttention['items'][number];

const DAY_MS = 86_400_000;

/** Each chat brings 0.00018 dollars: 60 tokens of input at 1, 40 at 0.5, 50 of output at 2 dollars a million. */
describe.each(['SQLite', 'Postgres'])('the cockpit on %s', (store) => {
  let site: TestConsole;
  let admin: Browser;
  let accountId: string;
  /** What the backends say of themselves; of this process too. */
  const troubled = new Map<string, Partial<UpstreamStatus>>();
  const operation = { certificateEndsAt: undefined as number | undefined, waiting: 0 };

  beforeAll(async () => {
    site = await testConsole({
      ...(store === 'Postgres' && { databaseUrl: await (await testPostgres()).freshDatabase() }),
      backends: {
        list: () =>
          [...site.catalog.current().upstreams.values()].map(({ name, kind }) =>
            Object.assign({ name, kind }, HEALTHY, troubled.get(name)),
          ),
      },
      operation: {
        certificateEndsAt: () => operation.certificateEndsAt,
        settlementsWaiting: () => operation.waiting,
      },
    });
    admin = await site.admin();
    // No test runs into the next day.
    site.advance(DAY_MS - (Date.now() % DAY_MS) + DAY_MS / 4);
    accountId = await (await site.user('customer@example.com')).accountId();
    await site.credit(accountId, 1);
    // As a request of an unknown cost leaves them; sessions do not last until a charge of now is so old.
    const old = { day: dayOf(site.clock.now() - 8 * DAY_MS), endpoint: 'svc_chat', model: 'untold' };
    await site.store.db
      .insertInto('usage_day')
      .values({ account_id: '', ...old, requests: 1, charged: 180_000 })
      .execute();
  });
  afterAll(() => site.close());

  /** Figures are kept for a minute. */
  const fresh = <Answer>(path: string): Promise<Answer> => {
    site.advance(61_000);
    return admin.must<Answer>('GET', `/api/console/admin/${path}`);
  };
  const attention = async (): Promise<AttentionItem[]> => (await fresh<AdminAttention>('attention')).items;

  const take = async (id: string, amount: number): Promise<void> => {
    const entry = { kind: 'adjustment', cause: 'test', actor: 'test' } as const;
    await site.ledger.post({ accountId: id as AccountId, amount: -amount, ...entry });
  };

  test('has nothing to say of an installation that is well', async () => {
    expect(await attention()).toEqual([]);
    expect((await fresh<AdminOverview>('overview')).sample).toBeNull();
  });

  test('compares revenue, cost and margin with the period before, and does not take an unknown cost for zero', async () => {
    await site.charge(accountId, { model: 'told', attempts: [served('hosted', 100_000)] });
    const { money } = await fresh<AdminOverview>('overview');
    const [today, week, month] = money?.periods ?? [];
    expect(today).toEqual({
      days: 1,
      now: {
        revenueUsd: '0.00018',
        costUsd: '0.0001',
        marginUsd: '0.00008',
        unknownUsd: '0.00',
        possibleUsd: '0.00',
        requests: 1,
        failures: 0,
      },
      before: {
        revenueUsd: '0.00',
        costUsd: null,
        marginUsd: null,
        unknownUsd: '0.00',
        possibleUsd: '0.00',
        requests: 0,
        failures: 0,
      },
    });
    expect(week?.before).toMatchObject({
      revenueUsd: '0.00018',
      costUsd: null,
      marginUsd: null,
      unknownUsd: '0.00018',
      requests: 1,
    });
    expect(month?.now).toMatchObject({ revenueUsd: '0.00036', unknownUsd: '0.00018' });
    expect(money?.days).toHaveLength(30);
    expect(money?.days.at(-1)).toMatchObject({ revenueUsd: '0.00018', costUsd: '0.0001' });
  });

  test('counts a failed attempt for the backend that failed, though another one served', async () => {
    await site.charge(accountId, {
      attempts: [{ upstream: 'house', result: 'failed', durationMs: 3 }, served('hosted', 100_000)],
    });
    await site.charge(accountId);
    const { backends, sample } = await fresh<AdminOverview>('overview');
    expect(sample?.requests).toBe(3);
    expect(backends.find(({ name }) => name === 'house')).toMatchObject({
      calls: 2,
      failures: 1,
      firstByteMs: { p50: 7, p95: 7 },
      durationMs: { p50: 12, p95: 12 },
    });
  });

  test('names a customer whose balance will not last a day, and one whose balance is empty', async () => {
    const spender = await (await site.user('spender@example.com')).accountId();
    await site.credit(spender, 0.01);
    await site.charge(spender, { usage: { input: 1_000, cached: 0, output: 1_000 } });
    await take(spender, 6_000_000);
    expect(of(await attention(), 'balance_ends')).toEqual([
      {
        urgency: 'low',
        kind: 'balance_ends',
        accountId: spender,
        email: 'spender@example.com',
        balanceUsd: '0.001',
        perDayUsd: '0.003',
        more: 0,
      },
    ]);
    await take(spender, 1_000_000);
    expect(of(await attention(), 'balance_empty')).toMatchObject([{ accountId: spender, more: 0 }]);
  });

  test('tells of a loss by model and backend, from the sum that the operator chose', async () => {
    await site.charge(accountId, { model: 'dear', attempts: [served('lossy', 1_180_000)] });
    // A tenth of a cent needs nobody's attention, unless the operator says so.
    expect(of(await attention(), 'margin_below_zero')).toEqual([]);
    await admin.must('PUT', '/api/console/admin/attention-settings', { lossUsd: '0.001' });
    expect(of(await attention(), 'margin_below_zero')).toEqual([
      { urgency: 'high', kind: 'margin_below_zero', by: 'model', key: 'dear', lossUsd: '0.001' },
      { urgency: 'high', kind: 'margin_below_zero', by: 'backend', key: 'lossy', lossUsd: '0.001' },
    ]);
  });

  test('draws where requests go, the largest of each kind and all others together, and nothing is lost between', async () => {
    for (let model = 0; model < 15; model++)
      await site.charge(accountId, { model: `model-${String(model).padStart(2, '0')}` });
    await site.charge(accountId, { model: 'model-14', failed: true });
    const [hour, today] = [
      await fresh<AdminTraffic>('traffic?range=hour'),
      await fresh<AdminTraffic>('traffic?range=today'),
    ];
    const facts = ({ columns, links }: AdminTraffic) => ({ columns, links: links.toSorted(byEnds) });
    expect(facts(hour)).toEqual(facts(today));
    expect([hour.isEstimated, today.isEstimated]).toEqual([false, false]);
    const sum = (of: readonly { readonly requests: number }[]): number =>
      of.reduce((total, { requests }) => total + requests, 0);
    const totals = today.columns.map(({ nodes }) => sum(nodes));
    expect(new Set([...totals, sum(today.links) / 3]).size).toBe(1);
    const [clients, endpoints, models, backends] = today.columns;
    expect(clients?.nodes.map(({ name }) => name)).toEqual(['=cmd|test']);
    expect(endpoints?.nodes.map(({ name, health }) => [name, health])).toEqual([['svc_chat', 'healthy']]);
    expect(models?.nodes).toHaveLength(13);
    expect(models?.nodes.at(-1)?.others).toBeGreaterThan(1);
    const failing = models?.nodes.find(({ name }) => name === 'model-14');
    expect(failing).toMatchObject({ requests: 2, failures: 1, health: 'failing', endpoint: 'svc_chat' });
    expect(backends?.nodes.map(({ name }) => name)).toContain('house');
  });

  test('draws by revenue when asked, and shows a backend that is down as failing', async () => {
    troubled.set('house', { state: 'resting' });
    const { columns } = await fresh<AdminTraffic>('traffic?range=today&measure=charged');
    // The largest charge of all came through it.
    expect(columns[2]?.nodes[0]).toMatchObject({ name: 'house-echo' });
    expect(columns[3]?.nodes.find(({ name }) => name === 'house')?.health).toBe('failing');
    troubled.clear();
    const refused = await admin.call('GET', '/api/console/admin/traffic?range=year');
    expect(refused.status).toBe(400);
  });

  test('tells of a backend that is down, of a key that is refused and of a failed test, the urgent first', async () => {
    const resting = { state: 'resting', requests: 5, failures: 5 } as const;
    troubled.set('house', { ...resting, lastFailure: { at: 1, reason: 'timeout' } });
    const first = (await attention())[0];
    expect(first).toEqual({ urgency: 'high', kind: 'backend_down', backend: 'house', reason: 'timeout' });
    troubled.set('house', { ...resting, lastFailure: { at: 1, reason: 'unauthorized' } });
    expect(of(await attention(), 'backend_key_refused')).toHaveLength(1);
    troubled.set('house', { hasFailedTest: true });
    expect(of(await attention(), 'backend_test_failed')).toHaveLength(1);
    troubled.clear();
  });

  test('tells of a certificate that ends within two weeks and of charges that wait', async () => {
    const endsAt = site.clock.now() + 15 * DAY_MS;
    Object.assign(operation, { certificateEndsAt: endsAt, waiting: 2 });
    expect(of(await attention(), 'certificate_ends')).toEqual([]);
    expect(of(await attention(), 'settlements_waiting')).toMatchObject([{ count: 2 }]);
    operation.certificateEndsAt = endsAt - 2 * DAY_MS;
    expect(of(await attention(), 'certificate_ends')).toMatchObject([{ at: endsAt - 2 * DAY_MS }]);
    Object.assign(operation, { certificateEndsAt: undefined, waiting: 0 });
  });

  test('tells of refusals by reason, messages that failed, failed payments, and codes and invites that end', async () => {
    const now = site.clock.now();
    const { db } = site.store;
    const refused = {
      account_id: accountId,
      request_id: 'req_1',
      operation: '/v1/chat/completions',
      endpoint: '',
      model: 'm',
      client: 'test',
      status: 402,
    };
    await db
      .insertInto('refused_call')
      .values([
        { ...refused, id: 'a', reason: 'limit_reached', calls: 3, first_at: now, last_at: now },
        { ...refused, id: 'b', reason: 'limit_reached', calls: 2, first_at: now, last_at: now },
        { ...refused, id: 'c', reason: 'other', calls: 9, first_at: 0, last_at: now - 2 * DAY_MS },
      ])
      .execute();
    const message = {
      topic: 't',
      account_id: '',
      destination: 'd',
      next_at: 0,
      expires_at: 0,
      created_at: 0,
    };
    await db
      .insertInto('outbox')
      .values([
        { ...message, id: 'msg_1', kind: 'mail', state: 'failed', finished_at: now },
        { ...message, id: 'msg_2', kind: 'mail', state: 'sent', finished_at: now },
      ])
      .execute();
    await db
      .insertInto('payment')
      .values({
        id: 'p',
        account_id: accountId,
        kind: 'automatic',
        state: 'failed',
        amount: 1,
        created_at: now,
      })
      .execute();
    const code = { hint: 'h', created_by: accountId, created_at: now };
    await db
      .insertInto('invite')
      .values([
        { ...code, code_hash: 'i1', expires_at: now + DAY_MS },
        { ...code, code_hash: 'i2', expires_at: now + 20 * DAY_MS },
      ])
      .execute();
    await db
      .insertInto('redeem_code')
      .values({ ...code, code_hash: 'c1', batch: 'spring', amount: 1, expires_at: now + 2 * DAY_MS })
      .execute();
    const items = await attention();
    expect(of(items, 'calls_refused')).toEqual([
      { urgency: 'low', kind: 'calls_refused', reason: 'limit_reached', count: 5 },
    ]);
    expect(of(items, 'messages_failed')).toMatchObject([{ count: 1, channel: 'mail' }]);
    expect(of(items, 'payments_failed')).toMatchObject([{ count: 1 }]);
    expect(of(items, 'invites_end')).toMatchObject([{ count: 1, at: now + DAY_MS }]);
    expect(of(items, 'codes_end')).toMatchObject([{ count: 1, batch: 'spring', at: now + 2 * DAY_MS }]);
  });
});

function served(upstream: string, amount: number) {
  const cost = { amount: nanoUsd(amount), basis: 'priced' } as const;
  return { upstream, result: 'served', durationMs: 5, cost } as const;
}

type Ends = { readonly from: string; readonly to: string };

function byEnds(a: Ends, b: Ends): number {
  return `${a.from} ${a.to}`.localeCompare(`${b.from} ${b.to}`);
}

function of(items: readonly AttentionItem[], kind: AttentionItem['kind']): AttentionItem[] {
  return items.filter((item) => item.kind === kind);
}
