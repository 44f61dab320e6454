import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { inPieces } from '../../src/upstream/ai-sdk/testing/scripted-server.ts';
import { REQUESTS } from '../../src/upstream/ai-sdk/testing/requests.ts';
import { UpstreamFailure, type ChatAnswer } from '../../src/upstream/port.ts';
import { eventData } from '../../src/upstream/testing/event-data.ts';
import type { ChatChunk, ChatCompletion, ChatRequest, ChatUsage } from '../../src/wire/openai/chat.ts';
import { PICTURE_ANSWER, THOUGHT, WHOLE_ANSWER } from './model-reply.ts';
import { SDK_KINDS, upstreamOf, type SdkKind } from './sdk-kinds.ts';
import { TOO_LONG, type StandIn } from './stand-in.ts';

/** Upstreams that are spoken to by a package of their own, against providers that refuse what the real ones refuse. */

const LONG = 'A long book about a gate. '.repeat(500);

interface Asked {
  readonly request: ChatRequest;
  readonly text: string;
  readonly calls?: readonly string[];
  /** What must reach the provider, whatever shape it has there. */
  readonly sent: readonly string[];
  model(kind: SdkKind): string;
}

const ASKED: Readonly<Record<string, Asked>> = {
  text: {
    request: REQUESTS.text,
    text: WHOLE_ANSWER,
    sent: ['Be brief.', 'Hello. What now?', 'Be kind.', 'Greet me.', 'END', '0.5'],
    model: ({ model }) => model,
  },
  tools: {
    request: REQUESTS.tools,
    text: '',
    calls: ['get_weather'],
    sent: ['get_weather', 'The weather of a city', 'Oslo', 'celsius', 'noon', 'And in Paris?'],
    model: ({ model }) => model,
  },
  image: {
    request: REQUESTS.image,
    text: PICTURE_ANSWER,
    sent: ['What is this?', REQUESTS.image.messages[0]!.content[1]!.image_url!.url.split(',')[1]!],
    model: ({ model, seer }) => seer ?? model,
  },
  reasoning: {
    request: REQUESTS.reasoning,
    text: WHOLE_ANSWER,
    sent: ['Six times seven?'],
    model: ({ model, thinker }) => thinker ?? model,
  },
  cached: {
    request: { model: 'any', messages: [{ role: 'user', content: LONG }], max_tokens: 100 },
    text: WHOLE_ANSWER,
    sent: [LONG],
    model: ({ model }) => model,
  },
};

