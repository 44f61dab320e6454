import { UpstreamFailure } from '../../upstream/port.ts';
import type { ChatChunk } from '../../wire/openai/chat.ts';
import { readStreamEvent } from '../../wire/openai/answer.ts';
import { SseReader, type SseEvent } from '../../wire/sse.ts';
import type { DataEvent, EventSource, OpeningSignals, StreamListener } from './event-source.ts';

/** A backend's stream as events, read only as fast as somebody asks for them. */
export class EventStream implements EventSource {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #sse = new SseReader();
  #listener: StreamListener | undefined;
  #read: Uint8Array = NOTHING;
  /** How much of `#read` has been taken. */
  #taken = 0;
  /** What has been read ended with an event. */
  #isBetween = false;
  readonly #first = new FirstEvents();
  bytesRead = 0;

  private constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  static async open(body: ReadableStream<Uint8Array>, signals: OpeningSignals): Promise<EventStream> {
    const stream = new EventStream(body);
    return await opened(stream, () => stream.#first.look(() => stream.#readEvents()), signals);
  }

  next(listener: StreamListener): void {
    this.#listener = listener;
    const first = this.#first.take();
    if (Array.isArray(first)) this.#handOver(first);
    else if (first) first.then(this.#handOver, this.#onFailure);
    else this.#readOn();
  }

  release(): void {
    drainToEnd(this.#reader);
  }

  cancel(): void {
    cancelReader(this.#reader);
  }

  takeArrived(): readonly DataEvent[] {
    const events = this.#first.takeArrived();
    while (!this.#isUsedUp) events.push(...(this.#push(this.#nextPiece()) ?? []));
    return events;
  }

  /** The next whole events, at least one; `undefined` at the end. */
  async #readEvents(): Promise<DataEvent[] | undefined> {
    for (;;) {
      if (this.#isUsedUp) {
        const { done, value } = await this.#reader.read();
        if (done) return parsed(this.#sse.end());
        this.#keep(value);
      }
      const events = this.#push(this.#nextPiece());
      if (events) return events;
    }
  }

  readonly #handOver = (events: DataEvent[] | undefined): void => {
    if (!events) return this.#listener?.onEnd();
    try {
      this.#listener?.onEvents(events);
      this.#listener?.onPause();
    } catch (cause) {
      this.#onFailure(cause);
    }
  };

  /**
   * A backend with much to send at once would otherwise be served in one go, from promise to promise, and no timer, no
   * other stream and no new request would get a turn meanwhile: seconds, with a few dozen such streams.
   */
  #readOn(): void {
    if (!this.#isUsedUp) setImmediate(() => this.#takePiece());
    else this.#reader.read().then(this.#onRead, this.#onFailure);
  }

  readonly #onRead = ({ done, value }: { done: boolean; value?: Uint8Array | undefined }): void => {
    if (done) return this.#onDone();
    this.#keep(value ?? NOTHING);
    this.#takePiece();
  };

  #onDone(): void {
    const events = parsed(this.#sse.end());
    if (events) this.#listener?.onEvents(events);
    this.#listener?.onEnd();
  }

  readonly #onFailure = (cause: unknown): void => this.#listener?.onFailure(cause);

  #takePiece(): void {
    const listener = this.#listener;
    if (!listener) return;
    try {
      if (this.#digest(this.#nextPiece(), listener)) listener.onPause();
      else this.#readOn();
    } catch (cause) {
      listener.onFailure(cause);
    }
  }

  /**
   * The network may bring half a megabyte at once. Parsed at once it would take many times that in memory, and a client
   * that does not read would keep it there; so it is taken apart only as it is wanted. Pieces are copies: memory that
   * views share is given back by full collections alone, which may be hundreds of megabytes away.
   */
  #nextPiece(): Uint8Array {
    const [read, from] = [this.#read, this.#taken];
    const to = Math.min(from + PIECE_BYTES, read.length);
    if (to === read.length) this.#keep(NOTHING);
    else this.#taken = to;
    this.bytesRead += to - from;
    return part(read, from, to);
  }

  #keep(read: Uint8Array): void {
    this.#read = read;
    this.#taken = 0;
  }

  get #isUsedUp(): boolean {
    return this.#taken === this.#read.length;
  }

  #push(bytes: Uint8Array): DataEvent[] | undefined {
    const events = parsed(this.#sse.push(bytes));
    this.#isBetween = this.#sse.isBetweenEvents;
    return events;
  }

  /** False when nothing in it was whole. */
  #digest(piece: Uint8Array, listener: StreamListener): boolean {
    let heard = false;
    for (let at = 0; at < piece.length;) {
      if (listener.takesBytes && this.#isBetween) {
        const stop = listener.onBytes(piece, at);
        heard ||= stop > at;
        at = stop;
        if (at === piece.length) break;
      }
      const end = listener.takesBytes ? endOfEvent(piece, at) : piece.length;
      const events = this.#push(part(piece, at, end));
      if (events) listener.onEvents(events);
      heard ||= events !== undefined;
      at = end;
    }
    return heard;
  }
}

