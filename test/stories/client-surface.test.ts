import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import {
  chunk,
  completion,
  DONE,
  eventStream,
  images,
  PIXEL_BASE64,
  ScriptedBackend,
  usage,
  usageEvent,
} from '../support/scripted-backend.ts';

/** What real clients stumbled over. Each guarantee is one that they rely on. */

let backend: ScriptedBackend;
let claude: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  backend = new ScriptedBackend();
  claude = new ScriptedBackend();
  const yaml = `
upstreams:
  b0: { kind: openai, base_url: "${backend.baseUrl}" }
  claude: { kind: anthropic, base_url: "${claude.baseUrl}", api_key: "\${KEY}" }
lists:
  chat_models: [{ model: m, input: 1, output: 2, context: 200000, max_output: 100000, vision: true, tools: true }]
  image_models:
    - { model: gpt-image-1, image: 0.01, sizes: [1024x1024] }
    - { model: dall-e-3, image: 0.01, sizes: [1024x1024] }
    - { model: openai/dall-e-2, image: 0.01, sizes: [1024x1024] }
    - { model: p, image: 0.01, sizes: [1024x1024] }
  claude_models: [{ model: claude-x, input: 3, output: 15, context: 200000, max_output: 64000, inputs: { file: { max_tokens: 1000 } } }]
endpoints:
  svc_chat: { name: Chat, type: chat_completion, lists: [chat_models], upstreams: [b0] }
  svc_images: { name: Images, type: image_generation, lists: [image_models], upstreams: [b0] }
  svc_claude: { name: Claude, type: chat_completion, lists: [claude_models], upstreams: [claude] }
aliases: { quick: svc_chat/m, claude-quick: svc_chat/m, painter: svc_images/gpt-image-1, gpt-image-that-is-not: svc_images/dall-e-3 }
`;
  gateway = await Gateway.start({ yaml, env: { KEY: 'backend-key' } });
  account = await gateway.account('100');
});
afterAll(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
  await claude.stop();
});

const messages = [{ role: 'user', content: 'hi' }];
const send = (path: string, body: unknown) => gateway.post(path, account.token, body);

type Json = Record<string, unknown>;

/** The parts of the answers here that are looked at one by one. */
interface Body {
  readonly type?: string;
  readonly usage?: { readonly cost?: number; readonly [count: string]: unknown } | null;
  readonly choices?: readonly {
    readonly message?: { readonly content?: string | null };
    readonly [more: string]: unknown;
  }[];
  readonly error?: { readonly message: string };
  readonly data?: readonly object[];
  readonly output?: unknown;
  readonly response?: { readonly output: unknown };
  readonly logprobs?: unknown;
  readonly [more: string]: unknown;
}

const json = async (response: Response): Promise<Body> => (await response.json()) as Body;

