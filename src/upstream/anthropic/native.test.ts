import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { UpstreamFailure, type NativeAnswer, type MessagesCall, type Upstream } from '../port.ts';
import { inPieces, startScriptedServer, type ScriptedServer } from '../ai-sdk/testing/scripted-server.ts';
import { readFixture, streamFixture, wireConfig, WIRES, type Wire } from '../ai-sdk/testing/wires.ts';
import { makeProvider } from '../ai-sdk/provider-upstream.ts';

const wire = WIRES.find(({ kind }) => kind === 'anthropic') as Wire;
let server: ScriptedServer;

beforeEach(() => {
  server = startScriptedServer();
});

afterEach(() => server.stop());

const BODY = {
  model: 'what-the-client-says',
  max_tokens: 128_000,
  system: [{ type: 'text', text: 'You are a coder.', cache_control: { type: 'ephemeral' } }],
  messages: [{ role: 'user', content: 'Hi' }],
  thinking: { type: 'adaptive' },
  context_management: { edits: [] },
  something_new: { deep: [1, null, 'ü'] },
};

describe('a Messages request to an Anthropic backend', () => {
  test('is sent unchanged except for the model’s name and a cap above the hold', async () => {
    server.answer(async () => json(await readFixture('anthropic', 'text.json')));
    await messages({ body: BODY, version: '2026-10-21', beta: 'a-1,b-2' });
    const [sent] = server.requests;
    expect(sent?.body).toEqual({ ...BODY, model: wire.model, max_tokens: 2000 });
    expect(sent?.headers.get('anthropic-version')).toBe('2026-10-21');
    expect(sent?.headers.get('anthropic-beta')).toBe('a-1,b-2');
    expect(sent?.headers.get('x-api-key')).toBe(wire.key.value);
  });

  test('a lower cap of the client is kept, a missing one is set, and a thinking budget fits under it', async () => {
    server.answer(async () => json(await readFixture('anthropic', 'text.json')));
    await messages({ body: { ...BODY, max_tokens: 5 } });
    await messages({ body: { ...BODY, max_tokens: undefined } });
    await messages({
      body: { ...BODY, thinking: { type: 'enabled', budget_tokens: 60_000 } },
      maxTokens: 10_000,
    });
    expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([5, 2000, 10_000]);
    expect(server.requests[2]?.body.thinking).toEqual({ type: 'enabled', budget_tokens: 5000 });
  });

  test('a whole answer is returned byte for byte, and its usage is read', async () => {
    const text = await readFixture('anthropic', 'cached.json');
    server.answer(() => json(text));
    const answer = await messages({ body: BODY });
    expect(answer.kind).toBe('whole');
    if (answer.kind === 'whole') expect(new TextDecoder().decode(answer.body)).toBe(text);
    expect(answer.reading()).toEqual({
      usage: wire.usage.cached,
      isUsageFinal: true,
      text: 'Yes.',
      stopReason: 'max_tokens',
      ended: true,
      failed: false,
    });
  });

  test.each(['text', 'tools', 'reasoning', 'cached'] as const)(
    '%s: a stream comes back byte for byte however it is cut',
    async (name) => {
      const bytes = await streamFixture(wire, name);
      server.answer(() => stream(inPieces(bytes, 5)));
      const answer = await messages({ body: { ...BODY, stream: true } });
      expect(await bytesOf(answer)).toEqual(bytes);
      expect(answer.reading()).toMatchObject({ usage: wire.usage[name], ended: true, failed: false });
      expect(answer.reading().text).toBe('');
    },
  );

  test('the text delivered so far can be read at any time, once', async () => {
    const bytes = await streamFixture(wire, 'reasoning');
    server.answer(() => stream(bytes));
    const answer = await messages({ body: { ...BODY, stream: true } });
    await bytesOf(answer);
    expect(answer.reading().text).toBe('Six times seven.42');
  });

  test('a stream without its end gets an error event, and its usage is not final', async () => {
    const bytes = await streamFixture(wire, 'text');
    server.answer(() => stream(bytes.slice(0, Math.floor(bytes.length * 0.7))));
    const answer = await messages({ body: { ...BODY, stream: true } });
    const text = new TextDecoder().decode(await bytesOf(answer));
    expect(text).toContain('event: error\ndata: {"type":"error","error":{"type":"api_error"');
    expect(answer.reading()).toMatchObject({ isUsageFinal: false, ended: false, failed: true });
  });

  test('an error as the first event is thrown with its kind', async () => {
    server.answer(async () => stream(await streamFixture(wire, 'error-first')));
    const failure = await messages({ body: { ...BODY, stream: true } }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ kind: 'rate_limited', status: 429 });
  });

  test('a later error event is passed on unchanged', async () => {
    const bytes = await streamFixture(wire, 'error-late');
    const begun = Promise.withResolvers<void>();
    const error = bytes.length - 100;
    server.answer(() => stream(inTwo(bytes.slice(0, error), begun.promise, bytes.slice(error))));
    const answer = await messages({ body: { ...BODY, stream: true } });
    begun.resolve();
    expect(await bytesOf(answer)).toEqual(bytes);
    expect(answer.reading()).toMatchObject({ failed: true, ended: false, isUsageFinal: false });
  });

  test.each([
    [400, 'rejected'],
    [401, 'unauthorized'],
    [429, 'rate_limited'],
    [529, 'server'],
  ] as const)('status %d is a failure of kind %s', async (status, kind) => {
    server.answer(() => json(JSON.stringify(wire.error(status, 'messages: field required')), status));
    const failure = await messages({ body: BODY }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UpstreamFailure);
    expect(failure).toMatchObject({ kind, status });
    if (kind === 'rejected') expect(failure).toMatchObject({ publicMessage: 'messages: field required' });
  });

  test('count_tokens is called without a cap if the client sent none', async () => {
    server.answer(() => json('{"input_tokens":42}'));
    const { max_tokens: _, ...body } = BODY;
    const bytes = await upstream().countTokens?.(call({ body, maxTokens: Number.MAX_SAFE_INTEGER }));
    expect(new TextDecoder().decode(bytes)).toBe('{"input_tokens":42}');
    expect(server.requests[0]?.path).toBe('/v1/messages/count_tokens');
    expect(server.requests[0]?.body).toEqual({ ...body, model: wire.model });
  });

  test('other providers do not offer it', () => {
    const google = WIRES.find(({ kind }) => kind === 'google') as Wire;
    expect(makeProvider(wireConfig(google, server.url))?.messages).toBeUndefined();
  });
});

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

function upstream(): Upstream {
  const made = makeProvider(wireConfig(wire, server.url));
  if (!made) throw new Error('no provider');
  return made;
}

function call(fields: Partial<MessagesCall> & Pick<MessagesCall, 'body'>): MessagesCall {
  return {
    model: wire.model,
    maxTokens: 2000,
    signal: new AbortController().signal,
    requestId: 'req_1',
    ...fields,
  };
}

async function messages(fields: Partial<MessagesCall> & Pick<MessagesCall, 'body'>): Promise<NativeAnswer> {
  const answer = await upstream().messages?.(call(fields));
  if (!answer) throw new Error('no Messages support');
  return answer;
}

async function bytesOf(answer: NativeAnswer): Promise<Uint8Array> {
  if (answer.kind !== 'stream') throw new Error('not a stream');
  return new Response(answer.body).bytes();
}

function json(text: string, status = 200): Response {
  return new Response(text, { status, headers: { 'content-type': 'application/json' } });
}

function stream(body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer>): Response {
  return new Response(body, { headers: { 'content-type': wire.streamType } });
}
