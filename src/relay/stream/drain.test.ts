import { afterEach, beforeEach, expect, spyOn, test, type Mock } from 'bun:test';
import { drainToEnd } from './event-stream.ts';

/** The end of a body after its last event: awaited, so that the connection can be reused, but not forever. */

let timers: Mock<typeof setTimeout>;
let fire: (() => void) | undefined;
beforeEach(() => {
  fire = undefined;
  timers = spyOn(globalThis, 'setTimeout').mockImplementation(((
    run: (...args: unknown[]) => void,
    _ms: number,
    ...args: unknown[]
  ) => {
    fire = () => run(...args);
    return 0;
  }) as never);
});
afterEach(() => timers.mockRestore());

function body() {
  const cancelled = Promise.withResolvers<void>();
  let backend: ReadableStreamDefaultController<Uint8Array> | undefined;
  let isCancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => void (backend = controller),
    cancel() {
      isCancelled = true;
      cancelled.resolve();
    },
  });
  return {
    reader: stream.getReader(),
    send: () => backend?.enqueue(new Uint8Array(1)),
    fail: () => backend?.error(new Error('broken off')),
    end: () => backend?.close(),
    cancelled: cancelled.promise,
    isCancelled: () => isCancelled,
  };
}

test('a backend that ends its body keeps its connection', async () => {
  const { reader, end, isCancelled } = body();
  drainToEnd(reader);
  end();
  await reader.closed;
  expect(isCancelled()).toBe(false);
});

test('one that continues to send is cut off at once', async () => {
  const { reader, send, cancelled, isCancelled } = body();
  drainToEnd(reader);
  expect(isCancelled()).toBe(false);
  send();
  await cancelled;
});

test('one that stays silent is cut off after the time limit', async () => {
  const { reader, cancelled, isCancelled } = body();
  drainToEnd(reader);
  expect(isCancelled()).toBe(false);
  fire?.();
  await cancelled;
});

test('one whose connection breaks does no harm', async () => {
  const { reader, fail } = body();
  drainToEnd(reader);
  fail();
  expect(reader.closed).rejects.toThrow('broken off');
});
