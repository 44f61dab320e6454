import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { ALL_CLIENTS } from './all-clients.ts';
import type { Target } from './client.ts';
import { proxiedCall, type CallMode } from './proxied-call.ts';

/** What a program sees when a request fails, in every SDK. */

const HOW: readonly CallMode[] = ['ask', 'stream'];

let gateway: Gateway;
let rich: TestAccount;
let poor: TestAccount;

beforeAll(async () => {
  gateway = await Gateway.start();
  rich = await gateway.account('10');
  poor = await gateway.account('0');
});
afterAll(async () => {
  await gateway.stop();
});

const targetWith = (changes: Partial<Target> = {}): Target => ({
  url: gateway.url,
  token: rich.token,
  model: 'svc_chat/house-echo',
  ...changes,
});

/** An account that has used up its only request of the minute. */
async function hasty(): Promise<TestAccount> {
  const account = await gateway.account('1', { chat: 1 });
  expect((await gateway.chat(account.token, { model: 'house-echo' })).status).toBe(200);
  return account;
}

describe.each(ALL_CLIENTS)('%s', (name, make) => {
  describe.each(HOW)('%s', (how) => {
    test.each([
      {
        status: 400,
        code: 'unsupported_model',
        words: "There is no model 'no-such'",
        changes: { model: 'no-such' },
      },
      { status: 400, code: 'invalid_field', words: 'house-echo rejected the request', prompt: '/error 400' },
      { status: 401, code: 'invalid_token', words: 'not a valid API token', changes: { token: 'sk-wrong' } },
      {
        status: 500,
        code: 'upstream_error',
        words: 'The backend could not answer',
        prompt: '/error 500',
        changes: { retries: 0 },
      },
      {
        status: 500,
        code: 'upstream_timeout',
        words: 'did not answer in time',
        prompt: '/error timeout',
        changes: { retries: 0 },
      },
    ])(
      '$status $code comes with its code, its words and the request id, after one request',
      async ({ status, code, words, prompt, changes }) => {
        const { error, statuses, requestIds } = await proxiedCall(make, {
          target: targetWith(changes),
          how,
          prompt: prompt ?? 'hi',
        });
        expect(statuses).toEqual([status]);
        expect(error).toMatchObject({ status, code, requestId: requestIds[0] ?? '' });
        expect(error?.message).toContain(words);
      },
    );

    test('402 is never retried, and reports the available and the required amount', async () => {
      const { error, statuses, requestIds } = await proxiedCall(make, {
        target: targetWith({ token: poor.token }),
        how,
        prompt: 'hi',
      });
      expect(statuses).toEqual([402]);
      expect(error).toMatchObject({ status: 402, code: 'payment_required', requestId: requestIds[0] ?? '' });
      expect(error?.message).toMatch(/Add funds .*available \$0\.00, required \$0\.0000\d+/);
    });

    test('429 comes with its code', async () => {
      const { token } = await hasty();
      const { error, statuses } = await proxiedCall(make, {
        target: targetWith({ token, retries: 0 }),
        how,
        prompt: 'hi',
      });
      expect(statuses).toEqual([429]);
      expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    });
  });

  test.each(['stream', 'cut'])(
    'a stream that breaks off (%s) is an error with our words, and is not tried again',
    async (fault) => {
      const prompt = `/error ${fault}\none two three four five six seven eight`;
      const { error, text, statuses } = await proxiedCall(make, {
        target: targetWith(),
        how: 'stream',
        prompt,
      });
      expect(text).toBeUndefined();
      expect(statuses).toEqual([200]);
      expect(error?.message).toBe('The backend broke off in the middle of its answer.');
      // This one drops what the dialect calls details.
      expect(error?.code).toBe(name === 'ai + anthropic' ? undefined : 'upstream_error');
    },
  );
});
