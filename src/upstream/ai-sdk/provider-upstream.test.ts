import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { ChatRequest } from '../../wire/openai/chat.ts';
import { UpstreamFailure, type ChatAnswer, type Upstream } from '../port.ts';
import { testedConfig, TESTED_KINDS, type TestedKind } from './testing/kinds.ts';
import { REQUESTS } from './testing/requests.ts';
import { startScriptedServer, type ScriptedServer } from './testing/scripted-server.ts';
import { makeProvider } from './provider-upstream.ts';

/** What no provider's answer matters for; what they answer and refuse is tried in `test/providers/sdk-kinds.test.ts`. */

let server: ScriptedServer;

beforeEach(() => {
  server = startScriptedServer();
});

afterEach(() => server.stop());

describe.each(TESTED_KINDS)('$kind', (kind) => {
  test('a redirect is never followed', async () => {
    const elsewhere = startScriptedServer();
    server.answer(() => Response.redirect(`${elsewhere.url}/stolen`, 307));
    const failure = await failureOf(ask(upstreamOf(kind), kind, REQUESTS.text));
    expect(failure.kind).toBe('protocol');
    expect(elsewhere.requests).toHaveLength(0);
    await elsewhere.stop();
  });

  test('a closed port is a connection failure', async () => {
    const upstream = upstreamOf(kind);
    await server.stop();
    expect((await failureOf(ask(upstream, kind, REQUESTS.text))).kind).toBe('connect');
  });

  test('a 200 that is not an answer is a protocol failure', async () => {
    server.answer(() => new Response('<html>hello</html>', { headers: { 'content-type': 'text/html' } }));
    expect((await failureOf(ask(upstreamOf(kind), kind, REQUESTS.text))).kind).toBe('protocol');
  });

  test('an aborted signal ends the call with the reason of the abort', async () => {
    server.answer(() => new Promise<Response>(() => undefined));
    const controller = new AbortController();
    const call = ask(upstreamOf(kind), kind, REQUESTS.text, controller.signal);
    while (server.requests.length === 0) await Bun.sleep(1);
    controller.abort(new UpstreamFailure('timeout', 'too late'));
    expect((await failureOf(call)).kind).toBe('timeout');
    await server.aborted;
  });

  test('check verifies address and key', async () => {
    const upstream = upstreamOf(kind);
    const { signal } = new AbortController();
    server.answer(() => Response.json({ data: [] }));
    expect(await upstream.check(signal)).toMatchObject({ ok: true });
    expect(server.requests[0]).toMatchObject({ method: 'GET', path: kind.check });
    expect(server.requests[0]?.headers.get(kind.key.header)).toBe(kind.key.value);
    server.answer(() => Response.json({}, { status: 401 }));
    expect(await upstream.check(signal)).toMatchObject({ ok: false, detail: 'unauthorized: status 401' });
    await server.stop();
    const down = await upstream.check(signal);
    expect(down.ok).toBe(false);
    expect(down.detail).toStartWith('cannot reach 127.0.0.1');
  });

  test('without a key nothing is called, and the environment is not read', async () => {
    const variables = [
      'ANTHROPIC_API_KEY',
      'GOOGLE_GENERATIVE_AI_API_KEY',
      'AZURE_API_KEY',
      'MISTRAL_API_KEY',
      'COHERE_API_KEY',
      'AWS_BEARER_TOKEN_BEDROCK',
    ];
    for (const name of variables) process.env[name] = 'key-of-somebody-else';
    try {
      const upstream = makeProvider({ ...testedConfig(kind, server.url), apiKey: undefined });
      if (!upstream) throw new Error('no upstream');
      const failure = await failureOf(ask(upstream, kind, REQUESTS.text));
      expect(failure).toMatchObject({ kind: 'unauthorized' });
      expect(failure.message).toContain('api_key');
      expect(server.requests).toHaveLength(0);
    } finally {
      for (const name of variables) delete process.env[name];
    }
  });

  test.each([
    [{ n: 2 }, 'one choice'],
    [{ logprobs: true }, 'logprobs'],
    [{ tools: [{ type: 'custom', custom: { name: 'x' } }] }, "tools of type 'function'"],
    [{ functions: [{ name: 'x' }] }, 'use tools'],
    [{ modalities: ['text', 'audio'] }, 'audio'],
    [{ response_format: { type: 'grammar' } }, 'response_format'],
    [
      { messages: said({ type: 'image_url', image_url: { url: 's3://bucket/of/the/operator' } }) },
      'data: URL',
    ],
    [{ messages: said({ type: 'file', file: { file_id: 'file-1' } }) }, 'file_data'],
  ] as [Partial<ChatRequest>, string][])(
    'what cannot be expressed is refused in words: %j',
    async (fields, words) => {
      const failure = await failureOf(ask(upstreamOf(kind), kind, { ...REQUESTS.text, ...fields }));
      expect(failure).toMatchObject({ kind: 'rejected', status: 400 });
      expect(failure.publicMessage).toContain(words);
      expect(server.requests).toHaveLength(0);
    },
  );
});

test('a kind that is not in the table is not handled here', () => {
  const config = testedConfig(TESTED_KINDS[0]!, 'http://127.0.0.1:1');
  expect(makeProvider({ ...config, kind: 'house' })).toBeUndefined();
  expect(makeProvider({ ...config, kind: 'toString' })).toBeUndefined();
});

function said(part: object): ChatRequest['messages'] {
  return [{ role: 'user', content: [part] }] as ChatRequest['messages'];
}

function upstreamOf(kind: TestedKind): Upstream {
  const upstream = makeProvider(testedConfig(kind, server.url));
  if (!upstream) throw new Error(`no provider ${kind.kind}`);
  return upstream;
}

function ask(
  upstream: Upstream,
  kind: TestedKind,
  request: ChatRequest,
  signal = new AbortController().signal,
): Promise<ChatAnswer> {
  return upstream.chat({ model: kind.model, request, signal, requestId: 'req_1' });
}

async function failureOf(work: Promise<unknown>): Promise<UpstreamFailure> {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(UpstreamFailure);
  return outcome as UpstreamFailure;
}
