import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { readTls } from '../../src/http/tls.ts';
import { catalogFor } from '../support/gateway.ts';
import { BackendProcess, eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';

/** Clients that do their worst with a server that serves HTTPS itself. */

const MAX_FILES = 256;
/** More than there are files. */
const HALF_HANDSHAKES = 400;
/** A finished one takes three files: its own, and both ends of the connection behind it. */
const IDLE_CLIENTS = 120;
const ANSWER_MS = 10_000;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-tls-hostile-'));
const cleanUps: (() => void)[] = [];
let ca: string;
let backend: BackendProcess;
let node: NodeProcess;
let token: string;

beforeAll(async () => {
  ca = (await readTls({ kind: 'self-signed' }, folder))!.cert;
  backend = await BackendProcess.start();
  const files = `cert: ${join(folder, 'tls-cert.pem')}, key: ${join(folder, 'tls-key.pem')}`;
  const yaml = `${catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' })}tls: { ${files} }\n`;
  node = await NodeProcess.start({ yaml, maxFiles: MAX_FILES });
  const operator = await Operator.open(node.env);
  ({ token } = await operator.account('5'));
  await operator.close();
});
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});
afterAll(async () => {
  await node.stop();
  await backend.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** On a connection of its own. */
async function isServed(): Promise<boolean> {
  try {
    const response = await fetch(`${node.url}/v1/chat/completions`, {
      method: 'POST',
      keepalive: false,
      signal: AbortSignal.timeout(ANSWER_MS),
      tls: { ca },
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'svc_chat/m',
        max_tokens: 10,
        messages: [{ role: 'user', content: 'hi' }],
      }),
    });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}

// Where there is no Linux, connections without a request are not told from others.
describe.skipIf(process.platform !== 'linux')('more connections of one address than there are files', () => {
  test('that stop in the middle of their handshake keep nobody out', async () => {
    const { port } = new URL(node.url);
    for (let opened = 0; opened < HALF_HANDSHAKES; opened++) {
      const socket = connectPlain(Number(port), '127.0.0.1');
      socket.on('error', () => undefined);
      // The first bytes of a record that never ends.
      socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
      cleanUps.push(() => socket.destroy());
    }
    await eventually('most of the files are taken', () => node.openSockets() > MAX_FILES / 2);
    await eventually('another client is served', isServed, 40_000);
    expect(node.alive).toBe(true);
  });

  test('that finish it and then send a byte now and then keep nobody out', async () => {
    const { port } = new URL(node.url);
    let cutOff = 0;
    const sockets = Array.from({ length: IDLE_CLIENTS }, () => {
      const socket = connect({ host: '127.0.0.1', port: Number(port), servername: 'localhost', ca });
      socket.on('error', () => undefined);
      socket.once('end', () => cutOff++);
      socket.write('GET /healthz HTTP/1.1\r\nhost: gate\r\nx-long: ');
      return socket;
    });
    const timer = setInterval(() => {
      for (const socket of sockets) if (!socket.destroyed) socket.write('x');
    }, 500);
    cleanUps.push(() => clearInterval(timer), ...sockets.map((socket) => () => void socket.destroy()));
    await eventually('some of them are cut off', () => cutOff > 0);
    await eventually('another client is served', isServed, 40_000);
    expect(node.alive).toBe(true);
  });
});

test('readers of a fast stream that read nothing pause its backend, and memory is bounded', async () => {
  const { port } = new URL(node.url);
  const before = node.rssMegabytes();
  const body = JSON.stringify({
    endpoint: 'svc_chat',
    model: 'm',
    stream: true,
    max_tokens: 100_000,
    messages: [{ role: 'user', content: 'hi' }],
    script: { flood: { characters: 200, megabytes: 200, everyMs: 1 } },
  });
  const head = [
    'POST /api/public/v1/chat/completions HTTP/1.1',
    'host: gate',
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ].join('\r\n');
  for (let reader = 0; reader < 5; reader++) {
    const socket = connect({ host: '127.0.0.1', port: Number(port), servername: 'localhost', ca });
    socket.on('error', () => undefined);
    socket.once('secureConnect', () => {
      socket.pause();
      socket.write(`${head}\r\n\r\n${body}`);
    });
    cleanUps.push(() => void socket.destroy());
  }
  await eventually('all are being served', async () => (await backend.stats()).running === 5);
  let sent = -1;
  await eventually('the backend sends nothing more', async () => {
    const last = sent;
    await Bun.sleep(500);
    sent = (await backend.stats()).megabytesSent;
    return sent > 0 && sent === last;
  });
  expect(sent).toBeLessThan(5 * 64);
  expect(node.rssMegabytes() - before).toBeLessThan(200);
  expect(await isServed()).toBe(true);
});
