import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { GoogleGenAI } from '@google/genai';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { completion, ScriptedBackend, streamed, usage } from '../support/scripted-backend.ts';

/** What Google's clients ask for beside `generateContent` of `/v1beta`: vectors, the version `v1`, and errors that they can read. */

let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  backend = new ScriptedBackend();
  const yaml = `
upstreams:
  b: { kind: openai, base_url: "${backend.baseUrl}" }
lists:
  chats: [{ model: m, input: 1, output: 2 }]
  vectors: [{ model: e, input: 1, output: 0 }]
endpoints:
  chat: { name: Chat, type: chat_completion, lists: [chats], upstreams: [b] }
  embed: { name: Vectors, type: embedding, lists: [vectors], upstreams: [b] }
aliases: { text-embedding-004: embed/e, gemini-2.5-flash: chat/m, gemini-2.5-pro: chat/m }
`;
  gateway = await Gateway.start({ yaml });
  account = await gateway.account('10');
});
afterAll(async () => {
  await gateway.settled(account);
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
});
beforeEach(() => {
  backend.calls.length = 0;
});

const clientFor = (apiVersion?: string) =>
  new GoogleGenAI({
    apiKey: account.token,
    httpOptions: { baseUrl: gateway.url, ...(apiVersion && { apiVersion }) },
  });
const sent = () => backend.calls.at(-1)!;
const lastReceipt = async () => {
  await gateway.settled(account);
  return (await gateway.requests(account)).at(-1);
};

/** In another order than asked for, as a server may answer. */
function vectors(...values: number[][]): Response {
  const data = values.map((embedding, index) => ({ object: 'embedding', index, embedding })).toReversed();
  const used = { prompt_tokens: 7, total_tokens: 7 };
  return Response.json({ object: 'list', model: 'backend-e', data, usage: used });
}

describe('embedContent', () => {
  test('several texts of the client become one request, with a vector for each, charged by its usage', async () => {
    backend.script(() => vectors([0.1, 0.2], [0.3, 0.4]));
    const { embeddings } = await clientFor().models.embedContent({
      model: 'embed/e',
      contents: ['one', 'two'],
      config: { outputDimensionality: 2 },
    });
    expect(embeddings?.map(({ values }) => values)).toEqual([
      [0.1, 0.2],
      [0.3, 0.4],
    ]);
    expect(sent()).toMatchObject({
      path: '/v1/embeddings',
      body: { model: 'e', input: ['one', 'two'], dimensions: 2 },
    });
    expect(await lastReceipt()).toMatchObject({ input_tokens: 7, charged: 7_000, outcome: 'completed' });
  });

  test('one text by its own path, with options that no other backend has left out and named', async () => {
    backend.script(() => vectors([0.5]));
    const response = await gateway.post('/v1beta/models/text-embedding-004:embedContent', account.token, {
      content: { parts: [{ text: 'one' }, { text: 'two' }] },
      task_type: 'RETRIEVAL_QUERY',
      title: 'A title',
    });
    expect(await response.json()).toEqual({ embedding: { values: [0.5] } });
    expect(response.headers.get('x-tollgate-dropped')).toBe('taskType, title');
    expect(sent().body).toEqual({ model: 'e', input: ['one\ntwo'] });
  });

  test.each([
    ['no content', ':embedContent', {}, 'content'],
    ['a picture', ':embedContent', { content: { parts: [{ inlineData: {} }] } }, 'content.parts'],
    ['an empty batch', ':batchEmbedContents', { requests: [] }, 'requests'],
    [
      'different numbers of dimensions',
      ':batchEmbedContents',
      {
        requests: [
          { content: { parts: [{ text: 'a' }] }, outputDimensionality: 2 },
          { content: { parts: [{ text: 'b' }] }, outputDimensionality: 3 },
        ],
      },
      'requests',
    ],
  ])('%s is refused in Google’s shape', async (_, method, body, param) => {
    const response = await gateway.post(`/v1beta/models/embed/e${method}`, account.token, body);
    expect(await response.json()).toMatchObject({
      error: { code: 400, status: 'INVALID_ARGUMENT', details: [{ metadata: { param } }] },
    });
    expect(backend.calls).toEqual([]);
  });

  test('a chat model makes no vectors', async () => {
    const content = { parts: [{ text: 'a' }] };
    const response = await gateway.post('/v1beta/models/chat/m:embedContent', account.token, { content });
    expect(await response.json()).toMatchObject({ error: { code: 400, status: 'INVALID_ARGUMENT' } });
  });

  test('an embedding model is listed with what it does, an alias under its own name', async () => {
    const response = await gateway.fetch('/v1beta/models', { token: account.token });
    const { models } = (await response.json()) as {
      models: { name: string; displayName: string; supportedGenerationMethods: string[] }[];
    };
    const methods = ['embedContent', 'batchEmbedContents'];
    expect(models.find(({ name }) => name === 'models/embed/e')?.supportedGenerationMethods).toEqual(methods);
    expect(models.slice(-3).map(({ displayName }) => displayName)).toEqual([
      'text-embedding-004',
      'gemini-2.5-flash',
      'gemini-2.5-pro',
    ]);
  });
});

