import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { STRIPE_KEY } from '../../test/payments/stripe-rules.ts';
import { StripeStandIn, WEBHOOK_SECRET } from '../../test/payments/stripe-stand-in.ts';
import { testPostgres } from '../../test/support/postgres.ts';
import { RedeemCodes } from '../ledger/codes.ts';
import { StripeProvider } from '../payments/stripe/stripe-provider.ts';
import { nanoUsd } from '../std/money.ts';
import type { RouteDeclaration } from './route.ts';
import { ROUTES } from './routes.ts';
import { pdfPages } from './testing/pdf-pages.ts';
import { KEY, PASSWORD, testConsole, type TestConsole } from './testing/harness.ts';
import { People, ROLES, type Person, type Role } from './testing/people.ts';

const DAY_MS = 86_400_000;
const SEEING = ['owner', 'admin', 'viewer'] as const;
const PAYING = ['owner'] as const;
const SPENDING = ['owner', 'admin', 'member'] as const;
/** Refused further on: the test has no such model. */
const NO_MODEL = { endpoint: 'none', model: 'none' };

/** Every route about money, and which roles of a team may use it. The table in the program is not asked. */
const MONEY_ROUTES: Readonly<Record<string, { readonly who: readonly Role[]; readonly body?: object }>> = {
  'GET /api/console/wallet': { who: SEEING },
  'GET /api/console/entries': { who: SEEING },
  'GET /api/console/list-values': { who: SEEING },
  'POST /api/console/redeem': { who: PAYING, body: { code: '0000-0000-0000-0000' } },
  'GET /api/console/payments': { who: SEEING },
  'GET /api/console/payments/history': { who: SEEING },
  'POST /api/console/payments/checkout': { who: PAYING, body: { amountUsd: '10', saveCard: false } },
  'POST /api/console/payments/card': { who: PAYING },
  'POST /api/console/payments/card/remove': { who: PAYING },
  'PUT /api/console/payments/automatic': {
    who: PAYING,
    body: { thresholdUsd: '1', amountUsd: '10', monthlyMaxUsd: '100' },
  },
  'POST /api/console/payments/automatic/stop': { who: PAYING },
  'POST /api/console/playground/chat': {
    who: SPENDING,
    body: { ...NO_MODEL, messages: [{ role: 'user', content: 'x' }] },
  },
  'POST /api/console/playground/quote': { who: SPENDING, body: NO_MODEL },
  'POST /api/console/playground/images': { who: SPENDING, body: { ...NO_MODEL, prompt: 'x' } },
  'POST /api/console/playground/image-jobs': { who: SPENDING, body: { ...NO_MODEL, prompt: 'x' } },
  'GET /api/console/image-jobs': { who: ROLES },
  'GET /api/console/images': { who: ROLES },
  'GET /api/console/image-facets': { who: ROLES },
  'POST /api/console/image-deletions': { who: ROLES, body: { ids: ['img_none'] } },
  'GET /api/console/tags': { who: ROLES },
  'PUT /api/console/tags': { who: PAYING, body: { names: ['project'] } },
  'GET /api/console/tags/usage': { who: ROLES },
  'GET /api/console/tags/usage.csv': { who: ROLES },
  'GET /api/console/statements': { who: SEEING },
  'GET /api/console/statements/{month}/days': { who: SEEING },
  'GET /api/console/statements/{month}/csv': { who: SEEING },
  'GET /api/console/statements/{month}/pdf': { who: SEEING },
};

