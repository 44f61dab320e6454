import type { StreamEvent } from '../../wire/openai/answer.ts';
import { cancelReader, drainToEnd, FirstEvents, whenStarted } from './event-stream.ts';
import type { DataEvent, EventSource, StartSignals, StreamListener } from './event-source.ts';

/** After this many events other streams get a turn, however much the backend sends at once. */
const EVENTS_PER_TURN = 32;

/** The stream of a backend that answers in objects, read only as fast as they are asked for. */
export class TypedStream implements EventSource {
  readonly #reader: ReadableStreamDefaultReader<StreamEvent>;
  readonly #first = new FirstEvents();
  #listener: StreamListener | undefined;
  #read = 0;
  bytesRead = 0;

  private constructor(events: ReadableStream<StreamEvent>) {
    this.#reader = events.getReader();
  }

  static async open(events: ReadableStream<StreamEvent>, signals: StartSignals): Promise<TypedStream> {
    const stream = new TypedStream(events);
    return await whenStarted(stream, () => stream.#first.inspect(() => stream.#next()), signals);
  }

  next(listener: StreamListener): void {
    this.#listener = listener;
    const first = this.#first.take();
    if (Array.isArray(first)) this.#deliver(first);
    else if (first) first.then(this.#deliver, this.#onFailure);
    else if (++this.#read % EVENTS_PER_TURN === 0) setImmediate(() => this.#readNext());
    else this.#readNext();
  }

  release(): void {
    drainToEnd(this.#reader);
  }

  cancel(): void {
    cancelReader(this.#reader);
  }

  #readNext(): void {
    this.#next().then(this.#deliver, this.#onFailure);
  }

  async #next(): Promise<DataEvent[] | undefined> {
    const { done, value: event } = await this.#reader.read();
    if (done) return undefined;
    const data = event.kind === 'chunk' ? JSON.stringify(event.chunk) : '';
    this.bytesRead += data.length;
    return [{ data, event }];
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

  readonly #onFailure = (cause: unknown): void => this.#listener?.onFailure(cause);
}
