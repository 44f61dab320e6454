/**
 * The caller's W3C Trace Context (https://www.w3.org/TR/trace-context/). For a request that gets no span here it is
 * passed on unchanged, as that document asks of a participant that does not take part in the trace.
 */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

/** Version, trace id, parent id, flags. A later version than 00 may have more at its end. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[!-~]*)?$/;
const FIRST_VERSION = '00-';
const FIRST_VERSION_LENGTH = 55;
const MAX_TRACEPARENT = 256;
/** The length that everybody must be able to pass on, by that document. */
const MAX_TRACESTATE = 512;

/** `undefined` if there is no valid one: a broken one would break the trace at the next participant. */
export function traceOf(headers: Headers): TraceContext | undefined {
  const traceparent = headers.get('traceparent');
  if (traceparent === null || !isTraceparent(traceparent)) return undefined;
  const tracestate = headers.get('tracestate');
  const isPassedOn =
    tracestate !== null && tracestate.length <= MAX_TRACESTATE && /^[ -~]+$/.test(tracestate);
  return isPassedOn ? { traceparent, tracestate } : { traceparent };
}

function isTraceparent(text: string): boolean {
  if (text.length > MAX_TRACEPARENT || !TRACEPARENT.test(text)) return false;
  return !text.startsWith(FIRST_VERSION) || text.length === FIRST_VERSION_LENGTH;
}

/** The headers with the trace, for a call to a backend. */
export function withTrace(headers: Headers, { traceparent, tracestate }: TraceContext): Headers {
  const traced = new Headers(headers);
  traced.set('traceparent', traceparent);
  if (tracestate !== undefined) traced.set('tracestate', tracestate);
  return traced;
}

const MAX_CLIENT_ID = 128;

/** The client's own `x-request-id`, shortened, with every character replaced that could harm a log or a header. */
export function clientIdOf(headers: Headers): string | undefined {
  const given = headers.get('x-request-id');
  if (given === null || given === '') return undefined;
  return given.slice(0, MAX_CLIENT_ID).replace(/[^\w.:/+=@-]/g, '_');
}
