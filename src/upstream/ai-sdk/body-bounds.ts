import { readBytes, unreadable } from '../../std/json-answer.ts';
import { JsonBeyondLimit, refuseExcess } from '../../std/json-parse.ts';
import { EVENT_LIMITS, JSON_LIMITS, type JsonLimits } from '../../std/json-scan.ts';
import { SseOverflow, SseReader } from '../../std/sse.ts';
import { brokenAnswer } from '../answer-rules.ts';
import { sniffMime } from '../image-response.ts';
import { UpstreamFailure } from '../port.ts';

/**
 * A backend's body with limits, because the readers of AI SDK packages have none: a line without end, a frame that
 * claims four gigabytes, or an error page of any size would be kept in memory, and millions of brackets would be parsed
 * in one go. So a whole body and each event are looked through before a package gets to see their end. A lost connection
 * becomes a failure here too.
 */
export async function boundedBody(
  response: Response,
  shape: BodyShape,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null> {
  if (!response.body) return null;
  if (shape === 'whole' || shape === 'error') return await wholeBody(response, shape, signal);
  return boundedStream(response.body, shape, signal);
}

async function wholeBody(
  response: Response,
  shape: 'whole' | 'error',
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const bytes = await readBytes(response, { maxBytes: BODY_LIMITS[shape], broken: brokenAnswer });
    // Packages fetch the images that they link to.
    if (sniffMime(bytes) === undefined) await refuseUnreadable(bytes, WHOLE_LIMITS);
    return bytes;
  } catch (error) {
    throw asLostConnection(error, signal);
  }
}

/** Reads only on demand, so back-pressure reaches the backend. */
function boundedStream(
  body: ReadableStream<Uint8Array>,
  shape: 'lines' | 'frames',
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const check = shape === 'lines' ? eventCheck() : frameCheck();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        for (const json of check(value)) await refuseUnreadable(json, EVENT_LIMITS);
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

async function refuseUnreadable(json: Uint8Array, limits: JsonLimits): Promise<void> {
  try {
    await refuseExcess(json, limits);
  } catch (cause) {
    throw cause instanceof JsonBeyondLimit ? unreadable(cause, { broken: brokenAnswer }) : cause;
  }
}

/** A package parses it in one go. A hundred vectors of three thousand numbers, each on a line of its own, are within it. */
const WHOLE_LIMITS: JsonLimits = {
  ...JSON_LIMITS,
  bytesOutsideStrings: 10 * 1_048_576,
  escapes: 1_000_000,
};

/** Returns the JSON of events that have arrived as a whole with these bytes, if it is long enough to exceed a limit. */
type Check = (bytes: Uint8Array) => readonly Uint8Array[];

export const BODY_LIMITS = {
  /** Images come as base64 in one JSON object. */
  whole: 96 * 1024 * 1024,
  error: 256 * 1024,
  /** An image in base64. */
  event: 8 * 1024 * 1024,
  /** The largest message that the framed format allows. */
  frame: 16 * 1024 * 1024,
} as const;

export type BodyShape = 'whole' | 'error' | 'lines' | 'frames';

function eventCheck(): Check {
  const reader = new SseReader(BODY_LIMITS.event);
  return (bytes) => {
    try {
      const long = reader.push(bytes).filter(({ data }) => isLong(data.length));
      return long.map(({ data }) => Buffer.from(data));
    } catch (cause) {
      throw cause instanceof SseOverflow ? tooLarge('event', BODY_LIMITS.event) : cause;
    }
  };
}

/** A shorter one has no room for more than too many levels, of which there are few then. */
function isLong(length: number): boolean {
  return length > EVENT_LIMITS.keysOfObject;
}

const PRELUDE_BYTES = 4;

/** Frames begin with their own length, which may be split anywhere. */
function frameCheck(): Check {
  let rest = 0;
  let prelude = 0;
  let length = 0;
  let frame: Uint8Array[] = [];
  const begin = (): void => {
    if (length > BODY_LIMITS.frame || length <= PRELUDE_BYTES) throw tooLarge('frame', BODY_LIMITS.frame);
    rest = length - PRELUDE_BYTES;
    prelude = 0;
  };
  return (bytes) => {
    const whole: Uint8Array[] = [];
    for (let at = 0; at < bytes.length;) {
      if (rest > 0) {
        const step = Math.min(rest, bytes.length - at);
        if (isLong(length)) frame.push(bytes.slice(at, at + step));
        rest -= step;
        at += step;
        if (rest > 0) continue;
        if (frame.length > 0) whole.push(payloadOf(Buffer.concat(frame)));
        frame = [];
        length = 0;
        continue;
      }
      length = length * 256 + (bytes[at++] ?? 0);
      if (++prelude === PRELUDE_BYTES) begin();
    }
    return whole;
  };
}

const CHECKSUM_BYTES = 4;

/** After the length of the frame: that of its headers, a checksum, the headers, the payload, a checksum. */
function payloadOf(frame: Buffer): Uint8Array {
  const headers = frame.length < PRELUDE_BYTES ? 0 : frame.readUInt32BE(0);
  const start = Math.min(PRELUDE_BYTES + CHECKSUM_BYTES + headers, frame.length);
  return frame.subarray(start, Math.max(start, frame.length - CHECKSUM_BYTES));
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
