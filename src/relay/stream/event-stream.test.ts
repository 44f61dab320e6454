import { describe, expect, test } from 'bun:test';
import type { StreamListener } from './event-source.ts';
import { EventStream } from './event-stream.ts';

/** The bytes of a backend become events, one `next` at a time; its first events decide whether it has answered at all. */

const utf8 = new TextEncoder();
const NAMES = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
const chunk = (delta: object, choice: object = {}): string =>
  JSON.stringify({ ...NAMES, choices: [{ index: 0, delta, finish_reason: null, ...choice }] });
const event = (data: string): string => `data: ${data}\n\n`;
const said = (content: string): string => event(chunk({ content }));
const ROLE = event(chunk({ role: 'assistant', content: '' }));

function backend(...sent: string[]) {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
      for (const text of sent) given.enqueue(utf8.encode(text));
    },
    cancel: () => void (cancelled = true),
  });
  return {
    body,
    send: (text: string) => controller?.enqueue(utf8.encode(text)),
    end: () => controller?.close(),
    fail: () => controller?.error(new Error('broken off')),
    cancelled: () => cancelled,
  };
}

const signals = (more: { signal?: AbortSignal; client?: AbortSignal } = {}) => ({
  signal: new AbortController().signal,
  client: new AbortController().signal,
  ...more,
});

interface Heard {
  readonly data: string[];
  readonly bytes: string[];
  readonly end: 'pause' | 'end' | 'failure';
  readonly cause?: unknown;
}

/** Asks once, and takes offered bytes as `take` says. */
function next(stream: EventStream, take?: (bytes: Uint8Array, from: number) => number): Promise<Heard> {
  const data: string[] = [];
  const bytes: string[] = [];
  const heard = Promise.withResolvers<Heard>();
  const listener: StreamListener = {
    takesBytes: take !== undefined,
    onBytes(given, from) {
      const stop = take?.(given, from) ?? from;
      bytes.push(Buffer.from(given.subarray(from, stop)).toString());
      return stop;
    },
    onEvents: (events) => void data.push(...events.map((one) => one.data)),
    onPause: () => heard.resolve({ data, bytes, end: 'pause' }),
    onEnd: () => heard.resolve({ data, bytes, end: 'end' }),
    onFailure: (cause) => heard.resolve({ data, bytes, end: 'failure', cause }),
  };
  stream.next(listener);
  return heard.promise;
}

async function readToEnd(stream: EventStream): Promise<Heard & { readonly turns: number }> {
  const data: string[] = [];
  for (let turns = 1; ; turns++) {
    const heard = await next(stream);
    data.push(...heard.data);
    if (heard.end !== 'pause') return { ...heard, data, turns };
  }
}

describe('a stream has answered', () => {
  test.each([
    ['text', said('hi')],
    ['a tool call', event(chunk({ tool_calls: [{ index: 0 }] }))],
    ['a finish reason without text', event(chunk({}, { finish_reason: 'stop' }))],
    ['the end', event('[DONE]')],
  ])('as soon as there is %s, and no second event is waited for', async (_, first) => {
    const stream = await EventStream.open(backend(first).body, signals());
    const { data, end } = await next(stream);
    expect({ data: data.map(event), end }).toEqual({ data: [first], end: 'pause' });
  });

  test('with a role or an empty text and whatever comes next; both are delivered together', async () => {
    const { body, send } = backend(ROLE);
    const opening = EventStream.open(body, signals());
    send(said('hi'));
    const stream = await opening;
    expect((await next(stream)).data.map(event)).toEqual([ROLE, said('hi')]);
  });

  test('with a role alone if nothing follows for a while; what follows is delivered then', async () => {
    const { body, send, end } = backend(ROLE);
    const stream = await EventStream.open(body, signals());
    expect((await next(stream)).data.map(event)).toEqual([ROLE]);
    send(said('late'));
    expect((await next(stream)).data.map(event)).toEqual([said('late')]);
    end();
    expect((await next(stream)).end).toBe('end');
  });

  test('a failure that follows then reaches who reads', async () => {
    const { body, fail } = backend(ROLE);
    const stream = await EventStream.open(body, signals());
    await next(stream);
    fail();
    expect(await next(stream)).toMatchObject({ end: 'failure', cause: { message: 'broken off' } });
  });
});