describe.each(['sqlite', 'postgres'] as const)('on %s', (store) => {
  let site: TestConsole;
  let stripe: StripeStandIn;
  let people: People;

  beforeAll(async () => {
    const databaseUrl = store === 'postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    stripe = new StripeStandIn();
    const keys = { secretKey: STRIPE_KEY, webhookSecret: WEBHOOK_SECRET, address: stripe.url };
    const paymentProvider = new StripeProvider({ ...keys, now: () => site.clock.now() });
    site = await testConsole({ ...(databaseUrl ? { databaseUrl } : {}), paymentProvider });
    // Sessions end by the real time, so the months of these tests are over before it.
    advance(-100 * DAY_MS);
    const admin = await site.admin();
    await admin.must('PATCH', '/api/console/admin/settings', { topUpAmounts: ['10'] });
    people = new People(site);
  });
  afterEach(async () => expect((await site.ledger.verify()).breaches).toEqual([]));
  afterAll(async () => {
    await site.close();
    await stripe.stop();
  });

  function advance(ms: number): void {
    site.advance(ms);
    stripe.clock += Math.floor(ms / 1_000);
  }

  async function balanceOf(id: string): Promise<number> {
    const query = site.store.db.selectFrom('account').select('balance').where('id', '=', id);
    return (await query.executeTakeFirstOrThrow()).balance;
  }

  const monthNow = (): string => new Date(site.clock.now()).toISOString().slice(0, 7);
  const pathOf = (name: string): string =>
    `${name.split(' ')[1]?.replace('{month}', monthNow())}?wallet=team${name.includes('/tags/usage') ? '&name=project' : ''}`;

  test('each route about money lets exactly the right roles at the money of their own team', async () => {
    const declared = (ROUTES as readonly RouteDeclaration[]).filter(({ wallet }) => wallet !== undefined);
    expect(declared.map(({ name }) => name).toSorted()).toEqual(
      Object.keys(MONEY_ROUTES).toSorted() as never,
    );
    const team = await people.team();
    const other = await people.team();
    const strangers = { stranger: await people.one(), nobody: { browser: site.browser() } };
    for (const [name, { who, body }] of Object.entries(MONEY_ROUTES)) {
      const tried = async ({ browser }: Pick<Person, 'browser'>): Promise<number> =>
        (await browser.call(name.split(' ')[0] ?? '', pathOf(name), body)).status;
      for (const role of ROLES) {
        const status = await tried(team[role]);
        const isIn = status !== 403 && status !== 404 && status !== 401;
        const mayBe404 = name.includes('/csv') || name.includes('/pdf');
        expect([name, role, isIn || (mayBe404 && status === 404)]).toEqual([
          name,
          role,
          who.some((one) => one === role),
        ]);
        expect(status).toBeLessThan(500);
      }
      expect([name, await tried(strangers.stranger)]).toEqual([name, 404]);
      expect([name, await tried(strangers.nobody)]).toEqual([name, 401]);
    }
    expect(await balanceOf(other.id)).toBe(5_000_000_000);
  });

  test('an owner of another team sees and pays that team alone, whatever the address says', async () => {
    const [mine, theirs] = [await people.team(), await people.team()];
    await site.credit(theirs.id, 3);
    const read = async (more: string) =>
      await mine.owner.browser.call('GET', `/api/console/wallet?wallet=${more}`);
    expect((await read('team')).body).toMatchObject({ balanceUsd: '5.00' });
    expect((await read('own')).body).toMatchObject({ balanceUsd: '0.00' });
    expect((await read(theirs.id)).status).toBe(400);
    expect((await read(`team&accountId=${theirs.id}`)).status).toBe(400);
  });

  test('the playground takes the chosen balance: the own one, or the team’s with the account of its member', async () => {
    const team = await people.team();
    const { member } = team;
    await site.credit(member.id, 1);
    const account = (await people.teams.membership(member.id))?.id ?? '';
    const ask = async (wallet: string): Promise<string> => {
      const path = `/api/console/playground/chat?wallet=${wallet}`;
      const body = { endpoint: 'svc_chat', model: 'm', messages: [{ role: 'user', content: 'x' }] };
      const response = await member.browser.raw('POST', path, { body });
      await response.text();
      return response.headers.get('x-request-id') ?? '';
    };
    const before = await balanceOf(team.id);
    const paidByTeam = await ask('team');
    expect(await balanceOf(team.id)).toBeLessThan(before);
    expect(await balanceOf(member.id)).toBe(1_000_000_000);
    const paidAlone = await ask('own');
    expect(await balanceOf(member.id)).toBeLessThan(1_000_000_000);
    const payer = async (id: string) =>
      (await site.store.db.selectFrom('request').select('account_id').where('id', '=', id).executeTakeFirst())
        ?.account_id;
    expect([await payer(paidByTeam), await payer(paidAlone)]).toEqual([account, member.id]);
    // Both receipts are theirs; the team's owners see that of the team alone.
    for (const id of [paidByTeam, paidAlone]) await member.browser.must('GET', `/api/console/requests/${id}`);
    expect((await team.owner.browser.call('GET', `/api/console/requests/${paidByTeam}`)).status).toBe(404);
    expect((await team.owner.browser.call('GET', `/api/console/team/requests/${paidAlone}`)).status).toBe(
      404,
    );
  });

  test('a code that an owner redeems for the team is credited to the team, and never to the owner', async () => {
    const team = await people.team();
    const codes = new RedeemCodes({ store: site.store, ledger: site.ledger, key: KEY, clock: site.clock });
    const made = await codes.make({
      amount: nanoUsd(2_000_000_000),
      count: 1,
      batch: undefined,
      expiresAt: undefined,
      actor: 'test',
    });
    const body = { code: made.codes[0] };
    expect((await team.admin.browser.call('POST', '/api/console/redeem?wallet=team', body)).status).toBe(403);
    await team.owner.browser.must('POST', '/api/console/redeem?wallet=team', body);
    expect([await balanceOf(team.id), await balanceOf(team.owner.id)]).toEqual([7_000_000_000, 0]);
    const { items } = await team.viewer.browser.must<{ items: { cause: string }[] }>(
      'GET',
      '/api/console/entries?wallet=team',
    );
    expect(items).toHaveLength(2);
  });

  test('a card payment that an owner begins for the team is the team’s, and leads back to the team’s page', async () => {
    const team = await people.team();
    const { paymentId, url } = await team.owner.browser.must<{ paymentId: string; url: string }>(
      'POST',
      '/api/console/payments/checkout?wallet=team',
      { amountUsd: '10', saveCard: true },
    );
    const row = await site.store.db
      .selectFrom('payment')
      .select(['account_id', 'amount'])
      .where('id', '=', paymentId)
      .executeTakeFirstOrThrow();
    expect(row).toEqual({ account_id: team.id, amount: 10_000_000_000 });
    expect(url).toStartWith('http');
    expect(stripe.calls.at(-1)?.form).toMatchObject({
      success_url: expect.stringContaining(`/app/billing?wallet=team&payment=${paymentId}`) as string,
    });
    for (const [wallet, expected] of [
      ['team', 1],
      ['own', 0],
    ] as const) {
      const path = `/api/console/payments/history?wallet=${wallet}`;
      const { items } = await team.owner.browser.must<{ items: unknown[] }>('GET', path);
      expect([wallet, items.length]).toEqual([wallet, expected]);
    }
  });

  test('a team’s statement has a line for each account, which add up with the entries to its balance', async () => {
    const team = await people.team();
    const { app } = await people.teams.makeApp(team.id, 'nightly', {});
    const member = await people.teams.membership(team.member.id);
    await site.charge(app.id, { model: 'of-app', usage: { input: 1_001, cached: 0, output: 7 } });
    await site.charge(app.id, { model: 'of-app', usage: { input: 3, cached: 0 } });
    await site.charge(member?.id ?? '', { model: 'of-member', usage: { input: 13, cached: 0 } });
    await people.teams.end(app);
    const month = monthNow();
    const days = `/api/console/statements/${month}/days?wallet=team`;
    const [day] = await team.viewer.browser.must<{ requests: number }[]>('GET', days);
    expect(day?.requests).toBe(3);
    advance(40 * DAY_MS);
    const viewer = site.browser();
    await viewer.must('POST', '/api/auth/sign-in/email', { email: team.viewer.email, password: PASSWORD });
    const file = async (kind: string) =>
      await viewer.raw('GET', `/api/console/statements/${month}/${kind}?wallet=team`);
    const csv = await (await file('csv')).text();
    const rows = csv.trim().split('\r\n').map((line) => line.split(',')); // prettier-ignore
    const charges = rows.filter(([, , , kind]) => kind === 'charge').map(([, , , , text]) => text);
    expect(charges.toSorted()).toEqual(['nightly: 2 requests', `${team.member.email}: 1 request`]);
    const amounts = rows.map((row) => row.at(-1) ?? '').filter((text) => /^-?\d/.test(text));
    const nano = amounts.map((text) => Math.round(Number(text) * 1e9));
    expect(nano.slice(0, -1).reduce((sum, amount) => sum + amount, 0)).toBe(nano.at(-1) ?? NaN);
    expect(nano.at(-1)).toBe(await balanceOf(team.id));
    const pdf = pdfPages(new Uint8Array(await (await file('pdf')).arrayBuffer())).join('\n');
    expect(pdf).toContain('Requests by member and app');
    expect(pdf).toContain('nightly\n2\n0.00');
  });

  test('a team is closed by an owner while nothing runs: its tokens end, and what was paid goes to an owner', async () => {
    const team = await people.team();
    const { app } = await people.teams.makeApp(team.id, 'last one', {});
    const close = async ({ browser }: Pick<Person, 'browser'>): Promise<number> =>
      (await browser.call('POST', '/api/console/team/close')).status;
    for (const role of ['admin', 'viewer', 'member'] as const)
      expect([role, await close(team[role])]).toEqual([role, 403]);
    expect(await close(await people.one())).toBe(404);
    const tokenOf = async () =>
      (
        await site.store.db
          .selectFrom('account')
          .select('token_hash')
          .where('id', '=', app.id)
          .executeTakeFirstOrThrow()
      ).token_hash;
    const running = await site.begin(app.id);
    expect(await close(team.owner)).toBe(409);
    expect(await tokenOf()).not.toBeNull();
    await site.ledger.void(running, { attempts: [], durationMs: 1, outcome: 'client_left' });
    const { team: shown } = await team.owner.browser.must<{ team: { closing: unknown } }>(
      'GET',
      '/api/console/team',
    );
    expect(shown.closing).toEqual({
      returnedUsd: '5.00',
      returnedTo: team.owner.email,
      lostUsd: '0.00',
      blockedBy: null,
    });
    expect(await close(team.owner)).toBe(200);
    expect(await tokenOf()).toBeNull();
    expect([await balanceOf(team.id), await balanceOf(team.owner.id)]).toEqual([0, 5_000_000_000]);
    for (const role of ROLES)
      expect(await team[role].browser.must('GET', '/api/console/team')).toMatchObject({ team: null });
    expect((await team.owner.browser.call('GET', '/api/console/wallet?wallet=team')).status).toBe(404);
  });
});
