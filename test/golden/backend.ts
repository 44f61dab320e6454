import type { Socket, TCPSocketListener } from 'bun';
import { parseMessage, type Message } from './message.ts';

/** What a backend answers to one call. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /**
   * What follows the body. `end` ends the answer properly. The others happen when the case says so: the connection
   * breaks, or the rest never comes, or (`held`) the whole answer is held back until then.
   */
  readonly after?: 'end' | 'cut' | 'silence' | 'held';
}

interface Connection {
  input: Buffer;
  /** What the socket has not accepted yet. */
  unsent: Buffer;
}

/** A backend on a raw socket: it records every byte that it receives, and can break off anywhere. */
export class GoldenBackend {
  #listener: TCPSocketListener<Connection>;
  #replies: Reply[] = [];
  #waiting: (() => void)[] = [];
  #pending: (() => void)[] = [];
  calls: { readonly request: Message; readonly reply: Reply }[] = [];

  constructor() {
    this.#listener = Bun.listen<Connection>({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        open: (socket) => void (socket.data = { input: Buffer.alloc(0), unsent: Buffer.alloc(0) }),
        data: (socket, bytes) => this.#receive(socket, bytes),
        drain: (socket) => send(socket, Buffer.alloc(0)),
      },
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#listener.port}`;
  }

  /** What to answer from now on, call by call; the last reply is repeated. */
  script(replies: readonly Reply[]): void {
    this.#replies = [...replies];
    this.calls = [];
    this.#pending = [];
  }

  /** Resolves when this many calls have arrived. */
  async called(count: number): Promise<void> {
    while (this.calls.length < count) await new Promise<void>((wake) => this.#waiting.push(wake));
  }

  /** Releases the replies that are held back. */
  release(): void {
    for (const act of this.#pending.splice(0)) act();
  }

  stop(): void {
    this.#listener.stop(true);
  }

  #receive(socket: Socket<Connection>, bytes: Uint8Array): void {
    socket.data.input = Buffer.concat([socket.data.input, bytes]);
    for (;;) {
      const parsed = parseMessage(socket.data.input, { isRequest: true, isClosed: false });
      if (!parsed) return;
      socket.data.input = socket.data.input.subarray(parsed.size);
      this.#answer(socket, parsed.message);
    }
  }

  #answer(socket: Socket<Connection>, request: Message): void {
    const reply = (this.#replies.length > 1 ? this.#replies.shift() : this.#replies[0]) ?? NOT_SCRIPTED;
    this.calls.push({ request, reply });
    const bytes = encode(reply);
    switch (reply.after ?? 'end') {
      case 'held':
        this.#pending.push(() => send(socket, bytes));
        break;
      case 'cut':
        send(socket, bytes);
        this.#pending.push(() => socket.terminate());
        break;
      case 'silence':
      case 'end':
        send(socket, bytes);
    }
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

const NOT_SCRIPTED: Reply = { status: 500, body: 'no call was expected' };

function send(socket: Socket<Connection>, bytes: Buffer): void {
  const all = Buffer.concat([socket.data.unsent, bytes]);
  const taken = all.length === 0 ? 0 : Math.max(0, socket.write(all));
  socket.data.unsent = all.subarray(taken);
}

/** The head of the reply, with a length that is true, or that is never reached. */
function encode(reply: Reply): Buffer {
  const body = Buffer.from(reply.body);
  const { status = 200, headers = {} } = reply;
  const isWhole = reply.after === undefined || reply.after === 'end' || reply.after === 'held';
  const length = isWhole ? `content-length: ${body.length}` : 'transfer-encoding: chunked';
  const head = [`HTTP/1.1 ${status} ${status === 200 ? 'OK' : 'Error'}`, ...headerLines(headers), length];
  // A chunk and no last one: the answer stays unfinished.
  const chunk = body.length === 0 ? [] : [`${body.length.toString(16)}\r\n`, body, '\r\n'];
  const sent = isWhole ? [body] : chunk;
  return Buffer.concat([`${head.join('\r\n')}\r\n\r\n`, ...sent].map((part) => Buffer.from(part)));
}

function headerLines(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
}
