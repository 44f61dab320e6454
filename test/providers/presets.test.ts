import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseCatalog } from '../../src/catalog/parse.ts';
import { PRESETS, PRESET_NAMES, type Preset, type PresetName } from '../../src/catalog/presets.ts';
import { systemClock } from '../../src/std/clock.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { Pool } from '../../src/upstream/pool.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { STRICT_PROVIDERS } from './strict-providers.ts';
import { WHOLE_ANSWER } from './model-reply.ts';
import type { BilledCall } from './stand-in.ts';
import { StrictServer, type StrictProvider } from './strict-server.ts';

/** Every preset that has a strict stand-in serves every dialect, and no dialect sends what the provider refuses. */

const standIn = (provider: StrictProvider) =>
  new StrictServer(provider, { m: firstModel(provider), long: firstModel(provider) });
const servers = STRICT_PROVIDERS.map((provider) => ({ provider, server: standIn(provider) }));
/** The same providers named by nothing but their address: what they refuse has to be learned. */
const unnamed = STRICT_PROVIDERS.map((provider) => ({ provider, server: standIn(provider) }));
let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  const upstream = ({ provider, server }: (typeof servers)[number]): string =>
    `  ${provider.preset}: { kind: openai, preset: ${provider.preset}, base_url: "${server.baseUrl}", api_key: "\${KEY}" }`;
  const bare = ({ provider, server }: (typeof servers)[number]): string =>
    `  bare_${provider.preset}: { kind: openai, base_url: "${server.baseUrl}", api_key: "\${KEY}" }`;
  const endpoint = (name: string): string =>
    `  ${name}: { name: ${name}, type: chat_completion, lists: [models], upstreams: [${name}] }`;
  const names = STRICT_PROVIDERS.map(({ preset }) => preset);
  const yaml = [
    'upstreams:',
    ...servers.map(upstream),
    ...unnamed.map(bare),
    'lists:',
    '  models:',
    '    - { model: m, input: 1, output: 2, context: 200000, max_output: 4000, tools: true }',
    '    - { model: long, input: 1, output: 2, context: 200000 }',
    '    - { model: grok-3-mini, input: 1, output: 2 }',
    'endpoints:',
    ...names.flatMap((name) => [endpoint(name), endpoint(`bare_${name}`)]),
  ].join('\n');
  gateway = await Gateway.start({ yaml, env: { KEY: servers[0]?.server.key ?? '' } });
  account = await gateway.account('100');
});
afterAll(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  for (const { server } of [...servers, ...unnamed]) await server.stop();
});

const said = [{ role: 'user', content: 'hi' }];
const DIALECTS = [
  { path: '/v1/chat/completions', body: { messages: said }, cap: 'max_tokens' },
  { path: '/v1/chat/completions', body: { messages: said }, cap: 'max_completion_tokens' },
  { path: '/v1/messages', body: { messages: said, max_tokens: 100 }, cap: 'max_tokens' },
  { path: '/v1/responses', body: { input: 'hi' }, cap: 'max_output_tokens' },
] as const;

const SITUATIONS = DIALECTS.flatMap((dialect) =>
  [false, true].flatMap((stream) => [false, true].map((capped) => ({ ...dialect, stream, capped }))),
);

describe.each(servers)('$provider.preset', ({ provider, server }) => {
  test('serves each dialect, whole and streamed, capped and not, and is charged as it bills', async () => {
    await serveAll(provider, server, provider.preset);
    expect(server.received.length).toBe(server.invoice.length);
  });

  test('takes requests with hints that change no answer, which are left out where it does not know them', async () => {
    const hints = {
      user: 'u1',
      store: false,
      metadata: { app: 'a' },
      prompt_cache_key: 'k1',
      safety_identifier: 's1',
    };
    const response = await send('/v1/chat/completions', {
      model: `${provider.preset}/m`,
      messages: said,
      ...hints,
    });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining(WHOLE_ANSWER)]);
  });

  test('refuses what the provider does not take, and leaves out what asks for nothing', async () => {
    const preset: Preset = PRESETS[provider.preset as keyof typeof PRESETS];
    for (const field of preset.unsupported ?? []) {
      if (!(field in MEANT)) continue;
      const model = `${provider.preset}/m`;
      const calls = server.received.length;
      const refused = await send('/v1/chat/completions', { model, messages: said, ...MEANT[field]?.refused });
      expect({ field, status: refused.status }).toEqual({ field, status: 400 });
      expect(await refused.json()).toMatchObject({ error: { param: field } });
      expect(server.received.length).toBe(calls);
      const taken = await send('/v1/chat/completions', { model, messages: said, ...MEANT[field]?.taken });
      expect({ field, status: taken.status }).toEqual({ field, status: 200 });
    }
  });
});

const TOOL = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } };

/** A value that asks for something, and one that does not. */
const MEANT: Readonly<Record<string, { readonly refused: object; readonly taken: object }>> = {
  logprobs: { refused: { logprobs: true }, taken: { logprobs: false } },
  top_logprobs: { refused: { top_logprobs: 2 }, taken: { top_logprobs: 0 } },
  logit_bias: { refused: { logit_bias: { 1: 5 } }, taken: { logit_bias: {} } },
  frequency_penalty: { refused: { frequency_penalty: 1 }, taken: { frequency_penalty: 0 } },
  presence_penalty: { refused: { presence_penalty: 1 }, taken: { presence_penalty: 0 } },
  n: { refused: { n: 2 }, taken: { n: 1 } },
  tool_choice: {
    refused: { tools: [TOOL], tool_choice: 'required' },
    taken: { tools: [TOOL], tool_choice: 'auto' },
  },
};

/** The fields of ours that they may refuse: both names of the cap, and the question for the usage of a stream. */
const OUR_FIELDS = ['max_tokens', 'max_completion_tokens', 'stream_options'];

describe.each(unnamed)('a server like $provider.preset without a preset', ({ provider, server }) => {
  const name = `bare_${provider.preset}`;

  test('is served after at most one refusal for each field of ours', async () => {
    await serveAll(provider, server, name);
    const told = gateway.log.filter(
      (line) => line.includes('backend_refuses_field') && line.includes(`"${name}"`),
    );
    expect(server.received.length - server.invoice.length).toBe(told.length);
    const taken = new Set(provider.fields.flatMap((line) => line.split(' ')));
    expect(told.length).toBe(OUR_FIELDS.filter((field) => !taken.has(field)).length);
  });
});

test('a field that the client sent is not taken out, and the output cap never is', async () => {
  const { server } = unnamed.find(({ provider }) => provider.preset === 'deepseek')!;
  const calls = server.received.length;
  const body = { model: 'bare_deepseek/m', messages: said, top_k: 5 };
  const response = await send('/v1/chat/completions', body);
  expect(response.status).toBe(400);
  expect(server.received.length).toBe(calls + 1);
  for (const one of [...servers, ...unnamed].flatMap((each) => each.server.received)) {
    expect(one.body['max_tokens'] ?? one.body['max_completion_tokens']).toBeGreaterThan(0);
  }
});

test('what was learned is part of the backend’s state', async () => {
  const { server } = unnamed.find(({ provider }) => provider.preset === 'cerebras')!;
  const yaml = `upstreams: { b: { kind: openai, base_url: "${server.baseUrl}", api_key: "\${KEY}" } }\nlists: {}\nendpoints: {}\n`;
  const pool = new Pool(parseCatalog(yaml, { fileName: 't', env: { KEY: server.key } }), systemClock, {});
  const permit = pool.admit({ upstream: 'b', model: 'm', account: 'acc_1' as AccountId });
  if (permit.kind !== 'permit') throw new Error('no permit');
  const request = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }], max_tokens: 5 };
  const call = { model: 'm', request, signal: new AbortController().signal, requestId: 'req_1' };
  expect((await permit.upstream.chat(call)).kind).toBe('whole');
  expect(pool.list()[0]?.learned).toEqual([
    { model: 'm', field: 'max_tokens', instead: 'max_completion_tokens' },
  ]);
});

test('a cap that the provider takes of streams alone is lowered for whole answers', async () => {
  const { server } = servers.find(({ provider }) => provider.preset === 'fireworks')!;
  for (const stream of [false, true]) {
    const body = { model: 'fireworks/long', messages: said, stream };
    const response = await send('/v1/chat/completions', body);
    expect({ stream, status: response.status }).toEqual({ stream, status: 200 });
    await response.text();
    expect(server.received.at(-1)?.body['max_tokens']).toBe(stream ? 16_384 : 4_096);
  }
});

test('a list of what is wrong with a request is told as a sentence, with the first field as param', async () => {
  const body = { model: 'mistral/m', messages: said, verbosity: 'low' };
  const response = await send('/v1/chat/completions', body);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { message: 'verbosity: Extra inputs are not permitted', param: 'verbosity' },
  });
});

test('reasoning that xAI counts beside the completion is told and charged as output', async () => {
  const { server } = servers.find(({ provider }) => provider.preset === 'xai')!;
  for (const [path, body] of [
    ['/v1/messages', { messages: said, max_tokens: 100 }],
    ['/v1/responses', { input: 'hi' }],
  ] as const) {
    const response = await send(path, { model: 'xai/grok-3-mini', ...body });
    const { usage } = (await response.json()) as { usage: { output_tokens: number } };
    const bill = server.invoice.at(-1)!;
    expect(bill).toMatchObject({ output: usage.output_tokens, reasoning: 5 });
    const receipt = await gateway.receipt(response.headers.get('x-request-id') ?? '');
    expect(receipt.charged).toBe(costOf(bill) as never);
  }
});

