import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { inPieces } from '../../src/upstream/ai-sdk/testing/scripted-server.ts';
import {
  UpstreamFailure,
  type MessagesCall,
  type NativeAnswer,
  type Upstream,
} from '../../src/upstream/port.ts';
import type { ChatUsage } from '../../src/wire/openai/chat.ts';
import { StrictAnthropic } from './anthropic.ts';
import { THOUGHT, WHOLE_ANSWER } from './model-reply.ts';
import { SDK_KINDS, upstreamOf } from './sdk-kinds.ts';
import { TOO_LONG } from './stand-in.ts';

/** Messages requests that reach Claude as the client wrote them, and answers that come back as Claude wrote them. */

const kind = SDK_KINDS.find((one) => one.kind === 'anthropic')!;
let claude: StrictAnthropic;

beforeEach(() => void (claude = new StrictAnthropic()));
afterEach(() => claude.stop());

const TOOL = { name: 'look', input_schema: { type: 'object', properties: {} } };
const BODY = {
  model: 'what-the-client-says',
  max_tokens: 128_000,
  system: [{ type: 'text', text: 'You are a coder.', cache_control: { type: 'ephemeral' } }],
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi, ü' }] }],
  stop_sequences: ['a', 'b', 'c', 'd', 'e'],
  service_tier: 'auto',
};
const THINKING = { thinking: { type: 'enabled', budget_tokens: 1_500 } };

