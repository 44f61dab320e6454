import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { attemptsOf } from '../../src/ledger/receipt.ts';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { SocketBackend } from '../support/socket-backend.ts';

/** A backend that may have done its work is not called a second time for the same request: it would bill both. */

const HEAD = 'HTTP/1.1 200 OK\r\n';
const JSON_HEAD = `${HEAD}content-type: application/json\r\n`;
const STREAM_HEAD = `${HEAD}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n`;
const NOTHING_THERE = 'https://nobody.invalid/gone.png';

let backend: SocketBackend;
let gateway: Gateway;
let account: TestAccount;

beforeEach(async () => {
  backend = new SocketBackend((socket) => socket.destroy());
  gateway = await Gateway.start({ yaml: catalogFor([await backend.start()]) });
  account = await gateway.account('10');
});
afterEach(async () => {
  await gateway.settled(account);
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
});

const chat = (stream: boolean) => () => gateway.chat(account.token, { stream });
const image = () => gateway.image(account.token, { n: 1 });
const linkAnswer = JSON.stringify({ data: [{ url: NOTHING_THERE }] });

test.each<[string, (socket: Socket) => void, () => Promise<Response>]>([
  ['the connection is reset before a whole answer', (socket) => socket.resetAndDestroy(), chat(false)],
  ['the connection is closed before a whole answer', (socket) => socket.destroy(), chat(false)],
  [
    'a whole answer breaks off',
    (socket) => socket.end(`${JSON_HEAD}content-length: 500\r\n\r\n{"id":`),
    chat(false),
  ],
  ['the connection is reset before a stream', (socket) => socket.resetAndDestroy(), chat(true)],
  ['a stream ends before its first event', (socket) => socket.end(STREAM_HEAD), chat(true)],
  ['the connection is reset before an image', (socket) => socket.resetAndDestroy(), image],
  [
    'the link to an image leads nowhere',
    (socket) => socket.end(`${JSON_HEAD}content-length: ${linkAnswer.length}\r\n\r\n${linkAnswer}`),
    image,
  ],
])('a lone backend is called once when %s', async (_, behaviour, ask) => {
  backend.answer = behaviour;
  const response = await ask();
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { code: 'upstream_error' } });
  expect(backend.calls).toBe(1);
});

test('a lone backend that refuses connections is tried again, since it cannot have seen the request', async () => {
  await backend.stop();
  const response = await chat(false)();
  expect(response.status).toBe(500);
  const [request] = await gateway.requests(account);
  expect(attemptsOf(request!).map(({ reason }) => reason)).toEqual(['connect', 'connect']);
});
