import { afterAll, describe, expect, test } from 'bun:test';
import { STRICT_PROVIDERS } from './strict-providers.ts';
import { StrictServer } from './strict-server.ts';
import { StrictAnthropic } from './anthropic.ts';
import { StrictAzure } from './azure.ts';
import { StrictBedrock } from './bedrock.ts';
import { StrictCohere } from './cohere.ts';
import { StrictGemini } from './gemini.ts';
import type { StandIn } from './stand-in.ts';

/** The stand-ins themselves: a lenient one would hide what customers of the real provider meet. */

const started: StandIn[] = [];
const open = <Kind extends StandIn>(standIn: Kind): Kind => {
  started.push(standIn);
  return standIn;
};
afterAll(async () => {
  for (const standIn of started) await standIn.stop();
});

const SAID = [{ role: 'user', content: 'hi' }];
const PICTURE = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
const LINKED = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
const OBJECT = { type: 'object', properties: {} };

const compatible = new Map(STRICT_PROVIDERS.map((one) => [one.preset, open(new StrictServer(one))]));

describe.each(STRICT_PROVIDERS)('$preset', (provider) => {
  const server = compatible.get(provider.preset)!;
  const [model = ''] = Object.keys(provider.models);
  const cap = provider.fields.some((line) => line.split(' ').includes('max_tokens'))
    ? 'max_tokens'
    : 'max_completion_tokens';

  test('refuses a field that it does not know, a model that it does not have and a cap beyond the model, and bills nothing', async () => {
    const unknown = await post(server, { model, messages: SAID, nonsense: 1 });
    expect(unknown.status).toBeOneOf([400, 422]);
    expect(unknown.text).toMatch(/nonsense/);
    expect((await post(server, { model: 'no-such-model', messages: SAID })).status).toBe(404);
    const most = provider.models[model]?.maxOutput ?? 0;
    expect((await post(server, { model, messages: SAID, [cap]: most + 1 })).status).toBe(400);
    expect((await post(server, { model, messages: SAID, stream_options: {} })).status).toBe(
      provider.fields.some((line) => line.includes('stream_options')) ? 400 : 422,
    );
    expect((await post(server, { model, messages: SAID }, { authorization: 'Bearer other' })).status).toBe(
      401,
    );
    expect(server.invoice).toEqual([]);
  });

  test('bills what it reports, whole and streamed', async () => {
    const whole = await post(server, { model, messages: SAID });
    const { usage } = JSON.parse(whole.text) as { usage: { prompt_tokens: number; total_tokens: number } };
    const bill = server.invoice.at(-1)!;
    if (bill.kind !== 'chat') throw new Error('no chat');
    expect([usage.prompt_tokens, usage.total_tokens]).toEqual([bill.input, bill.input + bill.output]);
    const streamed = await post(server, { model, messages: SAID, stream: true });
    expect(streamed.text).toContain('data: [DONE]');
    expect(streamed.text.includes('"total_tokens"')).toBe(provider.usage !== 'if_asked');
  });
});

test.each([
  [
    'xai',
    'grok-4',
    { reasoning_effort: 'low' },
    '"error":"Argument not supported on this model: reasoningEffort"',
  ],
  ['xai', 'grok-3-mini', { presence_penalty: 0 }, 'Argument not supported on this model: presencePenalty'],
  ['fireworks', undefined, { max_tokens: 5000 }, 'must have stream=true'],
  ['fireworks', undefined, { store: true }, "Extra inputs are not permitted, field: 'store', value: true"],
  ['lmstudio', undefined, { response_format: { type: 'json_object' } }, "must be 'json_schema' or 'text'"],
  ['lmstudio', undefined, { tool_choice: { type: 'function' } }, "Invalid tool_choice type: 'object'"],
  [
    'llamacpp',
    undefined,
    { tools: [{}], grammar: 'root ::= "a"' },
    'Cannot use custom grammar constraints with tools.',
  ],
  ['llamacpp', undefined, { n: 2 }, 'Only one completion choice is allowed'],
  ['vllm', undefined, { reasoning_effort: 'minimal' }, "Input should be 'low', 'medium' or 'high'"],
  ['ollama', undefined, { tools: [{}], tool_choice: 'required' }, 'unknown field "tool_choice"'],
  ['ollama', undefined, { messages: [{ role: 'user', content: [LINKED] }] }, 'invalid image input'],
  ['together', undefined, { max_completion_tokens: 5 }, 'Input validation error'],
  [
    'groq',
    undefined,
    { response_format: { type: 'json_schema', json_schema: { schema: {} } }, stream: true },
    'not supported with streaming',
  ],
  [
    'deepseek',
    undefined,
    { messages: [{ role: 'user', content: [PICTURE] }] },
    'unknown variant `image_url`',
  ],
] as const)('%s, model %p, refuses %j with its own words', async (preset, named, fields, words) => {
  const server = compatible.get(preset)!;
  const models = STRICT_PROVIDERS.find((one) => one.preset === preset)?.models ?? {};
  const model = named ?? Object.keys(models)[0];
  const { status, text } = await post(server, { model, messages: SAID, ...fields });
  expect(status).toBe(preset === 'llamacpp' ? 500 : 400);
  expect(text.replaceAll('\\', '')).toContain(words);
});