describe('a Messages request to an Anthropic backend', () => {
  test('is sent unchanged except for the model’s name and a cap above the hold', async () => {
    await messages({ body: BODY, version: '2023-06-01', beta: 'a-1,b-2' });
    const { body, headers, refusal } = claude.received.at(-1)!;
    expect(refusal).toBeUndefined();
    expect(body).toEqual({ ...BODY, model: kind.model, max_tokens: 2_000 });
    expect(headers?.get('anthropic-beta')).toBe('a-1,b-2');
    expect(headers?.get('x-api-key')).toBe(claude.key);
  });

  test('has the version that its client speaks, and the rules of that version', async () => {
    await messages({ body: BODY, version: '2026-10-21' });
    const { headers, refusal } = claude.received.at(-1)!;
    expect(refusal).toBeUndefined();
    expect(headers?.get('anthropic-version')).toBe('2026-10-21');
    const sampled = { body: { ...BODY, temperature: 0.5 } };
    const failure = await messages({ ...sampled, version: '2026-10-21' }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ kind: 'rejected', status: 400 });
    await messages({ ...sampled, version: '2023-06-01' });
    expect(claude.received.at(-1)?.refusal).toBeUndefined();
  });

  test('what only Claude knows is for Claude to take or refuse', async () => {
    const failure = await messages({ body: { ...BODY, something_new: [1, null] } }).catch(
      (error: unknown) => error,
    );
    expect(claude.received.at(-1)?.body['something_new']).toEqual([1, null]);
    expect(failure).toMatchObject({
      kind: 'rejected',
      publicMessage: 'something_new: Extra inputs are not permitted',
    });
  });

  test('a lower cap of the client is kept, a missing one is set, and a thinking budget fits under it', async () => {
    await messages({ body: { ...BODY, max_tokens: 5 } });
    await messages({ body: { ...BODY, max_tokens: undefined } });
    await messages({
      body: { ...BODY, thinking: { type: 'enabled', budget_tokens: 60_000 } },
      maxTokens: 10_000,
    });
    expect(claude.received.map(({ body }) => body['max_tokens'])).toEqual([5, 2_000, 10_000]);
    expect(claude.received.map(({ refusal }) => refusal)).toEqual([undefined, undefined, undefined]);
    expect(claude.received[2]?.body['thinking']).toEqual({ type: 'enabled', budget_tokens: 5_000 });
  });

  test('a whole answer is returned as it came, and its usage is read', async () => {
    const answer = await messages({ body: BODY });
    if (answer.kind !== 'whole') throw new Error('not a whole answer');
    const { content } = JSON.parse(answer.json.text) as { content: unknown };
    expect(content).toEqual([{ type: 'text', text: WHOLE_ANSWER }]);
    expect(answer.reading()).toMatchObject({
      isUsageFinal: true,
      text: WHOLE_ANSWER,
      stopReason: 'end_turn',
      ended: true,
      failed: false,
    });
    expectBilled(answer.reading().usage);
  });

  test.each([
    ['text', {}],
    ['tools', { tools: [TOOL] }],
    ['reasoning', THINKING],
    ['cached', { messages: [{ role: 'user', content: [{ type: 'text', text: 'A book. '.repeat(900) }] }] }],
  ])('%s: a stream comes back byte for byte however it is cut', async (_, fields) => {
    let sent: Uint8Array | undefined;
    claude.delivery = (bytes) => {
      sent = bytes;
      return inPieces(bytes, 5);
    };
    const answer = await messages({ body: { ...BODY, ...fields, stream: true } });
    expect(await bytesOf(answer)).toEqual(sent!);
    const { usage, ...reading } = answer.reading();
    expect(reading).toMatchObject({ ended: true, failed: false });
    expectBilled(usage);
    expect(answer.reading().text).toBe('');
  });

  test('the text delivered so far can be read at any time, once', async () => {
    const answer = await messages({ body: { ...BODY, ...THINKING, stream: true } });
    await bytesOf(answer);
    expect(answer.reading()).toMatchObject({ thought: THOUGHT, text: WHOLE_ANSWER });
    expect(answer.reading()).toMatchObject({ thought: '', text: '' });
  });

  test('a stream without its end gets an error event, and its usage is not final', async () => {
    claude.delivery = (bytes) => bytes.slice(0, Math.floor(bytes.length * 0.7));
    const answer = await messages({ body: { ...BODY, stream: true } });
    const text = new TextDecoder().decode(await bytesOf(answer));
    expect(text).toContain('event: error\ndata: {"type":"error","error":{"type":"api_error"');
    expect(answer.reading()).toMatchObject({ isUsageFinal: false, ended: false, failed: true });
  });

  test('an error as the first event is thrown with its kind', async () => {
    claude.failure = 'first_event';
    const failure = await messages({ body: { ...BODY, stream: true } }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ kind: 'server', status: 529 });
  });

  test('a later error event is passed on unchanged', async () => {
    let sent: Uint8Array | undefined;
    const begun = Promise.withResolvers<void>();
    claude.failure = 'late_event';
    claude.delivery = (bytes) => {
      sent = bytes;
      return inTwo(bytes.slice(0, -150), begun.promise, bytes.slice(-150));
    };
    const answer = await messages({ body: { ...BODY, stream: true } });
    begun.resolve();
    expect(await bytesOf(answer)).toEqual(sent!);
    expect(answer.reading()).toMatchObject({ failed: true, ended: false, isUsageFinal: false });
  });

  test.each([
    [400, 'rejected'],
    [401, 'unauthorized'],
    [402, 'out_of_credit'],
    [429, 'rate_limited'],
    [529, 'server'],
  ] as const)('status %d is a failure of kind %s', async (status, expected) => {
    claude.failure = status;
    const failure = await messages({ body: BODY }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UpstreamFailure);
    expect(failure).toMatchObject({ kind: expected, status });
    if (expected === 'rejected') expect(failure).toMatchObject({ publicMessage: TOO_LONG });
  });

  test('count_tokens is asked of Claude, without a cap if the client sent none', async () => {
    const { max_tokens: _, ...body } = BODY;
    const answer = await upstreamOf(kind, claude).countTokens?.(
      callOf({ body, maxTokens: Number.MAX_SAFE_INTEGER }),
    );
    expect(answer?.value).toEqual({
      input_tokens: Math.ceil(JSON.stringify({ ...body, model: kind.model }).length / 5),
    });
  });

  test('other providers do not offer it', () => {
    const google = SDK_KINDS.find((one) => one.kind === 'google')!;
    expect(upstreamOf(google, claude).messages).toBeUndefined();
  });
});

function expectBilled(usage: ChatUsage | undefined): void {
  const bill = claude.invoice.at(-1);
  if (bill?.kind !== 'chat') throw new Error('no chat was billed');
  expect(usage).toMatchObject({
    prompt_tokens: bill.input,
    completion_tokens: bill.output,
    prompt_tokens_details: { cached_tokens: bill.cached },
  });
}

/** The second part is sent when the test releases it. */
function inTwo(first: Uint8Array, gate: Promise<void>, second: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(first);
      await gate;
      controller.enqueue(second);
      controller.close();
    },
  });
}

type CallFields = Partial<MessagesCall> & Pick<MessagesCall, 'body'>;

function callOf(fields: CallFields): MessagesCall {
  const { signal } = new AbortController();
  return { model: kind.model, maxTokens: 2_000, signal, requestId: 'req_1', ...fields };
}

async function messages(fields: CallFields): Promise<NativeAnswer> {
  const upstream: Upstream = upstreamOf(kind, claude);
  const answer = await upstream.messages?.(callOf(fields));
  if (!answer) throw new Error('no Messages support');
  return answer;
}

async function bytesOf(answer: NativeAnswer): Promise<Uint8Array> {
  if (answer.kind !== 'stream') throw new Error('not a stream');
  return new Response(answer.body).bytes();
}
