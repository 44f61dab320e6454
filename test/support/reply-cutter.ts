import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';

/** A proxy to the database that can drop replies: the database has acted, but the client does not learn of it. */
export interface ReplyCutter {
  readonly port: number;
  /** The next reply to arrive is thrown away; its connection is cut, or falls silent. Resolves when that has happened. */
  loseNextReply(how?: 'cut' | 'silent'): Promise<void>;
  /** While closed, connections are cut and new ones refused. */
  setClosed(closed: boolean): void;
  close(): Promise<void>;
}

export async function startReplyCutter(databasePort: number): Promise<ReplyCutter> {
  const sockets = new Set<Socket>();
  let next: { readonly how: 'cut' | 'silent'; readonly done: () => void } | undefined;
  let closed = false;
  const server = createServer((client) => {
    if (closed) {
      client.destroy();
      return;
    }
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
    let silent = false;
    database.on('data', (reply) => {
      const loss = next;
      next = undefined;
      silent ||= loss?.how === 'silent';
      if (loss?.how === 'cut') cut();
      else if (!silent) client.write(reply);
      loss?.done();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // A TCP server's address is an object; only a pipe's is a string.
    port: (server.address() as AddressInfo).port,
    loseNextReply: (how = 'cut') => new Promise((done) => (next = { how, done })),
    setClosed(nowClosed) {
      closed = nowClosed;
      if (closed) for (const socket of sockets) socket.destroy();
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