describe('a stream has not answered, and another backend may be called', () => {
  const failureOf = async (open: Promise<unknown>) => await open.catch((error: unknown) => error);
  const ERROR = event('{"error":{"message":"no capacity"}}');

  test.each([
    ['an error', ERROR, 'server', 'error in the stream: no capacity'],
    ['an error after a role', ROLE + ERROR, 'server', 'error in the stream: no capacity'],
    ['an event that is no chunk', event('hello'), 'protocol', 'an event of the stream is not a chat chunk'],
    [
      'no chunk after a role',
      ROLE + event('hello'),
      'protocol',
      'an event of the stream is not a chat chunk',
    ],
  ])('if it begins with %s', async (_, text, kind, message) => {
    const { body, cancelled } = backend(text);
    expect(await failureOf(EventStream.open(body, signals()))).toMatchObject({ kind, message });
    expect(cancelled()).toBe(true);
  });

  test('if an error is the second event, in another piece', async () => {
    const { body } = backend(ROLE, ERROR);
    expect(await failureOf(EventStream.open(body, signals()))).toMatchObject({ kind: 'server' });
  });

  test('an error after text is for who reads it', async () => {
    const stream = await EventStream.open(backend(said('hi') + ERROR).body, signals());
    expect((await next(stream)).data.map(event)).toEqual([said('hi'), ERROR]);
  });

  test('if it ends before any event, or after a role', async () => {
    const empty = backend();
    empty.end();
    expect(await failureOf(EventStream.open(empty.body, signals()))).toMatchObject({
      kind: 'protocol',
      message: 'the stream ended before it began',
    });
    const role = backend(ROLE);
    role.end();
    expect(await failureOf(EventStream.open(role.body, signals()))).toMatchObject({
      kind: 'protocol',
      message: 'the stream ended without an answer',
    });
  });

  test('if its time is up, and then the backend is cancelled', async () => {
    const deadline = new AbortController();
    const { body, cancelled } = backend();
    const opening = failureOf(EventStream.open(body, signals({ signal: deadline.signal })));
    deadline.abort();
    expect(await opening).toMatchObject({ name: 'UpstreamFailure' });
    expect(cancelled()).toBe(true);
  });

  test('if its time was up when its first event came', async () => {
    const { body } = backend(said('hi'));
    const signal = AbortSignal.abort();
    expect(await failureOf(EventStream.open(body, signals({ signal })))).toMatchObject({
      kind: 'connect',
      message: 'aborted',
    });
  });
});

describe('when the client leaves before the first event', () => {
  test.each(['while waiting', 'before'])(
    '%s, the backend has accepted the request: whatever it sends is the answer',
    async (when) => {
      const client = new AbortController();
      if (when === 'before') client.abort();
      const { body, send, cancelled } = backend();
      const opening = EventStream.open(body, signals({ client: client.signal }));
      client.abort();
      const stream = await opening;
      expect(cancelled()).toBe(false);
      const asked = next(stream);
      send(said('hi'));
      expect((await asked).data.map(event)).toEqual([said('hi')]);
      const more = next(stream);
      send(said('again'));
      expect((await more).data.map(event)).toEqual([said('again')]);
      stream.cancel();
      expect(cancelled()).toBe(true);
    },
  );

  test('after a role, and everything is read once', async () => {
    const client = new AbortController();
    const { body, send, end } = backend(ROLE);
    const opening = EventStream.open(body, signals({ client: client.signal }));
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    client.abort();
    const stream = await opening;
    expect((await next(stream)).data.map(event)).toEqual([ROLE]);
    const asked = next(stream);
    send(said('hi'));
    expect((await asked).data.map(event)).toEqual([said('hi')]);
    end();
    expect(await next(stream)).toMatchObject({ data: [], end: 'end' });
  });

  test('and the backend fails, the failure is for who reads', async () => {
    const { body, fail } = backend();
    const stream = await EventStream.open(body, signals({ client: AbortSignal.abort() }));
    const asked = next(stream);
    fail();
    expect(await asked).toMatchObject({ end: 'failure', cause: { message: 'broken off' } });
  });

  test('a client that leaves later does nothing to a stream that has begun', async () => {
    const [client, deadline] = [new AbortController(), new AbortController()];
    const { body, cancelled } = backend(said('hi'));
    const stream = await EventStream.open(body, { client: client.signal, signal: deadline.signal });
    client.abort();
    deadline.abort();
    expect(cancelled()).toBe(false);
    expect((await next(stream)).end).toBe('pause');
  });
});

test('every event arrives once and in order, however the bytes are split, and every byte is counted', async () => {
  const text = ROLE + ['Grüße', ' 世界', ' 🚪'].map(said).join('') + event('[DONE]');
  const bytes = utf8.encode(text);
  for (const size of [1, 7, 64, bytes.length]) {
    const source = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const stream = await EventStream.open(source, signals());
    const { data, end } = await readToEnd(stream);
    expect(data.map(event).join('')).toBe(text);
    expect(end).toBe('end');
    expect(stream.bytesRead).toBe(bytes.length);
  }
});

test('an event that the stream’s end completes is delivered before the end', async () => {
  const { body, send, end } = backend(said('one'));
  const stream = await EventStream.open(body, signals());
  await next(stream);
  send(said('two').trimEnd());
  end();
  expect(await next(stream)).toMatchObject({ data: [chunk({ content: 'two' })], end: 'end' });
});

