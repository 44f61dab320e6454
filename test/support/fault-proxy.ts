import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy to a database that a test can freeze: bytes are accepted and not forwarded, as with a broken router. */
export interface FaultProxy {
  readonly port: number;
  /** Stops forwarding without closing any connection. */
  freeze(): void;
  /** Forwards what was held back. */
  thaw(): void;
  close(): Promise<void>;
}

/** `toServer` may change what clients send, without changing its length. `port` is that of a proxy that was closed. */
export async function startFaultProxy(
  targetPort: number,
  toServer: (bytes: Buffer) => Buffer = (bytes) => bytes,
  port = 0,
): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    for (const [socket, other, changed] of [
      [client, target, toServer],
      [target, client, (bytes: Buffer) => bytes],
    ] as const) {
      sockets.add(socket);
      socket.on('data', (bytes: Buffer) => void other.write(changed(bytes)));
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      if (frozen) socket.pause();
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    // A TCP server's address is an object; only a pipe's is a string.
    port: (server.address() as AddressInfo).port,
    freeze() {
      frozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw() {
      frozen = false;
      for (const socket of sockets) socket.resume();
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
