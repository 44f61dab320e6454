import { describe, expect, test } from 'bun:test';
import type { RequestId } from '../../std/ids.ts';
import { openAiEncoder } from '../../wire/openai/answer.ts';
import { Delivery, type StreamEnd } from './delivery.ts';
import { EventStream } from './event-stream.ts';
import { chatInput } from '../testing/chat-input.ts';
import { Meter } from './meter.ts';

/** The limits of a stream: time, silence, bytes. The test controls the clock, and time passes only by its ticks. */

const utf8 = new TextEncoder();
const START_MS = 1_000_000;
const MEGABYTE = 1_048_576;

const said = (content: string): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'theirs', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;

const USED = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'theirs', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })}\n\n`;

interface Running {
  readonly delivery: Delivery;
  readonly ended: Promise<StreamEnd>;
  /** Whether the backend was told to stop. */
  readonly cancelled: () => boolean;
  send(text: string): void;
}

async function begin(
  limits: { idleMs: number; totalMs: number },
  outputCap = 1_000,
  pull?: () => string,
): Promise<Running> {
  let backend: ReadableStreamDefaultController<Uint8Array> | undefined;
  let cancelled = false;
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      backend = controller;
      controller.enqueue(utf8.encode(said('one')));
    },
    pull(controller) {
      const next = pull?.();
      if (next === '') controller.close();
      else if (next !== undefined) controller.enqueue(utf8.encode(next));
    },
    cancel: () => void (cancelled = true),
  });
  const events = await EventStream.open(source, {
    signal: new AbortController().signal,
    client: new AbortController().signal,
  });
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
      limits,
      outputCap,
      onEnd: async (end) => {
        ended.resolve(end);
        return undefined;
      },
    },
  );
  const send = (text: string): void => backend?.enqueue(utf8.encode(text));
  return { delivery, ended: ended.promise, cancelled: () => cancelled, send };
}

/** A client that reads everything. */
function readAll({ delivery }: Running) {
  const reader = delivery.body().getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  let arrived = Promise.withResolvers<void>();
  const whole = (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += decoder.decode(value, { stream: true });
      bytes += value.length;
      arrived.resolve();
      arrived = Promise.withResolvers();
    }
  })();
  const until = async (words: string): Promise<string> => {
    while (!text.includes(words)) await arrived.promise;
    return text;
  };
  return { whole, until, bytes: () => bytes };
}

const LONG = { idleMs: 3_600_000, totalMs: 7_200_000 };
const commentsIn = (text: string): number =>
  text.split('\n\n').filter((event) => event.startsWith(':')).length;

describe('a comment keeps the connection of a silent stream alive', () => {
  test('after fifteen seconds without a byte to the client, and again after each fifteen', async () => {
    const running = await begin(LONG);
    const client = readAll(running);
    await client.until('"one"');
    const { delivery } = running;
    // The first tick after a write records its time.
    delivery.tick(START_MS);
    delivery.tick(START_MS + 15_000);
    delivery.tick(START_MS + 16_001);
    await client.until('\n\n:');
    // There was a byte in between.
    delivery.tick(START_MS + 17_002);
    delivery.tick(START_MS + 32_002);
    running.send(said('two'));
    expect(commentsIn(await client.until('"two"'))).toBe(1);
    delivery.tick(START_MS + 40_000);
    delivery.tick(START_MS + 55_001);
    running.send(said('three'));
    expect(commentsIn(await client.until('"three"'))).toBe(2);
  });

  test('although its backend sends what the client does not get: comments, and a usage that was not asked for', async () => {
    const running = await begin(LONG);
    const client = readAll(running);
    await client.until('"one"');
    for (let seconds = 0; seconds <= 15; seconds += 3) {
      running.delivery.tick(START_MS + seconds * 1_000);
      running.send(`: still thinking\n\n${USED}`);
      await new Promise((next) => setImmediate(next));
    }
    running.delivery.tick(START_MS + 16_001);
    running.send(said('two'));
    expect(commentsIn(await client.until('"two"'))).toBe(1);
  });

  test('and does not count as an answer: a silent backend is still cut off', async () => {
    const running = await begin({ idleMs: 40_000, totalMs: 100_000 });
    const client = readAll(running);
    await client.until('"one"');
    for (let seconds = 0; seconds <= 40; seconds += 2) running.delivery.tick(START_MS + seconds * 1_000);
    expect(commentsIn(await client.until('\n\n:'))).toBeGreaterThan(0);
    // It may be silent for exactly that long.
    expect(running.cancelled()).toBe(false);
    running.delivery.tick(START_MS + 42_001);
    expect(await running.ended).toMatchObject({
      outcome: 'cut_short',
      fault: { code: 'upstream_timeout', message: 'The backend fell silent and was cut off.' },
    });
    expect(running.cancelled()).toBe(true);
    expect(await client.whole).toContain('fell silent');
  });
});

describe('deadlines', () => {
  test('an answer that takes too long is cut off, even while it is sending', async () => {
    const running = await begin({ idleMs: 4_000, totalMs: 10_000 });
    const client = readAll(running);
    let word = 0;
    for (let ms = 0; ms <= 10_000; ms += 2_000) {
      running.send(said(`w${++word}`));
      await client.until(`"w${word}"`);
      running.delivery.tick(START_MS + ms);
    }
    running.delivery.tick(START_MS + 12_000);
    expect(await running.ended).toMatchObject({
      outcome: 'cut_short',
      fault: { code: 'upstream_timeout', message: 'The answer took too long and was cut.' },
      measured: { usage: { output: expect.any(Number) } },
    });
    expect(await client.whole).toContain('took too long');
  });

  test('a client that reads nothing for more than a minute counts as gone; the backend is cancelled', async () => {
    const running = await begin(LONG);
    const reader = running.delivery.body().getReader();
    await reader.read();
    // Reading stops here, so writes wait from now on.
    for (let turn = 0; turn < 50; turn++) {
      running.send(said('x'.repeat(50_000)));
      await new Promise((next) => setImmediate(next));
    }
    running.delivery.tick(START_MS);
    running.delivery.tick(START_MS + 60_000);
    // What had been left would have ended by then.
    expect(await Promise.race([running.ended, Bun.sleep(300)])).toBeUndefined();
    expect(running.cancelled()).toBe(false);
    running.delivery.tick(START_MS + 61_001);
    expect(await running.ended).toMatchObject({ outcome: 'client_left', fault: undefined });
    expect(running.cancelled()).toBe(true);
  });
});

test('a stream far beyond its cap is cut off, at a megabyte plus a kilobyte per token', async () => {
  const PIECE = said('x'.repeat(4_000));
  const outputCap = 100;
  let left = (4 * MEGABYTE) / PIECE.length;
  const running = await begin(LONG, outputCap, () => (left-- > 0 ? PIECE : ''));
  const client = readAll(running);
  const { outcome, fault } = await running.ended;
  expect({ outcome, code: fault?.code }).toEqual({ outcome: 'cut_short', code: 'upstream_error' });
  expect(await client.whole).toContain('far more than it was allowed to');
  const most = MEGABYTE + outputCap * 1_024;
  expect(client.bytes()).toBeGreaterThan(most * 0.9);
  expect(client.bytes()).toBeLessThan(most + 10 * PIECE.length);
  expect(running.cancelled()).toBe(true);
});
