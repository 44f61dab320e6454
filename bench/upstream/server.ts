/**
 * The mock backend, a process of its own: OpenAI's wire format on raw sockets, so that it costs little beside the
 * contenders. A request says in its `user` field how it wants to be treated, because that field passes every gateway:
 * `chunks=100;paceMs=5` for streams, `fault=error`, `fault=reset`, `fault=cut` (a stream broken in the middle).
 * Usage: bun bench/upstream/server.ts PORT
 */
import type { Socket } from 'bun';
import { makeAnswers } from './answers.ts';

interface Connection {
  received: Buffer;
  unsent: Uint8Array | undefined;
  stream: Stream | undefined;
}

interface Stream {
  readonly socket: Socket<Connection>;
  readonly paceMs: number;
  readonly cutAt: number;
  left: number;
}

interface Behaviour {
  readonly fault: string | undefined;
  readonly chunks: number;
  readonly paceMs: number;
}

const MAX_REQUEST_BYTES = 32 * 1_048_576;
const answers = makeAnswers();
const EMPTY = Buffer.alloc(0);
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const USER = /"user":"([^"]*)"/;
const DEFAULT_BEHAVIOUR: Behaviour = { fault: undefined, chunks: 100, paceMs: 5 };
/** One timer for each pace, not one for each stream. */
const paced = new Map<number, Set<Stream>>();

Bun.listen<Connection>({
  hostname: '127.0.0.1',
  port: Number(process.argv[2]),
  socket: {
    open(socket) {
      socket.data = { received: EMPTY, unsent: undefined, stream: undefined };
    },
    data(socket, chunk) {
      const connection = socket.data;
      connection.received =
        connection.received.length === 0 ? Buffer.from(chunk) : Buffer.concat([connection.received, chunk]);
      serveReceived(socket);
    },
    drain(socket) {
      const { unsent } = socket.data;
      socket.data.unsent = undefined;
      if (unsent) send(socket, unsent);
    },
    close: (socket) => forget(socket.data),
    error: (socket) => forget(socket.data),
  },
});
console.log('ready');

function serveReceived(socket: Socket<Connection>): void {
  const connection = socket.data;
  for (;;) {
    const { received } = connection;
    const headEnd = received.indexOf('\r\n\r\n');
    if (headEnd === -1) return;
    const head = received.toString('latin1', 0, headEnd);
    const length = head.startsWith('GET') ? 0 : Number(LENGTH.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(length) || length > MAX_REQUEST_BYTES) {
      send(socket, answers.lengthRequired);
      socket.end();
      return;
    }
    const end = headEnd + 4 + length;
    if (received.length < end) return;
    const body = received.toString('latin1', headEnd + 4, end);
    connection.received = received.length === end ? EMPTY : received.subarray(end);
    answer(socket, body);
  }
}

function answer(socket: Socket<Connection>, body: string): void {
  const behaviour = behaviourOf(body);
  if (behaviour.fault === 'reset') {
    socket.terminate();
    return;
  }
  if (behaviour.fault === 'error') {
    send(socket, answers.failure);
    return;
  }
  if (body.includes('"prompt":')) send(socket, answers.image);
  else if (body.includes('"stream":true')) startStream(socket, behaviour);
  else send(socket, answers.whole);
}

function behaviourOf(body: string): Behaviour {
  const text = USER.exec(body)?.[1];
  if (text === undefined || text === '') return DEFAULT_BEHAVIOUR;
  const fields = new Map(text.split(';').map((pair) => pair.split('=') as [string, string]));
  return {
    fault: fields.get('fault'),
    chunks: Number(fields.get('chunks') ?? DEFAULT_BEHAVIOUR.chunks),
    paceMs: Number(fields.get('paceMs') ?? DEFAULT_BEHAVIOUR.paceMs),
  };
}

function startStream(socket: Socket<Connection>, { fault, chunks, paceMs }: Behaviour): void {
  const cutAt = fault === 'cut' ? Math.floor(chunks / 2) : -1;
  const stream: Stream = { socket, paceMs, cutAt, left: chunks };
  socket.data.stream = stream;
  send(socket, Buffer.concat([answers.streamHead, answers.firstChunk]));
  let streams = paced.get(paceMs);
  if (!streams) {
    const begun = new Set<Stream>();
    setInterval(() => begun.forEach(advance), paceMs);
    paced.set(paceMs, begun);
    streams = begun;
  }
  streams.add(stream);
}

function advance(stream: Stream): void {
  const { socket } = stream;
  // The reader is slow; what it has not taken yet is all that is kept for it.
  if (socket.data.unsent) return;
  if (stream.left === stream.cutAt) {
    forget(socket.data);
    socket.terminate();
    return;
  }
  if (stream.left > 0) {
    stream.left--;
    send(socket, answers.contentChunk);
    return;
  }
  forget(socket.data);
  send(socket, answers.lastChunks);
}

function forget(connection: Connection): void {
  const { stream } = connection;
  connection.stream = undefined;
  if (stream) paced.get(stream.paceMs)?.delete(stream);
}

function send(socket: Socket<Connection>, bytes: Uint8Array): void {
  const connection = socket.data;
  if (connection.unsent) {
    connection.unsent = Buffer.concat([connection.unsent, bytes]);
    return;
  }
  const sent = Math.max(0, socket.write(bytes));
  if (sent < bytes.length) connection.unsent = bytes.subarray(sent);
}
