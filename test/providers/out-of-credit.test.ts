import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { attemptsOf } from '../../src/ledger/receipt.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { completion, images, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** The operator's account at a provider is empty: customers are served by another one, and never read of it. */

interface EmptyAccount {
  readonly name: string;
  readonly kind: 'openai' | 'anthropic';
  readonly status: number;
  readonly body: unknown;
}

const EMPTY: readonly EmptyAccount[] = [
  {
    // https://api-docs.deepseek.com/quick_start/error_codes: 402 Insufficient Balance
    name: 'deepseek',
    kind: 'openai',
    status: 402,
    body: {
      error: { message: 'Insufficient Balance', type: 'unknown_error', code: 'invalid_request_error' },
    },
  },
  {
    // https://github.com/Gitlawb/openclaude/issues/1125
    name: 'openrouter',
    kind: 'openai',
    status: 402,
    body: {
      error: { message: 'This request requires more credits, or fewer max_tokens.', code: 402 },
      user_id: 'user_3D0IVsejFIV6',
    },
  },
  {
    // https://github.com/mattvr/ShellGPT/issues/23
    name: 'openai',
    kind: 'openai',
    status: 429,
    body: {
      error: {
        message: 'You exceeded your current quota, please check your plan and billing details.',
        type: 'insufficient_quota',
        param: null,
        code: 'insufficient_quota',
      },
    },
  },
  {
    // https://github.com/continuedev/continue/issues/10373
    name: 'xai',
    kind: 'openai',
    status: 429,
    body: {
      code: 'Some resource has been exhausted',
      error: 'Your team has either used all available credits or reached its monthly spending limit.',
    },
  },
  {
    // https://github.com/anthropics/claude-code/issues/66314
    name: 'anthropic',
    kind: 'anthropic',
    status: 400,
    body: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
      },
    },
  },
];

const providers = EMPTY.map((empty) => ({ empty, backend: new ScriptedBackend() }));
const spare = new ScriptedBackend();
let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  for (const { empty, backend } of providers)
    backend.script(() => Response.json(empty.body, { status: empty.status }));
  spare.script(({ path }) =>
    path.endsWith('/images/generations') ? images(1) : completion('ok', usage(1, 1)),
  );
  gateway = await Gateway.start({ yaml: catalog(), env: { KEY: 'sk-of-the-operator' } });
  account = await gateway.account('100');
});
afterAll(async () => {
  await gateway.settled(account);
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await Promise.all([spare, ...providers.map(({ backend }) => backend)].map((one) => one.stop()));
});

/** Each provider alone and before a spare one, with models of its own: what rests after one test must not hide the next. */
function catalog(): string {
  return [
    'upstreams:',
    `  spare: { kind: openai, base_url: "${spare.baseUrl}" }`,
    ...providers.map(
      ({ empty: { name, kind }, backend: { baseUrl } }) =>
        `  ${name}: { kind: ${kind}, base_url: "${kind === 'openai' ? baseUrl : baseUrl.replace('/v1', '')}", api_key: "\${KEY}" }`,
    ),
    'lists:',
    '  models: [{ model: m, input: 1, output: 2, max_output: 4000 }]',
    '  others: [{ model: other, input: 1, output: 2, max_output: 4000 }]',
    '  painters: [{ model: p, image: 0.01, sizes: [1024x1024] }]',
    'endpoints:',
    ...providers.flatMap(({ empty: { name } }) => [
      `  ${name}: { name: ${name}, type: chat_completion, lists: [models], upstreams: [${name}, spare] }`,
      `  only_${name}: { name: only ${name}, type: chat_completion, lists: [others], upstreams: [${name}] }`,
    ]),
    '  pictures: { name: pictures, type: image_generation, lists: [painters], upstreams: [openai, spare] }',
  ].join('\n');
}

const told = (): string[] => gateway.log.filter((line) => line.includes('backend_out_of_credit'));

describe.each(providers)('$empty.name', ({ empty: { name }, backend }) => {
  test('another backend answers, the empty one rests at once, and the operator is told in plain words', async () => {
    const before = told().length;
    for (let round = 0; round < 3; round++)
      expect((await gateway.chat(account.token, { endpoint: name })).status).toBe(200);
    expect(backend.calls).toHaveLength(1);
    const lines = told().slice(before);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'error',
      backend: name,
      kind: 'out_of_credit',
      advice: 'Your account at this provider has no credit left. Add funds there.',
    });
    await gateway.settled(account);
    const receipts = await gateway.requests(account);
    expect(receipts.slice(-3).map((receipt) => attemptsOf(receipt)[0])).toMatchObject([
      { upstream: name, result: 'failed', reason: 'out_of_credit' },
      { upstream: name, result: 'skipped', reason: 'resting' },
      { upstream: name, result: 'skipped', reason: 'resting' },
    ]);
  });

  test('where there is no other, the customer gets a 500 to retry, not the 402 of somebody else', async () => {
    const response = await gateway.chat(account.token, { endpoint: `only_${name}`, model: 'other' });
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'upstream_error' } });
    expect(text).not.toMatch(/credit|quota|balance|billing/i);
  });
});

test('images go to another backend too', async () => {
  const [before, asked] = [told().length, spare.calls.length];
  for (let round = 0; round < 2; round++) {
    const response = await gateway.image(account.token, { endpoint_code: 'pictures' });
    expect(response.status).toBe(200);
  }
  expect(
    told()
      .slice(before)
      .map((line) => JSON.parse(line) as { backend: string }),
  ).toMatchObject([{ backend: 'openai' }]);
  expect(spare.calls.length - asked).toBe(2);
});