test('a backend that goes on after its answer is complete is cut off', async () => {
  const { body, send, cancelled } = backend(said('one'));
  const stream = await EventStream.open(body, signals());
  stream.release();
  expect(cancelled()).toBe(false);
  send(said('more'));
  while (!cancelled()) await new Promise(setImmediate);
});

test('a comment is no event: the next one is read at once', async () => {
  const { body, send } = backend(said('one'));
  const stream = await EventStream.open(body, signals());
  await next(stream);
  send(': ping\n\n');
  const asked = next(stream);
  send(said('two'));
  expect(await asked).toMatchObject({ data: [chunk({ content: 'two' })], end: 'pause' });
});

test('whoever throws while taking events gets the failure, on the first ones and on later ones', async () => {
  const { body, send } = backend(said('one'));
  const stream = await EventStream.open(body, signals());
  for (let turn = 0; turn < 2; turn++) {
    const failed = Promise.withResolvers<unknown>();
    stream.next({
      takesBytes: false,
      onBytes: (_, from) => from,
      onEvents() {
        throw new Error('cannot take it');
      },
      onPause: () => undefined,
      onEnd: () => undefined,
      onFailure: failed.resolve,
    });
    expect(await failed.promise).toMatchObject({ message: 'cannot take it' });
    send(said('two'));
  }
});

describe('a lot that arrives at once', () => {
  const many = Array.from({ length: 400 }, (_, index) => said(`${index} ${'x'.repeat(150)}`));

  test('is delivered in several turns, and other work gets its turn in between', async () => {
    const { body, send, end } = backend(said('first'));
    const stream = await EventStream.open(body, signals());
    await next(stream);
    send(many.join(''));
    end();
    let others = 0;
    const other = (): void => {
      others++;
      if (others < 1_000) setImmediate(other);
    };
    setImmediate(other);
    const { data, turns } = await readToEnd(stream);
    expect(data.map(event)).toEqual(many);
    expect(turns).toBeGreaterThan(4);
    expect(turns).toBeLessThan(30);
    expect(others).toBeGreaterThanOrEqual(4);
  });
});

describe('a reader that takes bytes is offered whole events', () => {
  const open = async (text: string) => {
    const { body, send } = backend(said('first'));
    const stream = await EventStream.open(body, signals());
    await next(stream);
    send(text);
    return { stream, send };
  };
  const all = (bytes: Uint8Array, from: number) => {
    const end = Buffer.from(bytes).lastIndexOf('\n\n');
    return end < from ? from : end + 2;
  };

  test('and gets as events what it does not take', async () => {
    const [one, two, three] = [said('one'), said('two'), said('three')];
    const { stream } = await open(one + two + three);
    const heard = await next(stream, (_, from) => (from === 0 ? utf8.encode(one).length : from));
    expect(heard.bytes.join('')).toBe(one);
    expect(heard.data.map(event)).toEqual([two, three]);
    expect(heard.end).toBe('pause');
  });

  test('all of them, if it takes all', async () => {
    const { stream } = await open(said('one') + said('two'));
    const heard = await next(stream, all);
    expect(heard).toMatchObject({ bytes: [said('one') + said('two')], data: [], end: 'pause' });
  });

  test.each(['\n\n', '\r\n\r\n'])('after each one that it refused, where events end in %j', async (end) => {
    const events = ['one', 'two', 'three'].map((text) => `data: ${chunk({ content: text })}${end}`);
    const { stream } = await open(events.join(''));
    const offered: number[] = [];
    const heard = await next(stream, (_, from) => {
      offered.push(from);
      return from;
    });
    expect(heard.data).toEqual(['one', 'two', 'three'].map((content) => chunk({ content })));
    const length = events.map((one) => utf8.encode(one).length);
    expect(offered).toEqual([0, length[0], length[0]! + length[1]!] as number[]);
  });

  test('after one of several lines that it refused', async () => {
    const { stream } = await open(`id: 1\n${said('one')}${said('two')}`);
    const heard = await next(stream, (bytes, from) => (from === 0 ? from : bytes.length));
    expect(heard.data).toEqual([chunk({ content: 'one' })]);
    expect(heard.bytes.join('')).toBe(said('two'));
  });

  test('never the rest of one that had begun', async () => {
    const text = said('half and half');
    const { stream, send } = await open(text.slice(0, 40));
    const asked = next(stream, all);
    send(text.slice(40) + said('whole'));
    const heard = await asked;
    expect(heard.data.map(event)).toEqual([text]);
    expect(heard.bytes.join('')).toBe(said('whole'));
  });

  test('none of which it took makes no pause, and the next bytes are read', async () => {
    const { stream, send } = await open(': ping\n\n');
    const asked = next(stream, (_, from) => from);
    send(said('two'));
    expect((await asked).data.map(event)).toEqual([said('two')]);
  });
});
