import { createServer, type Server, type Socket } from 'node:net';

/**
 * A server of HTTP/1.1 in its smallest form, on plain sockets: a backend has to be able to break at any byte and to know
 * at which moment its client left, which the servers of the runtimes hide.
 */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** Where an answer goes. */
export interface Reply {
  /** False once the other side has left. */
  readonly isOpen: boolean;
  whole(status: number, body: string, more?: ReplyOptions): void;
  /** Begins a stream. */
  stream(): void;
  /** One piece of a stream. */
  write(piece: string): void;
  end(): void;
  /** Ends the connection as a process that died would. */
  cut(): void;
}

interface ReplyOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the announced body, only so much is sent, and then the connection ends. */
  readonly cutAfter?: number;
}

const MOST_BYTES = 8_000_000;
const REASONS: Readonly<Record<number, string>> = { 200: 'OK', 404: 'Not Found', 429: 'Too Many Requests' };

export async function listen(
  answer: (received: Received, reply: Reply) => Promise<void>,
  wantedPort = 0,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    serve(socket, answer);
  });
  await new Promise<void>((resolve) => server.listen(wantedPort, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the backend has no port');
  return { port: address.port, close: () => closeAll(server, sockets) };
}

async function closeAll(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const socket of sockets) socket.destroy();
  await closed;
}

/** One request after the other on each connection. */
function serve(socket: Socket, answer: (received: Received, reply: Reply) => Promise<void>): void {
  let bytes = Buffer.alloc(0);
  let isBusy = false;
  const serveAll = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    for (let found = requestIn(bytes); found !== undefined && !socket.destroyed; found = requestIn(bytes)) {
      bytes = bytes.subarray(found.length);
      await answer(found.received, replyOn(socket));
    }
    isBusy = false;
  };
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('end', () => socket.destroy());
  socket.on('data', (piece: Buffer) => {
    bytes = Buffer.concat([bytes, piece]);
    if (bytes.length > MOST_BYTES) socket.destroy();
    void serveAll();
  });
}

function requestIn(bytes: Buffer): { readonly received: Received; readonly length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = bytes.subarray(0, headEnd).toString('latin1');
  const [method = '', path = ''] = head.split(' ', 2);
  const start = headEnd + 4;
  if (/^transfer-encoding:\s*chunked/im.test(head)) {
    const chunks = chunkedBody(bytes, start);
    return chunks && { received: { method, path, body: chunks.body }, length: chunks.end };
  }
  const length = Number(/^content-length:\s*(\d+)/im.exec(head)?.[1] ?? 0);
  if (bytes.length < start + length) return undefined;
  const body = bytes.subarray(start, start + length).toString();
  return { received: { method, path, body }, length: start + length };
}

function chunkedBody(
  bytes: Buffer,
  start: number,
): { readonly body: string; readonly end: number } | undefined {
  const pieces: Buffer[] = [];
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16);
    const dataEnd = lineEnd + 2 + size;
    if (!Number.isFinite(size) || bytes.length < dataEnd + 2) return undefined;
    if (size === 0) return { body: Buffer.concat(pieces).toString(), end: dataEnd + 2 };
    pieces.push(bytes.subarray(lineEnd + 2, dataEnd));
    at = dataEnd + 2;
  }
}

function replyOn(socket: Socket): Reply {
  return {
    get isOpen() {
      return !socket.destroyed;
    },
    whole(status, body, { headers = {}, cutAfter } = {}) {
      const bytes = Buffer.from(body);
      const lines = Object.entries({ 'content-type': 'application/json', ...headers });
      socket.write(
        `HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}\r\n` +
          `${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}content-length: ${bytes.length}\r\n\r\n`,
      );
      if (cutAfter === undefined) socket.write(bytes);
      else socket.write(bytes.subarray(0, cutAfter), () => socket.destroy());
    },
    stream() {
      socket.write(
        'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n',
      );
    },
    write(piece) {
      if (!socket.destroyed) socket.write(`${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`);
    },
    end: () => void socket.write('0\r\n\r\n'),
    // What was written still arrives: it is billed.
    cut: () => void socket.end(() => socket.destroy()),
  };
}
