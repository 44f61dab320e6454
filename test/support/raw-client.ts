/** A raw client: sends bytes as they are and returns what came back, until the server closes or stops sending. */
export interface RawAnswer {
  readonly text: string;
  /** The status codes of all answers on the connection, in order. */
  readonly statuses: readonly number[];
  readonly closed: boolean;
}

export interface RawOptions {
  /** Bytes in parts, with this pause between them. */
  readonly pauseMs?: number;
  /** How long to wait for the first byte of an answer. */
  readonly firstMs?: number;
  /** How long to wait for more after the last byte. */
  readonly quietMs?: number;
  /** How long to wait at most. */
  readonly mostMs?: number;
  /** Close our side after sending. */
  readonly leave?: boolean;
}

export async function rawExchange(
  url: string,
  parts: readonly (string | Uint8Array)[],
  { pauseMs = 0, firstMs = 5_000, quietMs = 200, mostMs = 20_000, leave = false }: RawOptions = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const received: Buffer[] = [];
  const closed = Promise.withResolvers<void>();
  let isClosed = false;
  let lastAt = performance.now();
  const end = (): void => {
    isClosed = true;
    closed.resolve();
  };
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_, bytes) {
        lastAt = performance.now();
        received.push(Buffer.from(bytes));
      },
      close: end,
      error: end,
    },
  });
  for (const part of parts) {
    // If the server closes while we send, the rest cannot be delivered.
    if (isClosed) break;
    await sendAll(socket, typeof part === 'string' ? Buffer.from(part, 'latin1') : part, () => isClosed);
    if (pauseMs > 0) await Bun.sleep(pauseMs);
  }
  if (leave) socket.end();
  const start = performance.now();
  lastAt = Math.max(lastAt, start);
  const deadlineFactor = (): number => (received.length === 0 ? firstMs : quietMs);
  while (!isClosed && performance.now() - lastAt < deadlineFactor() && performance.now() - start < mostMs) {
    await Promise.race([closed.promise, Bun.sleep(20)]);
  }
  const wasClosed = isClosed;
  socket.terminate();
  const text = Buffer.concat(received).toString('latin1');
  const statuses = [...text.matchAll(/(?:^|\n)HTTP\/1\.[01] (\d{3})/g)].map((match) => Number(match[1]));
  return { text, statuses, closed: wasClosed };
}

interface Writable {
  write(bytes: Uint8Array): number;
}

async function sendAll(socket: Writable, bytes: Uint8Array, isClosed: () => boolean): Promise<void> {
  for (let sent = 0; sent < bytes.length && !isClosed();) {
    const taken = socket.write(bytes.subarray(sent));
    if (taken < 0) return;
    sent += taken;
    if (sent < bytes.length) await Bun.sleep(1);
  }
}
