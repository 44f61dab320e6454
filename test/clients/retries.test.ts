import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import {
  chunk,
  completion,
  DONE,
  openStream,
  ScriptedBackend,
  usage,
  usageEvent,
} from '../support/scripted-backend.ts';
import { ALL_CLIENTS } from './all-clients.ts';
import { proxiedCall } from './proxied-call.ts';

/** Which failures an SDK retries with its default settings. All at once, since most of it is waiting. */

let backend: ScriptedBackend;
let gateway: Gateway;
/** What the backend does for each model. */
const scripts = new Map<string, () => Response>();

beforeAll(async () => {
  backend = new ScriptedBackend();
  backend.script(
    ({ body }) => scripts.get(String(body['model']))?.() ?? completion('unscripted', usage(1, 1)),
  );
  gateway = await Gateway.start({ yaml: catalog(backend.baseUrl) });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

/** Some SDKs wait for seconds between their tries, and this machine may be busy. */
const PATIENCE_MS = 60_000;
const CASES = ALL_CLIENTS.map(([name, make], place) => ({ name, make, place }));

describe('an SDK retries', () => {
  test.concurrent.each(CASES)(
    '$name: a 500 that passes',
    async ({ make, place }) => {
      const model = `failing${place}`;
      const answers = [new Response('{}', { status: 500, headers: { 'retry-after-ms': '40' } })];
      scripts.set(model, () => answers.shift() ?? completion('here again', usage(3, 2)));
      const { token } = await gateway.account('1');
      const { text, statuses } = await proxiedCall(make, {
        target: { url: gateway.url, token, model },
        how: 'ask',
        prompt: 'hi',
      });
      expect(statuses).toEqual([500, 200]);
      expect(text).toBe('here again');
    },
    PATIENCE_MS,
  );

  test.concurrent.each(CASES)(
    '$name: a 429 while another request of the account runs',
    async ({ make, place }) => {
      const model = `busy${place}`;
      const account = await gateway.account('1', { concurrent: 1 });
      const other = await runningStream(model, account);
      scripts.set(model, () => completion('my turn', usage(3, 2)));
      const call = {
        target: { url: gateway.url, token: account.token, model },
        how: 'ask',
        prompt: 'hi',
      } as const;
      const { text, statuses } = await proxiedCall(
        make,
        call,
        (proxy) => void proxy.saw(429).then(other.finish),
      );
      expect(statuses).toEqual([429, 200]);
      expect(text).toBe('my turn');
    },
    PATIENCE_MS,
  );
});

describe('an SDK does not retry', () => {
  test.concurrent.each(CASES)(
    '$name: a 402 because money is on hold, though it would pass',
    async ({ make, place }) => {
      const model = `held${place}`;
      // A cap is lowered to what the balance affords, so the first request holds all of it.
      const account = await gateway.account('0.01');
      const other = await runningStream(model, account);
      const call = {
        target: { url: gateway.url, token: account.token, model },
        how: 'ask',
        prompt: 'hi',
      } as const;
      const { error, statuses } = await proxiedCall(make, call);
      expect(statuses).toEqual([402]);
      expect(error).toMatchObject({ status: 402, code: 'payment_required' });
      expect(error?.message).toContain('on hold');
      await other.finish();
    },
    PATIENCE_MS,
  );
});

/** A request that has started and ends only when it is told to. */
async function runningStream(model: string, account: TestAccount): Promise<{ finish(): Promise<void> }> {
  const stream = openStream();
  scripts.set(model, () => stream.response);
  stream.send(chunk({ role: 'assistant', content: 'busy' }));
  const body = { model, stream: true, max_tokens: 100_000, messages: [{ role: 'user', content: 'hi' }] };
  const response = await gateway.post('/v1/chat/completions', account.token, body);
  expect(response.status).toBe(200);
  return {
    async finish() {
      // With its usage, so that nothing is counted, which may take longer than the client waits.
      stream.send(chunk({}, 'stop') + usageEvent(3, 2) + DONE);
      stream.end();
      await response.text();
    },
  };
}

/** Each model has its own health: one that fails must not affect the others. */
function catalog(baseUrl: string): string {
  const models = CASES.flatMap(({ place }) => [`failing${place}`, `busy${place}`, `held${place}`]);
  return `
upstreams:
${models.map((model) => `  ${model}: { kind: openai, base_url: "${baseUrl}" }`).join('\n')}
lists:
${models.map((model) => `  ${model}: [{ model: ${model}, input: 1, output: 2, context: 200000, max_output: 100000 }]`).join('\n')}
endpoints:
${models.map((model) => `  ${model}: { name: ${model}, type: chat_completion, lists: [${model}], upstreams: [${model}] }`).join('\n')}`;
}
