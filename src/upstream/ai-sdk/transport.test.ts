import { afterEach, beforeEach, expect, test } from 'bun:test';
import { testedConfig, testedKind } from './testing/kinds.ts';
import { REQUESTS } from './testing/requests.ts';
import { startScriptedServer, type ScriptedServer } from './testing/scripted-server.ts';
import { makeProvider } from './provider-upstream.ts';

let server: ScriptedServer;

beforeEach(() => {
  server = startScriptedServer();
});

afterEach(() => server.stop());

test('an answer that is continued without end is cut off after a few requests', async () => {
  const candidate = {
    content: { parts: [{ text: 'x' }] },
    finishReason: 'CONTINUATION',
    continuationToken: 'more',
  };
  server.answer(() => Response.json({ candidates: [candidate], usageMetadata: {} }));
  expect(await failureAt('google')).toMatchObject({ kind: 'protocol' });
  expect(server.requests).toHaveLength(8);
});

test('the delay that Google puts in the body is read', async () => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '17.5s' }];
  const error = { code: 429, message: 'slow', status: 'RESOURCE_EXHAUSTED', details };
  server.answer(() => Response.json({ error }, { status: 429 }));
  expect(await failureAt('google')).toMatchObject({ retryAfterMs: 17_500 });
});

test('an address with a path is used unchanged', async () => {
  await failureAt('anthropic', '/proxy/claude/');
  expect(server.requests[0]?.path).toBe('/proxy/claude/messages');
});

async function failureAt(name: string, path = ''): Promise<unknown> {
  const kind = testedKind(name);
  const upstream = makeProvider(testedConfig(kind, server.url + path));
  const { signal } = new AbortController();
  const call = { model: kind.model, request: REQUESTS.text, signal, requestId: 'r' };
  return await upstream?.chat(call).catch((error: unknown) => error);
}
