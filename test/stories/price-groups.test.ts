import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import * as fc from 'fast-check';
import type { StoredCatalog } from '../../src/catalog/stored.ts';
import { storeNow } from '../../src/main/database-clock.ts';
import { openStored } from '../../src/main/services.ts';
import { systemClock } from '../../src/std/clock.ts';
import type { AccountId, RequestId } from '../../src/std/ids.ts';
import { nanoUsd } from '../../src/std/money.ts';
import type { TestAccount } from '../support/gateway.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/**
 * What wallets in price groups see and pay while prices change at dates, on any node, whatever its clock says. The prices that
 * are expected are computed here, from what the catalog below says, by the moment at which the books say that a request was
 * admitted, and by nothing of the program.
 */

const PATIENCE_MS = 180_000;
/** Each edition has other prices. */
const catalog = (url: string, edition: number): string => `
upstreams: { b: { kind: openai, base_url: "${url}" } }
lists:
  list:
    - { model: plain, input: ${1 + edition}.000000001, output: ${7 + edition} }
    - { model: rich, input: 3, output: 0.33333333${edition}, request: 0.000001 }
    - { model: secret, input: 5, output: 5 }
endpoints: { c: { name: C, type: chat_completion, lists: [list], upstreams: [b], selectable: [b] } }
aliases: { best: c/secret }
limits: { chat_per_minute: 1000000, images_per_minute: 60, concurrent: 1000 }
groups:
  vip: { factor: 0.333333, hide: ["c/s*"] }
  partner: { factor: 2, prices: { c/plain: { output: 1.5 } } }
`;

type Group = 'vip' | 'partner' | undefined;
type Model = 'plain' | 'rich' | 'secret';
interface Price {
  readonly input: bigint;
  readonly output: bigint;
  readonly request: bigint;
}

const EDITIONS = 4;

/** In nano-dollars: of a million tokens, and of a request. */
function listPrices(edition: number): Record<Model, Price> {
  const more = BigInt(edition);
  return {
    plain: {
      input: 1_000_000_001n + more * 1_000_000_000n,
      output: (7n + more) * 1_000_000_000n,
      request: 0n,
    },
    rich: { input: 3_000_000_000n, output: 333_333_330n + more, request: 1_000n },
    secret: { input: 5_000_000_000n, output: 5_000_000_000n, request: 0n },
  };
}

/** Which prices are in force, and for whom. */
interface Moment {
  readonly edition: number;
  readonly group: Group;
}

function roundedUp(amount: bigint, by: bigint): bigint {
  return amount / by + (amount % by > 0n ? 1n : 0n);
}

/** `undefined`: it is hidden. */
function expectedPrice({ edition, group }: Moment, model: Model): Price | undefined {
  const list = listPrices(edition)[model];
  if (group === undefined) return list;
  if (group === 'vip') {
    if (model === 'secret') return undefined;
    const third = (amount: bigint): bigint => roundedUp(amount * 333_333n, 1_000_000n);
    return { input: third(list.input), output: third(list.output), request: third(list.request) };
  }
  const twice = { input: list.input * 2n, output: list.output * 2n, request: list.request * 2n };
  return model === 'plain' ? { ...twice, output: 1_500_000_000n } : twice;
}

function expectedCharge({ input, output, request }: Price, tokens: Tokens): number {
  const exact = BigInt(tokens.prompt) * input + BigInt(tokens.completion) * output + request * 1_000_000n;
  return Number(roundedUp(exact, 1_000_000n));
}

function nano(usd: string): bigint {
  const [whole = '0', fraction = ''] = usd.split('.');
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
}

interface Tokens {
  readonly prompt: number;
  readonly completion: number;
}

interface Wallet {
  readonly id: AccountId;
  readonly callers: readonly string[];
  group: Group;
}

