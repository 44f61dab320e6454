import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { eventData } from '../testing/event-data.ts';
import type { AssistantMessage, ChatChunk, ChatCompletion, ChatRequest } from '../../wire/openai/chat.ts';
import { UpstreamFailure, type ChatAnswer, type Upstream } from '../port.ts';
import { REQUESTS } from './testing/requests.ts';
import { inPieces, startScriptedServer, type ScriptedServer } from './testing/scripted-server.ts';
import { readFixture, streamFixture, wireConfig, WIRES, type Wire } from './testing/wires.ts';
import { makeProvider } from './provider-upstream.ts';

let server: ScriptedServer;

beforeEach(() => {
  server = startScriptedServer();
});

afterEach(() => server.stop());

const EXPECTED = {
  text: { content: 'Hello there, friend — ünïcode ✓.', finish: 'stop' },
  reasoning: { content: '42', reasoning: 'Six times seven.', finish: 'stop' },
  cached: { content: 'Yes.', finish: 'length' },
  tools: {
    tools: [
      ['get_weather', { city: 'Paris' }],
      ['get_time', {}],
    ],
    finish: 'tool_calls',
  },
} as const;

type Case = keyof typeof EXPECTED;
const CASES = Object.keys(EXPECTED) as Case[];

for (const wire of WIRES) {
  describe(wire.kind, () => {
    for (const name of CASES) {
      test(`${name}: a whole answer arrives in canonical form with its usage`, async () => {
        server.answer(async () => json(await readFixture(wire.kind, `${name}.json`)));
        const completion = await whole(await chat(wire, REQUESTS[name]));
        expect(completion).toMatchObject({
          id: 'chatcmpl-req_1',
          object: 'chat.completion',
          model: wire.model,
        });
        expectAnswer(completion, name, wire);
        expect(completion.usage).toEqual(wire.usage[name]);
      });

      test(`${name}: a stream split into small pieces has the same content and ends in usage and [DONE]`, async () => {
        const bytes = await streamFixture(wire, name);
        server.answer(
          () => new Response(inPieces(bytes, 7), { headers: { 'content-type': wire.streamType } }),
        );
        const { chunks, ended, error } = await streamed(
          await chat(wire, { ...REQUESTS[name], stream: true }),
        );
        expect(error).toBeUndefined();
        expect(ended).toBe(true);
        expectAnswer(assembled(chunks), name, wire);
        expect(chunks.at(-1)).toMatchObject({ choices: [], usage: wire.usage[name] });
        expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
        expect(new Set(chunks.map(({ id }) => id))).toEqual(new Set(['chatcmpl-req_1']));
      });
    }

    for (const name of Object.keys(REQUESTS) as (keyof typeof REQUESTS)[]) {
      test(`${name}: the request is sent in the provider's own format`, async () => {
        server.answer(async () => json(await readFixture(wire.kind, 'text.json')));
        await chat(wire, REQUESTS[name]);
        const expected = JSON.parse(await readFixture(wire.kind, 'sent.json')) as Record<string, unknown>;
        expect(server.requests[0]?.body).toEqual(expected[name] as Record<string, unknown>);
        expect(server.requests[0]?.path).toBe(wire.path.whole);
      });
    }

    test('the key and the operator’s headers are sent exactly once', async () => {
      server.answer(async () => json(await readFixture(wire.kind, 'text.json')));
      await chat(wire, REQUESTS.text);
      expect(server.requests).toHaveLength(1);
      expect(server.requests[0]?.headers.get(wire.key.header)).toBe(wire.key.value);
      expect(server.requests[0]?.headers.get('x-operator')).toBe('tollgate');
      expect(server.requests[0]?.path).not.toContain(wire.key.value);
    });

    test('whatever thinking is requested, the output cap that is sent is the one the hold covers', async () => {
      server.answer(async () => json(await readFixture(wire.kind, 'text.json')));
      for (const reasoning_effort of ['minimal', 'low', 'medium', 'high', 'xhigh']) {
        for (const max_tokens of [1, 256, 3000, 60_000]) {
          await chat(wire, {
            ...REQUESTS.reasoning,
            max_completion_tokens: undefined,
            max_tokens,
            reasoning_effort,
          });
          expect(wire.cap(server.requests.at(-1)?.body ?? {})).toBe(max_tokens);
        }
      }
    });

    test.each([
      [401, 'unauthorized', undefined],
      [403, 'forbidden', undefined],
      [402, 'out_of_credit', undefined],
      [429, 'rate_limited', undefined],
      [400, 'rejected', 'the field is wrong'],
      [422, 'rejected', 'the field is wrong'],
      [404, 'not_found', undefined],
      [409, 'rejected', 'the field is wrong'],
      [415, 'rejected', 'the field is wrong'],
      [500, 'server', undefined],
      [503, 'server', undefined],
      [504, 'timeout', undefined],
    ] as const)('status %d is a failure of kind %s', async (status, kind, publicMessage) => {
      const words = `the field is wrong ${wire.key.value}`;
      server.answer(() => json(JSON.stringify(wire.error(status, words)), status, { 'retry-after': '7' }));
      for (const stream of [false, true]) {
        const failure = await failureOf(chat(wire, { ...REQUESTS.text, stream }));
        expect(failure.kind).toBe(kind);
        expect(failure.status).toBe(status);
        expect(failure.retryAfterMs).toBe(kind === 'rejected' ? undefined : 7000);
        if (publicMessage) expect(failure.publicMessage).toStartWith(publicMessage);
        else expect(failure.publicMessage).toBeUndefined();
        expect(`${failure.message} ${failure.publicMessage}`).not.toContain('key-of-the-operator');
      }
    });

    test('a 400 about the operator’s key or credit is not the client’s fault', async () => {
      server.answer(() =>
        json(JSON.stringify(wire.error(400, 'API key not valid. Please pass a valid API key.')), 400),
      );
      const failure = await failureOf(chat(wire, REQUESTS.text));
      expect(failure.kind).toBe('unauthorized');
      expect(failure.publicMessage).toBeUndefined();
    });

    test('a redirect is never followed', async () => {
      const elsewhere = startScriptedServer();
      server.answer(() => Response.redirect(`${elsewhere.url}/stolen`, 307));
      const failure = await failureOf(chat(wire, REQUESTS.text));
      expect(failure.kind).toBe('protocol');
      expect(elsewhere.requests).toHaveLength(0);
      await elsewhere.stop();
    });

    test('a closed port is a connection failure', async () => {
      const upstream = upstreamAt(wire, server.url);
      await server.stop();
      expect((await failureOf(ask(upstream, wire, REQUESTS.text))).kind).toBe('connect');
    });

    test('a 200 that is not an answer is a protocol failure', async () => {
      server.answer(() => new Response('<html>hello</html>', { headers: { 'content-type': 'text/html' } }));
      expect((await failureOf(chat(wire, REQUESTS.text))).kind).toBe('protocol');
    });

    test('an error in the first event is thrown, so that another backend can be called', async () => {
      const bytes = await streamFixture(wire, 'error-first');
      server.answer(() => new Response(bytes, { headers: { 'content-type': wire.streamType } }));
      expect((await failureOf(chat(wire, { ...REQUESTS.text, stream: true }))).kind).toBe(
        wire.firstEventFailure as 'server',
      );
    });

    test('an error after content becomes one error event, and no [DONE]', async () => {
      const bytes = await streamFixture(wire, 'error-late');
      server.answer(() => new Response(bytes, { headers: { 'content-type': wire.streamType } }));
      const { chunks, ended, error } = await streamed(await chat(wire, { ...REQUESTS.text, stream: true }));
      expect(assembled(chunks).choices[0]?.message.content).toBe('Hello');
      expect(error).toMatchObject({ message: expect.any(String) });
      expect(ended).toBe(false);
    });

    test('a stream cut off anywhere fails before it starts or ends in an error event, never as if it were whole', async () => {
      const bytes = await streamFixture(wire, 'text');
      for (let length = 0; length < bytes.length; length += 37) {
        server.answer(
          () => new Response(bytes.slice(0, length), { headers: { 'content-type': wire.streamType } }),
        );
        const answer = await chat(wire, { ...REQUESTS.text, stream: true }).catch((error: unknown) => error);
        if (answer instanceof UpstreamFailure) continue;
        const { chunks, ended, error } = await streamed(answer as ChatAnswer);
        expect(ended).toBe(error === undefined);
        if (ended) expectAnswer(assembled(chunks), 'text', wire);
      }
    });

    test('when the client leaves, the backend call is aborted at once', async () => {
      const bytes = await streamFixture(wire, 'text');
      const half = bytes.slice(0, Math.floor(bytes.length * 0.7));
      server.answer(() => new Response(endless(half), { headers: { 'content-type': wire.streamType } }));
      const answer = await chat(wire, { ...REQUESTS.text, stream: true });
      if (answer.kind !== 'events') throw new Error('not a stream');
      const reader = answer.events.getReader();
      await reader.read();
      await reader.cancel();
      await server.aborted;
    });

    test('an aborted signal ends the call with the reason of the abort', async () => {
      server.answer(() => new Promise<Response>(() => undefined));
      const controller = new AbortController();
      const call = ask(upstreamAt(wire, server.url), wire, REQUESTS.text, controller.signal);
      while (server.requests.length === 0) await Bun.sleep(1);
      controller.abort(new UpstreamFailure('timeout', 'too late'));
      expect((await failureOf(call)).kind).toBe('timeout');
      await server.aborted;
    });

    test('check verifies address and key', async () => {
      const upstream = upstreamAt(wire, server.url);
      server.answer(() => json('{"data":[]}'));
      expect(await upstream.check(new AbortController().signal)).toMatchObject({ ok: true });
      expect(server.requests[0]).toMatchObject({ method: 'GET', path: wire.path.check });
      expect(server.requests[0]?.headers.get(wire.key.header)).toBe(wire.key.value);
      server.answer(() => json('{}', 401));
      expect(await upstream.check(new AbortController().signal)).toMatchObject({
        ok: false,
        detail: 'unauthorized: status 401',
      });
      await server.stop();
      const down = await upstream.check(new AbortController().signal);
      expect(down.ok).toBe(false);
      expect(down.detail).toStartWith('cannot reach 127.0.0.1');
    });

    test('without a key nothing is called, and the environment is not read', async () => {
      const upstream = makeProvider({ ...wireConfig(wire, server.url), apiKey: undefined });
      if (!upstream) throw new Error('no upstream');
      const failure = await failureOf(ask(upstream, wire, REQUESTS.text));
      expect(failure).toMatchObject({ kind: 'unauthorized' });
      expect(failure.message).toContain('api_key');
      expect(server.requests).toHaveLength(0);
    });

    test.each([
      [{ n: 2 }, 'one choice'],
      [{ logprobs: true }, 'logprobs'],
      [{ tools: [{ type: 'custom', custom: { name: 'x' } }] }, "tools of type 'function'"],
      [{ functions: [{ name: 'x' }] }, 'use tools'],
      [{ modalities: ['text', 'audio'] }, 'audio'],
      [{ response_format: { type: 'grammar' } }, 'response_format'],
      [
        {
          messages: [
            {
              role: 'user',
              content: [{ type: 'image_url', image_url: { url: 's3://bucket/of/the/operator' } }],
            },
          ],
        },
        'data: URL',
      ],
      [
        { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] },
        'file_data',
      ],
    ] as [Partial<ChatRequest>, string][])(
      'what cannot be expressed is refused in words: %j',
      async (fields, words) => {
        const failure = await failureOf(chat(wire, { ...REQUESTS.text, ...fields }));
        expect(failure).toMatchObject({ kind: 'rejected', status: 400 });
        expect(failure.publicMessage).toContain(words);
        expect(server.requests).toHaveLength(0);
      },
    );
  });
}

