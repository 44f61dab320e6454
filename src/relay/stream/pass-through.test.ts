import { describe, expect, test } from 'bun:test';
import { Fault } from '../../std/fault.ts';
import type { MessagesReading, NativeAnswer } from '../../upstream/port.ts';
import type { ChatUsage, FinishReason } from '../../wire/openai/chat.ts';
import type { DataEvent, EventSource, StreamListener } from './event-source.ts';
import { chatInput } from '../testing/chat-input.ts';
import { Meter } from './meter.ts';
import { readNativeAnswer } from './pass-through.ts';

/** An answer in the client's own dialect: its bytes pass unchanged, and the meter gets what was read from them. */

const utf8 = new TextEncoder();
const USAGE: ChatUsage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const NOTHING: MessagesReading = {
  usage: undefined,
  isUsageFinal: false,
  text: '',
  thought: '',
  stopReason: undefined,
  ended: false,
  failed: false,
};
const meter = () => new Meter(chatInput());

interface Step {
  readonly bytes: Uint8Array | string;
  readonly reading?: Partial<MessagesReading>;
}

/** A backend whose bytes and readings are written down in advance. */
function streamed(...steps: Step[]) {
  let read = 0;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const step = steps[read++];
        if (!step) controller.close();
        else controller.enqueue(typeof step.bytes === 'string' ? utf8.encode(step.bytes) : step.bytes);
      },
      cancel: () => void (cancelled = true),
    },
    { highWaterMark: 0 },
  );
  const answer: NativeAnswer = {
    kind: 'stream',
    body,
    reading: () => ({ ...NOTHING, ...steps[read - 1]?.reading }),
  };
  return { answer, cancelled: () => cancelled };
}

async function open(...steps: Step[]) {
  const { answer, cancelled } = streamed(...steps);
  const started = await readNativeAnswer(answer, 'ours');
  if (started.kind !== 'stream') throw new Error('not a stream');
  return { started, events: started.events, cancelled };
}

interface Heard {
  readonly events: readonly DataEvent[];
  readonly end: 'pause' | 'end' | 'failure';
  readonly cause?: unknown;
}

function next(source: EventSource): Promise<Heard> {
  const events: DataEvent[] = [];
  const heard = Promise.withResolvers<Heard>();
  const listener: StreamListener = {
    takesBytes: false,
    onBytes: (_, from) => from,
    onEvents: (given) => void events.push(...given),
    onPause: () => heard.resolve({ events, end: 'pause' }),
    onEnd: () => heard.resolve({ events, end: 'end' }),
    onFailure: (cause) => heard.resolve({ events, end: 'failure', cause }),
  };
  source.next(listener);
  return heard.promise;
}

async function readToEnd(source: EventSource) {
  const events: DataEvent[] = [];
  for (;;) {
    const heard = await next(source);
    events.push(...heard.events);
    if (heard.end !== 'pause') return { ...heard, events };
  }
}

function metered(events: readonly DataEvent[]) {
  const own = meter();
  observeAll(own, events);
  return own;
}

function observeAll(own: Meter, events: readonly DataEvent[]): void {
  for (const { event } of events) {
    if (event.kind === 'chunk') own.observe(event.chunk);
    if (event.kind === 'early_usage') own.observeUsage(event.usage);
  }
}

