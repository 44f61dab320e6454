import { expect, test } from 'bun:test';
import { sourcesIn, SRC, isTest, isTesting } from './source-graph.ts';

/** Where requests are answered. Elsewhere a body is a backend's, and a wait is for something else than a client. */
const ROOMS = /^(?:http|api|console|identity|payments|main)\//;
/** Reads bodies for all routes, within their bounds. */
const READER = 'http/request-body.ts';
/** Bounds what routes take, and closes connections that make no request. */
const TIMEKEEPERS = new Set(['http/gate.ts', 'http/idle-connections.ts']);
/** The server and the TLS before it; metrics at an address of their own; and one that answers nobody but this process. */
const LISTENERS = new Set([
  'http/server.ts',
  'http/tls-front.ts',
  'http/metrics-server.ts',
  'main/compose.ts',
]);

async function filesWith(pattern: RegExp, room = ROOMS): Promise<string[]> {
  const found: string[] = [];
  for (const { file, text } of await sourcesIn(SRC))
    if (room.test(file) && !isTest(file) && !isTesting(file) && pattern.test(text)) found.push(file);
  return found;
}

test('no route reads the body of a request by itself', async () => {
  const reading = /\brequest\.(?:json|text|arrayBuffer|blob|formData|bytes|clone|body)\b/;
  expect(await filesWith(reading)).toEqual([READER]);
});

test('no route sets a time-out by itself', async () => {
  const timing = /\bsetTimeout\(|AbortSignal\.timeout\(|\.timeout\(request/;
  const files = await filesWith(timing, /^(?:http|api|console|identity)\//);
  expect(files.filter((file) => !TIMEKEEPERS.has(file))).toEqual([]);
});

test('nothing is served beside the list of routes', async () => {
  const files = await filesWith(/\bBun\.serve\(|\bcreateServer\(/, /^(?!outbox\/|upstream\/|house\/)/);
  expect(files.filter((file) => !LISTENERS.has(file))).toEqual([]);
  // Routes are made into a router in one place.
  expect(await filesWith(/\bnew Router\(/)).toEqual(['main/all-routes.ts']);
});

test('a fault becomes an answer in one place', async () => {
  const shaping = /\bfaultResponse\(/;
  expect(await filesWith(shaping)).toEqual(expect.arrayContaining(['http/gate.ts', 'http/response.ts']));
  const others = (await filesWith(shaping)).filter(
    (file) => !['http/gate.ts', 'http/response.ts', 'http/server.ts'].includes(file),
  );
  expect(others).toEqual([]);
});
