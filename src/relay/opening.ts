import { UpstreamFailure, type ChatAnswer } from '../upstream/port.ts';
import { readCompletion, readStreamEvent, type ChatEncoder, type StreamEvent } from '../wire/chat-stream.ts';
import type { ChatChunk, ChatCompletion } from '../wire/chat.ts';
import { SseReader } from '../wire/sse.ts';

/** An answer that has shown to be one: nothing of it has reached the client yet. */
export type Opened = WholeAnswer | StreamAnswer;

export interface WholeAnswer {
  readonly kind: 'whole';
  readonly text: string;
  readonly completion: ChatCompletion;
  /** The text is in the client's own dialect already. */
  readonly untouched?: boolean;
}

export interface StreamAnswer {
  readonly kind: 'stream';
  readonly events: EventSource;
  /** How its events reach the client, where that is not for the client's dialect to say. */
  readonly encoder?: (otherwise: ChatEncoder) => ChatEncoder;
}

/** Where a delivery reads from, only as fast as it asks. */
export interface EventSource {
  /** The next events, at least one; `undefined` at the end. */
  next(): Promise<DataEvent[] | undefined>;
  /** Aborts the backend and frees the connection. */
  cancel(): void;
  readonly bytesRead: number;
}

/** Looks into a backend's answer far enough to know that it is one, while another backend could still be asked. */
export async function open(answer: ChatAnswer, signal: AbortSignal): Promise<Opened> {
  if (answer.kind === 'stream')
    return { kind: 'stream', events: await EventStream.open(answer.body, signal) };
  const text = decodeUtf8(answer.body);
  const completion = readCompletion(text);
  if (!completion) throw new UpstreamFailure('protocol', 'the answer is not a chat completion');
  return { kind: 'whole', text, completion };
}

export interface DataEvent {
  readonly data: string;
  readonly event: StreamEvent;
}

/** After a first event without content, how long to look whether an error follows before the client gets it. */
const SECOND_LOOK_MS = 200;

/** A backend's stream as events, read only as fast as somebody asks for them. */
export class EventStream implements EventSource {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #sse = new SseReader();
  #rest: Uint8Array = NOTHING;
  #ahead: DataEvent[] = [];
  #pending: Promise<DataEvent[] | undefined> | undefined;
  bytesRead = 0;

  private constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  /**
   * Resolves once the first event is content. Some backends answer 200 and say in the stream that they cannot serve:
   * that is a failure like any other as long as the client has seen nothing.
   */
  static async open(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<EventStream> {
    const stream = new EventStream(body);
    const onAbort = (): void => stream.cancel();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await stream.#lookAhead();
      if (signal.aborted) throw new UpstreamFailure('connect', 'aborted');
      return stream;
    } catch (thrown) {
      stream.cancel();
      throw thrown;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** The next events, at least one; `undefined` at the end of the stream. */
  async next(): Promise<DataEvent[] | undefined> {
    if (this.#ahead.length > 0) return this.#ahead.splice(0);
    const pending = this.#pending ?? this.#read();
    this.#pending = undefined;
    return await pending;
  }

  /** Aborts the backend and frees the connection. */
  cancel(): void {
    // A stream that already failed cannot be cancelled, which is as good.
    void this.#reader.cancel().catch(() => undefined);
  }

  async #lookAhead(): Promise<void> {
    const first = await this.#read();
    if (!first) throw new UpstreamFailure('protocol', 'the stream ended before it began');
    this.#take(first);
    if (hasContent(first)) return;
    this.#pending = this.#read();
    // Observed here as well, so that a failure while nobody waits is not an unhandled one.
    this.#pending.catch(() => undefined);
    const second = await Promise.race([
      this.#pending,
      Bun.sleep(SECOND_LOOK_MS).then(() => 'later' as const),
    ]);
    if (second === 'later') return;
    this.#pending = undefined;
    if (!second) throw new UpstreamFailure('protocol', 'the stream ended without an answer');
    this.#take(second);
  }

  #take(events: DataEvent[]): void {
    for (const { event } of events) {
      if (event.kind === 'error')
        throw new UpstreamFailure('server', `error in the stream: ${event.message}`);
      if (event.kind === 'garbage')
        throw new UpstreamFailure('protocol', 'an event of the stream is not a chat chunk');
      if (event.kind === 'chunk' && isContent(event.chunk)) break;
    }
    this.#ahead.push(...events);
  }

  /** Reads until there is at least one whole event. */
  async #read(): Promise<DataEvent[] | undefined> {
    for (;;) {
      const piece = await this.#nextPiece();
      const events = piece ? this.#sse.push(piece) : this.#sse.end();
      if (events.length > 0) return events.map(({ data }) => ({ data, event: readStreamEvent(data) }));
      if (!piece) return undefined;
    }
  }

  /**
   * The network may bring half a megabyte at once. Parsed at once it would take many times that in memory, and a client
   * that does not read would keep it there; so it is taken apart only as it is wanted.
   */
  async #nextPiece(): Promise<Uint8Array | undefined> {
    if (this.#rest.byteLength === 0) {
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#rest = value;
    }
    const piece = this.#rest.subarray(0, PIECE_BYTES);
    this.#rest = this.#rest.subarray(PIECE_BYTES);
    this.bytesRead += piece.byteLength;
    if (piece.byteLength === PIECE_BYTES) await aTurn();
    return piece;
  }
}

const PIECE_BYTES = 16_384;
const NOTHING = new Uint8Array(0);

/**
 * A backend with much to send at once would otherwise be served in one go, from promise to promise, and no timer, no
 * other stream and no new request would get a turn meanwhile: seconds, with a few dozen such streams.
 */
function aTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function hasContent(events: DataEvent[]): boolean {
  return events.some(({ event }) => event.kind !== 'chunk' || isContent(event.chunk));
}

function isContent(chunk: ChatChunk): boolean {
  return (chunk.choices ?? []).some(({ delta, finish_reason }) => {
    const { role: _, ...rest } = delta ?? {};
    return finish_reason != null || Object.values(rest).some((value) => value != null && value !== '');
  });
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new UpstreamFailure('protocol', 'the answer is not valid UTF-8', { cause });
  }
}