const step = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('group' as const),
      wallet: fc.nat(2),
      group: fc.constantFrom<Group>('vip', 'partner', undefined),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('plan' as const),
      wallet: fc.nat(2),
      model: fc.constantFrom<Model>('plain', 'rich'),
      further: fc.integer({ min: 1, max: EDITIONS - 1 }),
      leadMs: fc.integer({ min: 200, max: 300 }),
      isCancelled: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom('ask' as const, 'ask' as const, 'quote' as const, 'list' as const),
      wallet: fc.nat(2),
      caller: fc.nat(1),
      node: fc.nat(1),
      model: fc.constantFrom<Model>('plain', 'rich', 'secret'),
      prompt: fc.integer({ min: 1, max: 40 }),
      completion: fc.integer({ min: 1, max: 50 }),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

class World {
  readonly backend = new ScriptedBackend();
  readonly nodes: NodeProcess[] = [];
  readonly wallets: Wallet[] = [];
  operator!: Operator;
  catalog!: StoredCatalog;
  /** What is in force from which moment on, by the store's clock. */
  readonly editions = [{ from: 0, edition: 0 }];

  async start(shifts: readonly number[], databaseUrl: string | undefined): Promise<void> {
    for (const shift of shifts)
      this.nodes.push(
        await NodeProcess.start({
          ...(databaseUrl === undefined ? {} : { databaseUrl }),
          env: { SHIFTED_CLOCK_MS: String(shift) },
          bunFlags: ['--preload', join(import.meta.dir, '../support/shifted-clock.ts')],
        }),
      );
    this.operator = await Operator.open(this.nodes[0]?.env ?? {});
    this.catalog = await openStored(this.operator.services, { leadMs: 100 });
    await this.catalog.save(catalog(this.backend.baseUrl, 0), 'test', '', 0);
    await this.reload();
    const [one, other, owner] = [
      await this.operator.account('1000'),
      await this.operator.account('1000'),
      await this.operator.account('1'),
    ];
    const { teams } = this.operator.services;
    const team = await teams.create('acme', owner, { balance: nanoUsd(1_000_000_000_000), actor: 'test' });
    const apps = [await teams.makeApp(team.id, 'a', {}), await teams.makeApp(team.id, 'b', {})];
    const own = ({ id, token }: TestAccount): Wallet => ({ id, callers: [token, token], group: undefined });
    const ofTeam = { id: team.id as AccountId, callers: apps.map(({ token }) => token), group: undefined };
    this.wallets.push(own(one), own(other), ofTeam);
  }

  async stop(): Promise<void> {
    expect((await this.operator.verify()).breaches).toEqual([]);
    this.catalog.close();
    await this.operator.close();
    for (const node of this.nodes) await node.stop();
    await this.backend.stop();
  }

  /** So that every node knows at once what it would know within two seconds. */
  async reload(): Promise<void> {
    await Promise.all(
      this.nodes.map(async (node) => {
        const count = () => node.log.split('catalog_reloaded').length;
        const before = count();
        node.signal('SIGHUP');
        await eventually('the node has read the catalog again', () => count() > before);
      }),
    );
  }

  now(): Promise<number> {
    return storeNow(this.operator.services.store, systemClock);
  }

  editionAt(moment: number): number {
    return this.editions.findLast(({ from }) => from <= moment)?.edition ?? 0;
  }

  /** When a request was admitted. */
  async momentOf(answer: Response): Promise<number> {
    const { created_at: at } = await this.operator.services.store.db
      .selectFrom('request')
      .select('created_at')
      .where('id', '=', (answer.headers.get('x-request-id') ?? '') as RequestId)
      .executeTakeFirstOrThrow();
    return at;
  }

  /** What was asked between two moments must be right at one of them. */
  async shown<Answer>(ask: () => Promise<Answer>, group: Group, judge: (answer: Answer, at: Moment) => void) {
    const before = await this.now();
    const answer = await ask();
    const editions = new Set([before, await this.now()].map((moment) => this.editionAt(moment)));
    const wrong = [...editions].flatMap((edition) => {
      try {
        judge(answer, { edition, group });
        return [];
      } catch (error) {
        return [error];
      }
    });
    if (wrong.length === editions.size) throw wrong[0];
  }

  async setGroup(wallet: Wallet, group: Group): Promise<void> {
    await this.operator.services.accounts.setPriceGroup(wallet.id, group ?? null);
    wallet.group = group;
  }

