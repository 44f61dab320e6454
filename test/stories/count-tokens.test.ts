import { afterAll, beforeAll, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { catalogFor, Gateway } from '../support/gateway.ts';

/** Counting the tokens of a conversation before it is sent. */

let gateway: Gateway;

beforeAll(async () => {
  gateway = await Gateway.start({ yaml: catalogFor(['http://127.0.0.1:9/v1']) });
});
afterAll(() => gateway.stop());

const ask = (token: string, content: string): Promise<Response> =>
  gateway.post('/v1/messages/count_tokens', token, {
    model: 'svc_chat/m',
    messages: [{ role: 'user', content }],
  });

test('the count is that of a real tokenizer', async () => {
  const { token } = await gateway.account('0');
  const text = 'Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. 今天天气很好。 1234567890';
  const answer = await ask(token, text);
  expect(await answer.json()).toEqual({ input_tokens: 3 + 4 + countTokens(text) });
});

test('counting 18 MB does not stop the event loop: everything else goes on', async () => {
  const { token } = await gateway.account('0');
  await ask(token, 'so that the tokenizer is loaded');
  let [last, longestGap] = [performance.now(), 0];
  const startedAt = last;
  const timer = setInterval(() => {
    const now = performance.now();
    longestGap = Math.max(longestGap, now - last);
    last = now;
  }, 1);
  const answer = await ask(token, 'It was the best of times, it was the worst of times. '.repeat(340_000));
  clearInterval(timer);
  expect(answer.status).toBe(200);
  expect(longestGap).toBeLessThan((performance.now() - startedAt) / 2);
});

test('counting has the rate limit of chats: who is too fast is told when to come back', async () => {
  const { token } = await gateway.account('0', { chat: 3 });
  const other = await gateway.account('0', { chat: 3 });
  for (let count = 0; count < 3; count++) expect((await ask(token, 'hi')).status).toBe(200);
  const refused = await ask(token, 'hi');
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(await refused.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
  expect((await ask(other.token, 'hi')).status).toBe(200);
});

test('chats leave less to count', async () => {
  const { token } = await gateway.account('1', { chat: 3 });
  // Nobody answers, and the request has still been made.
  for (let chat = 0; chat < 3; chat++) await (await gateway.chat(token, { max_tokens: 5 })).text();
  expect((await ask(token, 'hi')).status).toBe(429);
});
