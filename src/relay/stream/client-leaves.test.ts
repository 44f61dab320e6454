import { describe, expect, test } from 'bun:test';
import type { RequestId } from '../../std/ids.ts';
import { openAiEncoder, type StreamEvent } from '../../wire/openai/answer.ts';
import { Delivery, type DeliveryOptions, type StreamEnd } from './delivery.ts';
import { chatInput } from '../testing/chat-input.ts';
import type { EventSource } from './event-source.ts';
import { EventStream } from './event-stream.ts';
import { Meter } from './meter.ts';
import { readNativeAnswer } from './pass-through.ts';
import { TypedStream } from './typed-stream.ts';

/** What is charged for a stream whose client has left: all that the backend had sent, or all that it comes to send. */

const WORDS = Array.from({ length: 300 }, (_, index) => ` word${index}`);
const USAGE = { prompt_tokens: 900, completion_tokens: 5_000, total_tokens: 5_900 };
const START_MS = 1_000_000;
const signals = () => ({ signal: new AbortController().signal, client: new AbortController().signal });

const chunkOf = (content: string, more: object = {}) => ({
  id: 'c',
  object: 'chat.completion.chunk' as const,
  created: 1,
  model: 'theirs',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...more,
});
const FINISHED = chunkOf('', { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: USAGE });

/** A backend's body, fed by the test. */
function body<T>() {
  let controller: ReadableStreamDefaultController<T> | undefined;
  let isCancelled = false;
  const stream = new ReadableStream<T>({
    start: (opened) => void (controller = opened),
    cancel: () => void (isCancelled = true),
  });
  return {
    stream,
    send: (value: T) => controller?.enqueue(value),
    end: () => controller?.close(),
    isCancelled: () => isCancelled,
  };
}

function deliver(events: EventSource, onClientLeft?: DeliveryOptions['onClientLeft']) {
  const ended = Promise.withResolvers<StreamEnd>();
  const delivery = Delivery.of(
    {
      requestId: 'req_1' as RequestId,
      label: 'ours',
      request: { model: 'ours', messages: [] },
      encoder: (labels) => openAiEncoder(labels, false),
    },
    { kind: 'stream', events },
    {
      meter: new Meter(chatInput()),
      clock: { now: () => START_MS },
      limits: { idleMs: 60_000, totalMs: 600_000 },
      outputCap: 100_000,
      ...(onClientLeft && { onClientLeft }),
      onEnd: async (end) => {
        ended.resolve(end);
        return undefined;
      },
    },
  );
  return { delivery, ended: ended.promise };
}

const event = (value: unknown): Uint8Array => new TextEncoder().encode(`data: ${JSON.stringify(value)}\n\n`);

async function bytesBackend() {
  const source = body<Uint8Array>();
  for (const word of WORDS) source.send(event(chunkOf(word)));
  source.send(event(FINISHED));
  return { events: await EventStream.open(source.stream, signals()) };
}

async function typedBackend() {
  const source = body<StreamEvent>();
  for (const word of WORDS) source.send({ kind: 'chunk', chunk: chunkOf(word) });
  source.send({ kind: 'chunk', chunk: FINISHED });
  return { events: await TypedStream.open(source.stream, signals()) };
}

async function nativeBackend() {
  const source = body<Uint8Array>();
  let reads = 0;
  for (const word of WORDS) source.send(new TextEncoder().encode(word));
  const reading = () => {
    const isLast = ++reads === WORDS.length;
    return {
      text: WORDS[reads - 1] ?? '',
      thought: '',
      usage: USAGE,
      isUsageFinal: isLast,
      stopReason: isLast ? 'end_turn' : undefined,
      ended: isLast,
      failed: false,
    };
  };
  const answer = await readNativeAnswer({ kind: 'stream', body: source.stream, reading }, 'ours');
  if (answer.kind !== 'stream') throw new Error('no stream');
  return { events: answer.events };
}

describe('a backend that is stopped', () => {
  test.each([
    ['in bytes', bytesBackend],
    ['in objects', typedBackend],
    ['in its own dialect', nativeBackend],
  ] as const)(
    'is charged for all that it had sent %s, though the client had read nothing of it',
    async (_, begin) => {
      const { events } = await begin();
      const { delivery, ended } = deliver(events);
      delivery.leave();
      expect(await ended).toMatchObject({
        outcome: 'client_left',
        fault: undefined,
        measured: { source: 'upstream', usage: { input: 900, output: 5_000 } },
      });
    },
  );

  test('is stopped even if it never pauses', async () => {
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          pulled++;
          await new Promise((next) => setImmediate(next));
          controller.enqueue(event(chunkOf(' more')));
        },
      },
      { highWaterMark: 0 },
    );
    const { delivery, ended } = deliver(await EventStream.open(endless, signals()));
    delivery.leave();
    const { measured } = await ended;
    expect(measured.usage.output).toBeGreaterThanOrEqual(pulled - 2);
    const before = pulled;
    for (let turn = 0; turn < 50; turn++) await new Promise((next) => setImmediate(next));
    expect(pulled - before).toBeLessThanOrEqual(1);
  });
});

describe('a backend that finishes', () => {
  test('comes to its end, and its usage is charged', async () => {
    const source = body<Uint8Array>();
    source.send(event(chunkOf('one')));
    const { delivery, ended } = deliver(await EventStream.open(source.stream, signals()), () => 'finish');
    let hasEnded = false;
    void ended.then(() => (hasEnded = true));
    delivery.leave();
    // Longer than the pause after which it would be stopped.
    for (const word of WORDS.slice(0, 40)) {
      await Bun.sleep(10);
      source.send(event(chunkOf(word)));
    }
    expect(hasEnded).toBe(false);
    expect(source.isCancelled()).toBe(false);
    source.send(event(FINISHED));
    source.end();
    expect(await ended).toMatchObject({
      outcome: 'client_left',
      measured: { source: 'upstream', usage: { input: 900, output: 5_000 } },
    });
  });

  test('is held to its deadlines: one that falls silent is cancelled, and charged for what it sent', async () => {
    const source = body<Uint8Array>();
    source.send(event(chunkOf('one two three')));
    const { delivery, ended } = deliver(await EventStream.open(source.stream, signals()), () => 'finish');
    delivery.leave();
    await Bun.sleep(0);
    delivery.tick(START_MS + 2_000);
    delivery.tick(START_MS + 70_000);
    expect(await ended).toMatchObject({
      outcome: 'client_left',
      fault: undefined,
      measured: { source: 'counted', usage: { output: 3 } },
    });
    expect(source.isCancelled()).toBe(true);
  });
});
