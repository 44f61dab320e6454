import type { Outcome } from '../../ledger/port.ts';
import type { Usage } from '../../ledger/price.ts';
import type { Clock } from '../../std/clock.ts';
import { Fault } from '../../std/fault.ts';
import type { RequestId } from '../../std/ids.ts';
import { usageChunk, type ChatEncoder } from '../../wire/openai/answer.ts';
import { ChunkTemplates } from './chunk-template.ts';
import { SSE_COMMENT } from '../../wire/sse.ts';
import type { ActiveRequest, ChatCall, Labels } from '../call.ts';
import type { DataEvent, EventSource, StreamAnswer, StreamListener } from './event-source.ts';
import { usageOf, type Measured, type Meter } from './meter.ts';

/** How a stream ended, for the books. */
export interface StreamEnd {
  readonly outcome: Outcome;
  readonly measured: Measured;
  readonly fault: Fault | undefined;
}

export interface DeliveryOptions {
  readonly meter: Meter;
  readonly clock: Clock;
  readonly limits: { readonly idleMs: number; readonly totalMs: number };
  /** What the hold covers, in tokens. */
  readonly outputCap: number;
  /** Called exactly once. The final events wait for it: a stream that has ended has been settled. */
  onEnd(end: StreamEnd): Promise<unknown>;
}

interface Route {
  readonly labels: Labels;
  readonly events: EventSource;
  readonly encoder: ChatEncoder;
}

const KEEP_ALIVE_MS = 15_000;
const STALLED_READER_MS = 60_000;
/** How often a stream looks at its deadlines: with thousands of streams, checking costs more than forwarding. */
const LOOK_MS = 1_000;
const LOOKS_PER_DEADLINE = 4;

/**
 * Carries one stream from the backend to the client, at the client's pace. It ends in the dialect's final events or in
 * one error event, never without either, and is measured and closed exactly once, whether backend, client or deadline ends it.
 *
 * Ordinary chunks pass as bytes through a template; everything else is parsed, and may become the next template.
 */
export class Delivery implements ActiveRequest, StreamListener {
  // What each chunk needs comes first: it shares a line or two of the processor's cache.
  readonly #templates: ChunkTemplates;
  readonly #meter: Meter;
  readonly #client: ClientStream;
  readonly #events: EventSource;
  /** For the client, and written before anything else is. */
  #text = '';
  #ended = false;
  #reading = false;
  /** The tick notes the time: reading the clock per chunk is too expensive. */
  #hasRead = false;
  #hasWritten = false;
  #sawDone = false;
  #lookAt = 0;
  readonly #maxBytes: number;
  readonly requestId: RequestId;
  readonly #o: DeliveryOptions;
  readonly #route: Route;
  readonly #startedAt: number;
  #lastReadAt: number;
  #lastWriteAt: number;

  private constructor(requestId: RequestId, route: Route, options: DeliveryOptions) {
    this.requestId = requestId;
    this.#route = route;
    this.#events = route.events;
    this.#templates = new ChunkTemplates(route.encoder);
    this.#meter = options.meter;
    this.#o = options;
    this.#client = new ClientStream({ onReady: () => this.#readOn(), onLeft: () => this.leave() });
    // A backend that sends far beyond its cap is cut: no answer of that many tokens is as large, with all the words of
    // the format around each of them.
    this.#maxBytes = 1_048_576 + options.outputCap * 1_024;
    this.#startedAt = options.clock.now();
    this.#lastReadAt = this.#startedAt;
    this.#lastWriteAt = this.#startedAt;
  }

  static of(
    call: Pick<ChatCall, 'requestId' | 'label' | 'encoder'>,
    stream: StreamAnswer,
    options: DeliveryOptions,
  ): Delivery {
    const labels = { id: call.requestId, model: call.label };
    const usual = call.encoder(labels);
    const encoder = stream.encoder?.(usual) ?? usual;
    return new Delivery(call.requestId, { labels, events: stream.events, encoder }, options);
  }