/**
 * Presets that no strict stand-in answers for, because what their providers refuse could not be looked up. The list may
 * only get shorter: a new preset comes with its stand-in. OpenAI's own is `openai.ts`.
 */
const WITHOUT_STAND_IN: readonly PresetName[] = [
  'perplexity',
  'nvidia',
  'sambanova',
  'deepinfra',
  'moonshot',
  'zai',
  'dashscope',
  'minimax',
  'nebius',
  'novita',
  'hyperbolic',
  'featherless',
  'huggingface',
  'scaleway',
];

test('every preset has a strict stand-in, but for those of which no reference could be read', () => {
  const answered = ['openai', ...STRICT_PROVIDERS.map(({ preset }) => preset)];
  expect(WITHOUT_STAND_IN.length).toBeLessThanOrEqual(14);
  expect([...answered, ...WITHOUT_STAND_IN].toSorted()).toEqual(PRESET_NAMES.toSorted());
});

test('an upstream that names a preset reads its key and its address from it', () => {
  const yaml = 'upstreams: { fast: { kind: openai, preset: groq } }\nlists: {}\nendpoints: {}\n';
  const { upstreams } = parseCatalog(yaml, { fileName: 't', env: { GROQ_API_KEY: 'k' } });
  const { baseUrl, apiKey, options } = upstreams.get('fast')!;
  expect([baseUrl, apiKey, options.get('cap_field')]).toEqual([
    'https://api.groq.com/openai/v1',
    'k',
    'max_completion_tokens',
  ]);
  expect(() => parseCatalog(yaml, { fileName: 't', env: {} })).toThrow('GROQ_API_KEY');
  expect(() =>
    parseCatalog(yaml.replace('kind: openai', 'kind: anthropic'), { fileName: 't', env: {} }),
  ).toThrow('only for kind openai');
});

test('the name of a preset as kind is short for kind openai with that preset', () => {
  const yaml = (upstream: string) => `upstreams: { fast: ${upstream} }\nlists: {}\nendpoints: {}\n`;
  const read = (upstream: string, env: Record<string, string>) =>
    parseCatalog(yaml(upstream), { fileName: 't', env }).upstreams.get('fast');
  for (const [name, { variable }] of Object.entries<Preset>(PRESETS)) {
    const env = variable === undefined ? {} : { [variable]: 'k' };
    // The kind of this name is the one without a preset, and needs an address.
    if (name === 'openai') continue;
    const short =
      name === 'mistral' ? `{ kind: mistral, api_key: "\${MISTRAL_API_KEY}" }` : `{ kind: ${name} }`;
    const whole = read(`{ kind: openai, preset: ${name} }`, env);
    if (name === 'mistral') expect(read(short, env)?.kind).toBe('mistral');
    else expect(read(short, env)).toEqual(whole);
  }
  const own = read('{ kind: groq, preset: groq, base_url: "https://proxy.example/v1", api_key: "${MINE}" }', {
    MINE: 'k',
  });
  expect([own?.kind, own?.baseUrl, own?.options.get('cap_field')]).toEqual([
    'openai',
    'https://proxy.example/v1',
    'max_completion_tokens',
  ]);
});

async function serveAll(provider: StrictProvider, server: StrictServer, endpoint: string): Promise<void> {
  for (const { path, body, cap, stream, capped } of SITUATIONS) {
    const billed = server.invoice.length;
    const response = await send(path, {
      model: `${endpoint}/m`,
      ...body,
      ...(stream ? { stream } : {}),
      ...(capped ? { [cap]: 3 } : {}),
    });
    const text = await response.text();
    const situation = { path, cap, stream, capped };
    expect({ ...situation, status: response.status, text: response.ok || text }).toEqual({
      ...situation,
      status: 200,
      text: true,
    });
    expect(server.invoice.length).toBe(billed + 1);
    const bill = server.invoice.at(-1)!;
    const receipt = await gateway.receipt(response.headers.get('x-request-id') ?? '');
    expect({ ...situation, charged: receipt.charged }).toEqual({
      ...situation,
      charged: costOf(bill),
    });
    if (!stream && !capped) expect(text).toContain(WHOLE_ANSWER);
    for (const secret of ['DeepInfra', 'cost_details', 'served-model', 'gen-B9'])
      expect(text).not.toContain(secret);
  }
}

function firstModel({ models }: StrictProvider): string {
  return Object.keys(models)[0] ?? '';
}

/** 1 and 2 dollars per million tokens, in nano-dollars per token. */
function costOf(bill: BilledCall): number {
  return bill.kind === 'chat' ? bill.input * 1_000 + bill.output * 2_000 : 0;
}

function send(path: string, body: unknown): Promise<Response> {
  return gateway.post(path, account.token, body);
}
