import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';

/** A way to the database on which a test can lose the database's next reply: it has acted, and nobody hears of it. */
export interface ReplyCutter {
  readonly port: number;
  /** The next reply to arrive is thrown away and its connection cut. Resolves when that has happened. */
  loseNextReply(): Promise<void>;
  close(): Promise<void>;
}

export async function startReplyCutter(databasePort: number): Promise<ReplyCutter> {
  const sockets = new Set<Socket>();
  let onCut: (() => void) | undefined;
  const server = createServer((client) => {
    const database = connect(databasePort, '127.0.0.1');
    const cut = (): void => {
      client.destroy();
      database.destroy();
    };
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        sockets.delete(socket);
        cut();
      });
    }
    client.pipe(database);
    database.on('data', (reply) => {
      if (!onCut) {
        client.write(reply);
        return;
      }
      onCut();
      onCut = undefined;
      cut();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // A TCP server's address is an object; only a pipe's is a string.
    port: (server.address() as AddressInfo).port,
    loseNextReply: () => new Promise((resolve) => (onCut = resolve)),
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
