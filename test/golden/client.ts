import { parseMessage, partOf, type Message } from './message.ts';

export interface PendingAnswer {
  /** Resolves with the answer, whole or cut. */
  readonly answer: Promise<Message>;
  /** Resolves when the body so far contains this text. */
  seen(words: string): Promise<void>;
  /** Closes the connection without waiting for the rest. */
  leave(): void;
}

/** Sends the bytes of one request on a separate connection. */
export async function sendRequest(url: string, request: Buffer): Promise<PendingAnswer> {
  const { hostname, port } = new URL(url);
  const withoutBody = request.subarray(0, 5).toString('latin1') === 'HEAD ';
  const answer = Promise.withResolvers<Message>();
  let received = Buffer.alloc(0);
  let waiting: { readonly words: string; readonly wake: () => void }[] = [];
  const read = (isClosed: boolean): void => {
    const parsed = parseMessage(received, { isRequest: false, isClosed, withoutBody });
    if (parsed) answer.resolve(parsed.message);
    else if (isClosed) answer.resolve({ start: '(no answer)', headers: [], body: received, isCut: true });
    const text = bodySoFar(received);
    for (const one of waiting.filter(({ words }) => text.includes(words))) one.wake();
    waiting = waiting.filter(({ words }) => !text.includes(words));
    if (parsed && !isClosed) socket.end();
  };
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data: (_, bytes) => {
        received = Buffer.concat([received, bytes]);
        read(false);
      },
      close: () => read(true),
      error: () => read(true),
    },
  });
  // The requests of the corpus are small enough for one write.
  const sent = socket.write(request);
  if (sent !== request.length) throw new Error(`only ${sent} of ${request.length} bytes were taken`);
  return {
    answer: answer.promise,
    seen: (words) =>
      new Promise((wake) => {
        if (bodySoFar(received).includes(words)) wake();
        else waiting.push({ words, wake });
      }),
    leave: () => socket.terminate(),
  };
}

function bodySoFar(received: Buffer): string {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return '';
  const isChunked = /\r\ntransfer-encoding: chunked/i.test(received.toString('latin1', 0, headEnd));
  const headers = isChunked ? ([['transfer-encoding', 'chunked']] as const) : [];
  return partOf(received.subarray(headEnd + 4), headers).toString();
}
