import { afterAll, describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import type { UpstreamConfig } from '../catalog/catalog.ts';
import type { ChatChunk, ChatCompletion, ChatMessage, ChatRequest } from '../wire/openai/chat.ts';
import { UpstreamFailure, type UpstreamChatCall } from '../upstream/port.ts';
import { eventData } from '../upstream/testing/event-data.ts';
import { promptText } from './conversation.ts';
import { makeHouse } from './house.ts';
import { PaintPool } from './paint-pool.ts';
import { tokenCount } from './tokens.ts';

const config: UpstreamConfig = {
  name: 'house',
  kind: 'house',
  baseUrl: undefined,
  apiKey: undefined,
  headers: new Map(),
  timeouts: { firstByteMs: 1_000, idleMs: 50, totalMs: 5_000 },
  options: new Map(),
};
const pool = new PaintPool({ workers: 1, queue: 4, idleMs: 1_000, timeoutMs: 30_000 });
const house = makeHouse(config, { clock: { now: () => 1_790_000_000_123 }, pool });
afterAll(() => pool.close());

const user = (content: ChatMessage['content']): ChatMessage => ({ role: 'user', content });
const ask = (text: string, more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'm',
  messages: [user(text)],
  ...more,
});

function call(
  request: ChatRequest,
  model = 'house-echo',
  signal = new AbortController().signal,
): UpstreamChatCall {
  return { model, request, signal, requestId: 'req_1' };
}

async function whole(request: ChatRequest, model?: string): Promise<ChatCompletion> {
  const answer = await house.chat(call(request, model));
  if (answer.kind !== 'completion') throw new Error('expected a whole answer');
  return answer.completion;
}

/** Every event's data, as a client gets it. */
async function streamed(request: ChatRequest, model?: string): Promise<string[]> {
  const answer = await house.chat(call({ ...request, stream: true }, model));
  return await eventData(answer);
}

/** Assembles a stream like a client. */
function assemble(events: readonly string[], index = 0) {
  const chunks = events.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data) as ChatChunk);
  const deltas = chunks.flatMap((chunk) => chunk.choices.filter((choice) => choice.index === index));
  const join = (pick: (delta: ChatChunk['choices'][number]['delta']) => string | null | undefined): string =>
    deltas.map(({ delta }) => pick(delta) ?? '').join('');
  const calls = new Map<number, { id: string; name: string; arguments: string }>();
  for (const piece of deltas.flatMap(({ delta }) => delta.tool_calls ?? [])) {
    const known = calls.get(piece.index) ?? { id: '', name: '', arguments: '' };
    calls.set(piece.index, {
      id: known.id + (piece.id ?? ''),
      name: known.name + (piece.function?.name ?? ''),
      arguments: known.arguments + (piece.function?.arguments ?? ''),
    });
  }
  return {
    content: join((delta) => delta.content),
    reasoning: join((delta) => delta.reasoning_content),
    calls: [...calls.values()],
    finish: deltas.find((choice) => choice.finish_reason !== null)?.finish_reason,
    usage: chunks.at(-1)?.usage,
    last: events.at(-1),
  };
}

const weather = {
  type: 'function',
  function: {
    name: 'weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 2 } },
      required: ['city'],
    },
  },
};

const anyRequest: fc.Arbitrary<ChatRequest> = fc
  .record({
    lines: fc.array(
      fc.oneof(
        fc.string({ unit: 'grapheme', maxLength: 60 }),
        fc.constantFrom(
          '/think',
          '/json',
          '/see',
          '/help',
          '/long 37',
          '/tool weather {"city":"Oslo"}',
          '/tool weather',
          'How do holds work?',
        ),
      ),
      { maxLength: 4 },
    ),
    system: fc.string({ maxLength: 40 }),
    cap: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
    n: fc.constantFrom(undefined, 1, 3),
    stop: fc.constantFrom(undefined, 'e', ['zz', ' the']),
    tools: fc.constantFrom(undefined, [weather]),
  })
  .map(({ lines, system, cap, n, stop, tools }) => {
    const request: ChatRequest = {
      model: 'm',
      messages: [{ role: 'system', content: system }, user(lines.join('\n'))],
    };
    if (cap !== undefined) request.max_tokens = cap;
    if (n !== undefined) request.n = n;
    if (stop !== undefined) request.stop = stop;
    if (tools !== undefined) request.tools = [...tools];
    return request;
  });

