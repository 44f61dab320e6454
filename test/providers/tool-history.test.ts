import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Gateway } from '../support/gateway.ts';
import { StrictBedrock } from './bedrock.ts';
import { WHOLE_ANSWER } from './model-reply.ts';

/** A client that summarises a conversation sends the calls of tools and their results, but offers no tools any more. */

const MODEL = 'anthropic.claude-sonnet-4-20250514-v1:0';
let provider: StrictBedrock;
let gateway: Gateway;

beforeAll(async () => {
  provider = new StrictBedrock();
  const options = 'region: eu-west-1, access_key_id: "${AWS_KEY_ID}", secret_access_key: "${AWS_SECRET}"';
  const yaml = [
    `upstreams: { aws: { kind: bedrock, base_url: "${provider.baseUrl}", options: { ${options} } } }`,
    `lists: { models: [{ model: "${MODEL}", input: 1, output: 2, tools: true }] }`,
    'endpoints: { svc: { name: svc, type: chat_completion, lists: [models], upstreams: [aws] } }',
  ].join('\n');
  const { accessKeyId, secretAccessKey } = provider.access;
  gateway = await Gateway.start({ yaml, env: { AWS_KEY_ID: accessKeyId, AWS_SECRET: secretAccessKey } });
});
afterAll(async () => {
  await gateway.stop();
  await provider.stop();
});

const call = {
  id: 'call_a',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city":"Oslo"}' },
};

test.each([
  ['in the middle', [{ role: 'user', content: 'Summarise.' }]],
  ['at the end', []],
])('Bedrock gets calls and results %s of a conversation without tools as text', async (_where, more) => {
  const { token } = await gateway.account('1');
  const response = await gateway.post('/v1/chat/completions', token, {
    model: `svc/${MODEL}`,
    messages: [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_a', content: 'minus three' },
      ...more,
    ],
  });
  expect({ status: response.status, text: await response.text() }).toEqual({
    status: 200,
    text: expect.stringContaining(WHOLE_ANSWER),
  });
  const sent = JSON.stringify(provider.received.at(-1)?.body);
  expect(sent).toContain('Called get_weather with');
  expect(sent).toContain('Result of get_weather: minus three');
  expect(sent).not.toContain('toolUse');
});
