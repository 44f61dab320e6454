import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import * as fc from 'fast-check';
import type { AccountId } from '../../src/std/ids.ts';
import { nanoUsd } from '../../src/std/money.ts';
import type { TestAccount } from '../support/gateway.ts';
import { NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/**
 * What wallets in price groups see and pay, on any node, whatever its clock says. The prices that are expected are computed
 * here, from what the catalog below says, and by nothing of the program.
 */

const PATIENCE_MS = 180_000;
const catalog = (url: string): string => `
upstreams: { b: { kind: openai, base_url: "${url}" } }
lists:
  list:
    - { model: plain, input: 1.000000001, output: 7 }
    - { model: rich, input: 3, output: 0.333333333, request: 0.000001 }
    - { model: secret, input: 5, output: 5 }
endpoints: { c: { name: C, type: chat_completion, lists: [list], upstreams: [b] } }
aliases: { best: c/secret }
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

/** In nano-dollars: of a million tokens, and of a request. */
const LIST: Record<Model, Price> = {
  plain: { input: 1_000_000_001n, output: 7_000_000_000n, request: 0n },
  rich: { input: 3_000_000_000n, output: 333_333_333n, request: 1_000n },
  secret: { input: 5_000_000_000n, output: 5_000_000_000n, request: 0n },
};

function roundedUp(amount: bigint, by: bigint): bigint {
  return amount / by + (amount % by > 0n ? 1n : 0n);
}

/** `undefined`: it is hidden. */
function expectedPrice(group: Group, model: Model): Price | undefined {
  const list = LIST[model];
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
  fc.record({
    kind: fc.constant('group' as const),
    wallet: fc.nat(2),
    group: fc.constantFrom<Group>('vip', 'partner', undefined),
  }),
  fc.record({
    kind: fc.constantFrom('ask' as const, 'ask' as const, 'quote' as const, 'list' as const),
    wallet: fc.nat(2),
    caller: fc.nat(1),
    node: fc.nat(1),
    model: fc.constantFrom<Model>('plain', 'rich', 'secret'),
    prompt: fc.integer({ min: 1, max: 40 }),
    completion: fc.integer({ min: 1, max: 50 }),
  }),
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

class World {
  readonly backend = new ScriptedBackend();
  readonly nodes: NodeProcess[] = [];
  readonly wallets: Wallet[] = [];
  operator!: Operator;

  async start(shifts: readonly number[], databaseUrl: string | undefined): Promise<void> {
    for (const shift of shifts)
      this.nodes.push(
        await NodeProcess.start({
          yaml: catalog(this.backend.baseUrl),
          ...(databaseUrl === undefined ? {} : { databaseUrl }),
          env: { SHIFTED_CLOCK_MS: String(shift) },
          bunFlags: ['--preload', join(import.meta.dir, '../support/shifted-clock.ts')],
        }),
      );
    this.operator = await Operator.open(this.nodes[0]?.env ?? {});
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
    await this.operator.close();
    for (const node of this.nodes) await node.stop();
    await this.backend.stop();
  }

  async setGroup(wallet: Wallet, group: Group): Promise<void> {
    await this.operator.services.accounts.setPriceGroup(wallet.id, group ?? null);
    wallet.group = group;
  }

  send(node: number, token: string, path: string, body?: object): Promise<Response> {
    return fetch(`${this.nodes[node % this.nodes.length]?.url}${path}`, {
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
  if (one.kind === 'group') return await world.setGroup(wallet, one.group);
  const token = wallet.callers[one.caller]!;
  const price = expectedPrice(wallet.group, one.model);
  if (one.kind === 'list') return await checkList(world, one.node, token, wallet.group);
  world.backend.script(() => completion('ok', usage(one.prompt, one.completion)));
  const body = { ...ASKED, model: `c/${one.model}` };
  const answer = await (one.kind === 'ask'
    ? world.send(one.node, token, '/v1/chat/completions', body)
    : world.send(one.node, token, '/api/public/v1/quotes', { ...ASKED, endpoint: 'c', model: one.model }));
  if (!price) {
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: 'unsupported_model' } });
    return;
  }
  expect(answer.status).toBe(200);
  if (one.kind === 'quote') {
    const { lines, max_cost_usd: most } = (await answer.json()) as {
      lines: { dimension: string; quantity: number; price: string }[];
      max_cost_usd: string;
    };
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
    return;
  }
  const receipt = await world.receipt(one.node + 1, token, answer);
  expect(Number(nano(receipt.charged_usd))).toBe(expectedCharge(price, one));
  expect(receipt.price_group).toBe(wallet.group);
  expect(receipt.lines.map((line) => nano(line.unit_price_usd))).toEqual([
    price.input,
    price.output,
    ...(price.request > 0n ? [price.request] : []),
  ]);
}

async function checkList(world: World, node: number, token: string, group: Group): Promise<void> {
  const { data } = (await (await world.send(node, token, '/v1/models')).json()) as {
    data: { id: string; prices: { dimension: string; usd: string }[] }[];
  };
  const names = (['plain', 'rich', 'secret'] as const).filter((model) => expectedPrice(group, model));
  const isSeen = names.includes('secret');
  expect(data.map(({ id }) => id)).toEqual([
    ...names.map((name) => `c/${name}`),
    ...(isSeen ? ['best'] : []),
  ]);
  for (const name of names) {
    const listed = data.find(({ id }) => id === `c/${name}`)?.prices ?? [];
    const usd = (dimension: string): bigint =>
      nano(listed.find((row) => row.dimension === dimension)?.usd ?? '');
    expect({ input: usd('input'), output: usd('output') }).toEqual({
      input: expectedPrice(group, name)!.input,
      output: expectedPrice(group, name)!.output,
    });
  }
  for (const path of ['/api/public/v1/endpoints/c/models', '/v1beta/models']) {
    const text = await (await world.send(node, token, path)).text();
    expect(text.includes('secret')).toBe(isSeen);
  }
}

describe.each(['SQLite', 'Postgres'])('price groups on %s', (store) => {
  const world = new World();
  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    await world.start(store === 'Postgres' ? [25_000, -25_000] : [0], databaseUrl);
  }, PATIENCE_MS);
  afterAll(() => world.stop(), PATIENCE_MS);

  test(
    'every request, quote and list has the price of its wallet’s group, whatever was set before and on whichever node',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), async (history) => {
          for (const one of history) await take(world, one);
        }),
        { numRuns: 4 },
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
        const price = expectedPrice(receipt.price_group as Group, 'plain')!;
        expect(Number(nano(receipt.charged_usd))).toBe(expectedCharge(price, { prompt: 10, completion: 20 }));
        seen.add(receipt.price_group ?? 'none');
      }
      expect(seen.size).toBeGreaterThan(1);
    },
    PATIENCE_MS,
  );
});

function* cycle(): Generator<Group> {
  for (;;) yield* ['vip', 'partner', undefined] as const;
}
