import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import {
  chunk,
  DONE,
  openStream,
  ScriptedBackend,
  streamed,
  usageEvent,
} from '../support/scripted-backend.ts';

/** `on_disconnect`: what the rest of a stream costs that nobody reads any more. Every token costs $0.001. */

const NANO_PER_TOKEN = 1_000_000;
const TOKENS_AROUND_HI = 7;
let backend: ScriptedBackend;
let gateway: Gateway;

beforeAll(async () => {
  backend = new ScriptedBackend();
  const model = (name: string, keys: string): string =>
    `    - { model: ${name}, ${keys}, context: 200000, max_output: 100000 }`;
  const price = 'input: 1000, output: 1000';
  gateway = await Gateway.start({
    yaml: `
upstreams:
  b: { kind: openai, base_url: "${backend.baseUrl}" }
  hasty: { kind: openai, base_url: "${backend.baseUrl}", timeouts: { first_byte_ms: 20 } }
lists:
  models:
${model('hidden', `${price}, reasoning: hidden`)}
${model('open', `${price}, reasoning: true`)}
${model('plain', price)}
${model('finishing', `${price}, on_disconnect: finish`)}
${model('stopping', `${price}, reasoning: hidden, on_disconnect: stop`)}
${model('gift', 'free: true, on_disconnect: finish')}
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [models], upstreams: [b] }
  svc_hasty: { name: hasty, type: chat_completion, lists: [models], upstreams: [hasty] }
`,
  });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});
afterEach(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
});

/** Leaves after the first word. The backend goes on only if it was not stopped. */
async function leaveAfterFirstWord(account: TestAccount, model: string) {
  const stream = openStream();
  backend.script(() => stream.response);
  const before = backend.calls.length;
  const pending = gateway.chat(account.token, { model, stream: true, max_tokens: 30_000 });
  await backend.called(before + 1);
  stream.send(chunk({ content: 'one' }));
  const reader = (await pending).body!.getReader();
  await reader.read();
  await reader.cancel();
  // The gateway sees the end of the connection no later than requests that come after it.
  for (let turn = 0; turn < 5; turn++) await (await gateway.fetch('/healthz')).text();
  return stream;
}

async function receiptOf(account: TestAccount) {
  await gateway.settled(account);
  const [row] = await gateway.requests(account);
  return row!;
}

test.each(['hidden', 'finishing'])(
  '%s: the backend comes to its end, and its usage is charged, hidden reasoning included',
  async (model) => {
    const account = await gateway.account('1000');
    const stream = await leaveAfterFirstWord(account, model);
    // One that is left later and stopped: by then, this one would have been stopped too.
    await (
      await leaveAfterFirstWord(await gateway.account('1000'), 'plain')
    ).cancelled;
    // Still running: the hold and the place in the limit of concurrent requests are kept.
    expect((await gateway.money(account)).open).toBe(1);
    stream.send(chunk({ content: ' two' }) + chunk({}, 'stop') + usageEvent(40, 20_000) + DONE);
    stream.end();
    expect(await receiptOf(account)).toMatchObject({
      charged: 20_040 * NANO_PER_TOKEN,
      usage_source: 'upstream',
      outcome: 'client_left',
    });
  },
);

test.each(['plain', 'open', 'stopping'])(
  '%s: the backend is stopped at once, and the input and what has arrived are charged',
  async (model) => {
    const account = await gateway.account('1000');
    const stream = await leaveAfterFirstWord(account, model);
    await stream.cancelled;
    expect(await receiptOf(account)).toMatchObject({
      charged: (TOKENS_AROUND_HI + countTokens('hi') + countTokens('one')) * NANO_PER_TOKEN,
      usage_source: 'counted',
      outcome: 'client_left',
    });
  },
);

test('a free model is always stopped: nobody pays for what it goes on writing', async () => {
  const account = await gateway.account('0');
  const stream = await leaveAfterFirstWord(account, 'gift');
  await stream.cancelled;
  expect(await receiptOf(account)).toMatchObject({ charged: 0, outcome: 'client_left' });
});

test('a model that thinks out of sight may take the whole time of the request for its first byte', async () => {
  const account = await gateway.account('1000');
  const gate = Promise.withResolvers<void>();
  backend.script(async ({ body }) => {
    if (body['model'] === 'hidden') await gate.promise;
    else await new Promise(() => undefined);
    return streamed(['thought'], { prompt: 3, completion: 500 });
  });
  const before = backend.calls.length;
  const thinking = gateway.chat(account.token, { endpoint: 'svc_hasty', model: 'hidden', stream: true });
  await backend.called(before + 1);
  const impatient = await gateway.chat(account.token, {
    endpoint: 'svc_hasty',
    model: 'plain',
    stream: true,
  });
  expect(await impatient.json()).toMatchObject({ error: { code: 'upstream_timeout' } });
  gate.resolve();
  expect(await (await thinking).text()).toContain('thought');
});
