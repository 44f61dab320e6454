import { describe, expect, test } from 'bun:test';
import { UpstreamFailure } from '../port.ts';
import { BODY_LIMITS, boundedBody } from './body-bounds.ts';
import { encodeFrames } from './testing/event-stream.ts';

const quiet = new AbortController().signal;

describe('a body is bounded whatever the backend sends', () => {
  test.each([
    ['lines', BODY_LIMITS.event],
    ['whole', BODY_LIMITS.whole],
    ['error', BODY_LIMITS.error],
  ] as const)(
    '%s: more than its limit is a protocol failure, and the backend is cancelled',
    async (shape, limit) => {
      const source = flood(new Uint8Array(1_048_576).fill(120));
      const failure = await drain(bounded(source.stream, shape));
      expect(failure).toBeInstanceOf(UpstreamFailure);
      expect(failure).toMatchObject({ kind: 'protocol' });
      expect(String(failure)).toContain(`${limit} bytes`);
      expect(source.sent()).toBeLessThanOrEqual(limit + 3 * 1_048_576);
      expect(source.cancelled()).toBe(true);
    },
  );

  test('a stream of any length passes while its events are short', async () => {
    const line = new TextEncoder().encode(`data: ${'x'.repeat(1_000_000)}\n\n`);
    const source = flood(line, 20);
    expect(await drain(bounded(source.stream, 'lines'))).toBe(20 * line.length);
  });

  test('the length of an event is limited across pieces and lines, and counted anew for each event', async () => {
    const piece = new Uint8Array(BODY_LIMITS.event - 10).fill(120);
    const [data, line, end] = ['data:', '\n', '\n\n'].map((text) => new TextEncoder().encode(text));
    const whole = streamOf([data!, piece, end!, data!, piece, end!]);
    expect(await drain(bounded(whole, 'lines'))).toBe(2 * piece.length + 14);
    for (const pieces of [
      [data!, piece, piece],
      [data!, piece, line!, data!, piece, line!],
    ])
      expect(await drain(bounded(streamOf(pieces), 'lines'))).toBeInstanceOf(UpstreamFailure);
  });

  const BRACKETS = '{"a":['.repeat(10_000);

  test.each([
    ['a whole body', BRACKETS, 'whole'],
    ['an error', BRACKETS, 'error'],
    ['an event', `data: ${BRACKETS}\n\n`, 'lines'],
    ['an event of many lines', `data: ${'[\ndata: '.repeat(30_000)}\n\n`, 'lines'],
  ] as const)('%s that would keep the parser busy does not reach it', async (_, text, shape) => {
    const bytes = new TextEncoder().encode(text);
    for (const pieces of [[bytes], [bytes.slice(0, 1_000), bytes.slice(1_000)]]) {
      const failure = await drain(bounded(streamOf(pieces), shape));
      expect(failure).toMatchObject({ kind: 'protocol', message: 'the answer has more than 64 levels' });
    }
  });

  test('a frame that would keep the parser busy does not reach it', async () => {
    const [name, payload] = ['contentBlockDelta', Array.from({ length: 30_000 }, () => ({}))];
    const frame = encodeFrames(`${JSON.stringify({ [name]: payload })}\n`);
    for (const cut of [2, 100, frame.length - 1]) {
      const failure = await drain(bounded(streamOf([frame.slice(0, cut), frame.slice(cut)]), 'frames'));
      expect(failure).toMatchObject({ message: 'the answer has more than 20000 objects, arrays and keys' });
    }
  });

  test('an image passes, whatever its bytes look like', async () => {
    const image = Buffer.concat([Buffer.from('\x89PNG', 'latin1'), Buffer.from(BRACKETS)]);
    expect(await drain(bounded(streamOf([image]), 'whole'))).toBe(image.length);
  });

  test('frames split at every byte pass, and one that claims to be too long is refused', async () => {
    const frames = encodeFrames(
      '{"messageStart":{"role":"assistant"}}\n{"messageStop":{"stopReason":"end_turn"}}\n',
    );
    for (let cut = 1; cut < frames.length; cut++) {
      const pieces = streamOf([frames.slice(0, cut), frames.slice(cut)]);
      expect(await drain(bounded(pieces, 'frames'))).toBe(frames.length);
    }
    const huge = streamOf([new Uint8Array([0xff, 0xff]), new Uint8Array([0xff, 0xff])]);
    expect(await drain(bounded(huge, 'frames'))).toBeInstanceOf(UpstreamFailure);
  });

  test('a connection that breaks is a failure, one that was aborted keeps its reason', async () => {
    for (const shape of ['whole', 'lines'] as const) {
      expect(await drain(bounded(broken(), shape))).toMatchObject({ kind: 'protocol' });
      const reason = new UpstreamFailure('timeout', 'late');
      expect(await drain(bounded(broken(), shape, AbortSignal.abort(reason)))).toBe(reason);
    }
  });
});

async function bounded(
  stream: ReadableStream<Uint8Array>,
  shape: Parameters<typeof boundedBody>[1],
  signal = quiet,
): Promise<ReadableStream<Uint8Array> | null> {
  return new Response(await boundedBody(new Response(stream), shape, signal)).body;
}

function broken(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull() {
      throw new Error('reset by peer');
    },
  });
}

function flood(piece: Uint8Array, pieces = Infinity) {
  let sent = 0;
  let cancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent >= pieces * piece.length) return controller.close();
      sent += piece.length;
      controller.enqueue(piece);
    },
    cancel() {
      cancelled = true;
    },
  });
  return { stream, sent: () => sent, cancelled: () => cancelled };
}

function streamOf(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
}

/** The number of bytes that came through, or what broke the stream. */
async function drain(stream: Promise<ReadableStream<Uint8Array> | null>): Promise<unknown> {
  let total = 0;
  try {
    for await (const chunk of (await stream) ?? []) total += chunk.length;
    return total;
  } catch (error) {
    return error;
  }
}
