import type { Outcome, Settled } from '../../ledger/port.ts';
import type { Usage } from '../../ledger/price.ts';
import type { Clock } from '../../std/clock.ts';
import { Fault } from '../../std/fault.ts';
import type { RequestId } from '../../std/ids.ts';
import { usageChunk, type ChatEncoder } from '../../wire/openai/answer.ts';
import { ChunkTemplates } from './chunk-template.ts';
import { SSE_COMMENT } from '../../std/sse.ts';
import type { ActiveRequest, ChatCall, Labels } from '../call.ts';
import type { DataEvent, EventSource, StreamAnswer, StreamListener } from './event-source.ts';
import type { Meter } from './meter.ts';
import { onceArrivedIsRead } from './read-arrived.ts';
import { usageOf, type MeteredUsage } from './reported-usage.ts';

/** How a stream ended, for the ledger. */
export interface StreamEnd {
  readonly outcome: Outcome;
  readonly measured: MeteredUsage;
  readonly fault: Fault | undefined;
}

export interface DeliveryOptions {
  readonly meter: Meter;
  readonly clock: Clock;
  readonly limits: { readonly idleMs: number; readonly totalMs: number };
  /** The output tokens that the hold covers. */
  readonly outputCap: number;
  /** With log probabilities, a token comes with up to twenty others and their bytes; it may also be sound or a part of a picture. */
  readonly hasLargeTokens?: boolean | undefined;
  /**
   * Asked once, when the client has left: whether the backend is stopped, or comes to its end within its deadlines.
   * Absent: it is stopped.
   */
  onClientLeft?(): 'stop' | 'finish';
  /** Called exactly once. The final events wait for it: a stream that has ended has been settled. */
  onEnd(end: StreamEnd): Promise<Pick<Settled, 'charged' | 'state'> | undefined>;
}

interface StreamRoute {
  readonly labels: Labels;
  readonly events: EventSource;
  readonly encoder: ChatEncoder;
}

/** More than a backend sends for one token, with the JSON around it. */
const BYTES_PER_TOKEN = { plain: 1_024, large: 8_192 };
const KEEP_ALIVE_MS = 15_000;
const STALLED_READER_MS = 60_000;
/** How often a stream checks its deadlines: with thousands of streams, checking costs more than forwarding. */
const CHECK_INTERVAL_MS = 1_000;
const CHECKS_PER_DEADLINE = 4;

/**
 * Delivers one stream from the backend to the client, at the client's pace. It always ends in the dialect's final events
 * or in one error event, and is metered and closed exactly once, whether the backend, the client or a deadline ends it.
 *
 * Ordinary chunks pass as bytes through a template; everything else is parsed, and may become the next template.
 */
export class Delivery implements ActiveRequest, StreamListener {
  // The fields that every chunk needs come first, so that they share one or two cache lines.
  readonly #templates: ChunkTemplates;
  readonly #meter: Meter;
  readonly #client: ClientStream;
  readonly #events: EventSource;
  /** Bytes for the client that are written before anything else. */
  #text = '';
  #ended = false;
  #clientLeft = false;
  #reading = false;
  /** The tick notes the time: reading the clock per chunk is too expensive. */
  #hasRead = false;
  #hasWritten = false;
  #sawDone = false;
  #nextCheckAt = 0;
  #stopWaiting: (() => void) | undefined;
  readonly #maxBytes: number;
  readonly requestId: RequestId;
  readonly #options: DeliveryOptions;
  readonly #route: StreamRoute;
  readonly #startedAt: number;
  #lastReadAt: number;
  #lastWriteAt: number;

  private constructor(requestId: RequestId, route: StreamRoute, options: DeliveryOptions) {
    this.requestId = requestId;
    this.#route = route;
    this.#events = route.events;
    this.#templates = new ChunkTemplates(route.encoder);
    this.#meter = options.meter;
    this.#options = options;
    this.#client = new ClientStream({ onReady: () => this.#readNext(), onLeft: () => this.leave() });
    // A backend that sends far beyond its cap is cut off: that many tokens never take this many bytes, even with all
    // the JSON around each of them.
    this.#maxBytes =
      1_048_576 +
      options.outputCap * (options.hasLargeTokens ? BYTES_PER_TOKEN.large : BYTES_PER_TOKEN.plain);
    this.#startedAt = options.clock.now();
    this.#lastReadAt = this.#startedAt;
    this.#lastWriteAt = this.#startedAt;
  }

