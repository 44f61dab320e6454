import { expect, test } from 'bun:test';
import { readEvents, type ServerEvent } from './eventStream.ts';

const STREAM =
  ': ping\n\ndata: {"text":"Grüße 🚪"}\n\ndata: one\ndata: two\r\n\r\nevent: tollgate\ndata: {"costUsd":"0.01"}\n\ndata: [DONE]\n\n';

const EVENTS: ServerEvent[] = [
  { event: 'message', data: '{"text":"Grüße 🚪"}' },
  { event: 'message', data: 'one\ntwo' },
  { event: 'tollgate', data: '{"costUsd":"0.01"}' },
  { event: 'message', data: '[DONE]' },
];

test('a stream reads the same wherever the network cuts it', async () => {
  const bytes = new TextEncoder().encode(STREAM);
  for (let at = 0; at <= bytes.length; at++) {
    expect(await read([bytes.slice(0, at), bytes.slice(at)])).toEqual(EVENTS);
  }
});

test('a stream in single bytes reads the same', async () => {
  const bytes = new TextEncoder().encode(STREAM);
  expect(await read(Array.from(bytes, (byte) => new Uint8Array([byte])))).toEqual(EVENTS);
});

test('an event that never ends is refused, not kept', async () => {
  const endless = new Uint8Array(1_000_000).fill(97);
  await expect(read([endless, endless, endless, endless, endless])).rejects.toThrow('exceeded');
});

test('an event of many lines that never ends is refused, not kept', async () => {
  const lines = new TextEncoder().encode(`data: ${'a'.repeat(999_993)}\n`);
  await expect(read([lines, lines, lines, lines, lines])).rejects.toThrow('exceeded');
});

test('a line may end in a carriage return alone, as the standard says', async () => {
  const bytes = new TextEncoder().encode(STREAM.replaceAll(/\r?\n/g, '\r').concat('\n'));
  expect(await read(Array.from(bytes, (byte) => new Uint8Array([byte])))).toEqual(EVENTS);
});

test('an event that the stream broke off in is not delivered', async () => {
  expect(await read([new TextEncoder().encode('data: one\n\ndata: tw')])).toEqual([
    { event: 'message', data: 'one' },
  ]);
});

test('a reader that leaves ends the request', async () => {
  const left = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('data: one\n\n')),
    cancel: () => left.resolve(),
  });
  for await (const event of readEvents(body)) {
    expect(event.data).toBe('one');
    break;
  }
  await left.promise;
});

async function read(chunks: readonly Uint8Array<ArrayBuffer>[]): Promise<ServerEvent[]> {
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const events: ServerEvent[] = [];
  for await (const event of readEvents(body)) events.push(event);
  return events;
}