describe('the version v1', () => {
  test('answers whole and as a stream', async () => {
    backend.script(() => completion('Hello', usage(10, 5)));
    const client = clientFor('v1');
    const whole = await client.models.generateContent({ model: 'chat/m', contents: 'hi' });
    expect(whole.text).toBe('Hello');
    backend.script(() => streamed(['Hel', 'lo'], { prompt: 10, completion: 5 }));
    let text = '';
    for await (const piece of await client.models.generateContentStream({ model: 'chat/m', contents: 'hi' }))
      text += piece.text ?? '';
    expect(text).toBe('Hello');
    expect(await lastReceipt()).toMatchObject({ charged: 20_000, outcome: 'completed' });
  });

  test('has Google’s errors beside the list of models in OpenAI’s shape', async () => {
    const contents = [{ parts: [{ text: 'hi' }] }];
    const bad = await gateway.post('/v1/models/chat/nobody:generateContent', account.token, { contents });
    expect(await bad.json()).toMatchObject({ error: { code: 400, status: 'INVALID_ARGUMENT' } });
    const list = await gateway.fetch('/v1/models/chat/m', { token: account.token });
    expect(await list.json()).toMatchObject({ id: 'chat/m', object: 'model' });
  });
});

describe('an error has Google’s shape', () => {
  const MISSING: readonly [method: string, path: string][] = [
    ['GET', ''],
    ['GET', '/nothing'],
    ['POST', '/nothing/here'],
    ['PUT', '/nothing'],
    ['GET', '//models/nobody'],
  ];
  const WRONG: readonly [method: string, path: string][] = [
    ['DELETE', '/v1beta/models'],
    ['POST', '/v1beta/models'],
    ['PATCH', '/v1beta/models/chat/m'],
    ['POST', '/v1beta/models/chat/m:doSomething'],
    ['PUT', '/v1beta/models/chat/m:generateContent'],
    ['PUT', '/v1beta/files'],
  ];
  const ask = (method: string, path: string) => gateway.fetch(path, { method, token: account.token });

  test.each(['/v1beta', '/v1alpha'])('where there is nothing below %s', async (version) => {
    for (const [method, path] of MISSING) {
      const response = await ask(method, version + path);
      expect({ method, path, status: response.status }).toEqual({ method, path, status: 404 });
      expect(await response.json()).toMatchObject({ error: { code: 404, status: 'NOT_FOUND' } });
    }
  });

  test.each(WRONG)('where the method is wrong: %s %s', async (method, path) => {
    const response = await ask(method, path);
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toContain('GET');
    expect(await response.json()).toMatchObject({ error: { code: 405, status: 'UNIMPLEMENTED' } });
  });
});
