import { describe, expect, test } from 'bun:test';
import { UpstreamFailure } from '../port.ts';
import { BODY_LIMITS, boundedBody } from './body-bounds.ts';
import { encodeFrames } from './testing/event-stream.ts';

const quiet = new AbortController().signal;

describe('a body is bounded whatever the backend sends', () => {
  test.each([
    ['lines', BODY_LIMITS.line, 'line'],
    ['whole', BODY_LIMITS.whole, 'body'],
    ['error', BODY_LIMITS.error, 'body'],
  ] as const)(
    '%s: more than its limit is a protocol failure, and the backend is cancelled',
    async (shape, limit, what) => {
      const source = flood(new Uint8Array(1_048_576).fill(120));
      const failure = await drain(boundedBody(source.stream, shape, quiet));
      expect(failure).toBeInstanceOf(UpstreamFailure);
      expect(failure).toMatchObject({ kind: 'protocol' });
      expect(String(failure)).toContain(what);
      expect(source.sent()).toBeLessThanOrEqual(limit + 3 * 1_048_576);
      expect(source.cancelled()).toBe(true);
    },
  );

  test('a stream of any length passes while its lines are short', async () => {
    const line = new TextEncoder().encode(`data: ${'x'.repeat(1_000_000)}\n\n`);
    const source = flood(line, 20);
    expect(await drain(boundedBody(source.stream, 'lines', quiet))).toBe(20 * line.length);
  });

  test('the length of a line is limited across pieces, and counted anew for each line', async () => {
    const piece = new Uint8Array(BODY_LIMITS.line - 1).fill(120);
    const end = new TextEncoder().encode('\n');
    const whole = streamOf([piece, end, piece, end]);
    expect(await drain(boundedBody(whole, 'lines', quiet))).toBe(2 * piece.length + 2);
    const tooLong = streamOf([piece, piece]);
    expect(await drain(boundedBody(tooLong, 'lines', quiet))).toBeInstanceOf(UpstreamFailure);
  });

  test('frames split at every byte pass, and one that claims to be too long is refused', async () => {
    const frames = encodeFrames(
      '{"messageStart":{"role":"assistant"}}\n{"messageStop":{"stopReason":"end_turn"}}\n',
    );
    for (let cut = 1; cut < frames.length; cut++) {
      const pieces = streamOf([frames.slice(0, cut), frames.slice(cut)]);
      expect(await drain(boundedBody(pieces, 'frames', quiet))).toBe(frames.length);
    }
    const huge = streamOf([new Uint8Array([0xff, 0xff]), new Uint8Array([0xff, 0xff])]);
    expect(await drain(boundedBody(huge, 'frames', quiet))).toBeInstanceOf(UpstreamFailure);
  });

  test('a connection that breaks is a failure, one that was aborted keeps its reason', async () => {
    expect(await drain(boundedBody(broken(), 'whole', quiet))).toMatchObject({ kind: 'protocol' });
    const reason = new UpstreamFailure('timeout', 'late');
    expect(await drain(boundedBody(broken(), 'whole', AbortSignal.abort(reason)))).toBe(reason);
  });
});

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
async function drain(stream: ReadableStream<Uint8Array>): Promise<unknown> {
  let total = 0;
  try {
    for await (const chunk of stream) total += chunk.length;
    return total;
  } catch (error) {
    return error;
  }
}
