import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import type { Answer } from './contract/routes.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '../cli/cli.ts';
import { storeCatalog, type CommandCatalog } from '../cli/command-catalog.ts';
import type { CliContext } from '../cli/command.ts';
import { SERVER_SETTINGS } from '../main/server-settings.ts';
import { announcements } from '../main/compose-outbox.ts';
import { PriceWatch } from '../outbox/watch-accounts.ts';
import { DAY_MS } from '../std/calendar.ts';
import { PRICE, testConsole, type Browser, type TestConsole } from './testing/harness.ts';
import { People } from './testing/people.ts';

type Models = Answer<'GET /api/console/models'>;

describe.each(['SQLite', 'Postgres'])('price groups in the console on %s', (store) => {
  let site: TestConsole;
  let admin: Browser;
  let customer: Browser;
  let customerId: string;
  let yaml: string;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    site = await testConsole({
      webhookRules: { lookup: () => Promise.resolve(['93.184.216.34']) },
      mail: { smtpUrl: 'smtp://127.0.0.1:1', from: { name: '', address: 'gate@example.com' } },
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
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
  const pricesOf = async (browser: Browser, query = '') => {
    const { models } = await browser.must<Models>('GET', `/api/console/models${query}`);
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

  test('the table of prices has what each group pays, and what it names itself', async () => {
    type Table = Answer<'GET /api/console/admin/prices'>;
    const { groups, items, editable } = await admin.must<Table>('GET', '/api/console/admin/prices');
    expect([groups, editable]).toEqual([['vip'], true]);
    const rowOf = (id: string) => items.find(({ model }) => model === id);
    const guide = rowOf('house-guide');
    expect(guide?.groupPrices).toEqual({ vip: { input: '0.05', output: '0.20' } });
    // The group names no price of its own, and there is no draft.
    expect([guide?.groups, guide?.published]).toEqual([undefined, undefined]);
    expect(rowOf('house-echo')?.groupPrices).toEqual({ vip: 'hidden' });
    // By size.
    expect(rowOf('house-paint')).not.toHaveProperty('groupPrices');
    const edit = {
      kind: 'group_price',
      group: 'vip',
      endpoint: 'svc_chat',
      model: 'house-guide',
      input: '0.07',
    };
    await admin.must('POST', '/api/console/admin/catalog/draft/edit', { edits: [edit] });
    const drafted = await admin.must<Table>('GET', '/api/console/admin/prices');
    await admin.must('POST', '/api/console/admin/catalog/draft/discard', {});
    expect((await admin.must<Table>('GET', '/api/console/admin/prices')).items).toEqual(items);
    expect(drafted.items.find(({ model }) => model === 'house-guide')).toMatchObject({
      groupPrices: { vip: { input: '0.07', output: '0.20' } },
      groups: { vip: { input: '0.07' } },
    });
  });

  test('a price below what a backend takes is told before it is published', async () => {
    const costly = yaml.replace(
      /(model: house-guide,[^\n]*?)( })/,
      '$1, cost: { house: { input: 0.06, output: 0.01 } }$2',
    );
    expect(costly).not.toBe(yaml);
    const { belowCost, belowCostTotal } = await admin.must<Answer<'POST /api/console/admin/catalog/propose'>>(
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
    expect(belowCostTotal).toBe(belowCost.length);
  });

  test('a group that wallets are in and a catalog lacks is told before it is published, on the command line only after a yes', async () => {
    await setGroup('vip');
    const without = yaml.replace(/\ngroups:[^]*$/, '\n');
    const { lostGroups } = await admin.must<Answer<'POST /api/console/admin/catalog/propose'>>(
      'POST',
      '/api/console/admin/catalog/propose',
      { yaml: without },
    );
    expect(lostGroups).toEqual([{ group: 'vip', wallets: 1 }]);
    const kept = await admin.must<Answer<'POST /api/console/admin/catalog/propose'>>(
      'POST',
      '/api/console/admin/catalog/propose',
      { yaml },
    );
    expect(kept.lostGroups).toEqual([]);

    const folder = mkdtempSync(join(tmpdir(), 'tollgate-groups-'));
    const path = join(folder, 'without.yaml');
    writeFileSync(path, without);
    const questions: string[] = [];
    const out: string[] = [];
    const context = {
      env: {},
      clock: site.clock,
      print: (line: string) => void out.push(line),
      warn: (line: string) => void out.push(line),
      fileSettings: SERVER_SETTINGS,
      checkTls: () => ({ ok: true, line: '' }),
      confirm: (question: string) => {
        questions.push(question);
        return Promise.resolve(false);
      },
      withServices: (work: (services: object) => Promise<number>) => work({ store: site.store }),
      withCatalog: (work: (catalog: CommandCatalog) => Promise<number>) =>
        work(storeCatalog(site.catalog, { store: site.store })),
    } as unknown as CliContext;
    const before = site.catalog.newest().version;
    const publish = async (...words: string[]) =>
      await runCli(['catalog', 'publish', path, ...words], context, (line) => void out.push(line));
    expect(await publish()).not.toBe(0);
    expect(await publish('--json')).not.toBe(0);
    const said = "The catalog has no price group 'vip', in which there is 1 wallet: list prices would apply.";
    expect(questions).toEqual([`${said} Publish it?`]);
    expect([out.join('\n').includes(said), site.catalog.newest().version]).toEqual([true, before]);
    out.length = 0;
    expect(await runCli(['catalog', 'check', path, '--wallets', '--json'], context, () => undefined)).toBe(0);
    expect(JSON.parse(out.join(''))).toMatchObject({ lost_groups: [{ group: 'vip', wallets: 1 }] });
    await setGroup(null);
    const none = await admin.must<Answer<'POST /api/console/admin/catalog/propose'>>(
      'POST',
      '/api/console/admin/catalog/propose',
      { yaml: without },
    );
    expect(none.lostGroups).toEqual([]);
    rmSync(folder, { recursive: true, force: true });
  });

  test('new prices at a date are announced at the price of whoever looks, told once, and cancelled in one click', async () => {
    await setGroup('vip');
    const { revision } = await admin.must<{ revision: number }>('GET', '/api/console/admin/catalog');
    const dearer = yaml.replace(
      'model: house-guide, display_name: House Guide, input: 0.10',
      'model: house-guide, display_name: House Guide, service_tiers: { flex: 0.5 }, input: 0.30',
    );
    expect(dearer).not.toBe(yaml);
    const publish = (from: number) =>
      admin.call('POST', '/api/console/admin/catalog', { yaml: dearer, note: 'new year', revision, from });
    const from = site.clock.now() + DAY_MS;
    expect(await publish(site.clock.now() - DAY_MS)).toMatchObject({ status: 400 });
    expect(await publish(from)).toMatchObject({ status: 200 });
    expect(await publish(from)).toMatchObject({ status: 409 });
    const nextOf = async (browser: Browser) => {
      const { models } = await browser.must<Models>('GET', '/api/console/models');
      const changed = models.filter(({ next }) => next !== null);
      expect(changed.map(({ model }) => model)).toEqual(changed.map(() => 'house-guide'));
      const next = changed[0]?.next;
      return next?.price?.kind === 'tokens' ? [next.from, next.price.inputUsd] : undefined;
    };
    expect(await nextOf(admin)).toEqual([from, '0.30']);
    expect(await nextOf(site.browser())).toEqual([from, '0.30']);
    expect(await nextOf(customer)).toEqual([from, '0.15']);

    const { messages, clock, store: database } = site;
    await messages.webhooks.add(customerId, { url: 'https://hooks.example/a', events: ['price.changes'] });
    const parts = { db: database.db, notices: messages.notices, clock };
    const nodes = [new PriceWatch(parts), new PriceWatch(parts)];
    const tell = () =>
      Promise.all(nodes.map(async (node) => await node.tell(await announcements(site.catalog, clock.now()))));
    await tell();
    await tell();
    nodes.push(new PriceWatch(parts));
    await tell();
    const told = async (kind: 'mail' | 'webhook' = 'webhook') => {
      const rows = await database.db
        .selectFrom('outbox')
        .selectAll()
        .where('topic', '=', 'price.changes')
        .where('kind', '=', kind)
        .orderBy('id')
        .execute();
      return rows.map(
        (row) => messages.outbox.read(row) as { data: { status: string; models: { prices: object[] }[] } },
      );
    };
    expect(await told()).toEqual([
      expect.objectContaining({
        type: 'price.changes',
        data: expect.objectContaining({ account: customerId, status: 'announced', more: 0 }),
      }),
    ]);
    expect(await told('mail')).toHaveLength(2);
    const [event] = await told();
    expect(event?.data.models[0]).toMatchObject({
      change: 'changed',
      prices: [
        { dimension: 'input', before_usd: '0.05', after_usd: '0.15' },
        { dimension: 'cached_input', before_usd: '0.05', after_usd: '0.15' },
      ],
      service_tiers: [{ tier: 'flex', before: null, after: 0.5 }],
    });

    type Plans = Answer<'GET /api/console/admin/catalog/plans'>;
    const plans = () => admin.must<Plans>('GET', '/api/console/admin/catalog/plans');
    const [waiting] = (await plans()).items;
    expect(waiting).toMatchObject({ from, state: 'waiting', note: 'new year' });
    expect(waiting?.changes.length).toBeGreaterThan(0);
    const cancel = `/api/console/admin/catalog/plans/${waiting?.id}/cancel`;
    expect((await customer.call('POST', cancel, {})).status).toBe(403);
    expect((await admin.call('POST', cancel, {})).status).toBe(200);
    expect((await admin.call('POST', cancel, {})).status).toBe(409);
    expect(await nextOf(customer)).toBeUndefined();
    site.advance(10);
    await tell();
    await tell();
    // A node that found its wallets before the others told them all that, and announces only now.
    const { mark } = await database.db
      .selectFrom('notice')
      .select('mark')
      .where('account_id', '=', customerId)
      .where('topic', '=', 'price.changes')
      .executeTakeFirstOrThrow();
    expect(mark).toEndWith(' cancelled');
    const late = { accountId: customerId, topic: 'price.changes', mark: mark.replace(' cancelled', '') };
    expect(await messages.notices.raise(database.db, { ...late, isOrdered: true })).toBe(false);
    expect((await told()).map(({ data }) => data.status)).toEqual(['announced', 'cancelled']);
    expect(await told('mail')).toHaveLength(4);
    // It is a draft again, and the log says who did what.
    const { draft } = await admin.must<Answer<'GET /api/console/admin/catalog/draft'>>(
      'GET',
      '/api/console/admin/catalog/draft',
    );
    expect(draft?.yaml).toContain('0.30');
    const { items } = await admin.must<{ items: { action: string; detail: Record<string, unknown> }[] }>(
      'GET',
      '/api/console/admin/audit',
    );
    expect(items.map(({ action }) => action)).toEqual(
      expect.arrayContaining([
        'catalog.save',
        'catalog.save.refused',
        'catalog.cancel-plan',
        'catalog.cancel-plan.refused',
      ]),
    );
    expect(items.some(({ action, detail }) => action === 'catalog.save' && detail['from'] === from)).toBe(
      true,
    );
  });

  // Last: the team that is left has the group.
  test('in a team, prices are those of the balance that is chosen, and the team’s where nothing is said', async () => {
    await setGroup(null);
    const { owner, id } = await new People(site).ownTeam();
    const path = `/api/console/admin/accounts/${id}/price-group`;
    expect((await admin.call('PUT', path, { group: 'vip' })).status).toBe(200);
    const list = await pricesOf(admin);
    const team = await pricesOf(owner.browser, '?wallet=team');
    expect(team.get('svc_chat/house-guide')).toBe('0.05');
    expect(await pricesOf(owner.browser)).toEqual(team);
    expect(await pricesOf(owner.browser, '?wallet=own')).toEqual(list);
    // Nobody has a team's prices without one.
    expect(await pricesOf(customer, '?wallet=team')).toEqual(list);
    expect(await pricesOf(site.browser(), '?wallet=team')).toEqual(list);
  });
});
