import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ApiError, FunctionCallingConfigMode, GoogleGenAI, Type } from '@google/genai';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import {
  chunk,
  completion,
  DONE,
  eventStream,
  PIXEL_BASE64,
  ScriptedBackend,
  streamed,
  usage,
  usageEvent,
} from '../support/scripted-backend.ts';

/** The package `@google/genai`, which Gemini CLI uses, as it comes from npm: only its address and its key are set. */

const MODEL = 'svc_chat/m';

let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;
let client: GoogleGenAI;

beforeAll(async () => {
  backend = new ScriptedBackend();
  gateway = await Gateway.start({
    yaml: catalogFor([backend.baseUrl]),
    env: { TOLLGATE_ACCESS_LOG: '1' },
  });
  account = await gateway.account('10');
  client = clientFor(account.token);
});
afterAll(async () => {
  await gateway.settled(account);
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
});

function clientFor(apiKey: string): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.url } });
}

async function refusal(work: Promise<unknown>): Promise<ApiError> {
  const thrown: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof ApiError) return thrown;
  throw new Error(`expected an ApiError, got ${String(thrown)}`);
}

const lastCall = () => backend.calls.at(-1)!.body;
const lastReceipt = async () => (await gateway.requests(account)).at(-1)!;

describe('generateContent', () => {
  test('a text with instruction and settings, charged by its usage', async () => {
    backend.script(() => completion('Money set aside.', usage(12, 4)));
    const answer = await client.models.generateContent({
      model: MODEL,
      contents: 'What is a hold?',
      config: {
        systemInstruction: 'Be brief.',
        maxOutputTokens: 50,
        temperature: 0.3,
        topP: 0.8,
        stopSequences: ['\n'],
      },
    });
    expect(answer.text).toBe('Money set aside.');
    expect(answer.candidates?.[0]?.finishReason).toBe('STOP' as never);
    expect(answer.usageMetadata).toEqual({
      promptTokenCount: 12,
      candidatesTokenCount: 4,
      totalTokenCount: 16,
    });
    expect(answer.modelVersion).toBe(MODEL);
    expect(await lastReceipt()).toMatchObject({ id: answer.responseId, charged: 20_000, state: 'posted' });
    expect(lastCall()).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'What is a hold?' },
      ],
      max_tokens: 50,
      temperature: 0.3,
      top_p: 0.8,
      stop: ['\n'],
    });
  });

  test('a picture and JSON by a schema reach the backend', async () => {
    backend.script(() => completion('{"city":"Oslo"}', usage(20, 5)));
    const answer = await client.models.generateContent({
      model: MODEL,
      contents: [{ text: 'Where is this?' }, { inlineData: { mimeType: 'image/png', data: PIXEL_BASE64 } }],
      config: {
        responseMimeType: 'application/json',
        responseSchema: { type: Type.OBJECT, properties: { city: { type: Type.STRING, nullable: true } } },
      },
    });
    expect(JSON.parse(answer.text ?? '')).toEqual({ city: 'Oslo' });
    expect(lastCall()).toMatchObject({
      messages: [
        {
          content: [
            { type: 'text', text: 'Where is this?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL_BASE64}` } },
          ],
        },
      ],
      response_format: {
        type: 'json_schema',
        json_schema: { schema: { type: 'object', properties: { city: { type: ['string', 'null'] } } } },
      },
    });
  });

  test('a function is called, and its result finds its call', async () => {
    const call = {
      id: 'call_9',
      type: 'function',
      function: { name: 'weather', arguments: '{"city":"Oslo"}' },
    };
    backend.script(() =>
      completion('', usage(30, 8), {
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: null, tool_calls: [call] },
            finish_reason: 'tool_calls',
          },
        ],
      }),
    );
    const config = {
      tools: [
        {
          functionDeclarations: [
            {
              name: 'weather',
              parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } } },
            },
          ],
        },
      ],
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
    };
    const question = { role: 'user', parts: [{ text: 'Weather in Oslo?' }] };
    const first = await client.models.generateContent({ model: MODEL, contents: [question], config });
    expect(first.functionCalls).toEqual([{ id: 'call_9', name: 'weather', args: { city: 'Oslo' } }]);
    expect(lastCall()).toMatchObject({
      tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }],
      tool_choice: { type: 'function', function: { name: 'weather' } },
    });
    backend.script(() => completion('Cold.', usage(40, 2)));
    const result = { functionResponse: { name: 'weather', response: { celsius: -3 } } };
    const second = await client.models.generateContent({
      model: MODEL,
      contents: [question, first.candidates![0]!.content!, { role: 'user', parts: [result] }],
      config: { tools: config.tools },
    });
    expect(second.text).toBe('Cold.');
    expect(lastCall()['messages']).toEqual([
      { role: 'user', content: 'Weather in Oslo?' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_9', content: '{"celsius":-3}' },
    ]);
  });

  test('a chat of the package keeps its history', async () => {
    backend.script(() => completion('Hello.', usage(5, 2)));
    const chat = client.chats.create({ model: MODEL });
    await chat.sendMessage({ message: 'Hi' });
    await chat.sendMessage({ message: 'Again' });
    expect(lastCall()['messages']).toEqual([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello.' },
      { role: 'user', content: 'Again' },
    ]);
  });
});

