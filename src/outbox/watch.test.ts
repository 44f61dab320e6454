import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import { Accounts } from '../identity/accounts/accounts.ts';
import { hashToken } from '../identity/accounts/token.ts';
import { testConsole, type Browser, type TestConsole } from '../console/testing/harness.ts';
import type { AccountId } from '../std/ids.ts';
import { OPERATOR } from './events.ts';
import { ReachedLimits, watchBalances } from './watch-accounts.ts';
import {
  BackendWatch,
  watchCertificate,
  watchLedger,
  watchMargin,
  type WatchedBackend,
} from './watch-operation.ts';

const DAY = 86_400_000;
const PEPPER = new Uint8Array(32).fill(3);
const lookup = (): Promise<string[]> => Promise.resolve(['93.184.216.34']);

describe.each(['SQLite', 'Postgres'])('what is told on %s', (name) => {
  let site: TestConsole;
  let owner: Browser;
  let account: AccountId;
  beforeAll(async () => {
    const databaseUrl = name === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    site = await testConsole({ webhookRules: { lookup }, ...(databaseUrl !== undefined && { databaseUrl }) });
    await site.admin();
    owner = await site.user('owner@example.com');
    account = (await owner.accountId()) as AccountId;
    const { events } = await owner.must<{ events: string[] }>('GET', '/api/console/webhooks');
    await site.messages.webhooks.add(account, { url: 'https://hooks.example/a', events });
    const ofOperator = [
      'backend.down',
      'backend.up',
      'certificate.ending',
      'margin.negative',
      'ledger.breach',
    ];
    await site.messages.webhooks.add(OPERATOR, { url: 'https://hooks.example/o', events: ofOperator });
  }, 120_000);
  afterAll(() => site.close());
  beforeEach(async () => {
    for (const table of ['outbox', 'notice'] as const) await site.store.db.deleteFrom(table).execute();
  });

  const parts = () => ({ db: site.store.db, notices: site.messages.notices, clock: site.clock });
  const told = async () => {
    // Messages of one millisecond have no order.
    site.advance(1);
    const rows = await site.store.db.selectFrom('outbox').selectAll().orderBy('id').execute();
    return rows.map((row) => site.messages.outbox.read(row) as { type: string; data: unknown });
  };
  const topics = async () => (await told()).map(({ type }) => type);

  test('a low balance is told once, and again after it has been above the threshold', async () => {
    await owner.must('PATCH', '/api/console/settings', { lowBalanceUsd: '5' });
    await site.credit(account, 4);
    await Promise.all([watchBalances(parts()), watchBalances(parts())]);
    await watchBalances(parts());
    expect(await told()).toEqual([
      {
        type: 'balance.low',
        timestamp: expect.any(String),
        data: { account, balance_usd: 4, threshold_usd: 5 },
      },
    ] as never);
    await site.credit(account, 2);
    await watchBalances(parts());
    expect(await topics()).toEqual(['balance.low']);
    await site.charge(account, { usage: { output: 1_000 } });
    await site.store.db.updateTable('account').set({ low_balance: 50_000_000_000 }).execute();
    await watchBalances(parts());
    await watchBalances(parts());
    expect(await topics()).toEqual(['balance.low', 'balance.low']);
    await owner.must('PATCH', '/api/console/settings', { lowBalanceUsd: null });
    await watchBalances(parts());
    expect(await topics()).toHaveLength(2);
  });

  test('a monthly limit that refuses requests is told once for each month and each limit', async () => {
    const limits = new ReachedLimits(parts());
    const { db } = site.store;
    const refuse = async (times: number): Promise<void> => {
      for (let index = 0; index < times; index++) limits.note({ kind: 'account', id: account }, 'month');
      await limits.tell();
    };
    await refuse(3);
    expect(await topics()).toEqual([]);
    await db.updateTable('account').set({ monthly_limit: 1_000_000_000 }).where('id', '=', account).execute();
    await refuse(100);
    await refuse(1);
    expect(await told()).toMatchObject([{ type: 'limit.reached', data: { account, limit_usd: 1 } }]);
    await db.updateTable('account').set({ monthly_limit: 2_000_000_000 }).where('id', '=', account).execute();
    await refuse(1);
    expect(await topics()).toHaveLength(2);
    site.advance(32 * DAY);
    await refuse(1);
    expect(await topics()).toHaveLength(3);
  });

  test('a token that is replaced is told, a first one is not; one that is exposed is told once', async () => {
    const accounts = new Accounts({
      store: site.store,
      ledger: site.ledger,
      pepper: PEPPER,
      clock: site.clock,
      notices: site.messages.notices,
    });
    await accounts.replaceToken(account);
    expect(await topics()).toEqual([]);
    const token = await accounts.replaceToken(account);
    expect(await told()).toMatchObject([
      { type: 'token.replaced', data: { account, token_hint: `sk-…${token.slice(-4)}` } },
    ]);
    const hash = hashToken(token, PEPPER)!;
    await Promise.all(Array.from({ length: 5 }, () => accounts.markExposed(hash)));
    expect(await topics()).toEqual(['token.replaced', 'token.exposed']);
  });

  const backend = (more: Partial<WatchedBackend> = {}): WatchedBackend => ({
    name: 'main',
    state: 'resting',
    requests: 5,
    failures: 5,
    lastFailure: { reason: 'server' },
    ...more,
  });

  test('a backend that stays down is told once by all nodes, and that it is back when it has served', async () => {
    const [one, another] = [new BackendWatch(parts()), new BackendWatch(parts())];
    await one.check([backend()]);
    expect(await topics()).toEqual([]);
    await one.check([backend({ state: 'ok' })]);
    for (let index = 0; index < 3; index++) {
      await one.check([backend({ state: 'probing' })]);
      await another.check([backend()]);
    }
    expect(await told()).toMatchObject([
      { type: 'backend.down', data: { backend: 'main', reason: 'server' } },
    ]);
    await one.check([backend({ state: 'ok' })]);
    expect(await topics()).toEqual(['backend.down']);
    await one.check([backend({ state: 'ok', requests: 6 })]);
    await another.check([backend({ state: 'ok', requests: 6 })]);
    expect(await topics()).toEqual(['backend.down', 'backend.up']);
  });

  test('a failure between two successes is no outage', async () => {
    const watch = new BackendWatch(parts());
    for (let requests = 6; requests < 20; requests++) await watch.check([backend({ requests })]);
    expect(await topics()).toEqual([]);
  });

  test('that a backend is back is told after a restart too', async () => {
    const before = new BackendWatch(parts());
    for (let index = 0; index < 3; index++) await before.check([backend()]);
    const after = new BackendWatch(parts());
    await after.check([backend({ state: 'ok', requests: 0, failures: 0 })]);
    expect(await topics()).toEqual(['backend.down']);
    await after.check([backend({ state: 'ok', requests: 1, failures: 0 })]);
    expect(await topics()).toEqual(['backend.down', 'backend.up']);
  });

  test('the end of a certificate is told some days before, shortly before and when it has come, once each', async () => {
    const endsAt = site.clock.now() + 30 * DAY;
    const days: number[] = [];
    for (let day = 0; day < 33; day++) {
      const before = (await topics()).length;
      await watchCertificate(parts(), endsAt);
      await watchCertificate(parts(), endsAt);
      if ((await topics()).length > before) days.push(day);
      site.advance(DAY);
    }
    expect(days).toEqual([15, 26, 29]);
    await watchCertificate(parts(), site.clock.now() + 90 * DAY);
    expect(await topics()).toHaveLength(3);
  });

  test('a day that costs more than it brings, by a sum that matters, is told once', async () => {
    const day = Number(new Date(site.clock.now()).toISOString().slice(0, 10).replaceAll('-', ''));
    const row = { account_id: '', day, endpoint: 'e', model: 'm' };
    await site.store.db
      .insertInto('usage_day')
      .values({ ...row, costed: 2_000_000_000, cost: 2_000_000_000 })
      .execute();
    const leastLoss = () => Promise.resolve(1_000_000_000);
    const watch = () => watchMargin({ ...parts(), leastLoss });
    await watch();
    expect(await topics()).toEqual([]);
    await site.store.db
      .updateTable('usage_day')
      .set({ cost: 3_000_000_000 })
      .where('endpoint', '=', 'e')
      .execute();
    await watchMargin({ ...parts(), leastLoss: () => Promise.resolve(1_000_000_001) });
    expect(await topics()).toEqual([]);
    await Promise.all([watch(), watch()]);
    expect(await told()).toMatchObject([{ type: 'margin.negative', data: { revenue_usd: 2, cost_usd: 3 } }]);
  });

  test('broken books are told once until other rules are broken, or they were whole in between', async () => {
    const breaches = [{ invariant: 'I1' }, { invariant: 'I1' }];
    await watchLedger(parts(), breaches);
    await watchLedger(parts(), breaches);
    expect(await told()).toMatchObject([{ type: 'ledger.breach', data: { breaches: 2, rules: ['I1'] } }]);
    await watchLedger(parts(), [...breaches, { invariant: 'I3' }]);
    expect(await topics()).toHaveLength(2);
    await watchLedger(parts(), []);
    await watchLedger(parts(), breaches);
    expect(await topics()).toHaveLength(3);
  });
});
