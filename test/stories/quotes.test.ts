import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** A quote is what the admission would hold now. A token of either side costs $0.000001. */

interface Quote {
  readonly max_cost_usd: string;
  readonly max_tokens: number;
  readonly covered: boolean;
  readonly price_version: string;
}

/** Its bytes are many more than the tokens that a count finds. */
const WORDS = 'The quick brown fox jumps over the lazy dog. '.repeat(100);

describe.each(['sqlite', 'postgres'] as const)('on %s', (store) => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;

  beforeAll(async () => {
    const databaseUrl = store === 'postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const yaml = catalogFor([backend.baseUrl], { prices: 'input: 1, output: 1' }).replace(
      '  image_models:',
      '    - { model: other, display_name: Other, input: 1, output: 2, max_output: 100000 }\n  image_models:',
    );
    gateway = await Gateway.start({ yaml, ...(databaseUrl && { databaseUrl }) });
    // The highest bill there can be: a token for each byte, and all output that the cap allows.
    backend.script(({ body, text }) => completion('x', usage(text.length, Number(body['max_tokens']))));
  });
  afterEach(async () => expect((await gateway.verify()).breaches).toEqual([]));
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
  });

  const bodyOf = (content: string, more: object = {}) => ({
    endpoint: 'svc_chat',
    model: 'm',
    messages: [{ role: 'user', content }],
    ...more,
  });

  async function quote({ token }: TestAccount, body: object): Promise<Quote> {
    const response = await gateway.post('/api/public/v1/quotes', token, body);
    expect(response.status).toBe(200);
    return (await response.json()) as Quote;
  }

  async function chargedFor(account: TestAccount): Promise<number> {
    await gateway.settled(account);
    return (await gateway.requests(account)).at(-1)?.charged ?? 0;
  }

  test.each([
    ['a large balance', '100', bodyOf(WORDS, { max_tokens: 1_000 })],
    ['a large balance and no cap', '100', bodyOf(WORDS)],
    ['a balance on which the input is counted', '0.02', bodyOf(WORDS, { max_tokens: 1_000 })],
    ['a balance that lowers the cap', '0.005', bodyOf(WORDS, { max_tokens: 16_000 })],
    ['a balance of which no cap takes a quarter', '0.02', bodyOf(WORDS)],
    ['several choices', '0.02', bodyOf('hi', { n: 3 })],
  ])('with %s a request sent at once holds what was quoted, and is charged no more', async (_, usd, body) => {
    const account = await gateway.account(usd);
    const quoted = await quote(account, body);
    expect(quoted.covered).toBe(true);
    const response = await gateway.post('/api/public/v1/chat/completions', account.token, body);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-tollgate-held')).toBe(quoted.max_cost_usd);
    expect(backend.calls.at(-1)?.body['max_tokens']).toBe(quoted.max_tokens);
    expect(await chargedFor(account)).toBeLessThanOrEqual(Number(quoted.max_cost_usd) * 1e9);
  });

  test('sent back as max_cost_usd it is a bound, whatever came in between', async () => {
    const account = await gateway.account('0.02');
    const body = bodyOf(WORDS);
    const { max_cost_usd } = await quote(account, body);
    const { ledger } = gateway.tollgate.services.ledger;
    const credit = { kind: 'credit', amount: 100_000_000_000, cause: 'test', actor: 'test' } as const;
    await ledger.post({ accountId: account.id, ...credit });
    const response = await gateway.chat(account.token, { ...body, max_cost_usd });
    expect(response.status).toBe(200);
    expect(await chargedFor(account)).toBeLessThanOrEqual(Number(max_cost_usd) * 1e9);
  });

  test('with too little money it is for the full default, and says so', async () => {
    const account = await gateway.account('0.0001');
    const quoted = await quote(account, bodyOf('hi'));
    expect(quoted).toMatchObject({ covered: false, max_tokens: 16_384 });
    expect((await gateway.chat(account.token)).status).toBe(402);
  });

  test('it names the version of the price that it stands on', async () => {
    const account = await gateway.account('1');
    const versions = [bodyOf('hi'), bodyOf('ho'), bodyOf('hi', { model: 'other' })].map(
      async (body) => (await quote(account, body)).price_version,
    );
    const [first, again, other] = await Promise.all(versions);
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });
});
