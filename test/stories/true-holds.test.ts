import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/**
 * The hold is a true bound, and no larger than it must be. Every token costs $0.001, so that the sums are those of the
 * tokens; the backend's own usage is its invoice.
 */

const PRICES = 'input: 1000, output: 1000';
const NANO_PER_TOKEN = 1_000_000;

describe.each(['sqlite', 'postgres'] as const)('on %s', (store) => {
  let backend: ScriptedBackend;
  let gateway: Gateway;

  beforeAll(async () => {
    backend = new ScriptedBackend();
    const databaseUrl = store === 'postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    gateway = await Gateway.start({
      yaml: catalogFor([backend.baseUrl], { prices: PRICES }),
      ...(databaseUrl && { databaseUrl }),
    });
  });
  afterAll(async () => {
    expect((await gateway.verify()).breaches).toEqual([]);
    await gateway.stop();
    await backend.stop();
  });

  const ask = (account: TestAccount, content: string, maxTokens: number): Promise<Response> =>
    gateway.chat(account.token, { messages: [{ role: 'user', content }], max_tokens: maxTokens });

  async function chargedFor(account: TestAccount): Promise<number> {
    await gateway.settled(account);
    return (await gateway.requests(account)).reduce((sum, { charged }) => sum + charged, 0);
  }

  test.each([
    ['digits, each a token', '4'.repeat(10_000), 10_000],
    ['base64', 'q7Zx+/9kPw'.repeat(600), 5_400],
    ['signs', '!?%&/()=#~'.repeat(600), 5_800],
    ['white space', ' \t\n '.repeat(1_000), 3_900],
  ])('%s: all that the backend bills is held and charged', async (_, content, billed) => {
    backend.script(() => completion('ok', usage(billed, 1)));
    const account = await gateway.account('1000');
    expect((await ask(account, content, 100)).status).toBe(200);
    expect(await chargedFor(account)).toBe((billed + 1) * NANO_PER_TOKEN);
  });

  test('a prompt longer than the catalog’s context is held and charged in full if it was not counted', async () => {
    backend.script(() => completion('ok', usage(400_000, 1)));
    const account = await gateway.account('100000');
    expect((await ask(account, 'a b '.repeat(120_000), 100)).status).toBe(200);
    expect(await chargedFor(account)).toBe(400_001 * NANO_PER_TOKEN);
  });

  test('a request is refused for its context only when a count says so', async () => {
    backend.script(() => completion('ok', usage(1, 1)));
    const account = await gateway.account('100000');
    // As many bytes as the longer one, but a word of sixteen letters is two tokens.
    const fits = await ask(account, ' responsibilities'.repeat(50_000), 100);
    expect(fits.status).toBe(200);
    const tooLong = await ask(account, ' a'.repeat(425_000), 100);
    expect(tooLong.status).toBe(400);
    expect(await tooLong.json()).toMatchObject({
      error: { code: 'context_length_exceeded', param: 'messages' },
    });
  });

  test('twenty requests at once of an account that can just pay them: none is refused or shortened', async () => {
    const prose = 'It was the best of times, it was the worst of times, it was the age of wisdom. '.repeat(
      40,
    );
    const tokens = countTokens(prose);
    const each = Math.ceil(tokens * 1.15) + 24 + 300;
    const account = await gateway.account(String((20 * each) / 1_000));
    const gate = Promise.withResolvers<void>();
    backend.script(async () => {
      await gate.promise;
      return completion('ok', usage(tokens, 300));
    });
    const before = backend.calls.length;
    const answers = Array.from({ length: 20 }, () => ask(account, prose, 300));
    await Promise.race([backend.called(before + 20), ...answers.map(refusedOnly)]);
    gate.resolve();
    for (const answer of await Promise.all(answers)) {
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-tollgate-max-tokens')).toBeNull();
    }
    expect(await chargedFor(account)).toBe(20 * (tokens + 300) * NANO_PER_TOKEN);
  });

  test('an account that cannot pay the whole cap gets as much of it as a count leaves', async () => {
    const prose = 'It was the best of times, it was the worst of times. '.repeat(50);
    const tokens = countTokens(prose);
    const account = await gateway.account(String((Math.ceil(tokens * 1.15) + 24 + 400) / 1_000));
    backend.script(() => completion('ok', usage(tokens, 1)));
    const answer = await ask(account, prose, 5_000);
    expect(answer.status).toBe(200);
    expect(Number(answer.headers.get('x-tollgate-max-tokens'))).toBeWithin(395, 405);
  });
});

/** Never resolves for an answer that is admitted: the race is for the first that is not. */
async function refusedOnly(answer: Promise<Response>): Promise<void> {
  const { status } = await answer;
  if (status === 200) await new Promise(() => undefined);
}
