import { afterAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import type { RequestId } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import { JSON_LIMITS } from '../std/json-scan.ts';
import { readBody, readJson } from './json-body.ts';
import { faultResponse } from './response.ts';

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => {
    try {
      return new Response(String((await readBody(request, () => Promise.resolve(), 200)).byteLength));
    } catch (thrown) {
      return faultResponse(thrown, 'req_1' as RequestId, silentLog);
    }
  },
});
afterAll(() => server.stop(true));

/** The answer to these bytes from a client that then stays silent. */
async function answerTo(text: string): Promise<string> {
  const socket = connect(server.port ?? 0, '127.0.0.1');
  socket.write(text);
  const answer = await new Promise<string>((resolve) =>
    socket.once('data', (bytes) => resolve(bytes.toString('latin1'))),
  );
  socket.destroy();
  return answer;
}

test('a body is read, with a declared length or in chunks', async () => {
  expect(await answerTo('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc')).toEndWith('\r\n\r\n3');
  expect(
    await answerTo('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'),
  ).toEndWith('\r\n\r\n3');
});

test('a body that never arrives is refused, so that no client can keep a request open forever', async () => {
  for (const text of [
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nabc',
    'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab',
  ]) {
    const answer = await answerTo(text);
    expect(answer).toStartWith('HTTP/1.1 400');
    expect(answer).toContain('did not arrive in time');
  }
});

test('arrays and objects nested too deep are refused in a short body and in a long one', async () => {
  const bodyOf = (levels: number, padding: string): string =>
    `{"padding":"${padding}","a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  const read = (text: string) =>
    readJson(new Request('http://x', { method: 'POST', body: text }), () => Promise.resolve());
  for (const padding of ['', 'x'.repeat(JSON_LIMITS.keysOfObject)]) {
    const { value } = await read(bodyOf(JSON_LIMITS.depth, padding));
    expect(value['padding']).toBe(padding);
    await expect(read(bodyOf(JSON_LIMITS.depth + 1, padding))).rejects.toThrow(
      `The body is nested deeper than ${JSON_LIMITS.depth} levels.`,
    );
  }
});
