import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import {
  chunk,
  DONE,
  eventStream,
  ScriptedBackend,
  streamed,
  usageEvent,
} from '../support/scripted-backend.ts';

let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

beforeEach(async () => {
  backend = new ScriptedBackend();
  gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]) });
  account = await gateway.account('10');
});

afterEach(async () => {
  await gateway.stop();
  await backend.stop();
});

const headers = { 'idempotency-key': 'once' };

describe('a key protects one finished answer', () => {
  test.each([
    ['is cut', () => eventStream(chunk({ content: 'half' }))],
    [
      'ends in an error',
      () => eventStream(`${chunk({ content: 'half' })}data: {"error":{"message":"no"}}\n\n`),
    ],
  ])(
    'a stream that %s is run again, charged on its own, and its receipt names the first',
    async (_, broken) => {
      backend.script((_call, index) =>
        index === 0 ? broken() : streamed(['whole'], { prompt: 11, completion: 2 }),
      );
      const ask = () => gateway.chat(account.token, { stream: true }, { headers });
      const first = await ask();
      expect(await first.text()).not.toContain('[DONE]');
      const second = await ask();
      expect(second.headers.get('idempotent-replayed')).toBeNull();
      expect(await second.text()).toContain('[DONE]');
      const third = await ask();
      expect(third.headers.get('idempotent-replayed')).toBe('true');
      expect(await third.text()).toContain('whole');
      expect(backend.calls).toHaveLength(2);

      const receipts = await gateway.requests(account);
      expect(receipts).toHaveLength(2);
      const id = second.headers.get('x-request-id')!;
      const receipt = (await (
        await gateway.fetch(`/api/public/v1/requests/${id}`, { token: account.token })
      ).json()) as Record<string, unknown>;
      expect(receipt).toMatchObject({
        retry_of: first.headers.get('x-request-id')!,
        charged_usd: '0.000015',
        attempts: [{ result: 'served' }],
      });
      expect((await gateway.verify()).breaches).toEqual([]);
    },
  );
});

describe('a backend that sends more than its cap', () => {
  /** 1,759 bytes for each token: what twenty alternatives with their bytes take. */
  function withLogprobs(tokens: number): string {
    const logprobs = {
      content: [{ token: 'x', logprob: -0.1, bytes: [120], top_logprobs: 'x'.repeat(1_600) }],
    };
    const one = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x' }, logprobs, finish_reason: null }] })}\n\n`;
    return one.repeat(tokens) + chunk({}, 'stop') + usageEvent(11, tokens) + DONE;
  }

  const TOKENS = 4_000;

  test('is not cut for the bytes of logprobs that were asked for', async () => {
    backend.script(() => eventStream(withLogprobs(TOKENS)));
    const asked = { stream: true, max_tokens: TOKENS, logprobs: true, top_logprobs: 20 };
    const text = await (await gateway.chat(account.token, asked)).text();
    expect(text).toContain('[DONE]');
    const [receipt] = await gateway.requests(account);
    expect(receipt).toMatchObject({ outcome: 'completed', output_tokens: TOKENS });
  });

  test('is cut when they were not asked for', async () => {
    backend.script(() => eventStream(withLogprobs(TOKENS)));
    const text = await (await gateway.chat(account.token, { stream: true, max_tokens: TOKENS })).text();
    expect(text).not.toContain('[DONE]');
    expect((await gateway.requests(account))[0]?.outcome).toBe('cut_short');
  });
});
