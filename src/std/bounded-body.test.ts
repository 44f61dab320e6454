import { afterAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { readBounded } from './bounded-body.ts';

const MAX = 10;
const tooLarge = (size: string): Error => new Error(`too large: ${size}`);

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) =>
    new Response(
      await readBounded(request, MAX, tooLarge).then(
        (bytes) => `got ${new TextDecoder().decode(bytes)}`,
        (error: Error) => error.message,
      ),
    ),
});
afterAll(() => server.stop(true));

test.each([
  ['declared, of the largest size', 'content-length: 10\r\n\r\n0123456789', 'got 0123456789'],
  ['declared, one byte more', 'content-length: 11\r\n\r\n0123456789a', 'too large: 11 bytes'],
  ['in chunks, of the largest size', chunked('01234', '56789'), 'got 0123456789'],
  ['in chunks, one byte more', chunked('01234', '56789', 'a'), 'too large: more than 10 bytes'],
  ['in chunks, without an end', chunked('01234', '567890').slice(0, -5), 'too large: more than 10 bytes'],
  ['empty', 'content-length: 0\r\n\r\n', 'got '],
  ['none', '\r\n', 'got '],
])('a body is read up to the limit and refused beyond it: %s', async (_, rest, expected) => {
  expect(await answerTo(`POST / HTTP/1.1\r\nhost: x\r\n${rest}`)).toEndWith(`\r\n\r\n${expected}`);
});

test('the body of a response has the same limit', async () => {
  const whole = await readBounded(new Response(parts('01234', '56789')), MAX, tooLarge);
  expect(new TextDecoder().decode(whole)).toBe('0123456789');
  await expect(readBounded(new Response(parts('01234567890')), MAX, tooLarge)).rejects.toThrow('too large');
});

test('a body that is too large is not read to its end', async () => {
  const cancelled = Promise.withResolvers<void>();
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(4)),
    cancel: () => cancelled.resolve(),
  });
  await expect(readBounded(new Response(endless), MAX, tooLarge)).rejects.toThrow('too large');
  await cancelled.promise;
});

function chunked(...chunks: readonly string[]): string {
  const lines = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  return `transfer-encoding: chunked\r\n\r\n${lines.join('')}0\r\n\r\n`;
}

function parts(...texts: readonly string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
}

async function answerTo(text: string): Promise<string> {
  const socket = connect(server.port ?? 0, '127.0.0.1');
  socket.write(text);
  const answer = await new Promise<string>((resolve) =>
    socket.once('data', (bytes) => resolve(bytes.toString('latin1'))),
  );
  socket.destroy();
  return answer;
}
