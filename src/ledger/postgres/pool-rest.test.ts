import { afterEach, beforeEach, expect, spyOn, test, type Mock } from 'bun:test';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { makeLog } from '../../std/log.ts';
import { LedgerPool } from './pool.ts';

/** A database that cannot be reached: how often it is tried, and what is said about it. The test owns the clock. */

let server: Server;
let pool: LedgerPool;
let clock: Mock<typeof performance.now>;
let nowMs: number;
let connections: number;
let events: string[];

beforeEach(async () => {
  nowMs = 1_000;
  connections = 0;
  events = [];
  // It hangs up on everybody, as a port behind a dead server does.
  server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const log = makeLog((line) => events.push((JSON.parse(line) as { event: string }).event));
  pool = new LedgerPool({ url: `postgres://nobody:x@127.0.0.1:${port}/none` }, log, 4, 20);
  clock = spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(async () => {
  clock.mockRestore();
  await pool.close();
  server.close();
});

const call = () => pool.call({ name: 'one', text: 'SELECT 1' }, []).catch((error: unknown) => error);

test('after a failed attempt to connect the next calls fail at once, for a tenth of a second', async () => {
  expect(await call()).toMatchObject({ name: 'CallFailed', outcome: 'not_sent' });
  expect(connections).toBe(1);
  nowMs += 99;
  for (let times = 0; times < 3; times++)
    expect(await call()).toMatchObject({
      outcome: 'not_sent',
      message: 'the database was away a moment ago',
    });
  expect(connections).toBe(1);
  nowMs += 1;
  await call();
  expect(connections).toBe(2);
  expect(events).toEqual(['ledger_unavailable']);
});
