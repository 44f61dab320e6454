import type { Socket } from 'bun';
import { ResponseReader } from './response-reader.ts';

export interface ExchangeResult {
  readonly status: number;
  readonly events: number;
  readonly bytes: number;
  readonly firstByteMs: number;
  readonly totalMs: number;
}

/** One keep-alive connection to a server under test, with at most one request on it at a time. */
export class Connection {
  readonly #host: { readonly hostname: string; readonly port: number };
  readonly #isTls: boolean;
  readonly #asksToClose: boolean;
  #reader = new ResponseReader();
  #socket: Socket | undefined;
  #unsent: Uint8Array | undefined;
  #sentAt = 0;
  #firstByteAt = 0;
  #waiting: PromiseWithResolvers<ExchangeResult> | undefined;
  /** Called for each arrival of bytes, for clients that measure or misbehave in the middle of an answer. */
  onBytes: ((events: number) => void) | undefined;

  /** `asksToClose`: its requests say that each is the last one, which a server need not repeat. */
  constructor(url: string, asksToClose = false) {
    this.#asksToClose = asksToClose;
    const { hostname, port, protocol } = new URL(url);
    this.#isTls = protocol === 'https:';
    this.#host = { hostname, port: Number(port) };
  }

  async send(request: Uint8Array): Promise<ExchangeResult> {
    const socket = this.#socket ?? (await this.#connect());
    const waiting = Promise.withResolvers<ExchangeResult>();
    this.#waiting = waiting;
    this.#reader.begin();
    this.#firstByteAt = 0;
    this.#sentAt = performance.now();
    this.#write(socket, request);
    return await waiting.promise;
  }

  /** Stops reading: the server's socket fills up. */
  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  /** Closes the connection abruptly, as a client does whose process ends. */
  abort(): void {
    this.#socket?.terminate();
    this.#lost(new Error('aborted by the client'));
  }

  get isOpen(): boolean {
    return this.#socket !== undefined;
  }

  async #connect(): Promise<Socket> {
    this.#reader = new ResponseReader();
    const ended = (socket: Socket, error: Error): void => {
      // An old socket may end when the next one is already in use.
      if (socket === this.#socket) this.#lost(error);
    };
    const secured = Promise.withResolvers<void>();
    const socket = await Bun.connect({
      ...this.#host,
      ...(this.#isTls && { tls: { rejectUnauthorized: false } }),
      socket: {
        handshake: () => secured.resolve(),
        open: (opened) => void (this.#socket = opened),
        data: (from, bytes) => {
          if (from === this.#socket) this.#received(bytes);
        },
        drain: (drained) => {
          const unsent = this.#unsent;
          this.#unsent = undefined;
          if (unsent) this.#write(drained, unsent);
        },
        close: (closed) => {
          secured.resolve();
          ended(closed, new Error('closed by the server'));
        },
        error: (failed, error) => ended(failed, error),
      },
    });
    if (this.#isTls) await secured.promise;
    return socket;
  }

  #write(socket: Socket, bytes: Uint8Array): void {
    const sent = Math.max(0, socket.write(bytes));
    if (sent < bytes.length) this.#unsent = bytes.subarray(sent);
  }

  #received(bytes: Uint8Array): void {
    const now = performance.now();
    if (this.#firstByteAt === 0) this.#firstByteAt = now;
    const reader = this.#reader;
    const complete = reader.push(bytes);
    this.onBytes?.(reader.events);
    if (!complete) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (reader.closes || this.#asksToClose) this.#drop();
    waiting?.resolve({
      status: reader.status,
      events: reader.events,
      bytes: reader.bodyBytes,
      firstByteMs: this.#firstByteAt - this.#sentAt,
      totalMs: now - this.#sentAt,
    });
  }

  #drop(): void {
    this.#socket?.end();
    this.#socket = undefined;
  }

  #lost(error: Error): void {
    this.#socket = undefined;
    this.#unsent = undefined;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(error);
  }
}
