import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import { KEY, testConsole, type Browser, type TestConsole } from '../console/testing/harness.ts';
import type { Account } from '../identity/accounts/accounts.ts';
import { Teams } from '../identity/accounts/teams.ts';
import { tellFailed, tellPaid, tellStopped } from '../payments/payment-mails.ts';
import { periodStart, type Period } from '../std/calendar.ts';
import type { AccountId } from '../std/ids.ts';
import { nanoUsd } from '../std/money.ts';
import { MailServer } from './testing/mail-server.ts';
import { ReachedLimits, watchBalances, watchBudgets, watchTokens } from './watch-accounts.ts';

const DAY = 86_400_000;
const lookup = (): Promise<string[]> => Promise.resolve(['93.184.216.34']);

interface Told {
  readonly topic: string;
  readonly to: string;
  readonly about: unknown;
}

describe.each(['SQLite', 'Postgres'])('what a team is told on %s', (name) => {
  let server: MailServer;
  let site: TestConsole;
  let teams: Teams;
  let team: Account;
  const people: Record<string, { readonly id: AccountId; readonly email: string; browser: Browser }> = {};
  let apps = 0;

  beforeAll(async () => {
    const databaseUrl = name === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    server = await MailServer.start();
    site = await testConsole({
      mail: server.config,
      webhookRules: { lookup },
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
    await site.admin();
    teams = new Teams({ store: site.store, ledger: site.ledger, pepper: KEY, clock: site.clock });
    for (const who of ['olga', 'otto', 'adele', 'viewer', 'member', 'stranger']) {
      const email = `${who}@example.com`;
      const browser = await site.user(email);
      // An account's id, as the server says.
      people[who] = { id: (await browser.accountId()) as AccountId, email, browser };
    }
    const balance = nanoUsd(100_000_000_000);
    team = await teams.create('Acme', person('olga'), { balance, actor: 'test' });
    await teams.add(team.id, person('otto'), { role: 'owner' });
    await teams.add(team.id, person('adele'), { role: 'admin' });
    await teams.add(team.id, person('viewer'), { role: 'viewer' });
    await teams.add(team.id, person('member'), {});
    const url = 'https://hooks.example/a';
    const { events } = await person('olga').browser.must<{ events: string[] }>(
      'GET',
      '/api/console/team/webhooks',
    );
    await person('olga').browser.must('POST', '/api/console/team/webhooks', { url, events });
    for (const who of ['member', 'stranger'])
      await site.messages.webhooks.add(person(who).id, { url, events });
  }, 120_000);
  afterAll(async () => {
    await site.close();
    await server.stop();
  });
  beforeEach(async () => {
    for (const table of ['outbox', 'notice'] as const) await site.store.db.deleteFrom(table).execute();
  });

  function person(who: string) {
    const found = people[who];
    if (!found) throw new Error(`nobody is ${who}`);
    return found;
  }

  const parts = () => ({ db: site.store.db, notices: site.messages.notices, clock: site.clock });

  /** Mails by address, and events by the owner of the webhook. */
  async function told(): Promise<Told[]> {
    const { db } = site.store;
    const rows = await db.selectFrom('outbox').selectAll().orderBy('id').execute();
    return rows
      .map((row): Told => {
        const payload = site.messages.outbox.read(row) as { about?: unknown; data: { account?: string } };
        const to = row.kind === 'mail' ? row.destination : row.account_id;
        return { topic: row.topic, to, about: row.kind === 'mail' ? payload.about : payload.data.account };
      })
      .toSorted((one, other) => (`${one.topic}${one.to}` < `${other.topic}${other.to}` ? -1 : 1));
  }

  async function newApp(budget: number, per: Period): Promise<Account> {
    const made = await teams.makeApp(team.id, `bot ${++apps}`, {
      budget: { amount: nanoUsd(budget), per },
    });
    return made.app;
  }

  async function use(account: Account, amount: number): Promise<void> {
    await site.store.db
      .updateTable('account')
      .set(({ eb, ref }) => ({
        budget_used: eb('budget_used', '+', amount),
        // As the admission did that began the period.
        budget_from: eb
          .case()
          .when('budget_from', '=', 0)
          .then(periodStart(account.budget_per ?? 'total', site.clock.now()))
          .else(ref('budget_from'))
          .end(),
      }))
      .where('id', '=', account.id)
      .execute();
  }

  async function watched(times = 3): Promise<Told[]> {
    await Promise.all(Array.from({ length: times }, () => watchBudgets(parts())));
    return await told();
  }

  test('only owners and admins see and change the webhooks of a team', async () => {
    for (const [who, status] of [
      ['olga', 200],
      ['adele', 200],
      ['viewer', 403],
      ['member', 403],
      ['stranger', 404],
    ] as const) {
      const { browser } = person(who);
      const listed = await browser.call('GET', '/api/console/team/webhooks');
      expect([who, listed.status]).toEqual([who, status]);
      const body = { url: 'https://hooks.example/b', events: ['budget.low'] };
      const added = await browser.call('POST', '/api/console/team/webhooks', body);
      expect([who, added.status]).toEqual([who, status]);
    }
    const { items } = await person('olga').browser.must<{ items: { id: string }[] }>(
      'GET',
      '/api/console/team/webhooks',
    );
    for (const { id } of items.slice(1)) {
      for (const who of ['stranger', 'member'])
        for (const call of ['', '/rotate', '/test'])
          expect(
            (
              await person(who).browser.call(
                call === '' ? 'DELETE' : 'POST',
                `/api/console/team/webhooks/${id}${call}`,
              )
            ).status,
          ).toBeOneOf([403, 404]);
      expect((await person('olga').browser.call('DELETE', `/api/console/webhooks/${id}`)).status).toBe(404);
      await person('adele').browser.must('DELETE', `/api/console/team/webhooks/${id}`);
    }
  });

  test('a budget of an app that is 80 % used, and then used up, is told once each, to owners and admins and the team’s webhook', async () => {
    const app = await newApp(1_000_000, 'day');
    await use(app, 799_999);
    expect(await watched()).toEqual([]);
    await use(app, 1);
    const about = { team: 'Acme', account: app.name };
    const low = (topic: string): Told[] => [
      { topic, to: team.id, about: app.id },
      ...['adele', 'olga', 'otto'].map((who) => ({ topic, to: person(who).email, about })),
    ];
    expect(await watched()).toEqual(low('budget.low').toSorted(byTo));
    await use(app, 200_000);
    await watched();
    expect(await watched()).toEqual(
      ['budget.low', 'budget.reached'].flatMap((topic) => low(topic).toSorted(byTo)),
    );
    // The next period begins anew.
    site.advance(DAY);
    expect(await watched()).toHaveLength(8);
    await teams.end(app);
  });

  test('who is told that a budget is used up is not told afterwards that little is left', async () => {
    const app = await newApp(1_000_000, 'total');
    await use(app, 1_000_000);
    await watched();
    expect(new Set((await watched()).map(({ topic }) => topic))).toEqual(new Set(['budget.reached']));
    await teams.end(app);
  });

  test('a request that a budget refuses is told once as a budget, and not as the monthly limit', async () => {
    const app = await newApp(1_000_000, 'week');
    await site.store.db
      .updateTable('account')
      .set({ monthly_limit: 1_000_000_000 })
      .where('id', '=', team.id)
      .execute();
    const nodes = [new ReachedLimits(parts()), new ReachedLimits(parts())];
    for (const node of nodes) node.note({ kind: 'account', id: app.id }, 'budget_week');
    for (const node of nodes) await node.tell();
    expect((await told()).map(({ topic }) => topic)).toEqual(
      Array.from({ length: 4 }, () => 'budget.reached'),
    );
    await use(app, 900_000);
    expect(await watched()).toHaveLength(4);
    for (const node of nodes) node.note({ kind: 'account', id: app.id }, 'month');
    for (const node of nodes) await node.tell();
    expect((await told()).filter(({ topic }) => topic === 'limit.reached')).toEqual(
      [
        { topic: 'limit.reached', to: team.id, about: team.id },
        ...['olga', 'otto'].map((who) => ({
          topic: 'limit.reached',
          to: person(who).email,
          about: { team: 'Acme' },
        })),
      ].toSorted(byTo),
    );
    await teams.end(app);
  });

  test('a member reads of the own budget in own words, at the own webhook too; a person without a team alone', async () => {
    const membership = await teams.membership(person('member').id);
    const ids = [membership?.id ?? '', person('stranger').id];
    for (const id of ids) {
      await teams.setLimits(id, { budget: { amount: nanoUsd(1_000_000), per: 'month' } });
      await site.store.db.updateTable('account').set({ budget_used: 850_000 }).where('id', '=', id).execute();
    }
    const topic = 'budget.low';
    const [ofMember, ofStranger] = ids;
    expect(await watched()).toEqual(
      [
        { topic, to: person('member').id, about: ofMember },
        { topic, to: team.id, about: ofMember },
        { topic, to: 'member@example.com', about: { team: 'Acme' } },
        ...['adele', 'olga', 'otto'].map((who) => ({
          topic,
          to: person(who).email,
          about: { team: 'Acme', account: 'member@example.com' },
        })),
        { topic, to: person('stranger').id, about: ofStranger },
        { topic, to: 'stranger@example.com', about: {} },
      ].toSorted(byTo),
    );
    for (const id of ids) await teams.setLimits(id, { budget: null });
  });

  test('a token that expires within seven days is told once, and again when its end was moved', async () => {
    const expiresAt = site.clock.now() + 9 * DAY;
    const { app } = await teams.makeApp(team.id, 'short-lived', { expiresAt });
    const watch = async (): Promise<number> => {
      await Promise.all([watchTokens(parts()), watchTokens(parts())]);
      return (await told()).filter(({ topic }) => topic === 'token.expiring').length;
    };
    expect(await watch()).toBe(0);
    site.advance(2 * DAY);
    expect(await watch()).toBe(4);
    site.advance(DAY);
    expect(await watch()).toBe(4);
    await teams.setLimits(app.id, { expiresAt: expiresAt + 20 * DAY });
    expect(await watch()).toBe(4);
    site.advance(20 * DAY);
    expect(await watch()).toBe(8);
    await teams.end(app);
  });

  test('mails about the money of a team reach its owners, each once, and no other member', async () => {
    const owners = ['olga@example.com', 'otto@example.com'];
    const { db } = site.store;
    await db
      .updateTable('account')
      .set({ low_balance: 1_000_000_000_000 })
      .where('id', '=', team.id)
      .execute();
    const payment = { id: 'pay_1', account_id: team.id, amount: 5_000_000_000, kind: 'automatic' } as const;
    for (let run = 0; run < 2; run++) {
      await watchBalances(parts());
      await db.transaction().execute(async (tx) => {
        const { notices } = site.messages;
        await tellPaid(tx, notices, payment, site.clock.now());
        await tellPaid(tx, notices, { ...payment, id: 'pay_2', kind: 'top_up' }, site.clock.now());
        await tellFailed(tx, notices, payment, 'card_declined');
        await tellStopped(tx, notices, { accountId: team.id, kind: 'dispute', reversalId: 'r' });
      });
    }
    const mails = (await told()).filter(({ to }) => to.includes('@'));
    for (const topic of ['balance.low', 'top-up.done', 'payment.receipt', 'top-up.failed', 'top-up.stopped'])
      expect([topic, ...mails.filter((mail) => mail.topic === topic).map(({ to }) => to)]).toEqual([
        topic,
        ...owners,
      ]);
    expect(mails).toHaveLength(10);
    await db.updateTable('account').set({ low_balance: null }).where('id', '=', team.id).execute();
  });
});

function byTo(one: Told, other: Told): number {
  return one.to < other.to ? -1 : 1;
}