describe('a stream', () => {
  test('is passed on as text, also where a character was split, and every byte is counted', async () => {
    const text = 'event: ping\ndata: {"type":"ping"}\n\nGrüße 世界 🚪\n\n';
    const bytes = utf8.encode(text);
    const steps = Array.from(bytes, (byte) => ({ bytes: new Uint8Array([byte]) }));
    const { events } = await open(...steps);
    const read = await readToEnd(events);
    expect(read.events.map(({ data }) => data).join('')).toBe(text);
    expect(read.end).toBe('end');
    expect(events.bytesRead).toBe(bytes.length);
  });

  test('is counted by its text and finished by its stop reason', async () => {
    const { events } = await open(
      { bytes: 'a', reading: { text: 'Hello' } },
      { bytes: 'b', reading: { text: ' world', stopReason: 'end_turn', ended: true } },
    );
    const { events: all } = await readToEnd(events);
    const own = metered(all);
    const expected = meter();
    expected.observe({ ...chunk('Hello'), usage: null });
    expected.observe({ ...chunk(' world'), usage: null });
    expect(own.measure()).toEqual(expected.measure());
    expect(own.finishReason).toBe('stop');
  });

  const REASONS: [string | undefined, FinishReason | undefined][] = [
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['tool_use', 'tool_calls'],
    [undefined, undefined],
  ];
  test.each(REASONS)('the stop reason %s is the finish reason %s', async (stopReason, finish) => {
    const { events } = await open({ bytes: 'a', reading: { stopReason } });
    expect(metered((await readToEnd(events)).events).finishReason).toBe(finish);
    const whole = await readNativeAnswer(wholeAnswer({ stopReason }), 'ours');
    expect(whole.kind === 'whole' && whole.completion.choices[0]?.finish_reason).toBe(finish ?? null);
  });

  test('usage that came before the text stays older than it, also when reads without text follow', async () => {
    const early = { usage: { ...USAGE, completion_tokens: 1 }, isUsageFinal: false };
    const { events } = await open(
      { bytes: 'a', reading: early },
      { bytes: 'b', reading: { ...early, text: 'one two three four' } },
      { bytes: 'c', reading: { ...early, stopReason: 'end_turn' } },
      { bytes: 'd', reading: { ...early, ended: true } },
    );
    const counting = meter();
    for (let heard = await next(events); heard.end === 'pause'; heard = await next(events))
      observeAll(counting, heard.events);
    expect(await counting.measure()).toMatchObject({ source: 'mixed', usage: { input: 11, output: 4 } });
  });

  test('usage that came after the last text is the backend’s own; text after it is counted on top', async () => {
    const final = await open({ bytes: 'a', reading: { text: 'Hi', usage: USAGE, isUsageFinal: true } });
    expect(metered((await readToEnd(final.events)).events).measure()).toMatchObject({
      source: 'upstream',
      usage: { input: 11, output: 7 },
    });
    const early = await open({
      bytes: 'a',
      reading: { text: 'Hi '.repeat(50), usage: USAGE, isUsageFinal: false },
    });
    const measured = await metered((await readToEnd(early.events)).events).measure();
    expect(measured).toMatchObject({ source: 'mixed', usage: { input: 11 } });
    expect(measured.usage.output).toBeGreaterThan(7);
  });

  test('ends with its last event, whatever the backend sends after it', async () => {
    const { events } = await open({ bytes: 'last', reading: { ended: true } }, { bytes: 'more' });
    expect((await readToEnd(events)).events.map(({ data }) => data)).toEqual(['last']);
  });

  test('an error event of the backend becomes our own: its text is not passed on', async () => {
    const { events } = await open({ bytes: 'ok' }, { bytes: 'their error', reading: { failed: true } });
    await next(events);
    expect((await next(events)).events).toEqual([
      { data: '', event: { kind: 'error', message: 'error in the stream' } },
    ]);
  });

  test('names the model as the client asked for it, wherever its first event was split', async () => {
    const first = 'event: message_start\ndata: {"type":"message_start","message":{"model":"theirs"}}\n\n';
    const text = `${first}event: ping\n\n`;
    for (let at = 1; at < text.length; at++) {
      const { events } = await open({ bytes: text.slice(0, at) }, { bytes: text.slice(at) });
      const read = (await readToEnd(events)).events.map(({ data }) => data).join('');
      expect([at, read]).toEqual([at, text.replace('theirs', 'ours')]);
    }
  });

  test('that ends before its first byte is no answer', async () => {
    const thrown = await readNativeAnswer(streamed().answer, 'ours').catch((error: unknown) => error);
    expect(thrown).toMatchObject({ kind: 'protocol', message: 'the stream ended before it began' });
  });

  test('whose connection breaks is a failure for who reads', async () => {
    let fail: (() => void) | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(utf8.encode('a'));
        fail = () => controller.error(new Error('broken off'));
      },
    });
    const started = await readNativeAnswer({ kind: 'stream', body, reading: () => NOTHING }, 'ours');
    if (started.kind !== 'stream') throw new Error('not a stream');
    await next(started.events);
    fail?.();
    expect(await next(started.events)).toMatchObject({ end: 'failure', cause: { message: 'broken off' } });
  });

  test('that is complete may be ended by the backend in its own time, but not go on', async () => {
    const { events, cancelled } = await open({ bytes: 'last', reading: { ended: true } }, { bytes: 'more' });
    events.release();
    while (!cancelled()) await new Promise(setImmediate);
  });

  test('is cancelled at the backend when nobody wants more', async () => {
    const { events, cancelled } = await open({ bytes: 'a' }, { bytes: 'b' });
    events.cancel();
    expect(cancelled()).toBe(true);
  });

  test('is encoded as it came; only an error is written by us', async () => {
    const { started } = await open({ bytes: 'a' });
    const encoder = started.encoder?.({
      chunk: () => 'other',
      error: (fault) => `ours: ${fault.code}`,
      done: () => 'done',
    });
    expect(encoder?.chunk('theirs', chunk('x'))).toBe('theirs');
    expect(encoder?.error(new Fault('upstream_error', 'text'))).toBe('ours: upstream_error');
    expect(encoder?.done()).toBe('');
  });
});

test('a whole answer is the backend’s text, measured by its own usage', async () => {
  const started = await readNativeAnswer(
    wholeAnswer({ text: 'Grüße', usage: USAGE, stopReason: 'end_turn' }),
    'ours',
  );
  expect(started).toMatchObject({ kind: 'whole', text: '{"their":"Grüße"}', passThrough: true });
  if (started.kind !== 'whole') throw new Error('not whole');
  expect(started.completion.choices[0]?.message).toMatchObject({ role: 'assistant', content: 'Grüße' });
  expect(meter().observeWhole(started.completion)).toMatchObject({
    source: 'upstream',
    usage: { input: 11, output: 7 },
  });
});

function wholeAnswer(reading: Partial<MessagesReading>): NativeAnswer {
  const text = '{"their":"Grüße"}';
  const json = { text, value: JSON.parse(text) as unknown };
  return { kind: 'whole', json, reading: () => ({ ...NOTHING, ended: true, ...reading }) };
}

function chunk(content: string) {
  return {
    id: '',
    object: 'chat.completion.chunk',
    created: 0,
    model: '',
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  } as const;
}
