import { createServer, type Server, type Socket } from 'node:net';

const LOOK_MS = 5;
const STALLED_LOOKS = 10;

/** One request on a real socket, and what can be done to the connection while it is answered. */
export class HttpExchange {
  readonly path: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** The other side is gone, or this one has ended it. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  #chunked = false;

  constructor(socket: Socket, closed: Promise<void>, head: string, body: Buffer) {
    const [first = '', ...lines] = head.split('\r\n');
    this.path = first.split(' ')[1] ?? '';
    this.headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    this.body = body;
    this.#socket = socket;
    this.closed = closed;
  }

  get isClosed(): boolean {
    return this.#socket.destroyed || !this.#socket.writable;
  }

  /** The status and the headers of a stream. */
  beginStream(): void {
    this.#chunked = true;
    this.#write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n');
  }

  beginJson(status: number, length: number): void {
    this.#write(
      `HTTP/1.1 ${status} Answer\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`,
    );
  }

  send(text: string): void {
    if (!this.#chunked) return this.#write(text);
    this.#write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  }

  end(): void {
    if (this.#chunked) this.#write('0\r\n\r\n');
  }

  json(status: number, value: unknown): void {
    const text = JSON.stringify(value);
    this.beginJson(status, Buffer.byteLength(text));
    this.send(text);
  }

  /** Ends the connection in the middle of whatever is being sent: by a reset, or by an ordinary close. */
  breakOff(how: 'reset' | 'close'): void {
    if (how === 'reset') this.#socket.resetAndDestroy();
    else this.#socket.destroySoon();
  }

  /** Resolves when everything was taken, or the other side takes no more. */
  async stalled(): Promise<void> {
    for (let same = 0, before = -1; same < STALLED_LOOKS && this.#socket.writableLength > 0;) {
      same = this.#socket.writableLength === before ? same + 1 : 0;
      before = this.#socket.writableLength;
      await Bun.sleep(LOOK_MS);
    }
  }

  #write(text: string): void {
    if (!this.isClosed) this.#socket.write(text);
  }
}

export type ExchangeHandler = (exchange: HttpExchange) => Promise<void>;

/**
 * A server that shows each of its sockets: whether the other side has closed it decides what is billed, and a backend
 * that resets a connection must be able to. Requests on one connection come one after the other.
 */
export class RawHttpServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(handle: ExchangeHandler) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      const closed = Promise.withResolvers<void>();
      socket.on('close', () => {
        this.#sockets.delete(socket);
        closed.resolve();
      });
      socket.on('error', () => undefined);
      let read = Buffer.alloc(0);
      socket.on('data', (bytes) => {
        read = Buffer.concat([read, Buffer.from(bytes)]);
        for (let request = takeRequest(read); request; request = takeRequest(read)) {
          read = request.rest;
          void handle(new HttpExchange(socket, closed.promise, request.head, request.body));
        }
      });
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    if (typeof address !== 'object' || !address) throw new Error('no port');
    return address.port;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

function takeRequest(read: Buffer): { head: string; body: Buffer; rest: Buffer<ArrayBuffer> } | undefined {
  const end = read.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const head = read.subarray(0, end).toString('latin1');
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  const start = end + 4;
  if (read.length < start + length) return undefined;
  return {
    head,
    body: read.subarray(start, start + length),
    rest: Buffer.from(read.subarray(start + length)),
  };
}
