/**
 * A backend for heavy tests, in a process of its own and on bare sockets: it feels back-pressure, costs little, and does
 * what the `script` field of each request says. Run with `bun run`; it prints its port and ends with its standard input.
 */
import type { Socket } from 'bun';

/** What one request asks of this backend. Its upstream passes the field on, so a client can say it. */
export interface BackendScript {
  /** Before the first byte. */
  readonly delayMs?: number;
  /** Breaks the connection instead of answering, for one call in so many. */
  readonly resetOneIn?: number;
  /** A stream of so many chunks, one token each. */
  readonly chunks?: number;
  readonly everyMs?: number;
  /** As much as the reader takes, in chunks of this many characters, until this many megabytes. */
  readonly flood?: { readonly characters: number; readonly megabytes: number; readonly everyMs?: number };
}

export interface BackendStats {
  readonly calls: number;
  readonly running: number;
  readonly mostRunning: number;
  readonly connections: number;
  /** Streams whose reader went away before their end. */
  readonly abandoned: number;
  readonly megabytesSent: number;
}

/** The usage of every answer: one token in, one out for a whole answer, one for each chunk of a stream. */
const PROMPT_TOKENS = 1;
const FLOOD_AT_ONCE = 64;

const stats = { calls: 0, running: 0, mostRunning: 0, connections: 0, abandoned: 0, bytes: 0 };
const utf8 = new TextEncoder();

interface Connection {
  input: Buffer;
  /** What the socket would not take yet. */
  unsent: Uint8Array;
  onDrain: (() => void) | undefined;
  /** Ends the answer under way, when the reader goes away. */
  onGone: (() => void) | undefined;
}

function receive(socket: Socket<Connection>, bytes: Uint8Array): void {
  const connection = socket.data;
  connection.input =
    connection.input.length === 0 ? Buffer.from(bytes) : Buffer.concat([connection.input, bytes]);
  const headEnd = connection.input.indexOf('\r\n\r\n');
  if (headEnd === -1) return;
  const head = connection.input.toString('latin1', 0, headEnd);
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const end = headEnd + 4 + length;
  if (connection.input.length < end) return;
  const text = connection.input.toString('utf8', headEnd + 4, end);
  connection.input = connection.input.subarray(end);
  if (head.startsWith('GET /stats')) return sendJson(socket, statsNow());
  answer(socket, JSON.parse(text === '' ? '{}' : text) as RequestBody, head.split(' ', 2)[1] ?? '');
}

interface RequestBody {
  readonly stream?: boolean;
  readonly n?: number;
  readonly script?: BackendScript;
}

function answer(socket: Socket<Connection>, body: RequestBody, path: string): void {
  stats.calls++;
  stats.running++;
  stats.mostRunning = Math.max(stats.mostRunning, stats.running);
  let over = false;
  const finish = (abandoned: boolean): void => {
    if (over) return;
    over = true;
    socket.data.onGone = undefined;
    socket.data.onDrain = undefined;
    stats.running--;
    if (abandoned) stats.abandoned++;
  };
  socket.data.onGone = () => finish(true);
  const begin = (): void => {
    if (over) return;
    const { resetOneIn } = body.script ?? {};
    if (resetOneIn !== undefined && stats.calls % resetOneIn === 0) {
      finish(false);
      socket.terminate();
      return;
    }
    if (body.script?.flood) return flood(socket, body.script.flood, () => finish(false));
    if (body.stream === true)
      return drip(
        socket,
        body.script ?? {},
        () => finish(false),
        () => over,
      );
    sendJson(socket, path.includes('images') ? imageAnswer(body.n ?? 1) : chatAnswer());
    finish(false);
  };
  const delayMs = body.script?.delayMs ?? 0;
  if (delayMs > 0) setTimeout(begin, delayMs);
  else begin();
}

