import { afterAll, expect, test } from 'bun:test';
import { createServer, type AddressInfo } from 'node:net';
import { readBytes } from './json-answer.ts';

const rules = { maxBytes: 10, broken: (why: string): Error => new Error(`an answer ${why}`) };

/** Answers with the bytes that the path names. */
const server = createServer((socket) => {
  socket.once('data', (bytes) => {
    const [, path = ''] = bytes.toString().split(' ');
    socket.write(`HTTP/1.1 200 OK\r\n${decodeURIComponent(path.slice(1))}`);
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
afterAll(() => server.close());

test.each([
  ['declared, of the largest size', 'content-length: 10\r\n\r\n0123456789', '0123456789'],
  ['declared, one byte more', 'content-length: 11\r\n\r\n', 'of 11 bytes is too large'],
  ['in chunks, of the largest size', chunked('01234', '56789'), '0123456789'],
  ['in chunks, one byte more', chunked('01234', '56789', 'a'), 'of more than 10 bytes is too large'],
  [
    'in chunks, without an end',
    chunked('01234', '567890').slice(0, -5),
    'of more than 10 bytes is too large',
  ],
  ['empty', 'content-length: 0\r\n\r\n', ''],
])('an answer is read up to the limit and refused beyond it: %s', async (_, rest, expected) => {
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/${encodeURIComponent(rest)}`, { keepalive: false });
  const read = readBytes(answer, rules).then((bytes) => new TextDecoder().decode(bytes));
  if (expected.endsWith('too large')) await expect(read).rejects.toThrow(`an answer ${expected}`);
  else expect(await read).toBe(expected);
});

test('an answer that is too large is not read to its end', async () => {
  const cancelled = Promise.withResolvers<void>();
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(4)),
    cancel: () => cancelled.resolve(),
  });
  await expect(readBytes(new Response(endless), rules)).rejects.toThrow('too large');
  await cancelled.promise;
});

function chunked(...chunks: readonly string[]): string {
  const lines = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  return `transfer-encoding: chunked\r\n\r\n${lines.join('')}0\r\n\r\n`;
}
