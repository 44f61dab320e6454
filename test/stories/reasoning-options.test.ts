import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { completion, ScriptedBackend, streamed, usage } from '../support/scripted-backend.ts';

/**
 * Clients say how much a model should think whether it thinks or not, each in the words of its dialect. A backend refuses
 * that for models that do not: they get requests without it, and the client is told what was left out.
 */

let backend: ScriptedBackend;
let claude: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  backend = new ScriptedBackend();
  claude = new ScriptedBackend();
  const models = (name: string) =>
    `[{ model: ${name}plain, input: 1, output: 2 }, { model: ${name}thinker, input: 1, output: 2, reasoning: true }]`;
  const yaml = `
upstreams:
  b: { kind: openai, base_url: "${backend.baseUrl}" }
  claude: { kind: anthropic, base_url: "${claude.baseUrl}", api_key: "\${KEY}" }
lists:
  models: ${models('')}
  claude_models: ${models('claude-')}
endpoints:
  chat: { name: Chat, type: chat_completion, lists: [models], upstreams: [b] }
  claude_chat: { name: Claude, type: chat_completion, lists: [claude_models], upstreams: [claude] }
`;
  gateway = await Gateway.start({ yaml, env: { KEY: 'backend-key' } });
  account = await gateway.account('10');
});
afterAll(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
  await claude.stop();
});

/** As OpenAI does for models that do not reason. */
const REFUSAL = {
  error: {
    message: 'Unrecognized request argument supplied: reasoning_effort',
    type: 'invalid_request_error',
    param: 'reasoning_effort',
    code: null,
  },
};

beforeEach(() => {
  backend.calls.length = 0;
  claude.calls.length = 0;
  backend.script(({ body }) =>
    body['model'] === 'plain' && 'reasoning_effort' in body
      ? Response.json(REFUSAL, { status: 400 })
      : completion('ok', usage(10, 1)),
  );
  claude.script(({ body }) =>
    Response.json({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: body['model'],
      content: [{ type: 'text', text: 'ok' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 1 },
    }),
  );
});

const messages = [{ role: 'user', content: 'hi' }];
const contents = [{ parts: [{ text: 'hi' }] }];

type Ask = (model: string) => Promise<Response>;
const post = (path: string, body: object): Promise<Response> => gateway.post(path, account.token, body);
const chat =
  (fields: object): Ask =>
  (model) =>
    post('/v1/chat/completions', { model, messages, ...fields });
const message =
  (fields: object): Ask =>
  (model) =>
    post('/v1/messages', { model, messages, max_tokens: 8_000, ...fields });
const response =
  (fields: object): Ask =>
  (model) =>
    post('/v1/responses', { model, input: 'hi', ...fields });
const content =
  (thinkingConfig: object): Ask =>
  (model) =>
    post(`/v1beta/models/${model}:generateContent`, { contents, generationConfig: { thinkingConfig } });

const BUDGET = { type: 'enabled', budget_tokens: 5_000 };

const ASKED: readonly [said: string, ask: Ask, effort: string | undefined, dropped: string][] = [
  ['reasoning_effort of a chat', chat({ reasoning_effort: 'low' }), 'low', 'reasoning_effort'],
  ['thinking of a message', message({ thinking: BUDGET }), 'medium', 'thinking'],
  ['adaptive thinking of a message', message({ thinking: { type: 'adaptive' } }), undefined, 'thinking'],
  ['the effort of a message', message({ output_config: { effort: 'high' } }), 'high', 'output_config.effort'],
  ['the effort of a response', response({ reasoning: { effort: 'high' } }), 'high', 'reasoning.effort'],
  ['a budget of Gemini', content({ thinkingBudget: 20_000 }), 'high', 'generationConfig.thinkingConfig'],
  ['a level of Gemini', content({ thinkingLevel: 'LOW' }), 'low', 'generationConfig.thinkingConfig'],
  ['thoughts of Gemini', content({ includeThoughts: true }), undefined, 'generationConfig.thinkingConfig'],
];

describe.each(ASKED)('%s', (_, ask, effort, dropped) => {
  test('is left out for a model that does not reason, and named', async () => {
    const answer = await ask('chat/plain');
    expect(`${answer.status} ${await answer.text()}`).toStartWith('200 ');
    expect(backend.calls).toHaveLength(1);
    expect(backend.calls[0]!.body).not.toContainAnyKeys(['reasoning_effort', 'reasoning', 'thinking']);
    expect(answer.headers.get('x-tollgate-dropped')).toBe(dropped);
  });

  test('reaches a model that reasons', async () => {
    const answer = await ask('chat/thinker');
    expect(answer.status).toBe(200);
    expect(backend.calls[0]!.body['reasoning_effort']).toBe(effort as never);
    expect(answer.headers.get('x-tollgate-dropped')).toBeNull();
  });
});

test('a switch that is off asks for nothing, and is not named', async () => {
  for (const ask of [message({ thinking: { type: 'disabled' } }), content({ includeThoughts: false })]) {
    const answer = await ask('chat/plain');
    expect([answer.status, answer.headers.get('x-tollgate-dropped')]).toEqual([200, null]);
  }
});

test('a stream is told in its headers', async () => {
  backend.script(() => streamed(['ok'], { prompt: 10, completion: 1 }));
  const answer = await chat({ reasoning_effort: 'low', stream: true })('chat/plain');
  expect(answer.headers.get('x-tollgate-dropped')).toBe('reasoning_effort');
  await answer.text();
});

describe('a Claude that gets the request as it was written', () => {
  const ask = message({
    thinking: BUDGET,
    output_config: { effort: 'low', format: { type: 'json_schema', schema: {} } },
  });

  test('gets it without them where it does not reason, and keeps what else its fields say', async () => {
    const answer = await ask('claude_chat/claude-plain');
    expect(answer.status).toBe(200);
    expect(claude.calls[0]!.body).not.toContainKey('thinking');
    expect(claude.calls[0]!.body['output_config']).toEqual({ format: { type: 'json_schema', schema: {} } });
    expect(answer.headers.get('x-tollgate-dropped')).toBe('thinking, output_config.effort');
  });

  test('gets them where it reasons', async () => {
    const answer = await ask('claude_chat/claude-thinker');
    expect(claude.calls[0]!.body).toMatchObject({ thinking: BUDGET, output_config: { effort: 'low' } });
    expect(answer.headers.get('x-tollgate-dropped')).toBeNull();
  });
});
