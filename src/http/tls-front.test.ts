import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectPlain, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { TlsFront } from './tls-front.ts';
import { readTls, type TlsPair } from './tls.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-front-'));
let tls: TlsPair;
const cleanUps: (() => unknown)[] = [];

beforeAll(async () => {
  tls = (await readTls({ kind: 'self-signed' }, folder))!;
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function frontOf(innerPort: number, handshakeTimeoutMs?: number): Promise<TlsFront> {
  const front = await TlsFront.listen({
    host: '127.0.0.1',
    port: 0,
    shared: false,
    tls,
    innerPort,
    handshakeTimeoutMs,
  });
  cleanUps.push(() => front.stop());
  return front;
}

async function client(front: TlsFront): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: front.port, servername: 'localhost', ca: tls.cert });
  cleanUps.push(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

/** A server behind that does what it is told with each connection. */
async function innerServer(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer(serve);
  cleanUps.push(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A TCP server's address is an object with a port.
  return (server.address() as AddressInfo).port;
}

test('the server behind knows the address and the port of each client, for as long as it is connected', async () => {
  const seen: number[] = [];
  const inner = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request, server) {
      const port = server.requestIP(request)?.port ?? 0;
      seen.push(port);
      return Response.json(front.peerOf(port) ?? {});
    },
  });
  cleanUps.push(() => inner.stop(true));
  const front = await frontOf(inner.port ?? 0);
  const socket = await client(front);
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  let answer = '';
  while (!answer.includes('}')) answer += String((await once(socket, 'data'))[0]);
  expect(answer).toContain(`{"address":"127.0.0.1","port":${socket.localPort}}`);
  socket.destroy();
  while (front.peerOf(seen[0] ?? 0) !== undefined) await Bun.sleep(5);
});

describe('a client that does not come to a request', () => {
  test('is cut off when its handshake does not end in time: silent, with half of a hello, or after the server’s', async () => {
    let reached = 0;
    const front = await frontOf(await innerServer(() => reached++), 100);
    const hello = await clientHello();
    for (const bytes of [hello.subarray(0, 0), hello.subarray(0, hello.length / 2), hello]) {
      const socket = connectPlain(front.port, '127.0.0.1');
      cleanUps.push(() => socket.destroy());
      socket.on('error', () => undefined);
      socket.resume();
      socket.write(bytes);
      // `once` of node:events would fail with the connection.
      await new Promise((resolve) => socket.once('close', resolve));
    }
    expect(reached).toBe(0);
  });

  test('is cut off when the server behind has ended its connection, although it does not close its own', async () => {
    const port = await innerServer((socket) => socket.end('the last bytes'));
    const front = await frontOf(port);
    const relay = await halfOpenRelay(front.port);
    const socket = connect({ host: '127.0.0.1', port: relay.port, servername: 'localhost', ca: tls.cert });
    cleanUps.push(() => socket.destroy());
    let received = '';
    socket.on('data', (bytes: Buffer) => (received += bytes.toString()));
    await once(socket, 'end');
    await relay.closed;
    expect(received).toBe('the last bytes');
  });
});

test('a client that reads nothing stops the server behind, and nothing piles up between them', async () => {
  const megabyte = Buffer.alloc(1_048_576, 'x');
  const gone = Promise.withResolvers<void>();
  let sent = 0;
  const flood = (socket: Socket): void => {
    while (socket.write(megabyte)) sent++;
    sent++;
  };
  const port = await innerServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('close', () => gone.resolve());
    socket.on('drain', () => flood(socket));
    socket.on('data', (bytes) => (bytes.toString() === 'flood' ? flood(socket) : socket.write('pong')));
  });
  const front = await frontOf(port);
  const stalled = await client(front);
  stalled.pause();
  stalled.write('flood');
  // In the turns that these take, whatever could flow would flow.
  const other = await client(front);
  for (let turn = 0; turn < 500; turn++) {
    other.write('ping');
    await once(other, 'data');
  }
  expect(sent).toBeLessThan(32);
  stalled.destroy();
  await gone.promise;
});

/** Passes on what is sent to it, and after the end of the other side goes on as if nothing had happened. */
async function halfOpenRelay(target: number): Promise<{ port: number; closed: Promise<void> }> {
  const closed = Promise.withResolvers<void>();
  const port = await innerServer((near) => {
    const far = connectPlain({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    let writing: Timer | undefined;
    near.on('error', () => undefined).on('data', (bytes) => far.write(bytes));
    far.on('error', () => undefined).on('data', (bytes) => near.write(bytes));
    far.on('end', () => {
      near.end();
      writing = setInterval(() => far.write('still there'), 20);
    });
    far.on('close', () => {
      clearInterval(writing);
      closed.resolve();
    });
    cleanUps.push(() => far.destroy());
  });
  return { port, closed: closed.promise };
}

/** What a client sends first, taken from one that connects to a server without TLS. */
async function clientHello(): Promise<Buffer> {
  const first = Promise.withResolvers<Buffer>();
  const port = await innerServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (bytes: Buffer) => first.resolve(bytes));
  });
  const socket = connect({ host: '127.0.0.1', port, servername: 'localhost' });
  socket.on('error', () => undefined);
  cleanUps.push(() => socket.destroy());
  return await first.promise;
}
