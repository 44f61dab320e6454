import type { StreamEvent } from '../../wire/openai/answer.ts';
import { cancelReader, drainToEnd, FirstEvents, opened } from './event-stream.ts';
import type { DataEvent, EventSource, OpeningSignals, StreamListener } from './event-source.ts';

/** A backend that has much to say at once must not keep the others waiting: so many events, and they have their turn. */
const EVENTS_PER_TURN = 32;

/** The stream of a backend that answers in objects, read only as fast as somebody asks for them. */
export class TypedStream implements EventSource {
  readonly #reader: ReadableStreamDefaultReader<StreamEvent>;
  readonly #first = new FirstEvents();
  #listener: StreamListener | undefined;
  #read = 0;
  bytesRead = 0;

  private constructor(events: ReadableStream<StreamEvent>) {
    this.#reader = events.getReader();
  }

  static async open(events: ReadableStream<StreamEvent>, signals: OpeningSignals): Promise<TypedStream> {
    const stream = new TypedStream(events);
    return await opened(stream, () => stream.#first.look(() => stream.#next()), signals);
  }

  next(listener: StreamListener): void {
    this.#listener = listener;
    const first = this.#first.take();
    if (Array.isArray(first)) this.#handOver(first);
    else if (first) first.then(this.#handOver, this.#onFailure);
    else if (++this.#read % EVENTS_PER_TURN === 0) setImmediate(() => this.#readOn());
    else this.#readOn();
  }

  release(): void {
    drainToEnd(this.#reader);
  }

  cancel(): void {
    cancelReader(this.#reader);
  }

  takeArrived(): readonly DataEvent[] {
    return this.#first.takeArrived();
  }

  #readOn(): void {
    this.#next().then(this.#handOver, this.#onFailure);
  }

  async #next(): Promise<DataEvent[] | undefined> {
    const { done, value: event } = await this.#reader.read();
    if (done) return undefined;
    const data = event.kind === 'chunk' ? JSON.stringify(event.chunk) : '';
    this.bytesRead += data.length;
    return [{ data, event }];
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

  readonly #onFailure = (cause: unknown): void => this.#listener?.onFailure(cause);
}
