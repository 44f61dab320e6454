import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { hostileRequest, sendHostile } from '../support/hostile-requests.ts';
import type { TestAccount } from '../support/gateway.ts';
import { eventually, NODE_SECRET, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';
import { rawExchange } from '../support/raw-client.ts';
import { completion, images, ScriptedBackend, streamed, usage } from '../support/scripted-backend.ts';

/** Input may be anything. It is answered with a reason, costs what it should, and goes where it should. */

const BACKEND_KEY = 'sk-canary-key-of-the-backend';
const CHAT = '/api/public/v1/chat/completions';
const RUNS = { batches: 200, together: 25 };

let backend: ScriptedBackend;
let nodes: { node: NodeProcess; operator: Operator; account: TestAccount }[];

beforeAll(async () => {
  backend = new ScriptedBackend();
  backend.script(({ path, body }) => {
    if (path.endsWith('/images/generations')) return images(Number(body['n'] ?? 1));
    return body['stream'] === true
      ? streamed(['x'], { prompt: 1, completion: 1 })
      : completion('x', usage(1, 1));
  });
  const databaseUrl = await (await testPostgres()).freshDatabase();
  const env = { BACKEND_KEY };
  nodes = await Promise.all(
    [
      { yaml: catalog(), env },
      { yaml: catalog(), env, databaseUrl },
    ].map(async (options) => {
      const node = await NodeProcess.start(options);
      const operator = await Operator.open(node.env);
      return { node, operator, account: await operator.account('1000') };
    }),
  );
}, 60_000);

afterAll(async () => {
  for (const { node, operator } of nodes) {
    await operator.close();
    await node.stop();
  }
  await backend.stop();
});

function catalog(): string {
  return `
upstreams:
  b: { kind: openai, base_url: "${backend.baseUrl}", api_key: "\${BACKEND_KEY}" }
  house: { kind: house }
lists:
  chat_models:
    - { model: m, display_name: M, input: 1, output: 2, context: 200000, max_output: 100000, vision: true, tools: true }
  house_models:
    - { model: house-echo, display_name: Echo, input: 1, output: 2, context: 200000, max_output: 100000 }
  image_models:
    - { model: p, display_name: P, image: 0.01, sizes: [1024x1024, 512x512] }
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [chat_models], upstreams: [b] }
  svc_house: { name: house, type: chat_completion, lists: [house_models], upstreams: [house] }
  svc_tgter: { name: images, type: image_generation, lists: [image_models], upstreams: [b] }
`;
}

const sqlite = () => nodes[0]!;

async function post(
  text: string | Uint8Array<ArrayBuffer>,
  path = CHAT,
): Promise<{ status: number; text: string; headers: Headers }> {
  const { node, account } = sqlite();
  const response = await fetch(`${node.url}${path}`, {
    method: 'POST',
    body: text,
    headers: { authorization: `Bearer ${account.token}` },
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const body = (more: string) =>
  `{"endpoint":"svc_chat","model":"m","messages":[{"role":"user","content":"hi"}]${more}}`;

test(`${RUNS.batches * RUNS.together} malformed requests, on both stores: no 5xx, no crash, every refusal explained`, async () => {
  const seen: Record<number, number> = {};
  const batch = fc.array(hostileRequest, { minLength: RUNS.together, maxLength: RUNS.together });
  await fc.assert(
    fc.asyncProperty(batch, fc.boolean(), async (requests, onPostgres) => {
      const { node, account } = nodes[onPostgres ? 1 : 0]!;
      const answers = await Promise.all(
        requests.map((request) => sendHostile(node.url, account.token, request)),
      );
      for (const { status, text } of answers) {
        seen[status] = (seen[status] ?? 0) + 1;
        if (status >= 500) throw new Error(`${status}: ${text.slice(0, 300)}`);
        if (status >= 400 && text !== '' && !text.includes('"error"'))
          throw new Error(`${status} without a reason: ${text.slice(0, 300)}`);
      }
    }),
    { numRuns: RUNS.batches, endOnFailure: true },
  );
  // A fuzzer whose requests are all refused at once proves nothing.
  for (const status of [200, 400, 401, 404, 405])
    expect({ status, often: (seen[status] ?? 0) > 20 }).toEqual({ status, often: true });
  for (const { node } of nodes) expect(await node.probe('/readyz')).toBe(200);
}, 170_000);

describe('oversized structures', () => {
  test.each([100, 5_000, 1_000_000, 5_000_000])(
    '%d levels of brackets are refused before anything recursive sees them',
    async (depth) => {
      for (const text of [
        '['.repeat(depth),
        '{"a":'.repeat(depth),
        body(`,"metadata":${'['.repeat(depth)}${']'.repeat(depth)}`),
        body(`,"tools":${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`),
      ]) {
        if (text.length > 20 * 1_048_576) continue;
        const answer = await post(text);
        expect(answer.status).toBe(400);
        expect(answer.text).toMatch(/nested deeper|not valid JSON/);
      }
    },
  );

  test('brackets inside strings do not count as nesting', async () => {
    expect((await post(body(`,"user":"${'[{'.repeat(200)}"`))).status).toBe(200);
    expect((await post(body(`,"user":"${'\\\\\\"['.repeat(100)}"`))).status).toBe(200);
  });

  test('a million keys, a million elements, a megabyte of digits: answered, and others are served meanwhile', async () => {
    const keys = Array.from({ length: 1_000_000 }, (_, index) => `"k${index}":1`).join(',');
    const bombs = [
      body(`,${keys}`),
      body(`,"metadata":[${'1,'.repeat(1_000_000)}1]`),
      body(`,"seed":${'9'.repeat(1_000_000)}`),
      body(`,"stop":[${'"a",'.repeat(1_000_000)}"a"]`),
    ];
    const answers = Promise.all(bombs.map((bomb) => post(bomb)));
    await eventually('a health check passes', async () => (await sqlite().node.probe('/healthz')) === 200);
    for (const { status } of await answers) expect([200, 400]).toContain(status);
  });

  test('a body in gzip is refused, not inflated', async () => {
    const { node, account } = sqlite();
    const response = await fetch(`${node.url}${CHAT}`, {
      method: 'POST',
      body: Bun.gzipSync(new Uint8Array(10_000_000)),
      headers: { authorization: `Bearer ${account.token}`, 'content-encoding': 'gzip' },
    });
    expect(response.status).toBe(400);
  });

  test('a form of ten thousand parts is answered', async () => {
    const form = new FormData();
    for (let part = 0; part < 10_000; part++) form.append(`field${part}`, 'x');
    const { node, account } = sqlite();
    const response = await fetch(`${node.url}/v1/images/edits`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${account.token}` },
    });
    expect(response.status).toBe(400);
  });
});

describe('text', () => {
  test('invalid UTF-8 is refused; a BOM, NUL, lone surrogates and every plane are preserved, on both stores', async () => {
    const utf8 = new TextEncoder();
    expect((await post(new Uint8Array([...utf8.encode('{"model":"'), 0xc3, 0x28]))).status).toBe(400);
    expect((await post(new Uint8Array(Buffer.from(body(''), 'utf16le')))).status).toBe(400);
    for (const { node, account } of nodes) {
      for (const words of ['\\u0000', '\\ud800', '\\udfff\\ud800', '😀', '\u202e', '\\u0000\\u0001\\u001f']) {
        for (const [path, text] of [
          [
            CHAT,
            `\ufeff{"endpoint":"svc_chat","model":"m","messages":[{"role":"user","content":"${words}"}],"user":"${words}"}`,
          ],
          ['/api/public/v1/images/generations', `{"endpoint":"svc_tgter","model":"p","prompt":"${words}"}`],
        ] as const) {
          const response = await fetch(`${node.url}${path}`, {
            method: 'POST',
            body: text,
            headers: {
              authorization: `Bearer ${account.token}`,
              'user-agent': 'caf\u00e9',
              'idempotency-key': `k\u00e9-${crypto.randomUUID()}`,
            },
          });
          expect({
            words,
            path,
            status: response.status,
            text: response.status === 200 ? '' : await response.text(),
          }).toEqual({ words, path, status: 200, text: '' });
        }
      }
      for (const id of ['%00', '%ff', '%ed%a0%80', "'%20OR%201=1--", '%25', 'req_%0a']) {
        for (const path of [
          `/api/public/v1/requests/${id}`,
          `/api/public/v1/endpoints/${id}/models`,
          `/v1/models/${id}`,
          `/api/public/v1/images/${id}`,
        ]) {
          const response = await fetch(`${node.url}${path}`, {
            headers: { authorization: `Bearer ${account.token}` },
          });
          await response.arrayBuffer();
          expect({ path, client: response.status >= 400 && response.status < 500 }).toEqual({
            path,
            client: true,
          });
        }
      }
    }
  });

  test('names such as __proto__ and constructor are ordinary keys', async () => {
    const before = backend.calls.length;
    for (const key of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then']) {
      const { status } = await post(
        body(`,"${key}":{"stream":true,"n":8,"max_tokens":7,"polluted":1},"metadata":{"${key}":"1"}`),
      );
      expect({ key, status }).toEqual({ key, status: 200 });
    }
    await post(body(''));
    for (const call of backend.calls.slice(before)) {
      expect(Object.hasOwn(call.body, 'stream')).toBe(false);
      expect(call.body['n']).toBeUndefined();
    }
    expect(backend.calls.at(-1)?.text).not.toContain('polluted');
    for (const name of ['__proto__', 'constructor', 'toString']) {
      expect((await post(`{"endpoint":"${name}","model":"m","messages":[]}`)).status).toBe(400);
      expect(
        (await post(`{"endpoint":"svc_chat","model":"${name}","messages":[{"role":"user","content":"x"}]}`))
          .status,
      ).toBe(400);
    }
  });

  test('a key given twice means the same in the hold, in the charge and at the backend', async () => {
    const { operator, account } = sqlite();
    const { headers } = await post(
      body(',"max_tokens":50000,"n":1,"max_tokens":7,"n":3,"stream":true,"stream":false'),
    );
    const call = backend.calls.at(-1)!;
    expect(call.body).toMatchObject({ max_tokens: 7, n: 3, stream: false });
    expect(call.text.match(/"max_tokens"/g)).toHaveLength(1);
    expect(call.text.match(/"n"/g)).toHaveLength(1);
    const row = (await operator.requests(account)).find(({ id }) => id === headers.get('x-request-id'));
    expect(row).toMatchObject({ output_cap: 7, choices: 3, stream: 0 });
  });

  test('line breaks in names never become headers, here or at the backend', async () => {
    const evil = 'x\\r\\nx-injected: 1\\r\\n\\r\\n';
    for (const text of [
      body(`,"user":"${evil}","metadata":{"${evil}":"${evil}"}`),
      `{"endpoint":"${evil}","model":"m","messages":[]}`,
      `{"endpoint":"svc_chat","model":"${evil}","messages":[{"role":"user","content":"x"}]}`,
    ]) {
      const answer = await post(text);
      expect(answer.status).toBeLessThan(500);
      expect(answer.headers.has('x-injected')).toBe(false);
    }
    for (const call of backend.calls) expect(call.headers.has('x-injected')).toBe(false);
  });
});

test('nothing in a body or a header chooses where a backend call is sent, or with which key', async () => {
  const trap = new ScriptedBackend();
  const { node, account } = sqlite();
  const before = backend.calls.length;
  const address = trap.baseUrl;
  const fields =
    'api_base base_url baseURL API_BASE api_key apiKey organization extra_headers extra_body headers user_config ' +
    'model_list proxy timeout custom_llm_provider upstream upstreams url webhook callback_url litellm_params';
  const values = [
    address,
    { base_url: address, api_base: address },
    [{ litellm_params: { api_base: address } }],
  ];
  const requests = fields.split(' ').flatMap((field) => values.map((value) => ({ [field]: value })));
  const headers = {
    authorization: `Bearer ${account.token}`,
    'x-api-base': address,
    'x-portkey-custom-host': address,
    'x-forwarded-host': new URL(address).host,
    host: 'gate.example',
  };
  const image = { type: 'image_url', image_url: { url: `${address}/picture.png` } };
  const asked = [
    ...requests,
    { messages: [{ role: 'user', content: [image] }] },
    {
      endpoint: 'svc_house',
      model: 'house-echo',
      messages: [{ role: 'user', content: [image, { type: 'text', text: `${address}/x` }] }],
    },
  ];
  for (const more of asked) {
    const text = JSON.stringify({
      endpoint: 'svc_chat',
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      ...more,
    });
    const response = await fetch(`${node.url}${CHAT}`, { method: 'POST', body: text, headers });
    await response.arrayBuffer();
    expect([200, 400]).toContain(response.status);
  }
  const calls = backend.calls.slice(before);
  expect(calls.length).toBeGreaterThan(50);
  for (const call of calls) {
    expect(call.headers.get('authorization')).toBe(`Bearer ${BACKEND_KEY}`);
    expect([...call.headers.values()].join()).not.toContain(account.token);
    expect(call.text).not.toContain(account.token);
  }
  expect(trap.calls).toEqual([]);
  await trap.stop();
});

test('a backend that links to images cannot make us call private addresses', async () => {
  const trap = new ScriptedBackend();
  const secret = `${trap.baseUrl.replace('127.0.0.1', 'localhost')}/secret.png`;
  const { node, operator } = sqlite();
  const account = await operator.account('1');
  for (const url of [
    secret,
    secret.replace('http:', 'https:'),
    'http://169.254.169.254/latest/meta-data/',
    'https://[::ffff:127.0.0.1]/x',
    'https://2130706433/x',
    'file:///etc/passwd',
    'gopher://127.0.0.1/x',
    '//169.254.169.254/x',
    'nonsense:',
  ]) {
    backend.script(() => Response.json({ created: 1, data: [{ url }] }));
    const text = JSON.stringify({ endpoint: 'svc_tgter', model: 'p', prompt: 'x' });
    const response = await fetch(`${node.url}/api/public/v1/images/generations`, {
      method: 'POST',
      body: text,
      headers: { authorization: `Bearer ${account.token}` },
    });
    expect({ url, status: response.status }).toEqual({ url, status: 500 });
    expect(await response.text()).toContain('"upstream_error"');
  }
  expect(trap.calls).toEqual([]);
  expect(await operator.money(account)).toEqual({ balance: 1_000_000_000, held: 0, open: 0 });
  await trap.stop();
});

test('afterwards both nodes serve, the ledger is consistent, and no secret is in a log', async () => {
  backend.script(() => completion('x', usage(1, 1)));
  for (const { node, operator, account } of nodes) {
    await operator.settled();
    const { statuses } = await rawExchange(node.url, [
      'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
    ]);
    expect(statuses).toEqual([200]);
    const { code, output } = await node.cli('verify', '--json');
    expect({ code, ...(JSON.parse(output) as object) }).toMatchObject({ code: 0, ok: true });
    for (const secret of [account.token, BACKEND_KEY, NODE_SECRET]) expect(node.log).not.toContain(secret);
    expect(node.log).not.toContain('internal_error');
  }
});