describe('the cost of a request', () => {
  const DEAR = { ...usage(10, 5), cost: 0.5, cost_details: { upstream_inference_cost: 0.4 }, is_byok: false };

  test('is in the usage of a whole answer under /v1, and it is ours', async () => {
    backend.script(() => completion('Hello', DEAR, { provider: 'DeepInfra' }));
    const response = await send('/v1/chat/completions', { model: 'm', messages });
    const body = await json(response);
    expect(body.usage).toEqual({ ...usage(10, 5), cost: 0.00002 });
    expect(body.usage?.cost).toBe(Number(response.headers.get('x-tollgate-cost')));
    expect(body).not.toHaveProperty('provider');
  });

  test('is in the last usage of a stream, however the backend places it', async () => {
    const placements = {
      alone: [chunk({ content: 'Hi' }), chunk({}, 'stop'), usageEvent(10, 5)],
      withFinish: [chunk({ content: 'Hi' }), chunk({}, 'stop', { usage: DEAR, provider: 'X' })],
      everywhere: [
        chunk({ content: 'Hi' }, null, { usage: usage(10, 1) }),
        chunk({}, 'stop', { usage: usage(10, 5), x_groq: { id: 'a', usage: usage(10, 5) } }),
      ],
      missing: [chunk({ content: 'Hi' }), chunk({}, 'stop')],
    };
    for (const [name, events] of Object.entries(placements)) {
      backend.script(() => eventStream([...events, DONE].join('')));
      const stream_options = { include_usage: true };
      const response = await send('/v1/chat/completions', {
        model: 'm',
        messages,
        stream: true,
        stream_options,
      });
      const text = await response.text();
      const chunks = text
        .split('\n\n')
        .filter((event) => event.startsWith('data: {'))
        .map((event) => JSON.parse(event.slice(6)) as Body);
      const receipt = await gateway.receipt(response.headers.get('x-request-id') ?? '');
      const last = chunks.findLast((one) => one.usage != null);
      expect({ name, cost: last?.usage?.cost }).toEqual({ name, cost: receipt.charged / 1e9 });
      expect(text).not.toContain('cost_details');
      expect(text).not.toContain('"provider"');
      expect(text.endsWith(DONE)).toBe(true);
      expect(chunks.filter((one) => one.usage?.cost !== undefined)).toHaveLength(1);
    }
  });

  test('of a stream that breaks after its usage is not invented, and the usage is not lost', async () => {
    const events = [
      chunk({ content: 'Hi' }),
      chunk({}, 'stop'),
      usageEvent(10, 5),
      'data: {"error":"late"}\n\n',
    ];
    backend.script(() => eventStream(events.join('')));
    const stream_options = { include_usage: true };
    const response = await send('/v1/chat/completions', {
      model: 'm',
      messages,
      stream: true,
      stream_options,
    });
    const text = await response.text();
    expect(text).toContain('"usage":{"prompt_tokens":10');
    expect(text).toContain('"error"');
    expect(text).not.toContain('"cost"');
  });

  test('is found also behind other members named usage', async () => {
    backend.script(() => completion('"usage":{', usage(10, 5), { x_groq: { usage: { cost_free: 1 } } }));
    const body = await json(await send('/v1/chat/completions', { model: 'm', messages }));
    expect(body.usage).toEqual({ cost: 0.00002, ...usage(10, 5) });
    expect(body.choices?.[0]?.message?.content).toBe('"usage":{');
  });

  test('stays out of the spec’s own paths', async () => {
    backend.script(() => completion('Hello', DEAR, { provider: 'DeepInfra' }));
    const whole = await json(await gateway.chat(account.token));
    expect(whole.usage).toEqual(usage(10, 5));
    expect(whole).not.toHaveProperty('provider');
  });
});

test('every alias has a name of its own, so that lists of names alone tell them apart', async () => {
  const response = await gateway.fetch('/v1/models', { token: account.token });
  const { data } = (await response.json()) as { data: { id: string; name: string; display_name: string }[] };
  const named = Object.fromEntries(data.map(({ id, name }) => [id, name]));
  expect(named).toMatchObject({ 'svc_chat/m': 'm', quick: 'quick', 'claude-quick': 'claude-quick' });
  expect(data.every(({ name, display_name }) => name === display_name)).toBe(true);
  const one = await gateway.fetch('/v1/models/quick', { token: account.token });
  expect(await one.json()).toMatchObject({ id: 'quick', name: 'quick', display_name: 'quick' });
});