test('xAI counts reasoning beside the completion', async () => {
  const server = compatible.get('xai')!;
  const { text } = await post(server, { model: 'grok-4', messages: SAID });
  const { usage } = JSON.parse(text) as { usage: { completion_tokens: number; total_tokens: number } };
  expect(server.invoice.at(-1)).toMatchObject({ output: usage.completion_tokens + 5, reasoning: 5 });
});

test('an answer is compressed for whoever takes that', async () => {
  const server = compatible.get('groq')!;
  const headers = { authorization: `Bearer ${server.key}`, 'accept-encoding': 'gzip' };
  const init: BunFetchRequestInit = { headers, decompress: false };
  const response = await fetch(`${server.baseUrl}/models`, init);
  expect(response.headers.get('content-encoding')).toBe('gzip');
});

const anthropic = open(new StrictAnthropic());
const gemini = open(new StrictGemini());
const cohere = open(new StrictCohere());
const azure = open(new StrictAzure({ mine: 'gpt-5-mini' }));
const bedrock = open(new StrictBedrock());

const CLAUDE = { model: 'claude-sonnet-4-5', max_tokens: 2000, messages: SAID };
const thinking = { type: 'enabled', budget_tokens: 1024 };

test.each([
  [{ ...CLAUDE, max_tokens: undefined }, 'max_tokens: Field required'],
  [{ ...CLAUDE, max_tokens: 70_000 }, 'which is the maximum allowed number of output tokens'],
  [{ ...CLAUDE, n: 1 }, 'n: Extra inputs are not permitted'],
  [{ ...CLAUDE, temperature: 0.5, top_p: 0.5 }, 'cannot both be specified'],
  [{ ...CLAUDE, thinking: { ...thinking, budget_tokens: 100 } }, 'greater than or equal to 1024'],
  [
    { ...CLAUDE, thinking: { ...thinking, budget_tokens: 3000 } },
    'must be greater than `thinking.budget_tokens`',
  ],
  [{ ...CLAUDE, thinking, temperature: 0.5 }, 'may only be set to 1'],
  [
    { ...CLAUDE, thinking, tools: [{ name: 'a', input_schema: OBJECT }], tool_choice: { type: 'any' } },
    'forces tool use',
  ],
  [{ ...CLAUDE, messages: [{ role: 'system', content: 'x' }] }, 'Unexpected role'],
  [{ ...CLAUDE, messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }, 'must be non-empty'],
  [
    {
      ...CLAUDE,
      messages: [
        ...SAID,
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'a', input: {} }] },
        ...SAID,
      ],
    },
    'without `tool_result` blocks',
  ],
  [
    { ...CLAUDE, output_config: { format: { type: 'json_schema', schema: OBJECT } } },
    "'additionalProperties' must be explicitly",
  ],
])('Anthropic refuses %j', async (body, words) => {
  const headers = { 'x-api-key': anthropic.key, 'anthropic-version': '2023-06-01' };
  const { status, text } = await post(anthropic, body, headers, '/messages');
  expect(status).toBe(400);
  expect(text.replaceAll('\\', '')).toContain(words);
  expect(JSON.parse(text)).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
});

const CONTENTS = [{ role: 'user', parts: [{ text: 'hi' }] }];
const declared = [{ functionDeclarations: [{ name: 'a', parametersJsonSchema: OBJECT }] }];