describe('every house chat model', () => {
  for (const model of ['house-echo', 'house-guide']) {
    test(`${model}: usage is the token count of what was sent, in and out, and never above the cap`, async () => {
      await fc.assert(
        fc.asyncProperty(anyRequest, async (request) => {
          const { choices, usage } = await whole(request, model);
          const counted = choices.map(
            ({ message }) =>
              tokenCount(message.content ?? '') +
              tokenCount(message.reasoning_content ?? '') +
              (message.tool_calls ?? []).reduce(
                (sum, { function: f }) => sum + tokenCount(f.name) + tokenCount(f.arguments),
                0,
              ),
          );
          expect(usage?.prompt_tokens).toBe(tokenCount(promptText(request)));
          expect(usage?.completion_tokens).toBe(counted.reduce((sum, count) => sum + count, 0));
          expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
          expect(Math.max(...counted)).toBeLessThanOrEqual(request.max_tokens ?? 16_384);
          expect(choices.map(({ index }) => index)).toEqual(
            Array.from({ length: request.n ?? 1 }, (_, index) => index),
          );
        }),
        { numRuns: 60 },
      );
    });
  }

  test('a stream adds up to the whole answer, for each choice, and ends in usage and [DONE]', async () => {
    await fc.assert(
      fc.asyncProperty(anyRequest, async (request) => {
        const { choices, usage } = await whole(request);
        const events = await streamed(request);
        for (const { index, message, finish_reason } of choices) {
          const parts = assemble(events, index);
          expect(parts.content).toBe(message.content ?? '');
          expect(parts.reasoning).toBe(message.reasoning_content ?? '');
          expect(parts.calls).toEqual(
            (message.tool_calls ?? []).map(({ id, function: f }) => ({
              id,
              name: f.name,
              arguments: f.arguments,
            })),
          );
          expect(parts.finish).toBe(finish_reason);
        }
        expect(assemble(events).usage).toEqual(usage ?? null);
        expect(events.at(-1)).toBe('[DONE]');
      }),
      { numRuns: 60 },
    );
  });

  test('the same request gets the same answer, byte for byte', async () => {
    const request = ask('/think\nTell me about holds', { n: 2 });
    for (const model of ['house-echo', 'house-guide'])
      expect(await whole(request, model)).toEqual(await whole(request, model));
  });

  test('an answer longer than the cap is truncated with finish reason length', async () => {
    const { choices, usage } = await whole(ask('/long 500', { max_completion_tokens: 20 }));
    expect(choices[0]?.finish_reason).toBe('length');
    expect(usage?.completion_tokens).toBe(20);
  });

  test('a stop sequence ends the answer before it, with finish reason stop', async () => {
    const { choices } = await whole(ask('one two three', { stop: [' three', ' two'] }));
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'one' } });
  });

  test('an unknown model is rejected with a message for the client', async () => {
    const failure = await failureOf(house.chat(call(ask('hi'), 'gpt-9')));
    expect(failure).toMatchObject({ kind: 'rejected', retryable: false });
    expect(failure.publicMessage).toContain('gpt-9');
  });
});

async function failureOf(attempt: Promise<unknown>): Promise<UpstreamFailure> {
  try {
    await attempt;
  } catch (thrown) {
    if (thrown instanceof UpstreamFailure) return thrown;
  }
  throw new Error('expected an UpstreamFailure');
}

