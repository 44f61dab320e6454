import { describe, expect, test } from 'bun:test';
import type { StreamEvent } from '../../wire/openai/answer.ts';
import type { ChatChunk } from '../../wire/openai/chat.ts';
import type { DataEvent, StreamListener } from './event-source.ts';
import { TypedStream } from './typed-stream.ts';

/** The events of a backend that answers in objects, delivered one per `next`. */

const chunkOf = (content: string): ChatChunk => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
});
const said = (content: string): StreamEvent => ({ kind: 'chunk', chunk: chunkOf(content) });
const DONE: StreamEvent = { kind: 'done' };

function backend(...events: StreamEvent[]) {
  let controller: ReadableStreamDefaultController<StreamEvent> | undefined;
  let cancelled = false;
  const stream = new ReadableStream<StreamEvent>({
    start(given) {
      controller = given;
      for (const event of events) given.enqueue(event);
    },
    cancel: () => void (cancelled = true),
  });
  return {
    stream,
    end: () => controller?.close(),
    fail: () => controller?.error(new Error('broken off')),
    cancelled: () => cancelled,
  };
}

const signals = () => ({ signal: new AbortController().signal, client: new AbortController().signal });

interface Heard {
  readonly events: readonly DataEvent[];
  readonly end: 'pause' | 'end' | 'failure';
  readonly cause?: unknown;
}

function next(stream: TypedStream, onEvents?: () => void): Promise<Heard> {
  const events: DataEvent[] = [];
  const heard = Promise.withResolvers<Heard>();
  const listener: StreamListener = {
    takesBytes: false,
    onBytes: (_, from) => from,
    onEvents(given) {
      onEvents?.();
      events.push(...given);
    },
    onPause: () => heard.resolve({ events, end: 'pause' }),
    onEnd: () => heard.resolve({ events, end: 'end' }),
    onFailure: (cause) => heard.resolve({ events, end: 'failure', cause }),
  };
  stream.next(listener);
  return heard.promise;
}

test('every event comes once, in order, with the JSON of its chunk; the JSON’s length is what was read', async () => {
  const { stream, end } = backend(said('one'), said('two'), DONE);
  end();
  const typed = await TypedStream.open(stream, signals());
  const heard = [await next(typed), await next(typed), await next(typed), await next(typed)];
  expect(heard.flatMap(({ events }) => events)).toEqual([
    { data: JSON.stringify(chunkOf('one')), event: said('one') },
    { data: JSON.stringify(chunkOf('two')), event: said('two') },
    { data: '', event: DONE },
  ]);
  expect(heard.map((one) => one.end)).toEqual(['pause', 'pause', 'pause', 'end']);
  expect(typed.bytesRead).toBe(2 * JSON.stringify(chunkOf('one')).length);
});

test('an error before any text means that the backend has not answered', async () => {
  const { stream, cancelled } = backend({ kind: 'error', message: 'no capacity' });
  const thrown = await TypedStream.open(stream, signals()).catch((error: unknown) => error);
  expect(thrown).toMatchObject({ kind: 'server', message: 'error in the stream: no capacity' });
  expect(cancelled()).toBe(true);
});

test('a second event that comes late is delivered by the next read', async () => {
  let controller: ReadableStreamDefaultController<StreamEvent> | undefined;
  const stream = new ReadableStream<StreamEvent>({
    start(given) {
      controller = given;
      given.enqueue(said(''));
    },
  });
  const typed = await TypedStream.open(stream, signals());
  expect((await next(typed)).events.map(({ event }) => event)).toEqual([said('')]);
  controller?.enqueue(said('late'));
  expect((await next(typed)).events.map(({ event }) => event)).toEqual([said('late')]);
});

test('a broken connection is a failure for who reads, as is a reader that throws', async () => {
  const { stream, fail } = backend(said('one'));
  const typed = await TypedStream.open(stream, signals());
  const throwing = (): void => {
    throw new Error('cannot take it');
  };
  expect(await next(typed, throwing)).toMatchObject({ end: 'failure', cause: { message: 'cannot take it' } });
  fail();
  expect(await next(typed)).toMatchObject({ end: 'failure', cause: { message: 'broken off' } });
});

test('other work gets its turn while a backend sends a lot at once', async () => {
  const many = Array.from({ length: 200 }, (_, index) => said(String(index)));
  const { stream, end } = backend(...many);
  end();
  const typed = await TypedStream.open(stream, signals());
  let others = 0;
  const other = (): void => {
    others++;
    if (others < 1_000) setImmediate(other);
  };
  setImmediate(other);
  let read = 0;
  while ((await next(typed)).end === 'pause') read++;
  expect(read).toBe(many.length);
  expect(others).toBeGreaterThanOrEqual(4);
});

describe('the backend', () => {
  test('is cancelled when nobody wants more', async () => {
    const { stream, cancelled } = backend(said('one'));
    (await TypedStream.open(stream, signals())).cancel();
    expect(cancelled()).toBe(true);
  });

  test('is cut off when it goes on after the answer is complete', async () => {
    const { stream, cancelled } = backend(said('one'), DONE, said('more'));
    (await TypedStream.open(stream, signals())).release();
    while (!cancelled()) await new Promise(setImmediate);
  });

  test('may end in its own time when the answer is complete', async () => {
    const { stream, end, cancelled } = backend(said('one'));
    const typed = await TypedStream.open(stream, signals());
    typed.release();
    expect(cancelled()).toBe(false);
    end();
    await Promise.resolve();
    expect(cancelled()).toBe(false);
  });
});
