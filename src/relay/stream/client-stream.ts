export interface ClientStreamOptions {
  /** The client takes more: once at the beginning, and each time after it had to be waited for. */
  onReady(): void;
  /** Nobody will read the rest. May also follow our own close. */
  onLeft(): void;
}

/**
 * The response body of a streamed answer. What is written goes to the socket at once, without a queue of the
 * runtime's between, which costs several microseconds for each chunk.
 */
export class ClientStream {
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