describe('an image whose format was not asked for', () => {
  const formatOf = async (path: string, body: Json) => {
    backend.script(() => images(1));
    const { data } = await json(await send(path, { prompt: 'a gate', ...body }));
    return Object.keys(data?.[0] ?? {});
  };

  test.each(['gpt-image-1', 'svc_images/gpt-image-1', 'painter', 'p', 'svc_images/p'])(
    'is base64 under /v1 for %s, whichever name the model is asked by',
    async (model) => {
      expect(await formatOf('/v1/images/generations', { model })).toEqual(['b64_json']);
      const image = `data:image/png;base64,${PIXEL_BASE64}`;
      expect(await formatOf('/v1/images/edits', { model, image })).toEqual(['b64_json']);
    },
  );

  test.each(['dall-e-3', 'svc_images/dall-e-3', 'gpt-image-that-is-not', 'svc_images/openai/dall-e-2'])(
    'is a link under /v1 for %s, which is a dall-e model',
    async (model) => {
      expect(await formatOf('/v1/images/generations', { model })).toEqual(['url']);
    },
  );

  test.each(['gpt-image-1', 'dall-e-3'])('is a link in the spec’s own path, for %s', async (model) => {
    const spec = { endpoint_code: 'svc_images', model };
    expect(await formatOf('/api/public/v1/images/generations', spec)).toEqual(['url']);
  });

  test('comes as asked where the client says so', async () => {
    const generations = '/v1/images/generations';
    expect(await formatOf(generations, { model: 'gpt-image-1', response_format: 'url' })).toEqual(['url']);
    expect(await formatOf(generations, { model: 'dall-e-3', response_format: 'b64_json' })).toEqual([
      'b64_json',
    ]);
  });
});

describe('Claude', () => {
  const answer = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-x-20260101',
    content: [{ type: 'text', text: 'Hello "model":"other"' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 7 },
  };
  const ask = { model: 'svc_claude/claude-x', max_tokens: 100, messages };

  test('has no JSON mode, and says so instead of leaving the wish out', async () => {
    const calls = claude.calls.length;
    const response_format = { type: 'json_object' };
    const response = await send('/v1/chat/completions', { model: 'claude-x', messages, response_format });
    expect(response.status).toBe(400);
    expect((await json(response)).error).toMatchObject({ param: 'response_format' });
    const text = { format: { type: 'json_object' } };
    expect((await send('/v1/responses', { model: 'claude-x', input: 'hi', text })).status).toBe(400);
    expect(claude.calls.length).toBe(calls);
  });

  test('answers under the name that was asked for, however the bytes are cut', async () => {
    claude.script(() => Response.json(answer));
    expect(await json(await send('/v1/messages', ask))).toEqual({ ...answer, model: ask.model });

    const start = { type: 'message_start', message: { ...answer, content: [], usage: answer.usage } };
    const rest = [
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: '"model":"claude-x-20260101"' },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } },
      { type: 'message_stop' },
    ];
    const wire = (events: readonly { type: string }[]) =>
      events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join('');
    const bytes = new TextEncoder().encode(wire([start, ...rest]));
    const renamed = wire([{ ...start, message: { ...start.message, model: ask.model } } as never, ...rest]);
    for (const cut of [1, 30, 150, bytes.length]) {
      claude.script(() => eventStream(inPieces([bytes.slice(0, cut), bytes.slice(cut)])));
      const response = await send('/v1/messages', { ...ask, stream: true });
      expect(await response.text()).toBe(renamed);
    }
  });

  test('takes more than four stop sequences and documents by URL', async () => {
    claude.script(() => Response.json(answer));
    const stop_sequences = ['1', '2', '3', '4', '5', '6'];
    const document = { type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' } };
    const content = [document, { type: 'text', text: 'Summarise.' }];
    const body = { ...ask, stop_sequences, messages: [{ role: 'user', content }] };
    expect((await send('/v1/messages', body)).status).toBe(200);
    expect(claude.calls.at(-1)?.body).toEqual({ ...body, model: 'claude-x' });
  });
});

test('a document by URL is refused with its path where no backend of the dialect serves the model', async () => {
  const document = { type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' } };
  const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: [document] }] };
  const response = await send('/v1/messages', body);
  expect(response.status).toBe(400);
  expect(await json(response)).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
});

