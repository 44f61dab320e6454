import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy to a database that a test can freeze (bytes are accepted and not forwarded, as with a broken router), close or move far away. */
export interface FaultProxy {
  readonly port: number;
  /** Stops forwarding without closing any connection. */
  freeze(): void;
  /** Forwards what was held back. */
  thaw(): void;
  /** Hangs up on new connections and leaves the others alone, as a database does that grants no more. */
  refuseNew(isRefusing: boolean): void;
  /** Accepts new connections and forwards nothing of them; the others go on. */
  holdNew(): void;
  /** From now on every round trip takes this much longer. */
  delay(roundTripMs: number): void;
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
  let refusing = false;
  let holding = false;
  let delayMs = 0;
  const server = createServer((client) => {
    if (refusing) {
      client.destroy();
      return;
    }
    const target = connect(targetPort, '127.0.0.1');
    for (const [socket, other, changed] of [
      [client, target, toServer],
      [target, client, (bytes: Buffer) => bytes],
    ] as const) {
      sockets.add(socket);
      socket.on('data', (bytes: Buffer) => {
        const forward = (): void => void (other.destroyed || other.write(changed(bytes)));
        // Timers of one length end in the order in which they began.
        if (delayMs > 0) setTimeout(forward, delayMs);
        else forward();
      });
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      if (frozen || holding) socket.pause();
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
    refuseNew(isRefusing) {
      refusing = isRefusing;
    },
    holdNew() {
      holding = true;
    },
    delay(roundTripMs) {
      delayMs = roundTripMs / 2;
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