for (const kind of SDK_KINDS) {
  describe(kind.kind, () => {
    const standIn = kind.open();
    const upstream = upstreamOf(kind, standIn);
    const chat = (request: ChatRequest, model = kind.model): Promise<ChatAnswer> =>
      upstream.chat({ model, request, signal: new AbortController().signal, requestId: 'req_1' });

    afterEach(() => {
      standIn.failure = undefined;
      standIn.delivery = undefined;
    });
    afterAll(() => standIn.stop());

    test.each(Object.entries(ASKED))(
      '%s: a whole answer in canonical form, with the usage that is billed',
      async (_, asked) => {
        const answer = await chat(asked.request, asked.model(kind));
        if (answer.kind !== 'completion') throw new Error('not a whole answer');
        expectAnswer(answer.completion, asked, kind);
        expectBilled(answer.completion.usage, standIn);
        const sent = JSON.stringify(standIn.received.at(-1)?.body);
        for (const words of asked.sent) expect(sent).toContain(JSON.stringify(words).slice(1, -1));
      },
    );

    test.each(Object.entries(ASKED))(
      '%s: a stream in small pieces has the same content, and ends in usage and [DONE]',
      async (_, asked) => {
        standIn.delivery = (bytes) => inPieces(bytes, 7);
        const { chunks, ended, error } = await streamed(
          await chat({ ...asked.request, stream: true }, asked.model(kind)),
        );
        expect([error, ended]).toEqual([undefined, true]);
        expectAnswer(assembled(chunks), asked, kind);
        expect(chunks.at(-1)?.choices).toEqual([]);
        expectBilled(chunks.at(-1)?.usage, standIn);
        expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
        expect(new Set(chunks.map(({ id }) => id))).toEqual(new Set(['chatcmpl-req_1']));
      },
    );

    test('the key and the operator’s headers are sent in one request, and the key not in its address', async () => {
      const before = standIn.received.length;
      await chat(REQUESTS.text);
      expect(standIn.received.length).toBe(before + 1);
      const { headers, path } = standIn.received.at(-1)!;
      expect(headers?.get('x-operator')).toBe('tollgate');
      if (kind.keyHeader !== undefined) expect(headers?.get(kind.keyHeader)).toContain(standIn.key);
      expect(path).not.toContain(standIn.key);
    });

    test('whatever thinking is asked for, the cap that is sent is the one that the hold covers', async () => {
      for (const reasoning_effort of ['low', 'medium', 'high']) {
        for (const max_tokens of [1, 256, 3_000, 30_000]) {
          const { max_completion_tokens: _, ...rest } = REQUESTS.reasoning;
          await chat({ ...rest, max_tokens, reasoning_effort }, kind.thinker);
          expect(kind.cap(standIn.received.at(-1)?.body ?? {})).toBe(max_tokens);
          expect(standIn.received.at(-1)?.refusal).toBeUndefined();
        }
      }
    });

    test.each([
      [402, 'out_of_credit'],
      [403, 'forbidden'],
      [404, 'not_found'],
      [409, 'rejected'],
      [415, 'rejected'],
      [422, 'rejected'],
      [429, 'rate_limited'],
      [500, 'server'],
      [503, 'server'],
      [504, 'timeout'],
    ] as const)('status %d is a failure of kind %s, whole and streamed', async (status, expected) => {
      standIn.failure = status;
      for (const stream of [false, true]) {
        const failure = await failureOf(chat({ ...REQUESTS.text, stream }));
        expect([failure.kind, failure.status]).toEqual([expected, status]);
        expect(failure.retryAfterMs).toBe(status === 429 ? 1_000 : undefined);
        expect(failure.publicMessage).toBe(expected === 'rejected' ? TOO_LONG : undefined);
        expect(failure.message).not.toContain(standIn.key);
      }
    });

    test('a wrong key is the operator’s problem, in whatever status the provider says it', async () => {
      standIn.failure = 401;
      const failure = await failureOf(chat(REQUESTS.text));
      expect(['unauthorized', 'forbidden']).toContain(failure.kind);
      expect(failure.publicMessage).toBeUndefined();
    });

    test('an error in the first event is thrown, so that another backend can be called', async () => {
      standIn.failure = 'first_event';
      const failure = await failureOf(chat({ ...REQUESTS.text, stream: true }));
      expect(failure.retryable).toBe(true);
      expect(failure.publicMessage).toBeUndefined();
    });

    test('an error after content is one error event, and no [DONE]', async () => {
      standIn.failure = 'late_event';
      const { chunks, ended, error } = await streamed(await chat({ ...REQUESTS.text, stream: true }));
      const { content } = assembled(chunks).choices[0]!.message;
      expect(content?.length).toBeGreaterThan(0);
      expect(WHOLE_ANSWER).toStartWith(content ?? '');
      expect([typeof error, ended]).toEqual(['object', false]);
    });

    test('a stream cut off anywhere fails before it starts or ends in an error event, never as if it were whole', async () => {
      let length = Infinity;
      for (let cut = 0; cut < length; cut += 101) {
        standIn.delivery = (bytes) => {
          length = bytes.length;
          return bytes.slice(0, cut);
        };
        const answer = await chat({ ...REQUESTS.text, stream: true }).catch((error: unknown) => error);
        if (answer instanceof UpstreamFailure) continue;
        const { chunks, ended, error } = await streamed(answer as ChatAnswer);
        expect(ended).toBe(error === undefined);
        if (ended) expectAnswer(assembled(chunks), ASKED['text']!, kind);
      }
    });

    test('when the client leaves, the provider’s answer is cancelled', async () => {
      const cancelled = Promise.withResolvers<void>();
      standIn.delivery = (bytes) =>
        new ReadableStream({
          start: (controller) => controller.enqueue(bytes.slice(0, Math.floor(bytes.length * 0.7))),
          pull: () => new Promise<void>(() => undefined),
          cancel: () => cancelled.resolve(),
        });
      const answer = await chat({ ...REQUESTS.text, stream: true });
      if (answer.kind !== 'events') throw new Error('not a stream');
      const reader = answer.events.getReader();
      await reader.read();
      await reader.cancel();
      await cancelled.promise;
    });
  });
}

