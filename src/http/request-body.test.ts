import { afterAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import type { RequestId } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import { JSON_LIMITS } from '../std/json-scan.ts';
import { nextTurn } from '../std/turns.ts';
import { API_JSON, BodyReader, type BodySender } from './request-body.ts';
import { faultResponse } from './response.ts';

function senderOf(request: Request): BodySender {
  return { request, address: '127.0.0.1', holdMemory: () => Promise.resolve(), bodyArrived: () => undefined };
}

const QUICK = { small: 200, pause: 200, whole: 400 };

/** Reads every body as signed bytes, and answers how many there are. */
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => {
    try {
      const rule = { kind: 'signed', maxBytes: 100_000 } as const;
      const bytes = await new BodyReader(senderOf(request), rule, QUICK).signed();
      return new Response(String(bytes.byteLength));
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

test('a body that comes byte by byte is refused when it takes too long as a whole', async () => {
  const socket = connect(server.port ?? 0, '127.0.0.1');
  const answered = new Promise<string>((resolve) =>
    socket.once('data', (bytes) => resolve(bytes.toString('latin1'))),
  );
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
  const drip = setInterval(() => socket.write('1\r\na\r\n'), 50);
  expect(await answered).toContain('did not arrive in time');
  clearInterval(drip);
  socket.destroy();
});

test('a form with more parts than a route takes is refused before its parts are made', async () => {
  const parts = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n';
  const read = (count: number) => {
    const request = new Request('http://x', {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body: `${parts.repeat(count)}--b--\r\n`,
    });
    return new BodyReader(senderOf(request), { kind: 'form', maxBytes: 20_000_000, maxParts: 8 }).form();
  };
  expect((await read(8)).fields.getAll('a')).toHaveLength(8);
  await expect(read(9)).rejects.toThrow('The form has more than 8 fields.');
});

test('the parts of a form are counted while it arrives, wherever its pieces are cut', async () => {
  const part = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n';
  const read = (count: number, pieceBytes: number) => {
    const bytes = new TextEncoder().encode(`${part.repeat(count)}--b--\r\n`);
    let taken = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (taken >= bytes.length) return controller.close();
        controller.enqueue(bytes.slice(taken, (taken += pieceBytes)));
      },
    });
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    const sender = senderOf(new Request('http://x', { method: 'POST', headers, body }));
    const reader = new BodyReader(sender, { kind: 'form', maxBytes: 20_000_000, maxParts: 8 });
    return { form: reader.form(), left: () => bytes.length - taken };
  };
  for (const pieceBytes of [1, 2, 3, 5, part.length - 1, part.length, part.length + 1, 10_000]) {
    expect((await read(8, pieceBytes).form).fields.getAll('a')).toHaveLength(8);
    await expect(read(9, pieceBytes).form).rejects.toThrow('The form has more than 8 fields.');
  }
  const many = read(10_000, part.length);
  await expect(many.form).rejects.toThrow('The form has more than 8 fields.');
  expect(many.left()).toBeGreaterThan(9_000 * part.length);
});

test('arrays and objects nested too deep are refused in a short body and in a long one', async () => {
  const bodyOf = (levels: number, padding: string): string =>
    `{"padding":"${padding}","a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  const read = (text: string) =>
    new BodyReader(senderOf(new Request('http://x', { method: 'POST', body: text })), API_JSON).json();
  for (const padding of ['', 'x'.repeat(JSON_LIMITS.keysOfObject)]) {
    const { value } = await read(bodyOf(JSON_LIMITS.depth, padding));
    expect(value['padding']).toBe(padding);
    await expect(read(bodyOf(JSON_LIMITS.depth + 1, padding))).rejects.toThrow(
      `The body is nested deeper than ${JSON_LIMITS.depth} levels.`,
    );
  }
});

test('of many large bodies that arrive at once, one piece is looked at in each turn of the event loop', async () => {
  const piece = new Uint8Array(100_000).fill(0x20);
  let looked = 0;
  let mostInTurn = 0;
  const bodies = Array.from({ length: 10 }, () => {
    const arrived = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let number = 0; number < 5; number++) controller.enqueue(piece.slice());
        controller.close();
      },
    });
    const request = new Request('http://x/', { method: 'POST', body: arrived });
    const reader = new BodyReader(
      { ...senderOf(request), holdMemory: () => Promise.resolve(void looked++) },
      { kind: 'signed', maxBytes: 1_000_000 },
    );
    return reader.signed();
  });
  let isOver = false;
  const all = Promise.all(bodies).finally(() => (isOver = true));
  // The first piece of each is there before any of them has waited.
  await nextTurn();
  for (let before = looked; !isOver; before = looked) {
    await new Promise(setImmediate);
    mostInTurn = Math.max(mostInTurn, looked - before);
  }
  expect((await all).map(({ byteLength }) => byteLength)).toEqual(Array.from({ length: 10 }, () => 500_000));
  expect(looked).toBe(50);
  expect(mostInTurn).toBe(1);
});
