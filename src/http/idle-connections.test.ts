import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { closeIdleConnections, excessConnections } from './idle-connections.ts';

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

const REQUEST = 'GET / HTTP/1.1\r\nhost: gate\r\n';

/** A client that sends one more byte of a header ten times a second. */
function dribble(port: number) {
  const socket = connect(port, '127.0.0.1');
  const closed = Promise.withResolvers<void>();
  socket.on('error', () => undefined);
  socket.on('close', () => closed.resolve());
  socket.write(`${REQUEST}x-long: `);
  const timer = setInterval(() => socket.write('x'), 100);
  return { closed: closed.promise.then(() => clearInterval(timer)) };
}

// Where there is no Linux, such clients are not told from others.
test.skipIf(process.platform !== 'linux')(
  'who sends a request byte by byte is cut off; who waits for an answer is not, nor who has had one',
  async () => {
    const gate = Promise.withResolvers<void>();
    const waiting = new Set<Request>();
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      async fetch(request) {
        if (!request.url.endsWith('/slow')) return new Response('at once');
        waiting.add(request);
        await gate.promise;
        return new Response('later');
      },
    });
    const portsInUse = () =>
      new Set(
        [...waiting].map((request) => server.requestIP(request)?.port).filter((port) => port !== undefined),
      );
    const guard = closeIdleConnections({ serverPort: server.port!, portsInUse, firstRequestMs: 100 });
    const kept = connect(server.port!, '127.0.0.1');
    let heard = '';
    kept.on('data', (bytes) => (heard += bytes.toString()));
    kept.write(`${REQUEST}\r\n`);
    const slow = fetch(`${server.url}slow`, { keepalive: false });
    const dribbler = dribble(server.port!);
    await dribbler.closed;
    gate.resolve();
    expect(await (await slow).text()).toBe('later');
    heard = '';
    const again = new Promise((resolve) => kept.once('data', resolve));
    kept.write(`${REQUEST}\r\n`);
    await again;
    expect(heard).toContain('at once');
    guard.stop();
    kept.destroy();
    await server.stop(true);
  },
);
