import type { Socket } from 'bun';

/** A relay for TCP that counts what passes, in both directions: the payload, without the headers of packets. */
export interface ByteCounter {
  readonly port: number;
  /** What came from whoever connected, and what went back. */
  readonly bytes: { forth: number; back: number };
  stop(): void;
}

interface End {
  other: Socket<End> | undefined;
  /** What the other side would not take yet. */
  unsent: Buffer[];
}

export function countBytes(targetPort: number): ByteCounter {
  const bytes = { forth: 0, back: 0 };
  const relaying = (direction: keyof typeof bytes) => ({
    data(socket: Socket<End>, chunk: Buffer) {
      bytes[direction] += chunk.length;
      const { other } = socket.data;
      // Until the connection on the other side is there, what comes waits here.
      if (other) send(other, chunk);
      else socket.data.unsent.push(Buffer.from(chunk));
    },
    drain: flush,
    close: (socket: Socket<End>) => void socket.data.other?.end(),
    error: (socket: Socket<End>) => socket.data.other?.terminate(),
  });
  const listener = Bun.listen<End>({
    hostname: '127.0.0.1',
    port: 0,
    data: { other: undefined, unsent: [] },
    socket: {
      ...relaying('forth'),
      open(socket) {
        socket.data = { other: undefined, unsent: [] };
        void Bun.connect<End>({
          hostname: '127.0.0.1',
          port: targetPort,
          data: { other: socket, unsent: [] },
          socket: {
            ...relaying('back'),
            open(target) {
              const waiting = socket.data.unsent.splice(0);
              socket.data.other = target;
              for (const chunk of waiting) send(target, chunk);
            },
          },
        }).catch(() => socket.terminate());
      },
    },
  });
  return { port: listener.port, bytes, stop: () => listener.stop(true) };
}

function send(to: Socket<End>, chunk: Buffer): void {
  to.data.unsent.push(Buffer.from(chunk));
  flush(to);
}

function flush(socket: Socket<End>): void {
  const { unsent } = socket.data;
  for (let first = unsent[0]; first; first = unsent[0]) {
    const taken = Math.max(0, socket.write(first));
    if (taken < first.length) {
      unsent[0] = first.subarray(taken);
      return;
    }
    unsent.shift();
  }
}
