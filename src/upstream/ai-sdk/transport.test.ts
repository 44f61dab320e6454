import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { ChatRequest } from '../../wire/openai/chat.ts';
import { signRequest } from './aws-signature.ts';
import { REQUESTS } from './testing/requests.ts';
import { startScriptedServer, type ScriptedServer } from './testing/scripted-server.ts';
import { readFixture, wireConfig, WIRES, type Wire } from './testing/wires.ts';
import { makeProvider } from './provider-upstream.ts';

let server: ScriptedServer;

beforeEach(() => {
  server = startScriptedServer();
});

afterEach(() => server.stop());

const NOW = Date.parse('2026-01-02T03:04:05Z');

describe('the transport', () => {
  test('Bedrock’s signature covers the bytes that are really sent, with the lowered cap', async () => {
    server.answer(async () => json(await readFixture('bedrock', 'text.json')));
    const wire = wireOf('bedrock');
    const keys = {
      region: 'eu-west-1',
      access_key_id: 'AKIDEXAMPLE',
      secret_access_key: 'secret-of-the-operator',
      session_token: 'T',
    };
    const config = {
      ...wireConfig(wire, server.url),
      apiKey: undefined,
      options: new Map(Object.entries(keys)),
    };
    const upstream = makeProvider(config, { clock: { now: () => NOW } });
    const signal = new AbortController().signal;
    await upstream?.chat({ model: wire.model, request: REQUESTS.reasoning, signal, requestId: 'r' });
    await upstream?.check(signal);
    expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'GET']);
    for (const { method, path, text, headers } of server.requests) {
      const expected = await signRequest(
        { method, url: server.url + path, headers: {}, body: text },
        {
          accessKeyId: keys.access_key_id,
          secretAccessKey: keys.secret_access_key,
          sessionToken: 'T',
          region: 'eu-west-1',
          service: 'bedrock',
          now: new Date(NOW),
        },
      );
      expect(headers.get('authorization')).toBe(expected['authorization'] ?? '');
      expect(headers.get('x-amz-date')).toBe('20260102T030405Z');
      expect(headers.get('x-amz-security-token')).toBe('T');
    }
  });

  test('an answer that is continued without end is cut off after a few requests', async () => {
    const candidate = {
      content: { parts: [{ text: 'x' }] },
      finishReason: 'CONTINUATION',
      continuationToken: 'more',
    };
    server.answer(() => json(JSON.stringify({ candidates: [candidate], usageMetadata: {} })));
    const failure = await ask('google', REQUESTS.text).catch((error: unknown) => error);
    expect(failure).toMatchObject({ kind: 'protocol' });
    expect(server.requests).toHaveLength(8);
  });

  test('the delay that Google puts in the body is read', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '17.5s' }];
    server.answer(() =>
      json(
        JSON.stringify({ error: { code: 429, message: 'slow', status: 'RESOURCE_EXHAUSTED', details } }),
        429,
      ),
    );
    expect(await ask('google', REQUESTS.text).catch((error: unknown) => error)).toMatchObject({
      retryAfterMs: 17_500,
    });
  });

  test('after tool results Claude continues without a thinking budget, which it would refuse there', async () => {
    const [question, calls, first, second] = REQUESTS.tools.messages;
    const messages = [question, calls, first, second] as ChatRequest['messages'];
    for (const kind of ['anthropic', 'bedrock']) {
      server.answer(async () => json(await readFixture(kind, 'text.json')));
      await ask(kind, { ...REQUESTS.tools, messages, max_tokens: 8000, reasoning_effort: 'high' });
      expect(server.requests.at(-1)?.text).not.toContain('thinking');
      await ask(kind, { ...REQUESTS.text, max_tokens: 8000, reasoning_effort: 'high' });
      expect(server.requests.at(-1)?.text).toContain('thinking');
    }
  });

  test('an address with a path is used unchanged', async () => {
    server.answer(async () => json(await readFixture('anthropic', 'text.json')));
    const wire = wireOf('anthropic');
    const upstream = makeProvider(wireConfig(wire, `${server.url}/proxy/claude/`));
    await upstream?.chat({
      model: wire.model,
      request: REQUESTS.text,
      signal: new AbortController().signal,
      requestId: 'r',
    });
    expect(server.requests[0]?.path).toBe('/proxy/claude/messages');
  });

  test('Azure’s older addresses contain deployment and version', async () => {
    server.answer(async () => json(await readFixture('azure', 'text.json')));
    const wire = wireOf('azure');
    const options = new Map([['deployment_urls', 'true']]);
    const upstream = makeProvider({ ...wireConfig(wire, server.url), options });
    const signal = new AbortController().signal;
    await upstream?.chat({ model: 'my-gpt', request: REQUESTS.text, signal, requestId: 'r' });
    await upstream?.check(signal);
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21',
      '/openai/models?api-version=2024-10-21',
    ]);
  });

  test('keys and addresses in the environment are never used', async () => {
    const names = [
      'ANTHROPIC_API_KEY',
      'GOOGLE_GENERATIVE_AI_API_KEY',
      'AZURE_API_KEY',
      'MISTRAL_API_KEY',
      'COHERE_API_KEY',
      'AWS_BEARER_TOKEN_BEDROCK',
    ];
    for (const name of names) process.env[name] = 'key-of-somebody-else';
    try {
      for (const wire of WIRES) {
        const upstream = makeProvider({ ...wireConfig(wire, server.url), apiKey: undefined });
        const call = {
          model: wire.model,
          request: REQUESTS.text,
          signal: new AbortController().signal,
          requestId: 'r',
        };
        expect(await upstream?.chat(call).catch((error: unknown) => error)).toMatchObject({
          kind: 'unauthorized',
        });
      }
      expect(server.requests).toHaveLength(0);
    } finally {
      for (const name of names) delete process.env[name];
    }
  });
});

function wireOf(kind: string): Wire {
  const wire = WIRES.find((candidate) => candidate.kind === kind);
  if (!wire) throw new Error(`no wire ${kind}`);
  return wire;
}

async function ask(kind: string, request: ChatRequest): Promise<unknown> {
  const wire = wireOf(kind);
  const upstream = makeProvider(wireConfig(wire, server.url));
  return upstream?.chat({ model: wire.model, request, signal: new AbortController().signal, requestId: 'r' });
}

function json(text: string, status = 200): Response {
  return new Response(text, { status, headers: { 'content-type': 'application/json' } });
}