test.each(SDK_KINDS.filter(({ kind }) => kind === 'anthropic' || kind === 'bedrock'))(
  'after tool results $kind continues without a thinking budget, which it would refuse there',
  async (kind) => {
    const standIn = kind.open();
    const [question, calls, first, second] = REQUESTS.tools.messages;
    const messages = [question, calls, first, second] as ChatRequest['messages'];
    const { tool_choice: _, ...tools } = REQUESTS.tools;
    const asked = { max_tokens: 8_000, reasoning_effort: 'high' };
    const { temperature: __, ...text } = REQUESTS.text;
    const call = { model: kind.model, signal: new AbortController().signal, requestId: 'r' };
    await upstreamOf(kind, standIn).chat({ ...call, request: { ...tools, messages, ...asked } });
    expect(JSON.stringify(standIn.received.at(-1)?.body)).not.toContain('"thinking"');
    await upstreamOf(kind, standIn).chat({ ...call, request: { ...text, ...asked } });
    expect(JSON.stringify(standIn.received.at(-1)?.body)).toContain('"thinking"');
    await standIn.stop();
  },
);

test('a refusal in a shape that the package does not know is told in the provider’s words all the same', async () => {
  const kind = SDK_KINDS.find((one) => one.kind === 'mistral')!;
  const standIn = kind.open();
  // https://github.com/nextcloud/integration_openai/issues/76
  const call = {
    request: { ...REQUESTS.text, parallel_tool_calls: true },
    signal: new AbortController().signal,
  };
  standIn.refuseAs = {
    status: 422,
    message: '',
    body: { detail: [{ type: 'missing', loc: ['body', 'messages'], msg: 'Field required' }] },
  };
  const failure = await failureOf(
    upstreamOf(kind, standIn).chat({ model: kind.model, requestId: 'r', ...call }),
  );
  expect(failure).toMatchObject({
    kind: 'rejected',
    publicMessage: 'messages: Field required',
    param: 'messages',
  });
  await standIn.stop();
});

test('OpenAI’s default of top_p, which Cohere refuses, is sent as its largest', async () => {
  const kind = SDK_KINDS.find((one) => one.kind === 'cohere')!;
  const standIn = kind.open();
  const call = { model: kind.model, signal: new AbortController().signal, requestId: 'r' };
  await upstreamOf(kind, standIn).chat({ ...call, request: { ...REQUESTS.text, top_p: 1 } });
  expect(standIn.received.at(-1)).toMatchObject({ refusal: undefined, body: { p: 0.99 } });
  await standIn.stop();
});

async function failureOf(work: Promise<unknown>): Promise<UpstreamFailure> {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(UpstreamFailure);
  return outcome as UpstreamFailure;
}

function expectAnswer(
  { choices }: ChatCompletion,
  { text, calls = [], request }: Asked,
  kind: SdkKind,
): void {
  const [choice] = choices;
  expect(choice?.finish_reason).toBe(calls.length > 0 ? 'tool_calls' : 'stop');
  expect(choice?.message.content ?? '').toBe(text);
  expect((choice?.message.tool_calls ?? []).map((call) => call.function.name)).toEqual([...calls]);
  if (request === REQUESTS.reasoning && kind.showsThoughts)
    expect(choice?.message.reasoning_content).toBe(THOUGHT);
}

function expectBilled(usage: ChatUsage | null | undefined, { invoice }: StandIn): void {
  const bill = invoice.at(-1);
  if (bill?.kind !== 'chat') throw new Error('no chat was billed');
  const { prompt_tokens, completion_tokens, prompt_tokens_details } = usage ?? {};
  const cached = prompt_tokens_details?.cached_tokens ?? 0;
  expect([prompt_tokens, completion_tokens, cached]).toEqual([bill.input, bill.output, bill.cached]);
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
function assembled(chunks: readonly ChatChunk[]): ChatCompletion {
  const tools: { id: string; type: 'function'; function: { name: string; arguments: string } }[] = [];
  let [content, reasoning, finish] = ['', '', null as ChatCompletion['choices'][number]['finish_reason']];
  for (const { delta, finish_reason } of chunks.flatMap(({ choices }) => choices)) {
    content += delta.content ?? '';
    reasoning += delta.reasoning_content ?? '';
    for (const { index, id = '', function: called } of delta.tool_calls ?? []) {
      tools[index] ??= { id, type: 'function', function: { name: called?.name ?? '', arguments: '' } };
      tools[index].function.arguments += called?.arguments ?? '';
    }
    finish = finish_reason ?? finish;
  }
  const message = { role: 'assistant' as const, content, reasoning_content: reasoning, tool_calls: tools };
  return {
    id: '',
    object: 'chat.completion',
    created: 0,
    model: '',
    choices: [{ index: 0, message, finish_reason: finish }],
  };
}
