import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { nanoUsd } from '../../src/std/money.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { catalogFor } from '../support/gateway.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';
import { TestS3 } from '../support/s3.ts';
import { PIXEL_BASE64, ScriptedBackend } from '../support/scripted-backend.ts';

/** Whoever reads an image slowly occupies a connection and a piece of the image, never a copy of it. */

const MEGABYTE = 1_048_576;
const IMAGE = Buffer.concat([Buffer.from(PIXEL_BASE64, 'base64'), randomBytes(12 * MEGABYTE)]);
const READERS = 80;
/** A quarter of the copies that they would have. */
const MOST_GROWTH_MEGABYTES = (READERS * 12) / 4;

const backend = new ScriptedBackend();
let s3: TestS3;
beforeAll(async () => {
  backend.script(() => Response.json({ created: 1, data: [{ b64_json: IMAGE.toString('base64') }] }));
  s3 = await TestS3.start();
});
afterAll(async () => {
  await s3.stop();
  await backend.stop();
});

const STORES: Record<string, () => Promise<{ databaseUrl?: string; env?: Record<string, string> }>> = {
  'files of the data folder': () => Promise.resolve({}),
  'rows of Postgres': async () => ({ databaseUrl: await (await testPostgres()).freshDatabase() }),
  'a bucket': () => Promise.resolve({ env: s3.env }),
};

describe.each(Object.entries(STORES))('images in %s', (kind, store) => {
  let node: NodeProcess;
  let operator: Operator;
  let cookie: string;
  let addresses: Record<string, string>;

  beforeAll(async () => {
    node = await NodeProcess.start({ yaml: catalogFor([backend.baseUrl]), ...(await store()) });
    operator = await Operator.open(node.env);
    await node.cli('account', 'create', 'keeper@example.com', '--admin', '--json');
    const customer = await signUp();
    cookie = customer.cookie;
    const painted = await fetch(`${node.url}/api/public/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ endpoint: 'svc_tgter', model: 'p', prompt: 'a gate' }),
    });
    const { data } = (await painted.json()) as { data: { url: string }[] };
    const link = new URL(data[0]!.url);
    addresses = {
      link: `${link.pathname}${link.search}`,
      gallery: `/api/console/images/${link.pathname.split('/').at(-1)}`,
    };
  }, 120_000);
  afterAll(async () => {
    await operator.close();
    await node.stop();
  });

  async function signUp(): Promise<{ cookie: string; token: string }> {
    const email = 'dora@example.com';
    const signedUp = await fetch(`${node.url}/api/auth/sign-up/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ email, password: 'a quiet gate at dawn' }),
    });
    expect(signedUp.status).toBe(200);
    const { store: database, ledger, accounts } = operator.services;
    const { id } = await database.db
      .selectFrom('account')
      .select('id')
      .where('email', '=', email)
      .executeTakeFirstOrThrow();
    const accountId = id as AccountId;
    const credit = { kind: 'credit', amount: nanoUsd(1_000_000_000), cause: 'test', actor: 'test' } as const;
    await ledger.ledger.post({ ...credit, accountId });
    const line = signedUp.headers.getSetCookie().map((one) => one.split(';')[0]);
    return { cookie: line.join('; '), token: await accounts.replaceToken(accountId) };
  }

  test.each(['link', 'gallery'])(
    `${READERS} that stop reading at the %s take no copy each, and whoever goes on gets all of it`,
    async (way) => {
      const readers = new SlowReaders(node.url, addresses[way]!, cookie);
      await readers.open(1);
      const before = node.rssMegabytes();
      await readers.open(READERS);
      let most = 0;
      // What is read ahead is read by now: a health check is answered after it.
      for (let turn = 0; turn < 20; turn++) {
        await node.probe('/healthz');
        most = Math.max(most, node.rssMegabytes() - before);
      }
      expect(most).toBeLessThan(MOST_GROWTH_MEGABYTES);
      const hash = createHash('sha256')
        .update(await readers.rest())
        .digest('hex');
      expect(hash).toBe(createHash('sha256').update(IMAGE).digest('hex'));
      readers.leave();
      await eventually('the connections are gone', () => node.openSockets() < READERS / 2);
      expect(await node.probe('/readyz')).toBe(200);
    },
    60_000,
  );

  test('the type, the length and how long it may be kept are told, to HEAD too', async () => {
    for (const [way, address] of Object.entries(addresses)) {
      const head = await fetch(`${node.url}${address}`, { method: 'HEAD', headers: { cookie } });
      expect(head.status).toBe(200);
      expect(head.headers.get('content-length')).toBe(String(IMAGE.length));
      const { status, headers } = await fetch(`${node.url}${address}`, { headers: { cookie } });
      expect(status).toBe(200);
      for (const told of [head.headers, headers]) {
        expect(told.get('content-type')).toBe('image/png');
        expect(told.get('content-disposition')).toBe('inline');
        expect(told.get('cache-control')).toBe('private, max-age=3600, immutable');
        expect(told.get('content-security-policy')).toContain("default-src 'none'");
      }
      if (kind === 'files of the data folder')
        expect({ way, length: headers.get('content-length') }).toEqual({ way, length: String(IMAGE.length) });
    }
  });
});

/** Clients that ask for an image and stop reading when it begins. */
class SlowReaders {
  readonly #address: URL;
  readonly #cookie: string;
  readonly #sockets: Socket[] = [];
  readonly #begun: Buffer[] = [];

  constructor(url: string, address: string, cookie: string) {
    this.#address = new URL(address, url);
    this.#cookie = cookie;
  }

  async open(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#openOne()));
  }

  /** What the first of them gets when it reads on. */
  async rest(): Promise<Buffer> {
    const [socket] = this.#sockets;
    const received = [this.#begun[0]!];
    socket!.on('data', (bytes: Buffer) => received.push(bytes));
    const ended = once(socket!, 'end');
    socket!.resume();
    await ended;
    return bodyOf(Buffer.concat(received));
  }

  leave(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #openOne(): Promise<void> {
    const { hostname, port, host, pathname, search } = this.#address;
    const socket = connect(Number(port), hostname);
    const head = `GET ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\ncookie: ${this.#cookie}\r\nconnection: close\r\n\r\n`;
    socket.write(head);
    let begun = Buffer.alloc(0);
    while (!begun.includes('\r\n\r\n')) {
      const [bytes] = (await once(socket, 'data')) as [Buffer];
      begun = Buffer.concat([begun, bytes]);
    }
    socket.pause();
    expect(begun.toString('latin1', 0, 15)).toBe('HTTP/1.1 200 OK');
    this.#sockets.push(socket);
    this.#begun.push(begun);
  }
}

/** Of an answer with a length or in chunks. */
function bodyOf(answer: Buffer): Buffer {
  const at = answer.indexOf('\r\n\r\n') + 4;
  if (!/transfer-encoding: chunked/i.test(answer.toString('latin1', 0, at))) return answer.subarray(at);
  const chunks: Buffer[] = [];
  for (let start = at; ;) {
    const line = answer.indexOf('\r\n', start);
    const length = Number.parseInt(answer.toString('latin1', start, line), 16);
    if (!(length > 0)) return Buffer.concat(chunks);
    chunks.push(answer.subarray(line + 2, line + 2 + length));
    start = line + 2 + length + 2;
  }
}