  body(): ReadableStream<Uint8Array> {
    return this.#client.body;
  }

  delivered(): Usage {
    return this.#meter.measure().usage;
  }

  /** The client is gone: the backend need not go on, and what came of its answer is paid for. */
  leave(): void {
    if (this.#ended) return;
    for (const { event } of this.#events.takeArrived())
      if (event.kind === 'chunk') this.#meter.observe(event.chunk);
    void this.#end('client_left', undefined);
  }

  tick(nowMs: number): void {
    if (this.#ended || nowMs < this.#lookAt) return;
    const { idleMs, totalMs } = this.#o.limits;
    this.#lookAt = nowMs + Math.min(LOOK_MS, idleMs / LOOKS_PER_DEADLINE, totalMs / LOOKS_PER_DEADLINE);
    this.#noteTimes(nowMs);
    if (nowMs - this.#startedAt > totalMs) return this.cut(timeout('The answer took too long and was cut.'));
    if (!this.#client.isReady) {
      if (nowMs - this.#lastWriteAt > STALLED_READER_MS) this.leave();
      return;
    }
    if (nowMs - this.#lastReadAt > idleMs)
      return this.cut(timeout('The backend fell silent and was cut off.'));
    if (nowMs - this.#lastWriteAt > KEEP_ALIVE_MS) this.#write(SSE_COMMENT);
  }

  cut(fault: Fault): void {
    void this.#end('cut_short', fault);
  }

  get takesBytes(): boolean {
    return this.#templates.isReady;
  }

  onBytes(bytes: Uint8Array, from: number): number {
    if (this.#ended || this.#sawDone) return from;
    const stop = this.#templates.translate(bytes, from, this.#meter);
    const translated = this.#templates.take();
    if (!translated) return stop;
    this.#writeText();
    this.#write(translated);
    return stop;
  }

  onEvents(events: readonly DataEvent[]): void {
    for (const { data, event } of events) {
      // What follows the backend's own end is dropped.
      if (this.#ended || this.#sawDone) return;
      switch (event.kind) {
        case 'chunk':
          this.#meter.observe(event.chunk);
          this.#text += this.#route.encoder.chunk(data, event.chunk);
          this.#templates.learn(data, event.chunk);
          break;
        case 'done':
          this.#sawDone = true;
          break;
        case 'error':
          return this.onFailure(event.message);
        case 'garbage':
          return this.onFailure('not a chat chunk');
      }
    }
  }

  onPause(): void {
    this.#reading = false;
    this.#hasRead = true;
    if (this.#ended) return;
    this.#writeText();
    if (this.#events.bytesRead > this.#maxBytes) void this.#end('cut_short', runaway());
    else if (this.#sawDone) this.onEnd();
    else this.#readOn();
  }

  /** A backend that stopped without a finish did not finish. */
  onEnd(): void {
    if (this.#sawDone || this.#meter.finishReason !== undefined) void this.#end('completed', undefined);
    else this.onFailure('the stream ended without a finish');
  }

  onFailure(cause: unknown): void {
    void this.#end('upstream_failed', broken(cause));
  }

  /** Only when the client has taken what there was: its pace is the backend's. */
  #readOn(): void {
    if (this.#ended || this.#reading || !this.#client.isReady) return;
    this.#reading = true;
    this.#events.next(this);
  }

  #noteTimes(nowMs: number): void {
    if (this.#hasRead) this.#lastReadAt = nowMs;
    if (this.#hasWritten) this.#lastWriteAt = nowMs;
    this.#hasRead = false;
    this.#hasWritten = false;
  }

  async #end(outcome: Outcome, fault: Fault | undefined): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    if (outcome === 'completed') this.#events.release();
    else this.#events.cancel();
    this.#writeText();
    const measured = this.#meter.measure();
    await this.#o.onEnd({ outcome, measured, fault });
    this.#client.end(this.#lastWords(outcome, measured, fault));
  }

  #lastWords(outcome: Outcome, measured: Measured, fault: Fault | undefined): string {
    if (outcome === 'completed') return this.#missingUsage(measured) + this.#route.encoder.done();
    return fault ? this.#route.encoder.error(fault) : '';
  }

  /** A client that asked for usage gets it even where the backend reports none. */
  #missingUsage(measured: Measured): string {
    const usage = usageOf(measured);
    if (!usage) return '';
    const chunk = usageChunk(this.#route.labels, usage, this.#startedAt);
    return this.#route.encoder.chunk(JSON.stringify(chunk), chunk);
  }

  #writeText(): void {
    if (this.#text === '') return;
    const text = this.#text;
    this.#text = '';
    this.#write(text);
  }

  #write(data: Uint8Array | string): void {
    this.#hasWritten = true;
    this.#client.write(data);
  }
}

function broken(cause: unknown): Fault {
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new Fault('upstream_error', 'The backend broke off in the middle of its answer.', { cause, detail });
}

function runaway(): Fault {
  return new Fault('upstream_error', 'The backend sent far more than it was allowed to and was cut off.');
}

function timeout(message: string): Fault {
  return new Fault('upstream_timeout', message);
}

interface ClientStreamOptions {
  /** The client takes more: once at the beginning, and each time after it had to be waited for. */
  onReady(): void;
  /** Nobody will read the rest. May also follow our own close. */
  onLeft(): void;
}

/**
 * The response body of a streamed answer. What is written goes to the socket at once, without a queue of the
 * runtime's between, which costs several microseconds for each chunk.
 */
class ClientStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #o: ClientStreamOptions;
  #controller: ReadableStreamDirectController | undefined;
  #waiting = false;
  /** It ended before anybody took the body. */
  #lastWords: string | undefined;

  constructor(options: ClientStreamOptions) {
    this.#o = options;
    const source: Bun.DirectUnderlyingSource<Uint8Array> = {
      type: 'direct',
      pull: (controller) => this.#open(controller),
      cancel: () => options.onLeft(),
    };
    // The types of the browser, which the console needs, know no direct streams.
    this.body = new ReadableStream(source as unknown as UnderlyingSource<Uint8Array>, {
      highWaterMark: SENT_AT_ONCE_BYTES,
    });
  }

  /** The client has taken all that was written. */
  get isReady(): boolean {
    return this.#controller !== undefined && !this.#waiting;
  }

  /** Bytes are copied or gone when this returns. Everything written is sent: who writes without being ready must be brief. */
  write(data: Uint8Array | string): void {
    try {
      const sent = this.#controller?.write(data);
      // Short writes would otherwise wait for the end of the turn in a list, which costs more than the call.
      if (data.length < SENT_AT_ONCE_BYTES) void this.#controller?.flush();
      if (typeof sent === 'number' || sent === undefined || this.#waiting) return;
      this.#waiting = true;
      sent.then(this.#drained, this.#drained);
    } catch {
      // The client went away between two writes, and its leaving is on the way.
    }
  }

  /** The final events are sent together with the end. */
  end(words: string): void {
    if (!this.#controller) this.#lastWords = words;
    try {
      if (words !== '') void this.#controller?.write(words);
      this.#controller?.close();
    } catch {
      // Already closed by the client's leaving.
    }
  }

  /** A server takes the whole body and calls this once; a reader calls it again for each read. */
  #open(controller: ReadableStreamDirectController): void {
    if (this.#controller) return;
    this.#controller = controller;
    if (this.#lastWords === undefined) this.#o.onReady();
    else this.end(this.#lastWords);
  }

  readonly #drained = (): void => {
    this.#waiting = false;
    this.#o.onReady();
  };
}

/** What the runtime sets aside for each stream, and then sends without being told; it takes nothing less. */
const SENT_AT_ONCE_BYTES = 256;