test('a kind that is not in the table is not handled here', () => {
  const [wire] = WIRES;
  if (!wire) throw new Error('no wires');
  expect(makeProvider({ ...wireConfig(wire, 'http://127.0.0.1:1'), kind: 'house' })).toBeUndefined();
  expect(makeProvider({ ...wireConfig(wire, 'http://127.0.0.1:1'), kind: 'toString' })).toBeUndefined();
});

function upstreamAt(wire: Wire, url: string): Upstream {
  const upstream = makeProvider(wireConfig(wire, url));
  if (!upstream) throw new Error(`no provider ${wire.kind}`);
  return upstream;
}

function ask(
  upstream: Upstream,
  wire: Wire,
  request: ChatRequest,
  signal = new AbortController().signal,
): Promise<ChatAnswer> {
  return upstream.chat({ model: wire.model, request, signal, requestId: 'req_1' });
}

function chat(wire: Wire, request: ChatRequest): Promise<ChatAnswer> {
  return ask(upstreamAt(wire, server.url), wire, request);
}

async function failureOf(work: Promise<unknown>): Promise<UpstreamFailure> {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(UpstreamFailure);
  return outcome as UpstreamFailure;
}

async function whole(answer: ChatAnswer): Promise<ChatCompletion> {
  if (answer.kind !== 'completion') throw new Error('not a whole answer');
  return answer.completion;
}

