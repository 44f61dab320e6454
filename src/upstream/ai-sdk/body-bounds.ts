import { UpstreamFailure } from '../port.ts';

/**
 * A backend's body with a limit, because the readers of AI SDK packages have none: a line without end, a frame that
 * claims four gigabytes, or an error page of any size would be kept in memory. A lost connection becomes a failure here
 * too. Reads only on demand, so back-pressure reaches the backend.
 */
export function boundedBody(
  body: ReadableStream<Uint8Array>,
  shape: BodyShape,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const check = checkFor(shape);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        check(value);
        controller.enqueue(value);
      } catch (error) {
        const failure = asLostConnection(error, signal);
        controller.error(failure);
        // The backend should stop sending; its connection may already be gone.
        await reader.cancel(failure).catch(() => undefined);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

type Check = (bytes: Uint8Array) => void;

export const BODY_LIMITS = {
  /** Images come as base64 in one JSON object. */
  whole: 96 * 1024 * 1024,
  error: 256 * 1024,
  line: 8 * 1024 * 1024,
  /** The largest message that the framed format allows. */
  frame: 16 * 1024 * 1024,
} as const;

export type BodyShape = 'whole' | 'error' | 'lines' | 'frames';

function checkFor(shape: BodyShape): Check {
  switch (shape) {
    case 'lines':
      return lineCheck();
    case 'frames':
      return frameCheck();
    case 'whole':
    case 'error':
      break;
  }
  return totalCheck(BODY_LIMITS[shape]);
}

function totalCheck(limit: number): Check {
  let total = 0;
  return (bytes) => {
    total += bytes.length;
    if (total > limit) throw tooLarge('body', limit);
  };
}

const LINE_FEED = 10;

function lineCheck(): Check {
  let length = 0;
  return (bytes) => {
    const last = bytes.lastIndexOf(LINE_FEED);
    const first = last === -1 ? bytes.length : bytes.indexOf(LINE_FEED);
    if (length + first > BODY_LIMITS.line) throw tooLarge('line', BODY_LIMITS.line);
    length = last === -1 ? length + bytes.length : bytes.length - last - 1;
  };
}

const PRELUDE_BYTES = 4;

/** Frames begin with their own length, which may be split anywhere. */
function frameCheck(): Check {
  let rest = 0;
  let prelude = 0;
  let length = 0;
  return (bytes) => {
    for (let at = 0; at < bytes.length;) {
      if (rest > 0) {
        const step = Math.min(rest, bytes.length - at);
        rest -= step;
        at += step;
        continue;
      }
      length = length * 256 + (bytes[at++] ?? 0);
      if (++prelude < PRELUDE_BYTES) continue;
      if (length > BODY_LIMITS.frame || length <= PRELUDE_BYTES) throw tooLarge('frame', BODY_LIMITS.frame);
      rest = length - PRELUDE_BYTES;
      prelude = 0;
      length = 0;
    }
  };
}

function tooLarge(what: string, limit: number): UpstreamFailure {
  return new UpstreamFailure('protocol', `a ${what} of the backend's answer is larger than ${limit} bytes`);
}

function asLostConnection(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof UpstreamFailure) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new UpstreamFailure('protocol', `the connection was lost: ${detail}`, { cause: error });
}
