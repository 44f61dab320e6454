import { UpstreamFailure } from '../../upstream/port.ts';
import type { ChatChunk } from '../../wire/openai/chat.ts';
import { readStreamEvent } from '../../wire/openai/answer.ts';
import { SseReader, type SseEvent } from '../../std/sse.ts';
import type { DataEvent, EventSource, StartSignals, StreamListener } from './event-source.ts';

/** A backend's byte stream as events, read only as fast as they are asked for. */
export class EventStream implements EventSource {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #sse = new SseReader();
  #listener: StreamListener | undefined;
  #read: Uint8Array = NO_BYTES;
  /** How much of `#read` was consumed. */
  #consumed = 0;
  #isReading = false;
  /** Whether more was asked for before the read under way was over. */
  #isAskedAgain = false;
  /** The bytes read so far end with a whole event. */
  #isBetweenEvents = false;
  readonly #first = new FirstEvents();
  bytesRead = 0;

  private constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  static async open(body: ReadableStream<Uint8Array>, signals: StartSignals): Promise<EventStream> {
    const stream = new EventStream(body);
    return await whenStarted(stream, () => stream.#first.inspect(() => stream.#readEvents()), signals);
  }

  next(listener: StreamListener): void {
    this.#listener = listener;
    const first = this.#first.take();
    if (Array.isArray(first)) this.#deliver(first);
    else if (first) first.then(this.#deliver, this.#onFailure);
    else this.#readNext();
  }

  release(): void {
    drainToEnd(this.#reader);
  }

  cancel(): void {
    cancelReader(this.#reader);
  }

  /** The next whole events, at least one; `undefined` at the end. */
  async #readEvents(): Promise<DataEvent[] | undefined> {
    for (;;) {
      if (this.#isConsumed) {
        const { done, value } = await this.#reader.read();
        if (done) return parsed(this.#sse.end());
        this.#store(value);
      }
      const events = this.#push(this.#nextPiece());
      if (events) return events;
    }
  }

  readonly #deliver = (events: DataEvent[] | undefined): void => {
    if (!events) return this.#listener?.onEnd();
    try {
      this.#listener?.onEvents(events);
      this.#listener?.onPause();
    } catch (cause) {
      this.#onFailure(cause);
    }
  };

  /**
   * Otherwise a backend that sends a lot at once would be served in one run of microtasks, and no timer, other stream
   * or new request would get a turn: for seconds, with a few dozen such streams.
   */
  #readNext(): void {
    if (!this.#isConsumed) setImmediate(() => this.#takePiece());
    else if (this.#isReading) this.#isAskedAgain = true;
    else void this.#readOn();
  }

  /** For as long as more is asked for with each read: a function that follows the promise of one would make another. */
  async #readOn(): Promise<void> {
    this.#isReading = true;
    try {
      do {
        const { done, value } = await this.#reader.read();
        this.#isAskedAgain = false;
        if (done) return this.#finish();
        this.#store(value);
        this.#takePiece();
      } while (this.#isAskedAgain);
    } catch (cause) {
      this.#onFailure(cause);
    } finally {
      this.#isReading = false;
    }
  }

  #finish(): void {
    try {
      const events = parsed(this.#sse.end());
      if (events) this.#listener?.onEvents(events);
      this.#listener?.onEnd();
    } catch (cause) {
      this.#onFailure(cause);
    }
  }

  readonly #onFailure = (cause: unknown): void => this.#listener?.onFailure(cause);

  #takePiece(): void {
    const listener = this.#listener;
    if (!listener) return;
    try {
      if (this.#process(this.#nextPiece(), listener)) listener.onPause();
      else this.#readNext();
    } catch (cause) {
      listener.onFailure(cause);
    }
  }

  /**
   * The network may deliver half a megabyte at once. Parsing all of it would take many times that in memory, and a
   * client that does not read would keep it there, so it is parsed piece by piece. Pieces are copies: memory shared by
   * views is freed only by full collections, which may be hundreds of megabytes away.
   */
  #nextPiece(): Uint8Array {
    const read = this.#read;
    const from = this.#consumed;
    const to = Math.min(from + PIECE_BYTES, read.length);
    if (to === read.length) this.#store(NO_BYTES);
    else this.#consumed = to;
    this.bytesRead += to - from;
    return slice(read, from, to);
  }

  #store(read: Uint8Array): void {
    this.#read = read;
    this.#consumed = 0;
  }

  get #isConsumed(): boolean {
    return this.#consumed === this.#read.length;
  }

  #push(bytes: Uint8Array): DataEvent[] | undefined {
    const events = parsed(this.#sse.push(bytes));
    this.#isBetweenEvents = this.#sse.isBetweenEvents;
    return events;
  }

  /** False if it contained no whole event. */
  #process(piece: Uint8Array, listener: StreamListener): boolean {
    let hasEvents = false;
    for (let at = 0; at < piece.length;) {
      if (listener.takesBytes && this.#isBetweenEvents) {
        const stop = listener.onBytes(piece, at);
        hasEvents ||= stop > at;
        at = stop;
        if (at === piece.length) break;
      }
      const end = listener.takesBytes ? endOfEvent(piece, at) : piece.length;
      const events = this.#push(slice(piece, at, end));
      if (events) listener.onEvents(events);
      hasEvents ||= events !== undefined;
      at = end;
    }
    return hasEvents;
  }
}

const LAST_BYTES_MS = 1_000;

/**
 * Many servers end the body some time after their last event. Cancelling in between would cost the next call a new
 * connection.
 */