interface Streamed {
  readonly chunks: ChatChunk[];
  readonly ended: boolean;
  readonly error: unknown;
}

async function streamed(answer: ChatAnswer): Promise<Streamed> {
  const events = await eventData(answer);
  const objects = events
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data) as ChatChunk & { error?: unknown });
  return {
    chunks: objects.filter((object) => !object.error),
    ended: events.at(-1) === '[DONE]',
    error: objects.find((object) => object.error)?.error,
  };
}

/** Collects a stream into the whole answer. */
function assembled(chunks: ChatChunk[]): ChatCompletion {
  const message: AssistantMessage = { role: 'assistant', content: null };
  const tools: { id: string; type: 'function'; function: { name: string; arguments: string } }[] = [];
  let finish: ChatCompletion['choices'][number]['finish_reason'] = null;
  for (const choice of chunks.flatMap(({ choices }) => choices)) {
    const { content, reasoning_content, tool_calls } = choice.delta;
    if (content) message.content = (message.content ?? '') + content;
    if (reasoning_content) message.reasoning_content = (message.reasoning_content ?? '') + reasoning_content;
    for (const call of tool_calls ?? []) {
      tools[call.index] ??= {
        id: call.id ?? '',
        type: 'function',
        function: { name: call.function?.name ?? '', arguments: '' },
      };
      tools[call.index]!.function.arguments += call.function?.arguments ?? '';
    }
    finish = choice.finish_reason ?? finish;
  }
  if (tools.length > 0) message.tool_calls = tools;
  const [first] = chunks;
  return {
    id: first?.id ?? '',
    object: 'chat.completion',
    created: first?.created ?? 0,
    model: first?.model ?? '',
    choices: [{ index: 0, message, finish_reason: finish }],
  };
}

function expectAnswer({ choices }: ChatCompletion, name: Case, wire: Wire): void {
  const [choice] = choices;
  const expected = EXPECTED[name];
  expect(choice?.finish_reason).toBe(expected.finish);
  if ('content' in expected) expect(choice?.message.content).toBe(expected.content);
  if ('reasoning' in expected)
    expect(choice?.message.reasoning_content).toBe(wire.showsReasoning ? expected.reasoning : undefined);
  if ('tools' in expected) {
    const calls = choice?.message.tool_calls ?? [];
    expect(calls.map(({ function: { name, arguments: input } }) => [name, JSON.parse(input)])).toEqual(
      expected.tools as never,
    );
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  }
}

function json(text: string, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(text, { status, headers: { 'content-type': 'application/json', ...headers } });
}

function endless(start: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(start),
    pull: () => new Promise<void>(() => undefined),
  });
}
