import type { Outcome } from '../ledger/port.ts';
import type { Usage } from '../ledger/price.ts';
import type { Clock } from '../std/clock.ts';
import { Fault } from '../std/fault.ts';
import type { RequestId } from '../std/ids.ts';
import { usageChunk, type ChatEncoder } from '../wire/chat-stream.ts';
import { SSE_COMMENT } from '../wire/sse.ts';
import type { ChatCall, Labels } from './call.ts';
import { usageOf, type Measured, type Meter } from './meter.ts';
import type { DataEvent, EventSource, StreamAnswer } from './opening.ts';
import type { RunningRequest } from './running.ts';

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
  /** Called exactly once. The stream's last words wait for it, so an answer that ended is an answer in the books. */
  onEnd(end: StreamEnd): Promise<unknown>;
}

interface Route {
  readonly labels: Labels;
  readonly events: EventSource;
  readonly encoder: ChatEncoder;
}

const KEEP_ALIVE_MS = 15_000;
const STALLED_READER_MS = 60_000;

/**
 * Carries one stream from the backend to the client, at the client's pace. It ends in the dialect's own last words or in
 * one error event, never in silence, and is measured and closed exactly once whoever ends it: backend, client, deadline.
 */
export class Delivery implements RunningRequest {
  readonly requestId: RequestId;
  readonly #o: DeliveryOptions;
  readonly #route: Route;
  readonly #maxBytes: number;
  readonly #startedAt: number;
  readonly #utf8 = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #waitingForBackend = false;
  #lastReadAt: number;
  #lastWriteAt: number;
  #sawDone = false;
  #ended = false;

  private constructor(requestId: RequestId, route: Route, options: DeliveryOptions) {
    this.requestId = requestId;
    this.#route = route;
    this.#o = options;
    // A backend that sends far beyond its cap is cut: no answer of that many tokens is as large, with all the words of
    // the format around each of them.
    this.#maxBytes = 1_048_576 + options.outputCap * 1_024;
    this.#startedAt = options.clock.now();
    this.#lastReadAt = this.#startedAt;
    this.#lastWriteAt = this.#startedAt;
  }

  static of(call: ChatCall, stream: StreamAnswer, options: DeliveryOptions): Delivery {
    const labels = { id: call.requestId, model: call.label };
    const usual = call.encoder(labels);
    const encoder = stream.encoder?.(usual) ?? usual;
    return new Delivery(call.requestId, { labels, events: stream.events, encoder }, options);
  }

  body(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.#pull(),
        cancel: () => this.#clientLeft(),
      },
      { highWaterMark: 1 },
    );
  }

  delivered(): Usage {
    return this.#o.meter.counted();
  }

  tick(nowMs: number): void {
    if (this.#ended) return;
    if (nowMs - this.#startedAt > this.#o.limits.totalMs)
      return this.cut(timeout('The answer took too long and was cut.'));
    if (!this.#waitingForBackend) {
      if (nowMs - this.#lastWriteAt > STALLED_READER_MS) void this.#clientLeft();
      return;
    }
    if (nowMs - this.#lastReadAt > this.#o.limits.idleMs)
      return this.cut(timeout('The backend fell silent and was cut off.'));
    if (nowMs - this.#lastWriteAt > KEEP_ALIVE_MS) this.#write(SSE_COMMENT);
  }

  cut(fault: Fault): void {
    void this.#end('cut_short', fault);
  }

  async #pull(): Promise<void> {
    this.#waitingForBackend = true;
    try {
      while (!this.#ended) {
        const events = await this.#route.events.next();
        this.#lastReadAt = this.#o.clock.now();
        if (this.#ended) return;
        if (!events) return await this.#backendEnded();
        if (await this.#forward(events)) return;
      }
    } catch (cause) {
      await this.#end('upstream_failed', broken(cause));
    } finally {
      this.#waitingForBackend = false;
      this.#lastWriteAt = this.#o.clock.now();
    }
  }

  /** True when the client got something, so that the next read waits until it wants more. */
  async #forward(events: readonly DataEvent[]): Promise<boolean> {
    let text = '';
    for (const { data, event } of events) {
      switch (event.kind) {
        case 'chunk':
          this.#o.meter.observe(event.chunk);
          text += this.#route.encoder.chunk(data, event.chunk);
          break;
        case 'done':
          this.#sawDone = true;
          break;
        case 'error':
        case 'garbage':
          if (text !== '') this.#write(text);
          await this.#end(
            'upstream_failed',
            broken(event.kind === 'error' ? event.message : 'not a chat chunk'),
          );
          return true;
      }
    }
    if (text !== '') this.#write(text);
    if (this.#route.events.bytesRead > this.#maxBytes) await this.#end('cut_short', runaway());
    else if (this.#sawDone) await this.#backendEnded();
    return text !== '' || this.#ended;
  }

  /** A backend that stopped without a finish did not finish. */
  async #backendEnded(): Promise<void> {
    if (this.#sawDone || this.#o.meter.finishReason !== undefined) await this.#end('completed', undefined);
    else await this.#end('upstream_failed', broken('the stream ended without a finish'));
  }

  async #clientLeft(): Promise<void> {
    await this.#end('client_left', undefined);
  }

  async #end(outcome: Outcome, fault: Fault | undefined): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#route.events.cancel();
    const { meter } = this.#o;
    const measured =
      outcome === 'completed' ? meter.measure() : { usage: meter.counted(), source: 'counted' as const };
    await this.#o.onEnd({ outcome, measured, fault });
    if (outcome === 'completed') this.#write(this.#missingUsage(measured) + this.#route.encoder.done());
    else if (fault) this.#write(this.#route.encoder.error(fault));
    this.#closeBody();
  }

  /** Who asked for usage gets it, whether or not the backend counts. */
  #missingUsage(measured: Measured): string {
    const usage = usageOf(measured);
    if (!usage) return '';
    const chunk = usageChunk(this.#route.labels, usage, this.#startedAt);
    return this.#route.encoder.chunk(JSON.stringify(chunk), chunk);
  }

  #write(text: string): void {
    if (text === '') return;
    try {
      this.#controller?.enqueue(this.#utf8.encode(text));
      this.#lastWriteAt = this.#o.clock.now();
    } catch {
      // The client went away between two events: its cancel is on the way and closes the books.
    }
  }

  #closeBody(): void {
    try {
      this.#controller?.close();
    } catch {
      // Already closed by the client's leaving.
    }
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