/** Chunks at a pace. */
function drip(
  socket: Socket<Connection>,
  { chunks = 1, everyMs = 0 }: BackendScript,
  finish: () => void,
  isOver: () => boolean,
): void {
  write(socket, STREAM_HEAD);
  let sent = 0;
  const step = (): void => {
    if (isOver()) return;
    if (sent === chunks) {
      write(socket, streamEnd(chunks));
      return finish();
    }
    sent++;
    write(socket, piece('x '));
    if (everyMs > 0) setTimeout(step, everyMs);
    else queueMicrotask(step);
  };
  step();
}

/** As fast as the reader takes it, and not a byte faster; or at a pace, while the reader takes it. */
function flood(
  socket: Socket<Connection>,
  { characters, megabytes, everyMs }: NonNullable<BackendScript['flood']>,
  finish: () => void,
): void {
  write(socket, STREAM_HEAD);
  const burst = piece('streaming '.repeat(characters / 10)).repeat(FLOOD_AT_ONCE);
  let left = Math.ceil((megabytes * 1_048_576) / burst.length);
  const step = (): void => {
    // Gone, and its answer counted as over.
    if (!socket.data.onGone) return;
    while (socket.data.unsent.length === 0) {
      if (left-- === 0) {
        write(socket, streamEnd(1));
        return finish();
      }
      write(socket, burst);
      if (everyMs !== undefined) break;
    }
    if (everyMs !== undefined) setTimeout(step, everyMs);
  };
  if (everyMs === undefined) socket.data.onDrain = step;
  step();
}

function write(socket: Socket<Connection>, text: string): void {
  const connection = socket.data;
  const bytes = utf8.encode(text);
  connection.unsent = connection.unsent.length === 0 ? bytes : Buffer.concat([connection.unsent, bytes]);
  flush(socket);
}

function flush(socket: Socket<Connection>): void {
  const connection = socket.data;
  if (connection.unsent.length === 0) return;
  const taken = Math.max(0, socket.write(connection.unsent));
  stats.bytes += taken;
  connection.unsent = connection.unsent.subarray(taken);
}

/** The stream is one chunked body; each event is a chunk of its own. */
const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';

function framed(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

function event(value: object): string {
  return `data: ${JSON.stringify({ id: 'raw', object: 'chat.completion.chunk', created: 1, model: 'raw', ...value })}\n\n`;
}

function piece(content: string): string {
  return framed(event({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }));
}

function streamEnd(tokens: number): string {
  const end = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  return `${framed(`${end}${event({ choices: [], usage: usageOf(tokens) })}data: [DONE]\n\n`)}0\r\n\r\n`;
}

function sendJson(socket: Socket<Connection>, value: unknown): void {
  const text = JSON.stringify(value);
  write(
    socket,
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}

function chatAnswer() {
  const choices = [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }];
  return { id: 'raw', object: 'chat.completion', created: 1, model: 'raw', choices, usage: usageOf(1) };
}

function usageOf(tokens: number) {
  return { prompt_tokens: PROMPT_TOKENS, completion_tokens: tokens, total_tokens: PROMPT_TOKENS + tokens };
}

/** The smallest PNG there is. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

function imageAnswer(count: number) {
  return { created: 1, data: Array.from({ length: count }, () => ({ b64_json: PIXEL })) };
}

function statsNow(): BackendStats {
  const { bytes, ...counts } = stats;
  return { ...counts, connections: counts.connections - 1, megabytesSent: Math.round(bytes / 1_048_576) };
}

if (import.meta.main) {
  const server = Bun.listen<Connection>({
    hostname: '127.0.0.1',
    port: 0,
    data: { input: Buffer.alloc(0), unsent: new Uint8Array(), onDrain: undefined, onGone: undefined },
    socket: {
      open(socket) {
        socket.data = {
          input: Buffer.alloc(0),
          unsent: new Uint8Array(),
          onDrain: undefined,
          onGone: undefined,
        };
        stats.connections++;
      },
      data: (socket, bytes) => receive(socket, bytes),
      drain(socket) {
        flush(socket);
        if (socket.data.unsent.length === 0) socket.data.onDrain?.();
      },
      close(socket) {
        stats.connections--;
        socket.data.onGone?.();
      },
      error: (socket) => void socket.end(),
    },
  });
  console.log(server.port);
  for await (const _ of Bun.stdin.stream());
  process.exit(0);
}
