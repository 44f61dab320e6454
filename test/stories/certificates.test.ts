import { afterAll, beforeAll, expect, test } from 'bun:test';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { readTls } from '../../src/http/tls.ts';
import { METRICS_TOKEN } from '../support/leaks.ts';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import {
  chunk,
  completion,
  DONE,
  openStream,
  ScriptedBackend,
  usage,
  usageEvent,
} from '../support/scripted-backend.ts';

/** Renewed certificates on a server that serves HTTPS itself. */

const folder = mkdtempSync(join(tmpdir(), 'tollgate-certificates-'));
const files = { cert: join(folder, 'served-cert.pem'), key: join(folder, 'served-key.pem') };
const backend = new ScriptedBackend();
let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  for (const name of ['first', 'second', 'third']) {
    mkdirSync(join(folder, name));
    await readTls({ kind: 'self-signed' }, join(folder, name));
  }
  install('first', 'first');
  const yaml = `${catalogFor([backend.baseUrl])}tls: { cert: ${files.cert}, key: ${files.key} }\nlog: { access: json }\n`;
  gateway = await Gateway.start({ yaml });
  account = await gateway.account('5');
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
  rmSync(folder, { recursive: true, force: true });
});

const certificate = (name: string): string => readFileSync(join(folder, name, 'tls-cert.pem'), 'utf8');

/** As a tool that renews certificates does it. */
function install(cert: string, key: string): void {
  copyFileSync(join(folder, cert, 'tls-cert.pem'), files.cert);
  copyFileSync(join(folder, key, 'tls-key.pem'), files.key);
}

/** Whether a new connection gets this certificate. */
async function serves(name: string): Promise<boolean> {
  try {
    const response = await fetch(`${gateway.url}/healthz`, {
      tls: { ca: certificate(name) },
      keepalive: false,
    });
    return (await response.text()) === 'ok\n';
  } catch {
    return false;
  }
}

function chat(trusted: string, body: Record<string, unknown> = {}): Promise<Response> {
  const init: BunFetchRequestInit = { tls: { ca: certificate(trusted) } };
  return gateway.chat(account.token, body, init);
}

const linesWith = (event: string): string[] => gateway.log.filter((line) => line.includes(`"${event}"`));

/** A connection that is kept, and what it answers to one request after the other. */
class KeptConnection {
  readonly #socket: TLSSocket;
  #received = '';

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => (this.#received += bytes.toString()));
  }

  static async open(trusted: string): Promise<KeptConnection> {
    const socket = connect({
      host: '127.0.0.1',
      port: Number(new URL(gateway.url).port),
      servername: 'localhost',
      ca: certificate(trusted),
    });
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve);
      socket.once('error', reject);
    });
    return new KeptConnection(socket);
  }

  async ask(path: string): Promise<string> {
    this.#received = '';
    this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await eventually('it answers', () => this.#received.includes('\r\n\r\n'));
    return this.#received.split('\r\n')[0] ?? '';
  }

  close(): void {
    this.#socket.destroy();
  }
}

test('a renewed certificate is taken up, and no connection is dropped for it', async () => {
  expect(await serves('first')).toBe(true);
  const kept = await KeptConnection.open('first');
  expect(await kept.ask('/healthz')).toBe('HTTP/1.1 200 OK');
  const stream = openStream();
  backend.script(() => stream.response);
  const response = await chatStarted(stream);

  install('second', 'second');
  await gateway.tollgate.reload();
  expect([await serves('second'), await serves('first')]).toEqual([true, false]);
  expect(linesWith('certificate_renewed')).toHaveLength(1);

  expect(await kept.ask('/healthz')).toBe('HTTP/1.1 200 OK');
  kept.close();
  stream.send(chunk({ content: 'world' }, 'stop') + usageEvent(5, 2) + DONE);
  stream.end();
  const text = await response.text();
  expect(text).toContain('world');
  expect(text).toEndWith(DONE);
});

async function chatStarted(stream: ReturnType<typeof openStream>): Promise<Response> {
  const answer = chat('first', { stream: true });
  await backend.called(1);
  stream.send(chunk({ role: 'assistant', content: 'Hello ' }));
  return await answer;
}

test('a pair that does not match leaves the old one in force, and is one line in the log', async () => {
  install('third', 'first');
  for (let times = 0; times < 3; times++) await gateway.tollgate.reload();
  expect([await serves('second'), await serves('third')]).toEqual([true, false]);
  expect(linesWith('certificate_refused')).toHaveLength(1);
  expect(linesWith('certificate_refused')[0]).toContain('do not belong together');
});

test('files are looked at without a signal too', async () => {
  install('third', 'third');
  await eventually('the third one is served', () => serves('third'), 30_000);
  expect(linesWith('certificate_refused')).toHaveLength(1);
});

test('clients keep their address, their answers and their refusals', async () => {
  backend.script(() => completion('ok', usage(1, 1)));
  const response = await chat('third');
  expect(response.status).toBe(200);
  expect(response.headers.get('strict-transport-security')).toBe('max-age=31536000');
  const requestId = response.headers.get('x-request-id') ?? '';
  await eventually('its line is written', () => linesWith(requestId).length > 0);
  expect(linesWith(requestId)[0]).toContain('"address":"127.0.0.1"');
  const metrics = await fetch(`${gateway.url}/metrics`, {
    headers: { authorization: `Bearer ${METRICS_TOKEN}` },
    tls: { ca: certificate('third') },
  });
  expect(
    Number(/^tollgate_certificate_remaining_seconds (\S+)$/m.exec(await metrics.text())?.[1]),
  ).toBeGreaterThan(86_400);
});
