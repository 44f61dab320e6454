import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { AttackedServer, BROWSER, firstCustomer, headOf } from '../support/attacked-server.ts';
import { eventually } from '../support/node-process.ts';
import { rawExchange } from '../support/raw-client.ts';

/** What clients do wrong at the console is theirs: it is refused or forgotten, and no operator is woken for it. */

const UPLOADS = 20;
const ROUTES = ['/api/auth/sign-in/email', '/api/auth/sign-up/email', '/api/console/playground/quote'];

describe('at the console', () => {
  let server: AttackedServer;
  let headers: Record<string, string>;

  beforeAll(async () => {
    server = await AttackedServer.start({});
    headers = { ...BROWSER, cookie: await firstCustomer(server.node) };
  }, 120_000);
  afterAll(async () => {
    await server.stop();
  });

  test.each(ROUTES)('a client that leaves %s in the middle of its body is no error', async (path) => {
    const before = server.node.log.length;
    for (const bytes of [60_000, undefined]) {
      const head = headOf(path, headers, bytes);
      const begun = bytes === undefined ? `1000\r\n${' '.repeat(100)}` : ' '.repeat(100);
      const clients = Array.from({ length: UPLOADS }, () => server.send(head, begun));
      await Promise.all(clients.map(({ socket }) => once(socket, 'connect')));
      // What was sent before this was asked has been read when it is answered.
      for (let turn = 0; turn < 3; turn++) expect(await server.node.probe('/healthz')).toBe(200);
      expect(clients.map(({ answer }) => answer)).toEqual(clients.map(() => ''));
      const most = server.node.openSockets();
      for (const { socket } of clients) socket.destroy();
      await eventually('all of them are gone', () => server.node.openSockets() <= most - UPLOADS);
    }
    expect(await server.victimAnswer()).toBe('200');
    const told = server.node.log.slice(before).split('\n');
    expect(told.filter((line) => isComplaint(line))).toEqual([]);
  });

  test.each(['/', '/api/auth/sign-in/email', '/api/console/session', '/v1/models'])(
    'two Host headers at %s are refused',
    async (path) => {
      const method = path.includes('sign-in') ? 'POST' : 'GET';
      const request = `${method} ${path} HTTP/1.1\r\nhost: gate\r\nhost: other\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
      const { statuses } = await rawExchange(server.node.url, [request]);
      expect(statuses).toEqual([400]);
    },
  );
});

/** That the machine had no time for the server is not about its clients. */
function isComplaint(line: string): boolean {
  return /"level":"(?:error|warn)"|internal/.test(line) && !line.includes('"event_loop_blocked"');
}
