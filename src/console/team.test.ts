import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { Accounts, type Account } from '../identity/accounts/accounts.ts';
import { Teams } from '../identity/accounts/teams.ts';
import { chatAdmission, FAILED } from '../ledger/testing/contract-harness.ts';
import type { AccountId, TokenHash } from '../std/ids.ts';
import { nanoUsd } from '../std/money.ts';
import type { RouteDeclaration } from './route.ts';
import { ROUTES } from './routes.ts';
import { KEY, testConsole, type Browser, type TestConsole } from './testing/harness.ts';
import { People, ROLES, type Person, type Role } from './testing/people.ts';
import { testPostgres } from '../../test/support/postgres.ts';

const DAY_MS = 86_400_000;

interface TeamAnswer {
  readonly team: {
    readonly name: string;
    readonly role: Role;
    readonly ownId: string;
    readonly money: { readonly balanceUsd: string } | null;
    readonly accounts: readonly { readonly id: string; readonly name: string; readonly budget: unknown }[];
    readonly invites: readonly { readonly id: string }[];
  } | null;
  readonly movableUsd: string | null;
}

describe.each(['sqlite', 'postgres'] as const)('on %s', (store) => {
  let site: TestConsole;
  let operator: Browser;
  let people: People;
  let apps = 0;

  beforeAll(async () => {
    const databaseUrl = store === 'postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    site = await testConsole(databaseUrl ? { databaseUrl } : {});
    operator = await site.admin();
    people = new People(site);
  });
  afterEach(async () => expect((await site.ledger.verify()).breaches).toEqual([]));
  afterAll(() => site.close());

  async function row(id: string): Promise<Account> {
    return await site.store.db
      .selectFrom('account')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
  }

  async function teamOf({ browser }: Person) {
    const { team } = await browser.must<TeamAnswer>('GET', '/api/console/team');
    if (!team) throw new Error('is in no team');
    return team;
  }

  /** What can be done to an account of a team, and who may. The table in the program is not asked. */
  const OF_APPS = ['owner', 'admin'] as const;
  const ACTIONS: readonly {
    readonly target: 'app' | 'member' | 'owner';
    readonly path: string;
    readonly body: object;
    readonly who: readonly Role[];
  }[] = [
    { target: 'app', path: 'apps/{id}/replace-token', body: {}, who: OF_APPS },
    { target: 'app', path: 'apps/{id}/pause', body: {}, who: OF_APPS },
    { target: 'app', path: 'apps/{id}/resume', body: {}, who: OF_APPS },
    { target: 'app', path: 'apps/{id}/end', body: {}, who: OF_APPS },
    { target: 'app', path: 'apps/{id}/limits', body: { budget: null, concurrent: 3 }, who: OF_APPS },
    { target: 'member', path: 'members/{id}/role', body: { role: 'admin' }, who: ['owner', 'admin'] },
    { target: 'member', path: 'members/{id}/role', body: { role: 'owner' }, who: ['owner'] },
    { target: 'member', path: 'members/{id}/limits', body: { concurrent: 3 }, who: ['owner', 'admin'] },
    { target: 'member', path: 'members/{id}/remove', body: {}, who: ['owner', 'admin'] },
    { target: 'owner', path: 'members/{id}/role', body: { role: 'member' }, who: ['owner'] },
    { target: 'owner', path: 'members/{id}/limits', body: { concurrent: 3 }, who: ['owner'] },
    { target: 'owner', path: 'members/{id}/remove', body: {}, who: ['owner'] },
  ];

  async function newTarget(teamId: string, target: 'app' | 'member' | 'owner'): Promise<Account> {
    if (target === 'app') {
      const name = `app ${++apps}`;
      return (await people.teams.makeApp(teamId, name, { budget: { amount: nanoUsd(1_000), per: 'day' } }))
        .app;
    }
    return await people.teams.add(teamId, await people.one(), { role: target });
  }

  test('every action on an account of a team is open to the roles that may, and to nobody else', async () => {
    const team = await people.team();
    const strangers = {
      'owner of another team': (await people.team()).owner,
      'in no team': await people.one(),
    };
    const callers = {
      ...strangers,
      member: team.member,
      viewer: team.viewer,
      admin: team.admin,
      owner: team.owner,
    };
    for (const { target, path, body, who } of ACTIONS) {
      const account = await newTarget(team.id, target);
      // Those who may come last: what they do ends some of the targets.
      for (const [caller, { browser }] of Object.entries(callers)) {
        const mayDo = who.some((role) => role === caller);
        const aimed = mayDo ? await newTarget(team.id, target) : account;
        const { status } = await browser.call(
          'POST',
          `/api/console/team/${path.replace('{id}', aimed.id)}`,
          body,
        );
        const expected = mayDo ? 200 : caller in strangers ? 404 : 403;
        expect([path, body, caller, status]).toEqual([path, body, caller, expected]);
        if (mayDo && path !== 'apps/{id}/resume') expect(await row(aimed.id)).not.toEqual(aimed);
        else expect(await row(aimed.id)).toEqual(aimed);
        if (mayDo && (await row(aimed.id)).ended_at === null && target !== 'owner')
          await people.teams.end(await row(aimed.id));
      }
      await people.teams.end(account);
    }
  });

  /** Every other route of a team, and which roles may; an id that nobody has comes after the right. */
  const EVERYBODY = ROLES;
  const ROUTES_OF_TEAM: Readonly<Record<string, { readonly who: readonly Role[]; readonly body?: object }>> =
    {
      'GET /api/console/team/webhooks': { who: OF_APPS },
      'POST /api/console/team/webhooks': { who: OF_APPS, body: { url: 'https://example.com', events: [] } },
      'PATCH /api/console/team/webhooks/{id}': { who: OF_APPS, body: { resume: true } },
      'POST /api/console/team/webhooks/{id}/rotate': { who: OF_APPS, body: {} },
      'POST /api/console/team/webhooks/{id}/test': { who: OF_APPS, body: {} },
      'DELETE /api/console/team/webhooks/{id}': { who: OF_APPS },
      'GET /api/console/team': { who: EVERYBODY },
      'GET /api/console/team/usage': { who: EVERYBODY },
      'GET /api/console/team/usage.csv': { who: EVERYBODY },
      'GET /api/console/team/requests': { who: EVERYBODY },
      'GET /api/console/team/requests/{id}': { who: EVERYBODY },
      'GET /api/console/team/log': { who: ['owner'] },
      'POST /api/console/team/invites': { who: OF_APPS, body: { role: 'member' } },
      'DELETE /api/console/team/invites/{id}': { who: OF_APPS },
      'POST /api/console/team/apps': {
        who: OF_APPS,
        body: { name: 'nobody has this', budget: { amountUsd: '1', per: 'day' } },
      },
      // Who is in a team makes and joins no other; an invitation is shown to whoever has it.
      'POST /api/console/team': { who: [], body: { name: 'another' } },
      'POST /api/console/team/join': { who: [], body: { secret: 'x' } },
      'POST /api/console/team/invited': { who: [], body: { secret: 'x' } },
      // Tried last, since they end what the others need; closing has a test of its own.
      'POST /api/console/team/leave': { who: EVERYBODY, body: {} },
      'POST /api/console/team/close': { who: ['owner'], body: {} },
    };

  test('every route of a team is in a table of roles, and lets in exactly those', async () => {
    const routes = (ROUTES as readonly RouteDeclaration[])
      .map(({ name }) => name)
      .filter((name) => /^\w+ \/api\/console\/team(\/|$)/.test(name));
    const tabled = [
      ...Object.keys(ROUTES_OF_TEAM),
      ...ACTIONS.map(({ path }) => `POST /api/console/team/${path}`),
    ];
    expect(routes.toSorted()).toEqual([...new Set(tabled)].toSorted() as never);
    const stranger = (await people.one()).browser;
    let team = await people.team();
    const nobody = site.browser();
    for (const [name, { who, body }] of Object.entries(ROUTES_OF_TEAM)) {
      // Both end it.
      if (/leave|close/.test(name)) team = await people.team();
      const [method = '', path = ''] = name.split(' ');
      const tried = async (browser: Browser) =>
        (await browser.call(method, path.replace('{id}', 'nobody-has-this'), body)).status;
      expect([name, await tried(nobody)]).toEqual([name, 401]);
      for (const role of ROLES.toReversed()) {
        const status = await tried(team[role].browser);
        const isRefused = status === 403 || (who.length === 0 && status >= 400);
        expect([name, role, status < 500, isRefused]).toEqual([name, role, true, !who.includes(role)]);
      }
      // Whoever is in no team finds none.
      if (!/team$|team\/(join|invited)$/.test(name))
        expect([name, await tried(stranger)]).toEqual([name, 404]);
    }
  });

  test('apps and invitations are made by owners and admins, an invitation to own by owners', async () => {
    const team = await people.team();
    const outsider = await people.one();
    const mayMake = { owner: 200, admin: 200, viewer: 403, member: 403 };
    for (const [path, body, expected] of [
      ['apps', (role: string) => ({ name: `of ${role}` }), mayMake],
      ['invites', () => ({ role: 'admin' }), mayMake],
      ['invites', () => ({ role: 'owner' }), { ...mayMake, admin: 403 }],
    ] as const) {
      for (const role of ROLES) {
        const { status } = await team[role].browser.call('POST', `/api/console/team/${path}`, body(role));
        expect([path, role, status]).toEqual([path, role, expected[role]]);
      }
      const { status } = await outsider.browser.call('POST', `/api/console/team/${path}`, body('nobody'));
      expect([path, status]).toEqual([path, 404]);
    }
    const [invite] = (await teamOf(team.owner)).invites;
    const path = `/api/console/team/invites/${invite?.id}`;
    const other = await people.team();
    for (const [who, expected] of [
      [team.viewer, 403],
      [team.member, 403],
      [other.owner, 404],
      [outsider, 404],
      [team.admin, 200],
    ] as const)
      expect((await who.browser.call('DELETE', path)).status).toBe(expected);
  });

  test('owners, admins and viewers see every account and what it used; a member sees the own one alone', async () => {
    const team = await people.team();
    const { app } = await people.teams.makeApp(team.id, 'nightly', {});
    const ownId = (await teamOf(team.member)).ownId;
    const ofApp = await site.charge(app.id, { model: 'used-by-app' });
    const ofMember = await site.charge(ownId, { model: 'used-by-member' });
    for (const role of ROLES) {
      const seesAll = role !== 'member';
      const shown = await teamOf(team[role]);
      expect([role, shown.accounts.length, shown.money !== null]).toEqual([role, seesAll ? 5 : 1, seesAll]);
      for (const [path, app, own] of [
        ['usage', 'used-by-app', 'used-by-member'],
        ['requests', ofApp, ofMember],
      ] as const) {
        const text = await (await team[role].browser.raw('GET', `/api/console/team/${path}`)).text();
        expect([role, path, text.includes(app), text.includes(own)]).toEqual([role, path, seesAll, true]);
      }
      for (const path of [`requests?account=${app.id}`, `requests/${ofApp}`]) {
        const { status } = await team[role].browser.call('GET', `/api/console/team/${path}`);
        expect([role, path, status]).toEqual([role, path, seesAll ? 200 : 404]);
      }
    }
    const stranger = (await people.team()).owner;
    expect((await stranger.browser.call('GET', `/api/console/team/requests/${ofApp}`)).status).toBe(404);
    for (const path of ['', '/usage', '/requests']) {
      const text = await (await stranger.browser.raw('GET', `/api/console/team${path}`)).text();
      expect([path, text.includes('nightly') || text.includes('used-by')]).toEqual([path, false]);
    }
  });

  test('its owners see who changed the team; no other role, no other team, and nobody without the right leaves an entry', async () => {
    const [team, other] = [await people.team(), await people.team()];
    const made = await team.admin.browser.must<{ app: { id: string } }>('POST', '/api/console/team/apps', {
      name: 'logged',
    });
    await team.member.browser.call('POST', `/api/console/team/apps/${made.app.id}/pause`);
    await team.admin.browser.must('POST', `/api/console/team/apps/${made.app.id}/pause`);
    const { accounts } = await teamOf(team.owner);
    const viewerId = accounts.find(({ name }) => name === team.viewer.email)?.id ?? '';
    const path = `/api/console/team/members/${viewerId}/role`;
    await team.admin.browser.call('POST', path, { role: 'owner' });
    await team.owner.browser.must('POST', path, { role: 'admin' });
    const log = async ({ browser }: Person) =>
      await browser.call<{ items: { by: string; action: string; account: string; role: string }[] }>(
        'GET',
        '/api/console/team/log',
      );
    const { items } = (await log(team.owner)).body;
    expect(items.map(({ by, action, account, role }) => [by, action, account, role])).toEqual([
      [team.owner.email, 'team.role', team.viewer.email, 'admin'],
      [team.admin.email, 'team.role.refused', null, null],
      [team.admin.email, 'team.role', team.viewer.email, 'owner'],
      [team.admin.email, 'team.app-pause', 'logged', null],
      [team.admin.email, 'team.app-create', 'logged', null],
    ] as never);
    expect((await log(other.owner)).body.items).toEqual([]);
    for (const one of [team.admin, team.viewer, team.member]) expect((await log(one)).status).toBe(403);
    expect((await log(await people.one())).status).toBe(404);
  });

  test('people set what their own token may do, after their password; in a team its owners do', async () => {
    const { browser, id } = await people.one();
    const limits = { budget: { amountUsd: '3', per: 'week' }, models: ['svc_chat/*'], networks: null };
    await browser.must('POST', '/api/console/token/limits', limits);
    expect(await row(id)).toMatchObject({ budget: 3_000_000_000, token_models: 'svc_chat/*' });
    expect(await browser.must('GET', '/api/console/token')).toMatchObject({
      budget: { amountUsd: '3.00', per: 'week', usedUsd: '0.00' },
      limits: { models: ['svc_chat/*'], networks: null },
    });
    for (const wrong of [
      { concurrent: 5 },
      { models: ['no good'] },
      { budget: { amountUsd: '-1', per: 'day' } },
    ])
      expect((await browser.call('POST', '/api/console/token/limits', wrong)).status).toBe(400);
    await browser.must('POST', '/api/console/token/limits', { budget: null, models: null });
    expect(await row(id)).toMatchObject({ budget: null, token_models: null });
    const { member } = await people.team();
    expect((await member.browser.call('POST', '/api/console/token/limits', limits)).status).toBe(403);
  });

  test('a hundred apps do no more at once than a team may, and there is no hundred-and-first account', async () => {
    const owner = await people.one();
    const { id } = await people.teams.create(`many ${owner.id}`, owner, {
      balance: nanoUsd(5_000_000_000),
      actor: 'test',
    });
    const apps: Account[] = [];
    for (let number = 1; number < 100; number++)
      apps.push((await people.teams.makeApp(id, `app ${number}`, {})).app);
    const tooMany = { name: 'one more' };
    expect((await owner.browser.call('POST', '/api/console/team/apps', tooMany)).status).toBe(409);
    const limits = { chatPerMinute: 600, imagesPerMinute: 60, concurrent: 3 };
    const requests = apps.map((app) =>
      chatAdmission(
        { id: app.id as AccountId, hash: '' as TokenHash },
        { caller: { kind: 'account', id: app.id as AccountId }, limits },
      ),
    );
    const answers = await Promise.all(requests.map((request) => site.ledger.admit(request)));
    const admitted = requests.filter((_, index) => answers[index]?.kind === 'admitted');
    expect(admitted).toHaveLength(15);
    expect(new Set(answers.map((one) => (one.kind === 'refused' ? one.reason : 'admitted')))).toEqual(
      new Set(['admitted', 'concurrency_limit_exceeded']),
    );
    await Promise.all(admitted.map(({ requestId }) => site.ledger.void(requestId, FAILED)));
  });

  test('the newest requests of all accounts come page by page, each once', async () => {
    const team = await people.team();
    const { app } = await people.teams.makeApp(team.id, 'paged', {});
    const { ownId } = await teamOf(team.member);
    const made: string[] = [];
    for (const id of [app.id, ownId, app.id, app.id, ownId]) made.push(await site.charge(id));
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: { items: { id: string }[]; next: string | null } = await team.viewer.browser.must(
        'GET',
        `/api/console/team/requests?limit=2&cursor=${cursor}`,
      );
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next;
    }
    expect(seen).toEqual(made.toSorted().toReversed());
  });

  test('whoever makes a team loses the own token, and moves what was paid, never a gift', async () => {
    const maker = await people.one();
    await site.credit(maker.id, 2);
    await site.ledger.post({
      accountId: maker.id,
      kind: 'credit',
      amount: 1_000_000_000,
      cause: 'gift',
      actor: 'welcome',
    });
    await maker.browser.must('POST', '/api/console/token');
    expect((await maker.browser.must<TeamAnswer>('GET', '/api/console/team')).movableUsd).toBe('2.00');
    const tooMuch = { name: `rich ${maker.id}`, moveUsd: '2.01' };
    const refused = await maker.browser.call('POST', '/api/console/team', tooMuch);
    expect(refused).toMatchObject({ status: 400, body: { error: { param: 'moveUsd' } } });
    expect((await row(maker.id)).token_hash).not.toBeNull();
    const made = await maker.browser.must<TeamAnswer>('POST', '/api/console/team', {
      name: `rich ${maker.id}`,
      moveUsd: '2',
    });
    expect(made.team).toMatchObject({ role: 'owner', money: { balanceUsd: '2.00' } });
    expect(await row(maker.id)).toMatchObject({ balance: 1_000_000_000, token_hash: null });
    const { token, team } = await maker.browser.must<{ token: unknown; team: unknown }>(
      'GET',
      '/api/console/token',
    );
    expect([token, team]).toEqual([null, { name: `rich ${maker.id}`, role: 'owner' }]);
    await maker.browser.must('POST', '/api/console/token');
    expect((await row(maker.id)).token_hash).toBeNull();
    expect((await row(made.team?.ownId ?? '')).token_hash).not.toBeNull();
    expect((await maker.browser.call('POST', '/api/console/team', { name: 'second' })).status).toBe(409);
    expect((await maker.browser.call('POST', '/api/console/team/leave')).status).toBe(409);
  });

  test('an operator who revokes the token of a person, or disables them, does so in their team, too, and pauses a whole team', async () => {
    const { member, id } = await people.team();
    await member.browser.must('POST', '/api/console/token');
    const { ownId } = await teamOf(member);
    await operator.must('POST', `/api/console/admin/accounts/${id}/disable`);
    expect(await teamOf(member)).toMatchObject({ isPaused: true });
    expect(await site.ledger.identify({ kind: 'account', id: ownId as AccountId })).toBeUndefined();
    await operator.must('POST', `/api/console/admin/accounts/${id}/enable`);
    expect(await teamOf(member)).toMatchObject({ isPaused: false });
    await operator.must('POST', `/api/console/admin/accounts/${member.id}/revoke-token`);
    expect((await row(ownId)).token_hash).toBeNull();
    await member.browser.must('POST', '/api/console/token');
    await operator.must('POST', `/api/console/admin/accounts/${member.id}/disable`);
    expect(await site.ledger.identify({ kind: 'account', id: ownId as AccountId })).toBeUndefined();
    await operator.must('POST', `/api/console/admin/accounts/${member.id}/enable`);
    expect(await site.ledger.identify({ kind: 'account', id: ownId as AccountId })).toBeDefined();
  });

  test('an invitation works once, within a week, with the rights of whoever made it, and the own token ends', async () => {
    const team = await people.team();
    const invitedBy = async ({ browser }: Person, role = 'member'): Promise<string> => {
      const budget = { amountUsd: '0.50', per: 'month' };
      const path = '/api/console/team/invites';
      return (await browser.must<{ secret: string }>('POST', path, { role, budget })).secret;
    };
    const join = async ({ browser }: Person, secret: string): Promise<number> =>
      (await browser.call('POST', '/api/console/team/join', { secret })).status;
    const guest = await people.one();
    await guest.browser.must('POST', '/api/console/token');
    const secret = await invitedBy(team.admin);
    const offer = await guest.browser.must('POST', '/api/console/team/invited', { secret });
    expect(offer).toMatchObject({ role: 'member', budget: { amountUsd: '0.50', per: 'month' } });
    expect(await join(guest, secret)).toBe(200);
    expect((await row(guest.id)).token_hash).toBeNull();
    const [own] = (await teamOf(guest)).accounts;
    expect(own?.budget).toMatchObject({ amountUsd: '0.50', per: 'month', usedUsd: '0.00' });
    expect(await join(await people.one(), secret)).toBe(410);
    expect(await join(guest, await invitedBy(team.admin))).toBe(409);
    const [first, second] = [await people.one(), await people.one()];
    const contested = await invitedBy(team.owner);
    const results = await Promise.all([join(first, contested), join(second, contested)]);
    expect(results.toSorted()).toEqual([200, 410]);
    const orphan = await invitedBy(team.admin, 'admin');
    await people.teams.end((await people.teams.membership(team.admin.id)) ?? (await row(team.admin.id)));
    expect(await join(await people.one(), orphan)).toBe(410);
    const late = await invitedBy(team.owner);
    site.advance(7 * DAY_MS);
    expect(await join(await people.one(), late)).toBe(410);
  });

  test('a budget is there from the moment its account is, and nothing that joins is without a person', async () => {
    const { id, owner } = await people.team();
    const setBudget = () => Promise.reject(new Error('came too late'));
    const ledger = {
      post: site.ledger.post.bind(site.ledger),
      move: site.ledger.move.bind(site.ledger),
      setBudget,
    };
    const atOnce = new Teams({ store: site.store, ledger, pepper: KEY, clock: site.clock });
    const budget = { amount: nanoUsd(2_000), per: 'day' } as const;
    const ownerRow = (await atOnce.accounts(id)).find(({ team_role }) => team_role === 'owner');
    if (!ownerRow) throw new Error('has no owner');
    const { secret } = await atOnce.invite(ownerRow, { role: 'member', budget });
    const joined = [
      await atOnce.accept(secret, await people.one()),
      await atOnce.add(id, await people.one(), { budget }),
      (await atOnce.makeApp(id, `budgeted ${++apps}`, { budget })).app,
    ];
    for (const account of joined)
      expect(account).toMatchObject({ budget: 2_000, budget_per: 'day', status: 'active' });
    const [, , app] = joined;
    for (const one of [{ id: app?.id ?? '', email: app?.email ?? '' }, { id, email: 'team' }, owner])
      expect(await atOnce.add(id, one, {}).catch((error: unknown) => error)).toMatchObject({
        code: one === owner ? 'conflict' : 'not_found',
      });
  });

  test('nobody gets a token at the moment in which they leave, or begin only to look on', async () => {
    const team = await people.team();
    const accounts = new Accounts({ store: site.store, ledger: site.ledger, pepper: KEY, clock: site.clock });
    const [viewerId, memberId] = [(await teamOf(team.viewer)).ownId, (await teamOf(team.member)).ownId];
    await team.member.browser.must('POST', '/api/console/team/leave');
    for (const id of [viewerId, memberId]) {
      const refused: unknown = await accounts.replaceToken(id as AccountId).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: 'conflict' });
      expect((await row(id)).token_hash).toBeNull();
    }
  });

  test('who only looks on has no token, whoever leaves is out, and a removed member pays with own money again', async () => {
    const team = await people.team();
    expect((await team.viewer.browser.call('POST', '/api/console/token')).status).toBe(403);
    await team.member.browser.must('POST', '/api/console/token');
    await team.member.browser.must('POST', '/api/console/team/leave');
    const { token, team: none } = await team.member.browser.must<{ token: unknown; team: unknown }>(
      'GET',
      '/api/console/token',
    );
    expect([token, none]).toEqual([null, null]);
    expect((await team.member.browser.must<TeamAnswer>('GET', '/api/console/team')).team).toBeNull();
    await team.member.browser.must('POST', '/api/console/token');
    expect((await row(team.member.id)).token_hash).not.toBeNull();
  });
});
