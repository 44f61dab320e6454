import { describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectPlain, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { excessConnections, guardConnections } from './idle-connections.ts';
import { TlsFront } from './tls-front.ts';
import { readTls } from './tls.ts';

const connections = (network: string, count: number, idleMs = 0) =>
  Array.from({ length: count }, (_, index) => ({
    file: index,
    network,
    port: 40_000 + index,
    wasSentTo: false,
    idleMs: idleMs + index,
  }));

const limits = { ofAddress: 10, inAll: 25 };

test('an address keeps as many idle connections as it may have, and those of others are not counted', () => {
  const idle = [...connections('192.0.2.1', 1_000), ...connections('192.0.2.2', 10)];
  const closed = excessConnections(idle, limits);
  expect(closed).toHaveLength(990);
  expect(new Set(closed.map(({ network }) => network))).toEqual(new Set(['192.0.2.1']));
});

test('all addresses together keep no more than there may be in all', () => {
  const idle = Array.from({ length: 100 }, (_, index) => connections(`192.0.2.${index}`, 2)).flat();
  expect(excessConnections(idle, limits)).toHaveLength(175);
});

test('those that were idle for the longest time are closed first', () => {
  const closed = excessConnections(connections('192.0.2.1', 12), limits);
  expect(closed.map(({ idleMs }) => idleMs)).toEqual([10, 11]);
});

const REQUEST = 'HTTP/1.1\r\nhost: gate\r\n';

/** Without TLS, and behind what ends it. */
const TRANSPORTS = {
  'plain HTTP': async (innerPort: number) => ({
    front: undefined,
    connect: () => connectPlain(innerPort, '127.0.0.1'),
    stop: () => undefined,
  }),
  'our own TLS': async (innerPort: number) => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-idle-'));
    const tls = (await readTls({ kind: 'self-signed' }, folder))!;
    const front = await TlsFront.listen({ host: '127.0.0.1', port: 0, shared: false, tls, innerPort });
    return {
      front,
      connect: () =>
        connectTls({ host: '127.0.0.1', port: front.port, servername: 'localhost', ca: tls.cert }),
      stop: () => {
        front.stop();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

/** Resolves with what it hears until it has heard this. */
async function hear(socket: Socket, wanted: string): Promise<void> {
  let heard = '';
  while (!heard.includes(wanted)) heard += String((await once(socket, 'data'))[0]);
}

/** Sends one more byte of a header ten times a second. Resolves when it is cut off. */
async function dribble(socket: Socket): Promise<void> {
  socket.on('error', () => undefined);
  socket.write(`GET / ${REQUEST}x-long: `);
  const timer = setInterval(() => socket.write('x'), 100);
  // `once` of node:events would fail with the connection.
  await new Promise((resolve) => socket.once('close', resolve));
  clearInterval(timer);
}

// Where there is no Linux, such clients are not told from others.
describe.skipIf(process.platform !== 'linux').each(Object.entries(TRANSPORTS))('over %s', (_, transport) => {
  test('who sends a request byte by byte is cut off; who waits for an answer is not, nor who has had one', async () => {
    const gate = Promise.withResolvers<void>();
    const waiting = new Set<number>();
    // Unlike Bun's, it closes nothing by itself.
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        const text = bytes.toString();
        if (text.startsWith('GET /slow')) {
          waiting.add(socket.remotePort ?? 0);
          void gate.promise.then(() => socket.write('later'));
        } else if (text.endsWith('\r\n\r\n')) socket.write('at once');
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    // A TCP server's address is an object with a port.
    const { port } = server.address() as AddressInfo;
    const { front, connect, stop } = await transport(port);
    const guard = guardConnections({ port, front, portsInUse: () => waiting, firstRequestMs: 100 });
    const [kept, slow] = [connect(), connect()];
    kept.write(`GET / ${REQUEST}\r\n`);
    await hear(kept, 'at once');
    slow.write(`GET /slow ${REQUEST}\r\n`);
    await dribble(connect());
    gate.resolve();
    await hear(slow, 'later');
    kept.write(`GET / ${REQUEST}\r\n`);
    await hear(kept, 'at once');
    guard.stop();
    for (const socket of [kept, slow]) socket.destroy();
    stop();
    server.close();
  });
});