describe('streamGenerateContent', () => {
  test('text comes in pieces, the last with the end and the usage, charged by it', async () => {
    backend.script(() => streamed(['Mo', 'ney', '.'], { prompt: 12, completion: 4 }));
    const stream = await client.models.generateContentStream({ model: MODEL, contents: 'What is a hold?' });
    const pieces = await Array.fromAsync(stream);
    expect(pieces.map(({ text }) => text ?? '').filter((text) => text !== '')).toEqual(['Mo', 'ney', '.']);
    expect(pieces.at(-1)?.candidates?.[0]?.finishReason).toBe('STOP' as never);
    expect(pieces.at(-1)?.usageMetadata).toEqual({
      promptTokenCount: 12,
      candidatesTokenCount: 4,
      totalTokenCount: 16,
    });
    expect(await lastReceipt()).toMatchObject({ charged: 20_000, state: 'posted', stream: 1 });
  });

  test('thoughts are shown to who asks for them, and counted beside the answer', async () => {
    const thinking = {
      ...usage(12, 10),
      completion_tokens_details: { reasoning_tokens: 6 },
    };
    backend.script(() =>
      eventStream(
        [
          chunk({ reasoning_content: 'Hm.' }),
          chunk({ content: 'Yes.' }),
          chunk({}, 'stop'),
          chunk({}, null, { choices: [], usage: thinking }),
          DONE,
        ].join(''),
      ),
    );
    const ask = async (includeThoughts: boolean) => {
      const config = { thinkingConfig: { includeThoughts } };
      const stream = await client.models.generateContentStream({ model: MODEL, contents: 'Why?', config });
      const pieces = await Array.fromAsync(stream);
      const parts = pieces.flatMap((piece) => piece.candidates?.[0]?.content?.parts ?? []);
      expect(pieces.at(-1)?.usageMetadata).toMatchObject({ candidatesTokenCount: 4, thoughtsTokenCount: 6 });
      return parts;
    };
    expect(await ask(true)).toEqual([{ text: 'Hm.', thought: true }, { text: 'Yes.' }]);
    expect(await ask(false)).toEqual([{ text: 'Yes.' }]);
  });

  test('a call in pieces arrives as one', async () => {
    const piece = (more: object) => chunk({ tool_calls: [{ index: 0, ...more }] });
    backend.script(() =>
      eventStream(
        [
          piece({ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '' } }),
          piece({ function: { arguments: '{"city":' } }),
          piece({ function: { arguments: '"Oslo"}' } }),
          chunk({}, 'tool_calls'),
          usageEvent(10, 5),
          DONE,
        ].join(''),
      ),
    );
    const config = { tools: [{ functionDeclarations: [{ name: 'weather' }] }] };
    const stream = await client.models.generateContentStream({ model: MODEL, contents: 'Weather?', config });
    const calls = (await Array.fromAsync(stream)).flatMap(({ functionCalls }) => functionCalls ?? []);
    expect(calls).toEqual([{ id: 'call_1', name: 'weather', args: { city: 'Oslo' } }]);
  });

  test('a backend that breaks off is an error, not an end', async () => {
    backend.script(() => eventStream(`${chunk({ content: 'Half' })}data: {"error":{"message":"x"}}\n\n`));
    const stream = await client.models.generateContentStream({ model: MODEL, contents: 'Go' });
    expect(Array.fromAsync(stream)).rejects.toThrow();
    await gateway.settled(account);
  });
});

