import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import { RequestTags } from '../activity/request-tags.ts';
import { chooseTags } from '../identity/accounts/account-limits.ts';
import { removeAccount } from '../identity/accounts/removal.ts';
import { dayOf } from '../std/calendar.ts';
import type { AccountId, RequestId } from '../std/ids.ts';
import { testConsole, type Browser, type TestConsole } from './testing/harness.ts';
import { People } from './testing/people.ts';

const DAY_MS = 86_400_000;
/** What a spreadsheet would run, and what ends a cell. */
const EVIL = '=cmd|\'/c calc\'!A1","x\r\n';

interface TagUsage {
  readonly items: readonly {
    readonly value: string;
    readonly requests: number;
    readonly chargedUsd: string;
  }[];
  readonly others: { readonly requests: number; readonly chargedUsd: string };
}

describe.each(['sqlite', 'postgres'] as const)('on %s', (store) => {
  let site: TestConsole;
  let tags: RequestTags;
  let people: People;

  beforeAll(async () => {
    const databaseUrl = store === 'postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    site = await testConsole(databaseUrl ? { databaseUrl } : {});
    await site.admin();
    people = new People(site);
    tags = new RequestTags(site.store);
  });
  afterEach(async () => expect((await site.ledger.verify()).breaches).toEqual([]));
  afterAll(() => site.close());

  async function newTeam() {
    const own = await people.ownTeam();
    return { ...own, app: (await people.teams.makeApp(own.id, 'nightly', {})).app };
  }

  /** As the relay does it: admitted, its tags kept, charged. */
  async function ask(accountId: string, walletId: string, metadata: object): Promise<string> {
    const requestId = await site.charge(accountId);
    await tags.refresh();
    await tags.keep(
      { requestId, tags: { metadata } },
      { accountId: accountId as AccountId, walletId: walletId as AccountId },
    );
    return requestId;
  }

  const choose = (browser: Browser, names: readonly string[]) =>
    browser.must('PUT', '/api/console/tags?wallet=team', { names });
  const usage = (browser: Browser, name: string) =>
    browser.must<TagUsage>('GET', `/api/console/tags/usage?wallet=team&name=${name}`);
  const nano = (text: string): number => Math.round(Number(text) * 1e9);

  test('what was used under each value adds up to what was charged, and is on receipts and in files that no spreadsheet runs', async () => {
    const { id, owner, app } = await newTeam();
    await choose(owner.browser, ['project', 'customer']);
    const one = await ask(app.id, id, { project: EVIL, customer: 'Ada', other: 'not asked for' });
    for (let more = 0; more < 2; more++) await ask(app.id, id, { project: 'bridge' });
    await ask(app.id, id, { customer: 'Ada' });
    // As whoever adopts it does, also where it was written before.
    await tags.keepAdopted(
      { requestId: one as RequestId, tags: { metadata: { project: 'late' } } },
      app.id as AccountId,
    );
    const { items, others } = await usage(owner.browser, 'project');
    expect(items.map(({ value, requests }) => [value, requests])).toEqual([
      ['bridge', 2],
      [EVIL, 1],
    ]);
    expect(others.requests).toBe(1);
    const total = items.reduce((sum, { chargedUsd }) => sum + nano(chargedUsd), nano(others.chargedUsd));
    const { charged } = await site.store.db
      .selectFrom('receipt')
      .select((row) => row.fn.sum<number>('charged').as('charged'))
      .where('account_id', '=', app.id)
      .executeTakeFirstOrThrow();
    expect(total).toBe(charged);
    const file = await owner.browser.raw('GET', '/api/console/tags/usage.csv?wallet=team&name=project');
    const csv = await file.text();
    expect(csv).toStartWith('day,project,endpoint,model,requests,');
    expect(csv).toContain(`"'=cmd|`);
    expect(csv).toContain(',bridge,');
    const receipt = await owner.browser.must('GET', `/api/console/team/requests/${one}`);
    expect(receipt).toMatchObject({ tags: { project: EVIL, customer: 'Ada' } });
    const whole = await (await owner.browser.raw('GET', '/api/console/team/usage.csv')).text();
    expect(whole.split('\r\n')[0]).toStartWith('day,account,kind,name,endpoint,model,requests,');
    expect(whole).toContain(`,${app.id},app,nightly,`);
  });

  test('a member sees the own requests alone, and another team nothing, whatever they ask for', async () => {
    const [mine, theirs] = [await newTeam(), await newTeam()];
    const joined = await people.one();
    const member = await people.teams.add(mine.id, joined, {});
    for (const team of [mine, theirs]) await choose(team.owner.browser, ['project']);
    await ask(mine.app.id, mine.id, { project: 'secret' });
    await ask(member.id, mine.id, { project: 'own' });
    await ask(theirs.app.id, theirs.id, { project: 'theirs' });
    const valuesFor = async (browser: Browser) =>
      (await usage(browser, 'project')).items.map(({ value }) => value).toSorted();
    expect(await valuesFor(mine.owner.browser)).toEqual(['own', 'secret']);
    expect(await valuesFor(joined.browser)).toEqual(['own']);
    expect(await valuesFor(theirs.owner.browser)).toEqual(['theirs']);
    for (const path of ['tags/usage.csv?wallet=team&name=project', 'team/usage.csv']) {
      const text = await (await joined.browser.raw('GET', `/api/console/${path}`)).text();
      expect([path, text.includes('own') || text.includes(member.id)]).toEqual([path, true]);
      expect([path, text.includes('secret') || text.includes(mine.app.id)]).toEqual([path, false]);
    }
    expect((await joined.browser.call('PUT', '/api/console/tags?wallet=team', { names: [] })).status).toBe(
      403,
    );
    for (const names of [
      ['a b'],
      ['a', 'a'],
      Array.from({ length: 17 }, (_, at) => `n${at}`),
      ['x'.repeat(65)],
    ])
      expect((await mine.owner.browser.call('PUT', '/api/console/tags', { names })).status).toBe(400);
    const { items } = await mine.owner.browser.must<{ items: { action: string }[] }>(
      'GET',
      '/api/console/team/log',
    );
    expect(items[0]?.action).toBe('team.tags');
  });

  test('tags leave with their receipts, and with the account that they belong to', async () => {
    const owner = await people.one();
    await owner.browser.must('PUT', '/api/console/tags', { names: ['project'] });
    await site.credit(owner.id, 5);
    const rows = async () =>
      (await site.store.db.selectFrom('request_tag').selectAll().where('wallet_id', '=', owner.id).execute())
        .length;
    const old = await ask(owner.id, owner.id, { project: 'old' });
    const day = dayOf(site.clock.now());
    expect(await (await owner.browser.raw('GET', '/api/console/requests.csv')).text()).toContain(
      ',tag_project\r\n',
    );
    expect(await (await owner.browser.raw('GET', '/api/console/export')).text()).toContain(
      '"tags":{"project":"old"}',
    );
    site.advance(DAY_MS);
    await ask(owner.id, owner.id, { project: 'new' });
    expect(await rows()).toBe(2);
    expect((await site.ledger.archive({ accountId: owner.id, day })).kind).toBe('archived');
    expect(await rows()).toBe(1);
    const left = site.store.db.selectFrom('request_tag').select('value').where('request_id', '=', old);
    expect(await left.executeTakeFirst()).toBeUndefined();
    const images = { removeOfAccount: () => Promise.resolve() };
    const { store, ledger, clock } = site;
    await removeAccount(
      { store, ledger, clock, images },
      { accountId: owner.id, reason: 'asked', actor: 'test' },
    );
    expect(await rows()).toBe(0);
    await tags.refresh();
    const kept = tags.keep(
      {
        requestId: await site.begin(owner.id).catch(() => 'req_x' as never),
        tags: { metadata: { project: 'late' } },
      },
      { accountId: owner.id },
    );
    expect(kept).toBeUndefined();
  });

  test('a choice is known to every node, whatever the clock of the one where it was made', async () => {
    const [first, second] = [await newTeam(), await newTeam()];
    const now = site.clock.now();
    await chooseTags(site.store, first.id, ['project'], now + 86_400_000);
    await tags.refresh();
    await chooseTags(site.store, second.id, ['project'], now - 86_400_000);
    await tags.refresh();
    const kept = (walletId: string) =>
      tags.keep(
        { requestId: `req_of_${walletId}` as RequestId, tags: { metadata: { project: 'x' } } },
        { accountId: walletId as AccountId },
      );
    for (const { id } of [first, second]) expect(kept(id)).toBeDefined();
    await Promise.all([first, second].map(({ id }) => kept(id)));
    await chooseTags(site.store, second.id, [], now - 86_400_000);
    await tags.refresh();
    expect(kept(second.id)).toBeUndefined();
  });

  test('a thousand requests of sixteen long tags at once are all kept', async () => {
    const { id, owner, app } = await newTeam();
    const names = Array.from({ length: 16 }, (_, at) => `name${at}`);
    await choose(owner.browser, names);
    await tags.refresh();
    const metadata = Object.fromEntries(names.map((name) => [name, `${name} ${'漢'.repeat(500)}`]));
    const wallet = { accountId: app.id as AccountId, walletId: id };
    await Promise.all(
      Array.from({ length: 1_000 }, (_, at) =>
        tags.keep({ requestId: `req_many${at}` as never, tags: { metadata } }, wallet),
      ),
    );
    const { count } = await site.store.db
      .selectFrom('request_tag')
      .select((row) => row.fn.countAll<number>().as('count'))
      .where('wallet_id', '=', id)
      .executeTakeFirstOrThrow();
    expect(count).toBe(16_000);
  });
});
