import { afterEach, describe, expect, test } from 'bun:test';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { completion, PIXEL_BASE64, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** What an attacker with one account did to a server, as clients see it. Each has tests of its parts elsewhere. */

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** 580 bytes that ask for a hundred to the tenth of values. */
const nestedArrays = (depth: number): object =>
  depth === 0 ? { type: 'string' } : { type: 'array', minItems: 100, items: nestedArrays(depth - 1) };

describe('a schema that asks for more values than there is memory', () => {
  const schema = nestedArrays(10);
  test.each([
    [
      'as the format of the answer',
      '/json',
      { response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } },
    ],
    [
      'of a tool',
      'hi',
      { tools: [{ type: 'function', function: { name: 'f', parameters: schema } }], tool_choice: 'required' },
    ],
  ])('%s is answered, and the server goes on', async (_, content, more) => {
    const node = await NodeProcess.start({
      yaml: `
upstreams: { house: { kind: house } }
lists: { models: [{ model: house-echo, input: 0.05, output: 0.20, tools: true }] }
endpoints: { svc_house: { name: house, type: chat_completion, lists: [models], upstreams: [house] } }
`,
    });
    cleanUps.push(() => node.stop());
    const operator = await Operator.open(node.env);
    cleanUps.push(() => operator.close());
    const { token } = await operator.account('0.0005');
    const response = await fetch(`${node.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({
        model: 'svc_house/house-echo',
        messages: [{ role: 'user', content }],
        max_tokens: 100,
        ...more,
      }),
      signal: AbortSignal.timeout(30_000),
    });
    await response.arrayBuffer();
    expect([200, 400]).toContain(response.status);
    expect(await node.probe('/healthz')).toBe(200);
    await operator.settled();
    expect((await operator.verify()).breaches).toEqual([]);
  });
});

test('a scheme that the client wrote itself, before the one that the proxy saw, does not make plain HTTP secure', async () => {
  const backend = new ScriptedBackend();
  cleanUps.push(() => backend.stop());
  backend.script(() => completion('ok', usage(1, 1)));
  const gateway = await Gateway.start({
    yaml: catalogFor([backend.baseUrl], { extra: 'trusted_proxies: [127.0.0.1]' }),
  });
  cleanUps.push(() => gateway.stop());
  const { token } = await gateway.account('1');
  const statusFor = async (scheme: string): Promise<number> => {
    const headers = { 'x-forwarded-proto': scheme, 'x-forwarded-for': '203.0.113.9' };
    const response = await gateway.chat(token, {}, { headers });
    await response.arrayBuffer();
    return response.status;
  };
  expect(await statusFor('https, http')).not.toBe(200);
  expect(backend.calls).toEqual([]);
  expect(await statusFor('http, https')).toBe(200);
});

test('a link to an image reaches no other path of the backend, relative or in full', async () => {
  const fetched: string[] = [];
  let link = '';
  const backend = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => {
      if (request.method !== 'GET') return Response.json({ created: 1, data: [{ url: link }] });
      fetched.push(new URL(request.url).pathname);
      return new Response(Buffer.from(PIXEL_BASE64, 'base64'), { headers: { 'content-type': 'image/png' } });
    },
  });
  cleanUps.push(() => backend.stop(true));
  const origin = `http://127.0.0.1:${backend.port}`;
  const gateway = await Gateway.start({ yaml: catalogFor([`${origin}/v1`]) });
  cleanUps.push(() => gateway.stop());
  const account = await gateway.account('1');
  for (link of [
    '/internal/admin',
    `${origin}/internal/admin`,
    '../internal/admin',
    `${origin}/v1/../internal/admin`,
  ]) {
    const response = await gateway.image(account.token, { response_format: 'b64_json' });
    await response.arrayBuffer();
    expect(response.status).toBe(500);
  }
  expect(fetched).toEqual([]);
  await gateway.settled(account);
  expect(await gateway.money(account)).toMatchObject({ balance: 1_000_000_000, held: 0 });
});
