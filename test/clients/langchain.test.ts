import { afterAll, beforeAll, expect, test } from 'bun:test';
import { z } from 'zod';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { chatOpenAi } from './langchain-client.ts';
import { RecordingProxy } from './recording-proxy.ts';

/** What the page on LangChain promises. */

let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await Gateway.start();
  account = await gateway.account('10');
});
afterAll(async () => {
  await gateway.stop();
});

const target = (url = gateway.url) => ({ url, token: account.token, model: 'svc_chat/house-echo' });

test('batch, and a role for everything', async () => {
  const model = chatOpenAi(target());
  const answers = await model.batch([
    [
      ['system', 'Echo.'],
      ['human', 'one'],
    ],
    [
      ['human', 'zero'],
      ['ai', 'zero'],
      ['human', 'two'],
    ],
  ]);
  expect(answers.map(({ text }) => text)).toEqual(['one', 'two']);
});

test('on the Responses API a conversation is sent whole, thoughts included', async () => {
  const proxy = new RecordingProxy(gateway.url);
  const model = chatOpenAi(target(proxy.url), true);
  const asked = { role: 'user', content: '/think one' };
  const first = await model.invoke([asked]);
  expect((await model.invoke([asked, first, { role: 'user', content: 'two' }])).text).toBe('two');
  expect(proxy.exchanges[1]?.body).toContain('"type":"reasoning"');
  await proxy.stop();
});

test('structured output works by schema, by function and as plain JSON', async () => {
  const schema = z.object({ name: z.string(), age: z.number() });
  for (const method of ['jsonSchema', 'functionCalling'] as const) {
    const answer: unknown = await chatOpenAi(target())
      .withStructuredOutput(schema, { method })
      .invoke('A person.');
    expect(schema.safeParse(answer).success).toBe(true);
  }
  const plain: unknown = await chatOpenAi(target())
    .withStructuredOutput({ type: 'object' }, { method: 'jsonMode' })
    .invoke('A person.');
  expect(plain).toEqual({ echo: 'A person.' });
});

test('a stream asks for its usage by itself', async () => {
  const proxy = new RecordingProxy(gateway.url);
  for await (const _ of await chatOpenAi(target(proxy.url)).stream('one two'));
  expect(JSON.parse(proxy.exchanges[0]?.body ?? '')).toMatchObject({
    stream: true,
    stream_options: { include_usage: true },
  });
  await proxy.stop();
});