describe('a history that OpenAI accepts is accepted', () => {
  const histories: Record<string, readonly Json[]> = {
    refusal: [{ role: 'assistant', refusal: 'I cannot.' }],
    audio: [{ role: 'assistant', audio: { id: 'audio_1' } }],
    'function call': [
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
      { role: 'function', name: 'f', content: '42' },
    ],
    'empty tool result': [
      {
        role: 'assistant',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: [] },
    ],
  };

  test.each(Object.entries(histories))('%s', async (_, history) => {
    backend.script(() => completion('ok', usage(5, 1)));
    const conversation = [...messages, ...history, ...messages];
    const response = await send('/v1/chat/completions', { model: 'm', messages: conversation });
    expect(response.status).toBe(200);
    expect(backend.calls.at(-1)?.body['messages']).toEqual(conversation);
  });

  test('also by Claude, where calls of functions become calls of tools', async () => {
    claude.script(() =>
      Response.json({
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-x',
        content: [{ type: 'text', text: 'ok' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    );
    const conversation = [...messages, ...(histories['function call'] ?? []), ...messages];
    const response = await send('/v1/chat/completions', { model: 'claude-x', messages: conversation });
    expect(response.status).toBe(200);
    const sent = JSON.stringify(claude.calls.at(-1)?.body['messages']);
    expect(sent).toContain('"tool_use"');
    expect(sent).toContain('"tool_use_id":"function_call_1"');
  });

  test('an answer may end with function_call', async () => {
    const message = { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } };
    const choices = [{ index: 0, message, finish_reason: 'function_call' }];
    backend.script(() => completion('', usage(5, 1), { choices }));
    const functions = [{ name: 'f', parameters: { type: 'object' } }];
    const body = await json(await send('/v1/chat/completions', { model: 'm', messages, functions }));
    expect(body.choices).toEqual(choices);
  });

  test('a message that says nothing is still refused', async () => {
    for (const role of ['user', 'system', 'assistant']) {
      const response = await send('/v1/chat/completions', { model: 'm', messages: [{ role, content: [] }] });
      expect((await json(response)).error).toMatchObject({ param: 'messages.0.content' });
    }
  });
});

describe('an error', () => {
  const problemOf = async (message: Json) => {
    const response = await send('/v1/chat/completions', { model: 'm', messages: [message] });
    expect(response.status).toBe(400);
    return (await json(response)).error;
  };

  test('about a content part has its path and says what is wrong', async () => {
    const text = { type: 'text', text: 'hi' };
    const image = { type: 'image_url', image_url: 'https://example.org/a.png' };
    expect(await problemOf({ role: 'user', content: [text, image] })).toMatchObject({
      param: 'messages.0.content.1.image_url',
      message: expect.stringContaining('object'),
    });
    expect(await problemOf({ role: 'user', content: [{ type: 'video' }] })).toMatchObject({
      param: 'messages.0.content.0.type',
      message: expect.stringContaining('input_audio'),
    });
    expect(await problemOf({ role: 'user', content: [{ type: 'text' }] })).toMatchObject({
      code: 'missing_field',
      param: 'messages.0.content.0.text',
    });
    expect(await problemOf({ role: 'user', content: 7 })).toMatchObject({
      param: 'messages.0.content',
      message: expect.stringContaining('a text or a list'),
    });
  });

  test('of a backend names the field that the backend named', async () => {
    const error = {
      message: 'Unsupported value',
      type: 'invalid_request_error',
      param: 'temperature',
      code: null,
    };
    backend.script(() => Response.json({ error }, { status: 400 }));
    const response = await send('/v1/chat/completions', { model: 'm', messages, temperature: 0.5 });
    expect((await json(response)).error).toMatchObject({
      param: 'temperature',
      message: 'Unsupported value',
    });
  });

  test('of a backend passes on no text in the place of a field', async () => {
    const error = { message: 'no', param: 'see https://internal.example/x?key=sk-1' };
    backend.script(() => Response.json({ error }, { status: 400 }));
    const response = await send('/v1/chat/completions', { model: 'm', messages });
    expect((await json(response)).error).toMatchObject({ param: null });
  });

  test('below /v1/messages has Anthropic’s shape, whatever the path and the method', async () => {
    const responses = [
      await send('/v1/messages/nothing', {}),
      await send('/v1/messages/count_tokens/more', {}),
      await gateway.fetch('/v1/messages', { token: account.token }),
      await send('/v1/v1/messages', { model: 'm', messages, max_tokens: 5 }),
    ];
    for (const response of responses) {
      const body = await json(response);
      expect([response.status, body.type]).toEqual([response.status === 405 ? 405 : 404, 'error']);
      expect(body.error).toMatchObject({ type: expect.any(String), message: expect.any(String) });
    }
  });

  test('at a path with a wrong base URL says which one is right', async () => {
    const paths = ['/chat/completions', '/v1/v1/chat/completions', '/responses', '/messages'];
    for (const path of paths) {
      const response = await send(path, { model: 'm', messages });
      expect(response.status).toBe(404);
      expect((await json(response)).error?.message).toContain(`${gateway.url}/v1 for OpenAI`);
    }
    const models = await gateway.fetch('/v1/v1/models');
    expect((await json(models)).error?.message).toContain(`${gateway.url}/v1 for OpenAI`);
    // A path that does not take the method would be no help.
    const wrongMethod = await json(await send('/v1/v1/models', {}));
    expect(wrongMethod.error?.message).toBe('There is nothing at this path.');
    const elsewhere = await json(await send('/v2/chat/completions', {}));
    expect(elsewhere.error?.message).toBe('There is nothing at this path.');
  });
});

describe('a Responses answer keeps what the backend gave', () => {
  const citation = { start_index: 0, end_index: 5, url: 'https://example.org', title: 'T' };
  const annotations = [{ type: 'url_citation', url_citation: citation }];
  const logprobs = { content: [{ token: 'Hello', logprob: -0.1, bytes: [72], top_logprobs: [] }] };
  const reasoning_details = [
    { type: 'reasoning.encrypted', data: 'SECRET', id: 'r1', format: 'openai-responses-v1' },
  ];
  const expected = [
    { type: 'reasoning', summary: [], encrypted_content: 'SECRET' },
    {
      type: 'message',
      content: [
        {
          type: 'output_text',
          text: 'Hello',
          annotations: [{ type: 'url_citation', ...citation }],
          logprobs: logprobs.content,
        },
      ],
    },
  ];
  const ask = { model: 'm', input: 'hi', include: ['message.output_text.logprobs'], top_logprobs: 2 };

  test('whole', async () => {
    const message = { role: 'assistant', content: 'Hello', annotations, reasoning_details };
    const choices = [{ index: 0, message, logprobs, finish_reason: 'stop' }];
    backend.script(() => completion('', usage(5, 1), { choices }));
    const body = await json(await send('/v1/responses', ask));
    expect(body.output).toMatchObject(expected);
    expect(backend.calls.at(-1)?.body).toMatchObject({ logprobs: true, top_logprobs: 2 });
  });

  test('streamed', async () => {
    const withLogprobs = { index: 0, delta: { content: 'Hello' }, logprobs, finish_reason: null };
    const events = [
      chunk({ role: 'assistant', content: '', reasoning_details }),
      chunk({}, null, { choices: [withLogprobs] }),
      chunk({ annotations }),
      chunk({}, 'stop'),
      usageEvent(5, 1),
      DONE,
    ];
    backend.script(() => eventStream(events.join('')));
    const text = await (await send('/v1/responses', { ...ask, stream: true })).text();
    const sent = text
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice(6)) as Body);
    expect(sent.at(-1)?.response?.output).toMatchObject(expected);
    expect(sent.find(({ type }) => type === 'response.output_text.annotation.added')).toMatchObject({
      annotation_index: 0,
      annotation: { type: 'url_citation', ...citation },
    });
    const delta = sent.find(({ type }) => type === 'response.output_text.delta');
    expect(delta?.logprobs).toEqual(logprobs.content);
  });
});

function inPieces(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream({
    async pull(controller) {
      const piece = pieces[next++];
      if (!piece) return controller.close();
      if (next > 1) await new Promise(setImmediate);
      if (piece.length > 0) controller.enqueue(piece);
    },
  });
}