describe('house-echo', () => {
  test('repeats the last user text and leaves out the commands', async () => {
    const request: ChatRequest = {
      model: 'm',
      messages: [
        user('first'),
        { role: 'assistant', content: 'first' },
        user('/slow 0\nsecond  line\n /nonsense'),
      ],
    };
    expect((await whole(request)).choices[0]?.message.content).toBe('second  line\n /nonsense');
  });

  test('/long N answers with exactly N tokens', async () => {
    for (const count of [1, 2, 99, 1_000]) {
      expect((await whole(ask(`/long ${count}`))).usage?.completion_tokens).toBe(count);
    }
  });

  test('/think sends reasoning and counts it', async () => {
    const { choices, usage } = await whole(ask('/think What now?'));
    expect(choices[0]?.message).toMatchObject({ content: 'What now?' });
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBe(
      tokenCount(choices[0]?.message.reasoning_content ?? ''),
    );
  });

  test('/see reports number, type and size of the images', async () => {
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAEElEQVR4nGNkYPjPwMDAAAAFBAEBTLQrPAAAAABJRU5ErkJggg==';
    const parts: ChatMessage['content'] = [
      { type: 'text', text: '/see' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
      { type: 'image_url', image_url: { url: 'https://example.com/cat.jpg' } },
    ];
    const { choices } = await whole({ model: 'm', messages: [user(parts)] });
    expect(choices[0]?.message.content).toBe(
      `I see 2 images:\n1. image/png, 2x3, ${Buffer.from(png, 'base64').length} bytes\n2. a link to example.com (links are not opened)`,
    );
  });

  test.each([
    ['429', 'rate_limited', 429],
    ['500', 'server', 500],
    ['503', 'server', 503],
    ['401', 'unauthorized', 401],
    ['timeout', 'timeout', undefined],
    ['connect', 'connect', undefined],
  ] as const)('/error %s fails as a backend does, and is not held against it', async (code, kind, status) => {
    expect(await failureOf(house.chat(call(ask(`/error ${code}`))))).toMatchObject({
      kind,
      status,
      blameless: true,
    });
  });

  test('/error stream sends half of the answer and then an error event, without [DONE]', async () => {
    const events = await streamed(ask('/error stream\none two three four five six'));
    expect(events.length).toBeGreaterThan(3);
    expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({
      error: { message: 'house-echo was told to fail in the middle of its stream.' },
    });
    expect(events).not.toContain('[DONE]');
  });

  test('/error cut ends without a finish reason, /error stall stops sending and fails', async () => {
    const events = await streamed(ask('/error cut\none two three four five six'));
    expect(assemble(events).finish).toBeUndefined();
    expect(await failureOf(streamed(ask('/error stall\none two three')))).toMatchObject({ kind: 'timeout' });
  });
});

describe('house-echo and tools', () => {
  const tools = [weather, { type: 'function', function: { name: 'clock' } }];

  test('/tool calls a tool with the given arguments, several at once', async () => {
    const { choices } = await whole(ask('/tool weather {"city":"Oslo"}\n/tool clock', { tools }));
    expect(choices[0]?.finish_reason).toBe('tool_calls');
    expect(choices[0]?.message.content).toBeNull();
    const calls = choices[0]?.message.tool_calls ?? [];
    expect(calls.map(({ function: f }) => f)).toEqual([
      { name: 'weather', arguments: '{"city":"Oslo"}' },
      { name: 'clock', arguments: '{}' },
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  });

  test('a forced tool is called with arguments that fit its schema', async () => {
    for (const choice of ['required', { type: 'function', function: { name: 'weather' } }]) {
      const { choices } = await whole(ask('whatever', { tools, tool_choice: choice }));
      expect(choices[0]?.message.tool_calls?.[0]?.function).toEqual({
        name: 'weather',
        arguments: '{"city":"city","days":2}',
      });
    }
  });

  test('tool_choice none is respected, an unknown tool and invalid JSON get a clear message', async () => {
    expect(
      (await whole(ask('/tool weather', { tools, tool_choice: 'none' }))).choices[0]?.finish_reason,
    ).toBe('stop');
    expect((await whole(ask('/tool nobody', { tools }))).choices[0]?.message.content).toContain("'nobody'");
    expect((await whole(ask('/tool weather {oops', { tools }))).choices[0]?.message.content).toContain(
      'not valid JSON',
    );
  });

  /** The conversation so far: each call with its result. */
  const after = (called: readonly string[], more: Partial<ChatRequest>): ChatRequest => ({
    ...ask('', more),
    messages: [
      user('/tool weather {"city":"Oslo"}'),
      ...called.flatMap((name, index): ChatMessage[] => [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: `call_${index}`, type: 'function', function: { name, arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: `call_${index}`, content: '21 degrees' },
      ]),
    ],
  });

  test('a round trip ends: after the results it answers with them', async () => {
    expect((await whole(after(['weather'], { tools }))).choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'The tool weather answered: 21 degrees' },
    });
  });

  test('after the results it answers in the format that was asked for', async () => {
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    const asked = async (response_format: object) => {
      const { choices } = await whole(after(['weather'], { tools, response_format }));
      return JSON.parse(choices[0]?.message.content ?? '') as unknown;
    };
    expect(await asked({ type: 'json_schema', json_schema: { name: 'n', schema } })).toEqual({
      name: 'name',
    });
    expect(await asked({ type: 'json_object' })).toEqual({ echo: 'The tool weather answered: 21 degrees' });
  });

  test.each([
    [['weather'], 'clock'],
    [['clock'], 'weather'],
    [['weather', 'clock'], 'clock'],
    [['weather', 'clock', 'clock'], 'clock'],
  ])('a call that is still required after %j is %s', async (called, next) => {
    const { choices } = await whole(after(called, { tools, tool_choice: 'required' }));
    expect(choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { name: next } }] },
    });
  });

  test('a tool that is still demanded by name after its result is called again', async () => {
    const tool_choice = { type: 'function', function: { name: 'weather' } };
    const { choices } = await whole(after(['weather'], { tools, tool_choice }));
    expect(choices[0]?.message.tool_calls?.[0]?.function.name).toBe('weather');
  });

  test('the answer is JSON if requested, with or without a schema', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, tags: { type: 'array', items: { enum: ['a', 'b'] } } },
      required: ['name'],
    };
    const bySchema = await whole(
      ask('x', { response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } }),
    );
    expect(JSON.parse(bySchema.choices[0]?.message.content ?? '')).toEqual({ name: 'name', tags: ['a'] });
    const free = await whole(ask('some "text"', { response_format: { type: 'json_object' } }));
    expect(JSON.parse(free.choices[0]?.message.content ?? '')).toEqual({ echo: 'some "text"' });
  });

  test('a schema of a few hundred bytes that asks for 100^10 values is rejected, as a format and as a tool', async () => {
    let schema: Record<string, unknown> = { type: 'string' };
    for (let level = 0; level < 10; level++) schema = { type: 'array', minItems: 100, items: schema };
    const format = { response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } };
    const tool = {
      tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
      tool_choice: 'required',
    };
    for (const more of [format, tool]) {
      const refused = await whole(ask('x', more)).catch((error: unknown) => error);
      expect(refused).toMatchObject({
        kind: 'rejected',
        publicMessage: expect.stringContaining('more than 1,000 values'),
      });
    }
  });
});

