import { afterAll, beforeAll, expect, test } from 'bun:test';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** Counts of long texts whose clients leave: they end, and nobody else waits for them. */

/** A word that no vocabulary has and that never ends: as slow to count as a text can be. */
const SLOW_TEXT = 'qwzxkjvb'.repeat(250_000);
const COUNT = '/v1/messages/count_tokens';
const CHAT = '/api/public/v1/chat/completions';
const backend = new ScriptedBackend();
let gateway: Gateway;

beforeAll(async () => {
  backend.script(() => completion('ok', usage(1, 1)));
  gateway = await Gateway.start({
    yaml: catalogFor([backend.baseUrl]).replaceAll('context: 200000', 'context: 10000000'),
  });
});
afterAll(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
});

async function metric(line: string): Promise<number> {
  const text = await gateway.metrics();
  const found = text.split('\n').find((one) => one.startsWith(`${line} `));
  return Number(found?.slice(line.length + 1) ?? 0);
}

const counting = (): Promise<number> => metric('tollgate_queue_length{queue="token_counts"}');
const answered = async (path: string): Promise<Record<string, number>> => {
  const text = await gateway.metrics();
  const lines = text.matchAll(/tollgate_http_answers_total\{path="([^"]+)",status="(\d+)"\} (\d+)/g);
  return Object.fromEntries(
    [...lines].filter(([, of]) => of === path).map(([, , status = '', n]) => [status, Number(n)]),
  );
};

test('a count for nothing ends when its client leaves, whether its turn has come or not', async () => {
  const { token } = await gateway.account('0');
  const messages = [{ role: 'user', content: SLOW_TEXT }];
  const client = new AbortController();
  const asked = [1, 2, 3].map(() =>
    gateway.post(COUNT, token, { model: 'svc_chat/m', messages }, { signal: client.signal }).catch(() => {}),
  );
  await eventually('all three are being counted', async () => (await counting()) === 3);
  client.abort();
  await Promise.all(asked);
  await eventually('none is counted any more', async () => (await counting()) === 0);
  expect(await answered(COUNT)).toEqual({ 499: 3 });
  expect(gateway.log.filter((line) => line.includes('request_failed'))).toEqual([]);
});

test('a chat whose client leaves while its input is counted is neither held nor sent to a backend', async () => {
  const account = await gateway.account('1.9');
  const messages = [{ role: 'user', content: SLOW_TEXT }];
  const client = new AbortController();
  const asked = gateway
    .chat(account.token, { messages, max_tokens: 5 }, { signal: client.signal })
    .catch(() => {});
  await eventually('it is being counted', async () => (await counting()) === 1);
  client.abort();
  await asked;
  await eventually('it is answered', async () => Object.keys(await answered(CHAT)).length > 0);
  expect(await answered(CHAT)).toEqual({ 499: 1 });
  expect(backend.calls).toEqual([]);
  expect(await gateway.requests(account)).toEqual([]);
});
