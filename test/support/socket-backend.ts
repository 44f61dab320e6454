import { createServer, type Server, type Socket } from 'node:net';

/** A backend on bare sockets: each request that came whole is answered by `answer`, byte by byte or not at all. */
export class SocketBackend {
  answer: (socket: Socket) => void;
  calls = 0;
  readonly #server: Server;

  constructor(answer: (socket: Socket) => void) {
    this.answer = answer;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  /** Its address for a catalog. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/v1`;
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket): void {
    socket.on('error', () => undefined);
    let read = '';
    socket.on('data', (bytes) => {
      read += bytes.toString('latin1');
      const [head = '', body = ''] = read.split('\r\n\r\n', 2);
      if (body.length < Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Infinity)) return;
      read = '';
      this.calls++;
      this.answer(socket);
    });
  }
}