describe('an abort', () => {
  test('stops a slow stream at once and frees its timer', async () => {
    const stop = new AbortController();
    const answer = await house.chat(
      call(ask('/slow 10000\none two three', { stream: true }), 'house-echo', stop.signal),
    );
    if (answer.kind !== 'events') throw new Error('expected a stream');
    const reader = answer.events.getReader();
    await reader.read();
    const next = reader.read();
    stop.abort();
    await failureOf(next);
  });

  test('ends a stream that is not read, a delayed whole answer, and an attempt that has not begun', async () => {
    const stop = new AbortController();
    const idle = await house.chat(call(ask('one two', { stream: true }), 'house-echo', stop.signal));
    const waiting = house.chat(call(ask('/slow 10000\none two'), 'house-echo', stop.signal));
    stop.abort();
    await failureOf(waiting);
    if (idle.kind !== 'events') throw new Error('expected a stream');
    await failureOf(idle.events.getReader().read());
    await failureOf(house.chat(call(ask('late'), 'house-guide', stop.signal)));
  });

  test('a reader that cancels need not wait for the next event', async () => {
    const answer = await house.chat(call(ask('/slow 10000\none two three', { stream: true })));
    if (answer.kind !== 'events') throw new Error('expected a stream');
    const reader = answer.events.getReader();
    await reader.read();
    const pending = reader.read();
    await reader.cancel();
    expect((await pending).done).toBe(true);
  });
});

test('check needs no network', async () => {
  expect(await house.check(new AbortController().signal)).toMatchObject({ ok: true });
});