test.each([
  [{ contents: CONTENTS, max_tokens: 3 }, 'Unknown name "max_tokens": Cannot find field.'],
  [
    { contents: CONTENTS, generationConfig: { maxTokens: 3 } },
    `Unknown name "maxTokens" at 'generation_config'`,
  ],
  [{ contents: [] }, 'contents is not specified'],
  [{ contents: [{ role: 'system', parts: [{ text: 'x' }] }] }, 'Please use a valid role'],
  [{ contents: [{ role: 'user', parts: [{ text: '' }] }] }, "required oneof field 'data'"],
  [
    { contents: CONTENTS, tools: declared, generationConfig: { responseMimeType: 'application/json' } },
    'is unsupported',
  ],
  [
    { contents: CONTENTS, generationConfig: { thinkingConfig: { thinkingBudget: 90_000 } } },
    'thinking budget 90000 is invalid',
  ],
  [
    {
      contents: CONTENTS,
      generationConfig: {
        responseMimeType: 'application/json',
        responseSchema: { additionalProperties: false },
      },
    },
    'Unknown name "additionalProperties"',
  ],
  [
    { contents: [...CONTENTS, { role: 'model', parts: [{ functionCall: { name: 'a' } }] }, ...CONTENTS] },
    'number of function response parts',
  ],
])('Gemini refuses %j', async (body, words) => {
  const path = '/models/gemini-2.5-flash:generateContent';
  const { status, text } = await post(gemini, body, { 'x-goog-api-key': gemini.key }, path);
  expect(status).toBe(400);
  expect((JSON.parse(text) as { error: { message: string } }).error.message).toContain(words);
});

test('Gemini answers a wrong key with 400', async () => {
  const path = '/models/gemini-2.5-flash:generateContent';
  const { status, text } = await post(gemini, { contents: CONTENTS }, {}, path);
  expect([status, text.includes('API key not valid')]).toEqual([400, true]);
});

const COMMAND = { model: 'command-a-03-2025', messages: SAID };

test.each([
  [{ ...COMMAND, top_p: 1 }, 422, "parameter 'top_p' is not a valid field"],
  [
    { ...COMMAND, tools: [{ type: 'function', function: { name: 'a', strict: true } }] },
    422,
    "parameter 'strict'",
  ],
  [
    { ...COMMAND, tools: [], response_format: { type: 'json_object' } },
    400,
    'both response_format and tools',
  ],
  [
    {
      ...COMMAND,
      response_format: {
        type: 'json_object',
        json_schema: { type: 'object', required: ['a'], properties: { a: OBJECT } },
      },
    },
    400,
    'at least one required field',
  ],
  [{ ...COMMAND, p: 1 }, 400, 'p must be between 0.01 and 0.99'],
  [{ ...COMMAND, temperature: 1.5 }, 400, 'temperature must be between 0 and 1'],
  [{ ...COMMAND, tool_choice: 'auto' }, 400, 'invalid tool_choice'],
  [{ ...COMMAND, messages: [{ role: 'user', content: [PICTURE] }] }, 400, 'does not support image inputs'],
  [{ ...COMMAND, thinking: { type: 'enabled' } }, 400, 'thinking is not supported'],
])('Cohere refuses %j with %p', async (body, expected, words) => {
  const { status, text } = await post(cohere, body, undefined, '/chat');
  expect([status, text.includes(words)]).toEqual([expected, true]);
});

test.each([
  ['/openai/deployments/mine/chat/completions?api-version=2024-10-21', 200],
  ['/openai/deployments/mine/chat/completions?api-version=2019-01-01', 404],
  ['/openai/deployments/mine/chat/completions', 404],
  ['/openai/deployments/other/chat/completions?api-version=2024-10-21', 404],
  ['/openai/v1/chat/completions', 200],
])('Azure answers %s with %p', async (path, expected) => {
  const { status } = await post(azure, { model: 'mine', messages: SAID }, { 'api-key': azure.key }, path);
  expect(status).toBe(expected);
});

test('Bedrock answers nothing that is not signed for its region with its key', async () => {
  const path = '/model/anthropic.claude-sonnet-4-20250514-v1%3A0/converse';
  const forged = `AWS4-HMAC-SHA256 Credential=${bedrock.access.accessKeyId}/20260101/eu-west-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date, Signature=${'0'.repeat(64)}`;
  for (const headers of [{}, { authorization: forged, 'x-amz-date': '20260101T000000Z' }]) {
    const { status } = await post(
      bedrock,
      { messages: [{ role: 'user', content: [{ text: 'hi' }] }] },
      headers,
      path,
    );
    expect(status).toBe(403);
  }
  expect(bedrock.received).toEqual([]);
});

async function post(
  standIn: StandIn,
  body: unknown,
  headers: Record<string, string> = { authorization: `Bearer ${standIn.key}` },
  path = '/chat/completions',
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(standIn.baseUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}