  url(node: number): string {
    return this.nodes[node % this.nodes.length]?.url ?? '';
  }

  send(node: number, token: string, path: string, body?: object): Promise<Response> {
    return fetch(`${this.url(node)}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  async receipt(node: number, token: string, answer: Response): Promise<Receipt> {
    const path = `/api/public/v1/requests/${answer.headers.get('x-request-id')}`;
    return (await (await this.send(node, token, path)).json()) as Receipt;
  }
}

interface Receipt {
  readonly charged_usd: string;
  readonly price_group?: string;
  readonly lines: readonly { readonly item: string; readonly unit_price_usd: string }[];
}

const ASKED = {
  messages: [{ role: 'user', content: 'a question that is long enough to be held' }],
  max_tokens: 50,
};

async function take(world: World, one: Step): Promise<void> {
  const wallet = world.wallets[one.wallet]!;
  switch (one.kind) {
    case 'group':
      return await world.setGroup(wallet, one.group);
    case 'plan':
      return await changePrices(world, one);
    case 'list':
      return await checkLists(world, one.node, wallet, wallet.callers[one.caller]!);
    case 'quote':
      return await checkQuote(world, wallet, one);
    case 'ask':
      return await checkRequest(world, wallet, one);
  }
}

type Asked = Extract<Step, { kind: 'ask' | 'quote' | 'list' }>;

/** Around the moment at which prices change, both nodes are asked all the time. */
async function changePrices(world: World, plan: Extract<Step, { kind: 'plan' }>): Promise<void> {
  const { catalog: planned } = world;
  await planned.refresh();
  const edition = ((world.editions.at(-1)?.edition ?? 0) + plan.further) % EDITIONS;
  const text = catalog(world.backend.baseUrl, edition);
  const from = (await world.now()) + plan.leadMs;
  await planned.planFor(from, { text, actor: 'test', note: '', version: planned.newest().version });
  await world.reload();
  const isCancelled = plan.isCancelled && (await planned.cancelPlan(planned.plan()?.id ?? 0, 'test'));
  if (!isCancelled) world.editions.push({ from, edition });
  const wallet = world.wallets[plan.wallet]!;
  world.backend.script(() => completion('ok', usage(7, 11)));
  const asked = { kind: 'ask', wallet: plan.wallet, model: plan.model, prompt: 7, completion: 11 } as const;
  while ((await world.now()) < from + 20)
    await Promise.all(
      [0, 1].flatMap((at) => {
        const one: Asked = { ...asked, caller: at % 2, node: at };
        return [
          checkAnswer(world, wallet, one),
          checkQuote(world, wallet, { ...one, kind: 'quote' }),
          checkBound(world, wallet, one),
        ];
      }),
    );
  await checkLists(world, 0, wallet, wallet.callers[0]!);
}

function checkRequest(world: World, wallet: Wallet, one: Asked): Promise<void> {
  world.backend.script(() => completion('ok', usage(one.prompt, one.completion)));
  return checkAnswer(world, wallet, one);
}

async function checkAnswer(world: World, { group, callers }: Wallet, one: Asked): Promise<void> {
  const token = callers[one.caller]!;
  // Who chooses a backend pays the same.
  const choice = one.caller === 1 ? { provider: { order: ['b'] } } : {};
  const body = { ...ASKED, ...choice, model: `c/${one.model}` };
  const answer = await world.send(one.node, token, '/v1/chat/completions', body);
  if (!expectedPrice({ edition: 0, group }, one.model)) return await isHidden(answer);
  expect(answer.status).toBe(200);
  const price = expectedPrice({ edition: world.editionAt(await world.momentOf(answer)), group }, one.model)!;
  const receipt = await world.receipt(one.node + 1, token, answer);
  expect(Number(nano(receipt.charged_usd))).toBe(expectedCharge(price, one));
  expect(receipt.price_group).toBe(group);
  expect(receipt.lines.map((line) => nano(line.unit_price_usd))).toEqual([
    price.input,
    price.output,
    ...(price.request > 0n ? [price.request] : []),
  ]);
}

async function isHidden(answer: Response): Promise<void> {
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { code: 'unsupported_model' } });
}

interface QuoteAnswer {
  readonly lines: readonly {
    readonly dimension: string;
    readonly quantity: number;
    readonly price: string;
  }[];
  readonly max_cost_usd: string;
}

async function checkQuote(world: World, { group, callers }: Wallet, one: Asked): Promise<void> {
  const body = { ...ASKED, endpoint: 'c', model: one.model };
  const ask = () => world.send(one.node, callers[one.caller]!, '/api/public/v1/quotes', body);
  if (!expectedPrice({ edition: 0, group }, one.model)) return await isHidden(await ask());
  const read = async () => (await (await ask()).json()) as QuoteAnswer;
  await world.shown(read, group, ({ lines, max_cost_usd: most }, at) => {
    const price = expectedPrice(at, one.model)!;
    const priced = Object.fromEntries(lines.map((line) => [line.dimension, nano(line.price)]));
    expect(priced).toEqual({
      input: price.input,
      output: price.output,
      ...(price.request > 0n && { fixed: price.request }),
    });
    const [prompt = 0, asked = 0] = ['input', 'output'].map(
      (name) => lines.find(({ dimension }) => dimension === name)?.quantity,
    );
    expect(Number(nano(most))).toBeWithin(
      expectedCharge(price, { prompt, completion: asked }),
      expectedCharge(price, { prompt, completion: asked }) + 2,
    );
  });
}

/** What was quoted is a bound, also where the price has become another one since, on whichever node. */
async function checkBound(world: World, { callers }: Wallet, one: Asked): Promise<void> {
  const token = callers[one.caller]!;
  const quote = { ...ASKED, endpoint: 'c', model: one.model };
  const quoted = await world.send(one.node, token, '/api/public/v1/quotes', quote);
  const { max_cost_usd: most } = (await quoted.json()) as QuoteAnswer;
  const body = { ...ASKED, model: `c/${one.model}`, max_cost_usd: most };
  const answer = await world.send(one.node + 1, token, '/v1/chat/completions', body);
  if (answer.status !== 200)
    return expect(await answer.json()).toMatchObject({ error: { reason: 'max_cost_too_low' } });
  const { charged_usd: charged } = await world.receipt(one.node, token, answer);
  expect(Number(nano(charged))).toBeLessThanOrEqual(Number(nano(most)));
}

interface ModelList {
  readonly data: readonly {
    readonly id: string;
    readonly prices: readonly { dimension: string; usd: string }[];
  }[];
}

async function checkLists(world: World, node: number, { group }: Wallet, token: string): Promise<void> {
  const names = (['plain', 'rich', 'secret'] as const).filter((model) =>
    expectedPrice({ edition: 0, group }, model),
  );
  const isSeen = names.includes('secret');
  const list = async () => (await (await world.send(node, token, '/v1/models')).json()) as ModelList;
  await world.shown(list, group, ({ data }, at) => {
    expect(data.map(({ id }) => id)).toEqual([
      ...names.map((name) => `c/${name}`),
      ...(isSeen ? ['best'] : []),
    ]);
    for (const name of names) {
      const listed = data.find(({ id }) => id === `c/${name}`)?.prices ?? [];
      const usd = (dimension: string): bigint =>
        nano(listed.find((row) => row.dimension === dimension)?.usd ?? '');
      const { input, output } = expectedPrice(at, name)!;
      expect([usd('input'), usd('output')]).toEqual([input, output]);
    }
  });
  for (const path of ['/api/public/v1/endpoints/c/models', '/v1beta/models']) {
    const text = await (await world.send(node, token, path)).text();
    expect(text.includes('secret')).toBe(isSeen);
  }
  // What everybody sees, without a token: the list prices.
  const page = async () => await (await fetch(`${world.url(node)}/models/plain?lang=en`)).text();
  await world.shown(page, undefined, (html, at) =>
    expect(html).toContain(`$${listPrices(at.edition).plain.output / 1_000_000_000n}.00`),
  );
  const models = async () => await (await fetch(`${world.url(node)}/api/console/models`)).text();
  await world.shown(models, undefined, (text, at) =>
    expect(text).toContain(`"inputUsd":"${1 + at.edition}.000000001"`),
  );
}

describe.each(['SQLite', 'Postgres'])('price groups and dates on %s', (store) => {
  const world = new World();
  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    await world.start(store === 'Postgres' ? [25_000, -25_000] : [0], databaseUrl);
  }, PATIENCE_MS);
  afterAll(() => world.stop(), PATIENCE_MS);

  test(
    'every request, quote, list and page has the price of its moment and its wallet’s group, whatever was set before and on whichever node',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), async (history) => {
          for (const one of history) await take(world, one);
        }),
        // Shrinking takes minutes, and the seed is enough.
        { numRuns: 2, endOnFailure: true },
      );
    },
    PATIENCE_MS,
  );

  test(
    'a group that is changed during a burst charges nobody a price of another group than the receipt names',
    async () => {
      const [wallet] = world.wallets as [Wallet];
      world.backend.script(() => completion('ok', usage(10, 20)));
      const [token] = wallet.callers as [string];
      let isOver = false;
      const changes = (async () => {
        for (const group of cycle()) {
          if (isOver) return;
          await world.setGroup(wallet, group);
        }
      })();
      const answers: Response[] = [];
      for (let round = 0; round < 10; round++)
        answers.push(
          ...(await Promise.all(
            Array.from({ length: 20 }, (_, at) =>
              world.send(at, token, '/v1/chat/completions', { ...ASKED, model: 'c/plain' }),
            ),
          )),
        );
      isOver = true;
      await changes;
      const seen = new Set<string>();
      for (const answer of answers) {
        // Five changes between a quote and its admission are told, and nothing is charged.
        if (answer.status === 500) {
          expect(await answer.json()).toMatchObject({ error: { code: 'service_unavailable' } });
          continue;
        }
        expect(answer.status).toBe(200);
        const receipt = await world.receipt(0, token, answer);
        const moment = {
          edition: world.editionAt(await world.momentOf(answer)),
          group: receipt.price_group as Group,
        };
        const price = expectedPrice(moment, 'plain')!;
        expect(Number(nano(receipt.charged_usd))).toBe(expectedCharge(price, { prompt: 10, completion: 20 }));
        seen.add(receipt.price_group ?? 'none');
      }
      expect(seen.size).toBeGreaterThan(1);
    },
    PATIENCE_MS,
  );

  test(
    'a group that has just been published is paid at once on every node; of one that is gone the receipt names nothing, as the list is paid',
    async () => {
      const { catalog: stored, operator } = world;
      const account = await operator.account('10');
      await stored.refresh();
      const { edition } = world.editions.at(-1) ?? { edition: 0 };
      const text = catalog(world.backend.baseUrl, edition);
      const publish = (yaml: string) => stored.save(yaml, 'test', '', stored.newest().version);
      world.backend.script(() => completion('ok', usage(10, 20)));
      const ask = async (node: number) => {
        const body = { ...ASKED, model: 'c/plain' };
        const answer = await world.send(node, account.token, '/v1/chat/completions', body);
        expect(answer.status).toBe(200);
        const receipt = await world.receipt(node, account.token, answer);
        return [receipt.price_group, Number(nano(receipt.charged_usd))];
      };
      const tokens = { prompt: 10, completion: 20 };
      const list = listPrices(edition).plain;
      const half = { ...list, input: roundedUp(list.input, 2n), output: roundedUp(list.output, 2n) };
      await publish(`${text}  late: { factor: 0.5 }\n`);
      await operator.services.accounts.setPriceGroup(account.id, 'late');
      for (const node of [0, 1]) expect(await ask(node)).toEqual(['late', expectedCharge(half, tokens)]);
      await publish(text);
      await world.reload();
      for (const node of [0, 1]) expect(await ask(node)).toEqual([undefined, expectedCharge(list, tokens)]);
    },
    PATIENCE_MS,
  );
});

function* cycle(): Generator<Group> {
  for (;;) yield* ['vip', 'partner', undefined] as const;
}
