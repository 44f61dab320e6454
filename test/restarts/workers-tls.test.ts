import { afterAll, beforeAll, expect, test } from 'bun:test';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { readTls } from '../../src/http/tls.ts';
import { freePort } from '../support/free-port.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres, type TestPostgres } from '../support/postgres.ts';

/** Several workers that serve HTTPS on one port themselves. */

const folder = mkdtempSync(join(tmpdir(), 'tollgate-workers-tls-'));
const files = { cert: join(folder, 'served-cert.pem'), key: join(folder, 'served-key.pem') };
const YAML = `
upstreams:
  house: { kind: house }
lists:
  house_models: [{ model: house-echo, input: 1, output: 2, context: 200000, max_output: 1000 }]
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [house_models], upstreams: [house] }
limits: { chat_per_minute: 100000, concurrent: 1000 }
tls: { cert: ${files.cert}, key: ${files.key} }
`;
let postgres: TestPostgres;
let node: NodeProcess;
let operator: Operator;
let token: string;

beforeAll(async () => {
  for (const name of ['first', 'second']) {
    mkdirSync(join(folder, name));
    await readTls({ kind: 'self-signed' }, join(folder, name));
  }
  install('first');
  postgres = await testPostgres();
  node = await NodeProcess.start({
    yaml: YAML,
    databaseUrl: await postgres.freshDatabase(),
    env: { TOLLGATE_WORKERS: '2', TOLLGATE_PORT: String(await freePort()) },
  });
  operator = await Operator.open(node.env);
  ({ token } = await operator.account('5'));
});
afterAll(async () => {
  await operator.close();
  await node.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

function certificate(name: string): string {
  return readFileSync(join(folder, name, 'tls-cert.pem'), 'utf8');
}

function install(name: string): void {
  copyFileSync(join(folder, name, 'tls-cert.pem'), files.cert);
  copyFileSync(join(folder, name, 'tls-key.pem'), files.key);
}

/** On a new connection, so that the kernel chooses a worker again; 0 if the certificate is another one. */
async function ask(trusted: string): Promise<number> {
  try {
    const response = await fetch(`${node.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({
        model: 'svc_chat/house-echo',
        max_tokens: 20,
        messages: [{ role: 'user', content: 'Who is there?' }],
      }),
      keepalive: false,
      tls: { ca: certificate(trusted) },
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

const askOften = async (trusted: string): Promise<Set<number>> =>
  new Set(await Promise.all(Array.from({ length: 20 }, () => ask(trusted))));

test('both workers serve one port, and every client is served by the same certificate', async () => {
  await eventually('both have served', async () => {
    expect(await askOften('first')).toEqual(new Set([200]));
    const nodes = await operator.services.store.db.selectFrom('request').select('node').distinct().execute();
    return nodes.length === 2;
  });
});

test('a renewed certificate is taken up by both without a restart, and no connection is dropped for it', async () => {
  const kept = await Promise.all(Array.from({ length: 8 }, () => KeptConnection.open()));
  install('second');
  node.signal('SIGHUP');
  await eventually('both have taken it up', () => node.log.split('"certificate_renewed"').length === 3);
  expect(await askOften('second')).toEqual(new Set([200]));
  expect(await askOften('first')).toEqual(new Set([0]));
  for (const connection of kept) {
    expect(await connection.ask()).toBe('HTTP/1.1 200 OK');
    connection.close();
  }
});

test('a signal drains both, with exit code 0 and nothing held', async () => {
  node.signal('SIGTERM');
  expect(await node.exited()).toBe(0);
  expect(await operator.pending()).toBe(0);
});

/** A connection with the first certificate that is kept open. */
class KeptConnection {
  readonly #socket: TLSSocket;
  #received = '';

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => (this.#received += bytes.toString()));
  }

  static async open(): Promise<KeptConnection> {
    const port = Number(new URL(node.url).port);
    const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca: certificate('first') });
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve);
      socket.once('error', reject);
    });
    const connection = new KeptConnection(socket);
    await connection.ask();
    return connection;
  }

  async ask(): Promise<string> {
    this.#received = '';
    this.#socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await eventually('it answers', () => this.#received.includes('\r\n\r\n'));
    return this.#received.split('\r\n')[0] ?? '';
  }

  close(): void {
    this.#socket.destroy();
  }
}