  static of(
    call: Pick<ChatCall, 'requestId' | 'label' | 'request' | 'encoder'>,
    stream: StreamAnswer,
    options: DeliveryOptions,
  ): Delivery {
    const labels = { id: call.requestId, model: call.label };
    const dialectEncoder = call.encoder(labels, call.request);
    const encoder = stream.encoder?.(dialectEncoder) ?? dialectEncoder;
    return new Delivery(call.requestId, { labels, events: stream.events, encoder }, options);
  }

  body(): ReadableStream<Uint8Array> {
    return this.#client.body;
  }

  delivered(): Usage {
    return this.#meter.delivered();
  }

  countInput(): Promise<unknown> {
    return this.#meter.countInput();
  }

  /** The client is gone. Nothing is written any more, but what comes from the backend is still metered, and charged. */
  leave(): void {
    if (this.#ended || this.#clientLeft) return;
    this.#clientLeft = true;
    this.#readNext();
    if (this.#whenLeft() === 'finish') return;
    const stop = (): void => void this.#end('client_left', undefined);
    this.#stopWaiting = onceArrivedIsRead(this.#events, this.#client.laggedMs, stop);
  }

  #whenLeft(): 'stop' | 'finish' {
    try {
      return this.#options.onClientLeft?.() ?? 'stop';
    } catch {
      // If the decision itself fails, the backend must not go on for nobody.
      return 'stop';
    }
  }

  tick(nowMs: number): void {
    if (this.#ended || nowMs < this.#nextCheckAt) return;
    const { idleMs, totalMs } = this.#options.limits;
    this.#nextCheckAt =
      nowMs + Math.min(CHECK_INTERVAL_MS, idleMs / CHECKS_PER_DEADLINE, totalMs / CHECKS_PER_DEADLINE);
    this.#noteTimes(nowMs);
    if (nowMs - this.#startedAt > totalMs)
      return this.cut(streamTimeout('The answer took too long and was cut.'));
    if (!this.#clientLeft && !this.#client.isReady) {
      if (nowMs - this.#lastWriteAt > STALLED_READER_MS) this.leave();
      return;
    }
    if (nowMs - this.#lastReadAt > idleMs)
      return this.cut(streamTimeout('The backend fell silent and was cut off.'));
    if (!this.#clientLeft && nowMs - this.#lastWriteAt > KEEP_ALIVE_MS)
      this.#write(this.#route.encoder.keepAlive ?? SSE_COMMENT);
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
      // Anything after the backend's own end is dropped.
      if (this.#ended || this.#sawDone) return;
      switch (event.kind) {
        case 'chunk':
          this.#meter.observe(event.chunk);
          if (this.#clientLeft) break;
          this.#text += this.#route.encoder.chunk(data, event.chunk);
          this.#templates.learn(data, event.chunk);
          break;
        case 'early_usage':
          this.#meter.observeUsage(event.usage);
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
    if (this.#events.bytesRead > this.#maxBytes) void this.#end('cut_short', outputTooLarge());
    else if (this.#sawDone) this.onEnd();
    else this.#readNext();
  }

  /** A stream that ends without a finish reason is broken. */
  onEnd(): void {
    if (this.#sawDone || this.#meter.finishReason !== undefined) void this.#end('completed', undefined);
    else this.onFailure('the stream ended without a finish');
  }

  onFailure(cause: unknown): void {
    void this.#end('upstream_failed', streamBroken(cause));
  }

  /** Only when the client has taken everything: the backend is read at the client's pace. */
  #readNext(): void {
    if (this.#ended || this.#reading || !(this.#clientLeft || this.#client.isReady)) return;
    this.#reading = true;
    this.#events.next(this);
  }

  #noteTimes(nowMs: number): void {
    if (this.#hasRead) this.#lastReadAt = nowMs;
    if (this.#hasWritten) this.#lastWriteAt = nowMs;
    this.#hasRead = false;
    this.#hasWritten = false;
  }

  async #end(how: Outcome, why: Fault | undefined): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#stopWaiting?.();
    if (how === 'completed') this.#events.release();
    else this.#events.cancel();
    this.#writeText();
    // Once the client has left, the way the backend ended matters only for the meter.
    const [outcome, fault] = this.#clientLeft ? (['client_left', undefined] as const) : [how, why];
    const measured = await this.#measured();
    try {
      const settled = await this.#options.onEnd({ outcome, measured, fault });
      this.#client.end(this.#finalEvents({ outcome, measured, fault }, settled));
    } catch {
      // If the encoder fails, nothing can be said in its dialect: the missing final events show that the stream was
      // cut.
      this.#client.end('');
    }
  }

  #finalEvents(
    { outcome, measured, fault }: StreamEnd,
    settled: Pick<Settled, 'charged' | 'state'> | undefined,
  ): string {
    const { encoder } = this.#route;
    if (fault) return encoder.error(fault);
    if (outcome !== 'completed') return '';
    // Another process has closed it before it came to its end.
    if (settled?.state === 'expired') return encoder.error(outOfTouch());
    return this.#missingUsage(measured) + encoder.done(settled?.charged);
  }

  /** The meter depends on other services. If they fail, what it knows by itself is charged. */
  async #measured(): Promise<MeteredUsage> {
    try {
      return await this.#meter.measure();
    } catch {
      return { usage: this.#meter.delivered(), source: 'counted' };
    }
  }

  /** A client that asked for usage gets it even if the backend reports none. */
  #missingUsage(measured: MeteredUsage): string {
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
    if (this.#clientLeft) return;
    this.#hasWritten = true;
    this.#client.write(data);
  }
}

function streamBroken(cause: unknown): Fault {
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new Fault('upstream_error', 'The backend broke off in the middle of its answer.', { cause, detail });
}

function outputTooLarge(): Fault {
  return new Fault('upstream_error', 'The backend sent far more than it was allowed to and was cut off.');
}

/** The lease of the request has run out: nobody would pay for what is still delivered. */
export function outOfTouch(): Fault {
  const message = 'This server was out of touch for too long. Send the request again.';
  return new Fault('service_unavailable', message, { retryAfterMs: 1_000 });
}

function streamTimeout(message: string): Fault {
  return new Fault('upstream_timeout', message);
}

interface ClientStreamOptions {
  /** The client takes more: once at the start, and each time after it was waited for. */
  onReady(): void;
  /** The rest will not be read. May also follow our own close. */
  onLeft(): void;
}

/**
 * The response body of a streamed answer. Writes go straight to the socket, without the runtime's queue, which costs
 * several microseconds per chunk.
 */
class ClientStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: ClientStreamOptions;
  #controller: ReadableStreamDirectController | undefined;
  #waiting = false;
  #waitingSince = 0;
  #longestLagMs = 0;
  /** Set when the stream ended before its body was taken. */
  #finalEvents: string | undefined;

  constructor(options: ClientStreamOptions) {
    this.#options = options;
    const source: Bun.DirectUnderlyingSource<Uint8Array> = {
      type: 'direct',
      pull: (controller) => this.#open(controller),
      cancel: () => options.onLeft(),
    };
    // The DOM types, which the console needs, lack direct streams.
    this.body = new ReadableStream(source as unknown as UnderlyingSource<Uint8Array>, {
      highWaterMark: SENT_AT_ONCE_BYTES,
    });
  }

  /** The client has taken everything that was written. */
  get isReady(): boolean {
    return this.#controller !== undefined && !this.#waiting;
  }

  /** How long at most it had not taken what was written. A connection that ends takes everything, so this never falls. */
  get laggedMs(): number {
    return this.#waiting ? Math.max(this.#longestLagMs, this.#currentLagMs()) : this.#longestLagMs;
  }

  /**
   * The bytes are copied or sent when this returns. Everything written is sent, so a caller that writes while the
   * client is not ready must write little.
   */
  write(data: Uint8Array | string): void {
    try {
      const sent = this.#controller?.write(data);
      // The runtime would keep short writes until the end of the event loop's turn, which costs more than this call.
      if (data.length < SENT_AT_ONCE_BYTES) void this.#controller?.flush();
      if (typeof sent === 'number' || sent === undefined || this.#waiting) return;
      this.#waiting = true;
      this.#waitingSince = performance.now();
      sent.then(this.#drained, this.#drained);
    } catch {
      // The client left between two writes, and `onLeft` follows.
    }
  }

  /** Sends the final events together with the end. */
  end(events: string): void {
    if (!this.#controller) this.#finalEvents = events;
    try {
      if (events !== '') void this.#controller?.write(events);
      this.#controller?.close();
    } catch {
      // Already closed because the client left.
    }
  }

  /** A server takes the whole body and calls this once; a reader calls it for each read. */
  #open(controller: ReadableStreamDirectController): void {
    if (this.#controller) return;
    this.#controller = controller;
    if (this.#finalEvents === undefined) this.#options.onReady();
    else this.end(this.#finalEvents);
  }

  #currentLagMs(): number {
    return Math.max(1, performance.now() - this.#waitingSince);
  }

  readonly #drained = (): void => {
    this.#waiting = false;
    this.#longestLagMs = Math.max(this.#longestLagMs, this.#currentLagMs());
    this.#options.onReady();
  };
}

/** The runtime's smallest buffer per stream; longer writes are sent without a flush. */
const SENT_AT_ONCE_BYTES = 256;