export function drainToEnd(reader: ReadableStreamDefaultReader<unknown>): void {
  const timer = setTimeout(cancelReader, LAST_BYTES_MS, reader);
  const finish = (): void => {
    clearTimeout(timer);
    cancelReader(reader);
  };
  reader.read().then(finish, finish);
}

/** Cancelling a stream that has already failed is an error that changes nothing. */
export function cancelReader(reader: ReadableStreamDefaultReader<unknown>): void {
  void reader.cancel().catch(() => undefined);
}

/** What is read in one turn of the event loop. */
export const PIECE_BYTES = 16_384;
const NO_BYTES = new Uint8Array(0);
const LINE_FEED = 0x0a;
const RETURN = 0x0d;

function slice(bytes: Uint8Array, from: number, to: number): Uint8Array {
  return from === 0 && to === bytes.length ? bytes : bytes.slice(from, to);
}

function parsed(events: readonly SseEvent[]): DataEvent[] | undefined {
  if (events.length === 0) return undefined;
  return events.map(({ data }) => ({ data, event: readStreamEvent(data) }));
}

/** After the next blank line. A wrong guess does no harm: events do not depend on where their bytes are split. */
function endOfEvent(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(LINE_FEED, from); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (bytes[at + 1] === LINE_FEED) return at + 2;
    if (bytes[at + 1] === RETURN && bytes[at + 2] === LINE_FEED) return at + 3;
  }
  return bytes.length;
}

/** How long to wait, after a first event without content, whether an error follows before the client gets anything. */
const SECOND_EVENT_WAIT_MS = 200;

/**
 * The first events of a stream, read before the client gets any of them. Some backends answer 200 and report in the
 * stream that they cannot serve: as long as the client has seen nothing, that is a failure like any other.
 */
export class FirstEvents {
  #events: DataEvent[] | undefined;
  #pending: Promise<DataEvent[] | undefined> | undefined;

  /**
   * `read` returns the next whole events, at least one; `undefined` at the end. Resolves once one of them has content,
   * or once somebody else waits for them because the client has left.
   */
  async inspect(read: () => Promise<DataEvent[] | undefined>): Promise<void> {
    const reading = this.#begin(read);
    const first = await reading;
    if (!this.#ends(reading)) return;
    if (!first) throw new UpstreamFailure('protocol', 'the stream ended before it began');
    this.#store(first);
    if (hasContent(first)) return;
    const more = this.#begin(read);
    const second = await withinMs(SECOND_EVENT_WAIT_MS, more);
    if (second === 'later' || !this.#ends(more)) return;
    if (!second) throw new UpstreamFailure('protocol', 'the stream ended without an answer');
    this.#store(second);
  }

  #begin(read: () => Promise<DataEvent[] | undefined>): Promise<DataEvent[] | undefined> {
    this.#pending = read();
    // Also handled here, so that a failure while nothing awaits it is not an unhandled rejection.
    this.#pending.catch(() => undefined);
    return this.#pending;
  }

  /** False if the result was taken: then it has been delivered, and must not be delivered again. */
  #ends(reading: Promise<DataEvent[] | undefined>): boolean {
    if (this.#pending !== reading) return false;
    this.#pending = undefined;
    return true;
  }

  /** The events that were read, or else the pending read: each only once. */
  take(): DataEvent[] | Promise<DataEvent[] | undefined> | undefined {
    const events = this.#events;
    this.#events = undefined;
    if (events) return events;
    const pending = this.#pending;
    this.#pending = undefined;
    return pending;
  }

  #store(events: DataEvent[]): void {
    for (const { event } of events) {
      if (event.kind === 'error')
        throw new UpstreamFailure('server', `error in the stream: ${event.message}`);
      if (event.kind === 'garbage')
        throw new UpstreamFailure('protocol', 'an event of the stream is not a chat chunk');
      if (event.kind === 'chunk' && isContent(event.chunk)) break;
    }
    this.#events = [...(this.#events ?? []), ...events];
  }
}

/**
 * Resolves with the stream once its first events were inspected. If the client leaves in the meantime, it resolves with
 * what has arrived so far: the backend has accepted the request.
 */
export async function whenStarted<Stream extends EventSource>(
  stream: Stream,
  inspect: () => Promise<void>,
  { signal, client }: StartSignals,
): Promise<Stream> {
  const clientLeft = Promise.withResolvers<void>();
  const onAbort = (): void => stream.cancel();
  const onLeft = (): void => clientLeft.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  client.addEventListener('abort', onLeft, { once: true });
  if (client.aborted) onLeft();
  try {
    await Promise.race([inspect(), clientLeft.promise]);
    if (signal.aborted) throw new UpstreamFailure('connect', 'aborted');
    return stream;
  } catch (thrown) {
    stream.cancel();
    throw thrown;
  } finally {
    signal.removeEventListener('abort', onAbort);
    client.removeEventListener('abort', onLeft);
  }
}

function hasContent(events: DataEvent[]): boolean {
  return events.some(({ event }) =>
    event.kind === 'chunk' ? isContent(event.chunk) : event.kind !== 'early_usage',
  );
}

function isContent(chunk: ChatChunk): boolean {
  return (chunk.choices ?? []).some(
    ({ delta, finish_reason }) => finish_reason != null || Object.entries(delta ?? {}).some(isNonEmptyField),
  );
}

function isNonEmptyField([key, value]: [string, unknown]): boolean {
  return key !== 'role' && value != null && value !== '';
}

/** The timer is cleared with the answer, because every stream has one. */
async function withinMs<T>(ms: number, answer: Promise<T>): Promise<T | 'later'> {
  const timeout = Promise.withResolvers<'later'>();
  const timer = setTimeout(() => timeout.resolve('later'), ms);
  try {
    return await Promise.race([answer, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