const LAST_BYTES_MS = 1_000;

/** Many servers send the end of a body after its last words. A connection broken off in between costs the next call a new one. */
export function drainToEnd(reader: ReadableStreamDefaultReader<unknown>): void {
  const timer = setTimeout(cancelReader, LAST_BYTES_MS, reader);
  const finish = (): void => {
    clearTimeout(timer);
    cancelReader(reader);
  };
  reader.read().then(finish, finish);
}

/** A stream that already failed cannot be cancelled, which is as good. */
export function cancelReader(reader: ReadableStreamDefaultReader<unknown>): void {
  void reader.cancel().catch(() => undefined);
}

const PIECE_BYTES = 16_384;
const NOTHING = new Uint8Array(0);
const LINE_FEED = 0x0a;
const RETURN = 0x0d;

function part(bytes: Uint8Array, from: number, to: number): Uint8Array {
  return from === 0 && to === bytes.length ? bytes : bytes.slice(from, to);
}

function parsed(events: readonly SseEvent[]): DataEvent[] | undefined {
  if (events.length === 0) return undefined;
  return events.map(({ data }) => ({ data, event: readStreamEvent(data) }));
}

/** After the next blank line. Wrong guesses do no harm: events do not depend on where their bytes are cut. */
function endOfEvent(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(LINE_FEED, from); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (bytes[at + 1] === LINE_FEED) return at + 2;
    if (bytes[at + 1] === RETURN && bytes[at + 2] === LINE_FEED) return at + 3;
  }
  return bytes.length;
}

/** After a first event without content, how long to look whether an error follows before the client gets it. */
const SECOND_LOOK_MS = 200;

/**
 * The first events of a stream, read before the client gets any of them. Some backends answer 200 and say in the stream
 * that they cannot serve: that is a failure like any other as long as the client has seen nothing.
 */
export class FirstEvents {
  #events: DataEvent[] | undefined;
  #pending: Promise<DataEvent[] | undefined> | undefined;

  /** `read` gives the next whole events, at least one; `undefined` at the end. Resolves once one of them is content. */
  async look(read: () => Promise<DataEvent[] | undefined>): Promise<void> {
    const first = await read();
    if (!first) throw new UpstreamFailure('protocol', 'the stream ended before it began');
    this.#keep(first);
    if (hasContent(first)) return;
    this.#pending = read();
    // Observed here as well, so that a failure while nobody waits is not an unhandled one.
    this.#pending.catch(() => undefined);
    const second = await withinMs(SECOND_LOOK_MS, this.#pending);
    if (second === 'later') return;
    this.#pending = undefined;
    if (!second) throw new UpstreamFailure('protocol', 'the stream ended without an answer');
    this.#keep(second);
  }

  /** What was read, or else what is still being read: each once. */
  take(): DataEvent[] | Promise<DataEvent[] | undefined> | undefined {
    const [events, pending] = [this.#events, this.#pending];
    this.#events = undefined;
    if (events) return events;
    this.#pending = undefined;
    return pending;
  }

  takeArrived(): DataEvent[] {
    const events = this.#events ?? [];
    this.#events = undefined;
    return events;
  }

  #keep(events: DataEvent[]): void {
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
 * Resolves with the stream once its first events were looked at. When the client leaves meanwhile, it resolves with what
 * came so far: the backend has accepted the request.
 */
export async function opened<Stream extends EventSource>(
  stream: Stream,
  look: () => Promise<void>,
  { signal, client }: OpeningSignals,
): Promise<Stream> {
  const left = Promise.withResolvers<void>();
  const onAbort = (): void => stream.cancel();
  const onLeft = (): void => left.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  client.addEventListener('abort', onLeft, { once: true });
  if (client.aborted) onLeft();
  try {
    await Promise.race([look(), left.promise]);
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
  return events.some(({ event }) => event.kind !== 'chunk' || isContent(event.chunk));
}

function isContent(chunk: ChatChunk): boolean {
  return (chunk.choices ?? []).some(
    ({ delta, finish_reason }) => finish_reason != null || Object.entries(delta ?? {}).some(saysSomething),
  );
}

function saysSomething([key, value]: [string, unknown]): boolean {
  return key !== 'role' && value != null && value !== '';
}

/** The timer does not outlive the answer: there is one for each stream. */
async function withinMs<T>(ms: number, answer: Promise<T>): Promise<T | 'later'> {
  const late = Promise.withResolvers<'later'>();
  const timer = setTimeout(() => late.resolve('later'), ms);
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
