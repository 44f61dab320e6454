import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { chooseTags } from '../../src/identity/accounts/account-limits.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { nanoUsd, parseUsd } from '../../src/std/money.ts';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { completion, ScriptedBackend, streamed, usage } from '../support/scripted-backend.ts';
import { ask, expectTrueSums, get, NOT_FOUND, refusal, STORES, type Asked } from './stored-responses.ts';

/** Stored responses in teams: paid as all requests of a team are, and nobody's but of the account that made them. */

const SAID = { user: 'ann', metadata: { project: 'bridge', other: 'not asked for' } };
const TAGS = { user: 'ann', project: 'bridge' };
/** 1,000 tokens of input at $1 for a million, 500 of output at $2, and half of that in the group. */
const PRICE = 1_000_000;
const BUDGET = '1';

describe.each(Object.entries(STORES))('on %s', (_name, open) => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;
  let team: AccountId;
  /** All in one team but `elsewhere` and `alone`. */
  let member: TestAccount;
  let others: Readonly<Record<'owner' | 'colleague' | 'app' | 'elsewhere' | 'alone', TestAccount>>;

  beforeAll(async () => {
    const groups = 'groups: { vip: { factor: 0.5 } }';
    gateway = await Gateway.start({
      yaml: catalogFor([backend.baseUrl], { extra: groups }),
      ...(await open()),
    });
    backend.script(({ body }) =>
      body['stream'] === true
        ? streamed(['Good ', 'day.'], { prompt: 1_000, completion: 500 })
        : completion('Good day.', usage(1_000, 500)),
    );
    const { accounts, teams } = gateway.tollgate.services;
    const owner = await gateway.account('1');
    const made = await teams.create('Bridges', owner, { balance: usd('100'), actor: 'test' });
    team = made.id as AccountId;
    await accounts.setPriceGroup(team, 'vip');
    const other = await teams.create('Tunnels', await gateway.account('1'), {
      balance: usd('100'),
      actor: 'test',
    });
    const ownAccount = await teams.membership(owner.id);
    others = {
      owner: await withToken(ownAccount?.id ?? ''),
      colleague: await joined(),
      app: await app(team),
      elsewhere: await app(other.id),
      alone: await gateway.account('100'),
    };
    member = await joined();
    await chooseTags(gateway.tollgate.services.store, team, ['user', 'project'], Date.now());
    // A server hears of it a moment later.
    await eventually('the tags are kept', async () => {
      const { id } = await ask(gateway, member, { ...SAID, store: false });
      return (await receiptOf(member, id))['tags'] !== undefined;
    });
  });
  afterEach(async () => {
    await expectTrueSums(gateway);
    expect((await gateway.verify()).breaches).toEqual([]);
  });
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
  });

  const usd = (text: string) => parseUsd(text) ?? nanoUsd(0);

  async function withToken(id: string): Promise<TestAccount> {
    const token = await gateway.tollgate.services.accounts.replaceToken(id as AccountId);
    return { id: id as AccountId, email: '', token };
  }

  async function joined(): Promise<TestAccount> {
    const { teams } = gateway.tollgate.services;
    const person = await gateway.account('1');
    const { id } = await teams.add(team, person, { budget: { amount: usd(BUDGET), per: 'month' } });
    return await withToken(id);
  }

  async function app(teamId: string): Promise<TestAccount> {
    const { app: made, token } = await gateway.tollgate.services.teams.makeApp(teamId, 'nightly', {});
    return { id: made.id as AccountId, email: '', token };
  }

  async function receiptOf({ token }: TestAccount, response: string): Promise<Record<string, unknown>> {
    const id = response.replace('resp_', 'req_');
    await eventually('the receipt', async () => (await gateway.receipt(id)).state === 'posted');
    return (await get(gateway, { token } as TestAccount, `/api/public/v1/requests/${id}`)).body;
  }

  async function budgetUsed(): Promise<number> {
    const { body } = await get(gateway, member, '/api/public/v1/account');
    return (body['limits'] as { budget: { used_usd: number } }).budget.used_usd;
  }

  async function conversation(account: TestAccount): Promise<string> {
    const items = [{ role: 'user', content: 'Our offer is 7.' }];
    const response = await gateway.post('/v1/conversations', account.token, { items });
    return ((await response.json()) as { id: string }).id;
  }

  async function inBackground(account: TestAccount, more: Asked = {}): Promise<string> {
    const { id, status } = await ask(gateway, account, { background: true, ...more });
    expect(status).toBe('queued');
    await eventually('it is made', async () => {
      const { body } = await get(gateway, account, `/v1/responses/${id}`);
      return body['status'] === 'completed';
    });
    return id;
  }

  test('whole, streamed, continued, in a conversation and in the background: each has its tags, the price of its group and takes from its budget', async () => {
    const wallet = async () => await gateway.tollgate.services.accounts.get(team);
    const { balance: before } = await wallet();
    const first = await ask(gateway, member, SAID);
    const made = [
      first.id,
      (await ask(gateway, member, { ...SAID, stream: true })).id,
      (await ask(gateway, member, { ...SAID, previous_response_id: first.id })).id,
      (await ask(gateway, member, { ...SAID, conversation: await conversation(member) })).id,
      await inBackground(member, SAID),
      await inBackground(member, { ...SAID, conversation: await conversation(member) }),
    ];
    for (const id of made) {
      expect(await receiptOf(member, id)).toMatchObject({ tags: TAGS, price_group: 'vip' });
      const row = await gateway.receipt(id.replace('resp_', 'req_'));
      expect(row).toMatchObject({ account_id: member.id, charged: PRICE, state: 'posted' });
    }
    const charged = (await gateway.requests(member)).reduce((sum, row) => sum + row.charged, 0);
    expect(await budgetUsed()).toBeCloseTo(charged / 1e9, 9);
    expect((await wallet()).balance).toBe(before - made.length * PRICE);
    await gateway.tollgate.services.ledger.ledger.setBudget({
      accountId: member.id,
      budget: { amount: nanoUsd(charged), per: 'month' },
    });
    const calls = backend.calls.length;
    for (const more of [{ previous_response_id: first.id }, { background: true }, { stream: true }])
      expect(await refusal(gateway, member, more)).toMatchObject({ status: 402, code: 'payment_required' });
    expect(backend.calls.length).toBe(calls);
  });

  test('nobody else of the team, of another one or without one can read, continue, change or end what a member has stored', async () => {
    const author = await joined();
    const waiting = Promise.withResolvers<void>();
    const whole = await ask(gateway, author, { input: 'The offer is 7 millions.' });
    const made = await inBackground(author);
    const talk = await conversation(author);
    const { body: listed } = await get(gateway, author, `/v1/conversations/${talk}/items`);
    const [item = ''] = (listed['data'] as { id: string }[]).map(({ id }) => id);
    const [message = ''] = whole.output.map(({ id }) => String(id));
    backend.script(async () => {
      await waiting.promise;
      return streamed(['Later.'], { prompt: 1, completion: 1 });
    });
    const running = (await ask(gateway, author, { background: true })).id;
    const calls = backend.calls.length;
    const paths = [
      ...[whole.id, made, running].flatMap((id) => [
        ['GET', `/v1/responses/${id}`],
        ['GET', `/v1/responses/${id}/input_items`],
        ['POST', `/v1/responses/${id}/cancel`],
        ['DELETE', `/v1/responses/${id}`],
      ]),
      ['GET', `/v1/conversations/${talk}`],
      ['GET', `/v1/conversations/${talk}/items`],
      ['GET', `/v1/conversations/${talk}/items/${item}`],
      ['DELETE', `/v1/conversations/${talk}/items/${item}`],
      ['DELETE', `/v1/conversations/${talk}`],
    ] as const;
    for (const [name, by] of Object.entries(others)) {
      for (const [method, path] of paths)
        expect([name, method, path, (await get(gateway, by, path, method)).status]).toEqual([
          name,
          method,
          path,
          404,
        ]);
      const added = await gateway.post(`/v1/conversations/${talk}/items`, by.token, {
        items: [{ role: 'user', content: 'Offer 1 instead.' }],
      });
      expect([name, added.status]).toEqual([name, 404]);
      const taken: Asked[] = [
        { previous_response_id: whole.id },
        { previous_response_id: made },
        { input: [{ type: 'item_reference', id: message }] },
        { input: [{ type: 'item_reference', id: item }] },
        { conversation: talk },
        { conversation: { id: talk }, background: true },
        { previous_response_id: whole.id, background: true },
      ];
      for (const body of taken)
        expect([name, body, await refusal(gateway, by, body)]).toEqual([
          name,
          body,
          { ...NOT_FOUND, param: expect.any(String) as string },
        ]);
      const begun = await gateway.post('/v1/conversations', by.token, {
        items: [{ type: 'item_reference', id: message }],
      });
      expect([name, begun.status]).toEqual([name, 400]);
    }
    // The one that is running may have come to its backend in the meantime.
    expect(backend.calls.length).toBeLessThanOrEqual(calls + 1);
    waiting.resolve();
    await eventually('the one that ran is made', async () => {
      const { body } = await get(gateway, author, `/v1/responses/${running}`);
      return body['status'] === 'completed';
    });
    backend.script(() => completion('Good day.', usage(1_000, 500)));
    await ask(gateway, author, { previous_response_id: whole.id });
    await ask(gateway, author, { conversation: talk });
    expect(backend.calls.at(-1)?.body['messages']).toEqual([
      { role: 'user', content: 'Our offer is 7.' },
      { role: 'user', content: 'Hi' },
    ]);
  });

  test('whoever leaves a team cannot read with their own token what they stored in it, and their team token ends', async () => {
    const { teams } = gateway.tollgate.services;
    const person = await gateway.account('1');
    const inTeam = await teams.add(team, person, {});
    const author = await withToken(inTeam.id);
    const { id } = await ask(gateway, author, { input: 'Of the team.' });
    await teams.end(inTeam);
    expect((await get(gateway, author, `/v1/responses/${id}`)).status).toBe(401);
    const own = await withToken(person.id);
    expect((await get(gateway, own, `/v1/responses/${id}`)).status).toBe(404);
    expect(await refusal(gateway, own, { previous_response_id: id })).toMatchObject(NOT_FOUND);
  });
});