describe('without the package', () => {
  const contents = [{ parts: [{ text: 'Hi' }] }];
  const path = `/v1beta/models/${MODEL}`;

  test('a stream without alt=sse is one JSON array', async () => {
    backend.script(() => streamed(['a', 'b'], { prompt: 3, completion: 2 }));
    const response = await gateway.post(`${path}:streamGenerateContent`, account.token, { contents });
    expect(response.headers.get('content-type')).toStartWith('application/json');
    const pieces = (await response.json()) as { candidates: { content: { parts: { text: string }[] } }[] }[];
    expect(pieces.map(({ candidates }) => candidates[0]?.content.parts[0]?.text)).toEqual([
      'a',
      'b',
      undefined,
    ]);
  });

  test('the key may be in the query, counts only once, and is in no log', async () => {
    backend.script(() => completion('ok', usage(3, 1)));
    const send = (query: string, key?: string) =>
      gateway.fetch(`${path}:generateContent${query}`, {
        method: 'POST',
        body: JSON.stringify({ contents }),
        headers: key === undefined ? {} : { 'x-goog-api-key': key },
      });
    expect((await send(`?key=${account.token}`)).status).toBe(200);
    expect((await send(`?key=${account.token}`, account.token)).status).toBe(200);
    expect((await send(`?key=${account.token}`, 'sk-another')).status).toBe(401);
    backend.script(() => new Response('no', { status: 500 }));
    expect((await send(`?key=${account.token}`)).status).toBe(500);
    const log = () => gateway.log.join('\n');
    await eventually('the requests are in the log', () => log().includes(':generateContent'));
    expect(log()).not.toContain(account.token);
    // Elsewhere it is no token.
    expect((await gateway.fetch(`/v1/models?key=${account.token}`)).status).toBe(401);
  });

  test('what no backend gets is named', async () => {
    backend.script(() => completion('ok', usage(3, 1)));
    const response = await gateway.post(`${path}:generateContent`, account.token, {
      contents,
      tools: [{ googleSearch: {} }],
      safetySettings: [{}],
      generationConfig: { topK: 40, thinkingConfig: { thinkingBudget: 8_192 } },
      brandNew: 1,
    });
    expect(response.headers.get('x-tollgate-dropped')).toBe(
      'brandNew, generationConfig.thinkingConfig, safetySettings, generationConfig.topK, tools.googleSearch',
    );
  });
});

describe('models and counting', () => {
  test('the list has every chat model, and one can be asked for', async () => {
    const names: (string | undefined)[] = [];
    for await (const model of await client.models.list({ config: { pageSize: 1 } })) names.push(model.name);
    expect(names).toEqual([`models/${MODEL}`]);
    expect(await client.models.get({ model: MODEL })).toMatchObject({
      name: `models/${MODEL}`,
      displayName: 'Model M',
      inputTokenLimit: 200_000,
      outputTokenLimit: 100_000,
    });
  });

  test('tokens are counted free of charge', async () => {
    const before = await gateway.money(account);
    const { totalTokens } = await client.models.countTokens({ model: MODEL, contents: 'What is a hold?' });
    expect(totalTokens).toBeGreaterThan(4);
    expect(await gateway.money(account)).toEqual(before);
  });
});

describe('errors', () => {
  const ask = (on: GoogleGenAI, more: object = {}) =>
    on.models.generateContent({ model: MODEL, contents: 'Hi', ...more });

  test('come in the shape and with the status that the package expects', async () => {
    const wrong = await refusal(ask(client, { config: { temperature: 3 } }));
    expect(wrong.status).toBe(400);
    expect(wrong.message).toContain('INVALID_ARGUMENT');
    expect((await refusal(ask(clientFor('sk-wrong')))).status).toBe(401);
    const poor = await gateway.account('0');
    const unpaid = await refusal(ask(clientFor(poor.token)));
    expect(unpaid.status).toBe(402);
    expect(unpaid.message).toContain('insufficient_balance');
    expect((await refusal(ask(client, { model: 'svc_chat/none' }))).status).toBe(400);
    backend.script(() => new Response('no', { status: 500 }));
    expect((await refusal(ask(client))).status).toBe(500);
  });
});
