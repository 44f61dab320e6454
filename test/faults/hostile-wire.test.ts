import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { catalogFor, type TestAccount } from '../support/gateway.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { rawExchange, type RawOptions } from '../support/raw-client.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** Below the level of an HTTP client: bytes that are not a request, or two requests, or never become one. */

const LONG = process.env['TOLLGATE_LONG'] === '1';

let backend: ScriptedBackend;
let node: NodeProcess;
let operator: Operator;
let account: TestAccount;

beforeAll(async () => {
  backend = new ScriptedBackend();
  backend.script(() => completion('x', usage(1, 1)));
  node = await NodeProcess.start({ yaml: catalogFor([backend.baseUrl]) });
  operator = await Operator.open(node.env);
  account = await operator.account('100');
}, 60_000);
afterAll(async () => {
  await operator.settled();
  expect((await operator.verify()).breaches).toEqual([]);
  expect(node.log).not.toContain(account.token);
  expect(node.log).not.toContain('internal_error');
  await operator.close();
  await node.stop();
  await backend.stop();
});

const CHAT = JSON.stringify({
  endpoint: 'svc_chat',
  model: 'm',
  messages: [{ role: 'user', content: 'hi' }],
  max_tokens: 1,
});
const POST = 'POST /api/public/v1/chat/completions HTTP/1.1\r\nhost: gate\r\n';
const auth = () => `authorization: Bearer ${account.token}\r\n`;
/** A second request hidden behind the first; it must never be answered as one. */
const hidden = () => `GET /api/public/v1/account HTTP/1.1\r\nhost: gate\r\n${auth()}\r\n`;

async function exchange(parts: readonly (string | Uint8Array)[], options: RawOptions = {}) {
  const answer = await rawExchange(node.url, parts, options);
  expect(node.alive).toBe(true);
  return answer;
}

describe('two requests in one: refused, and the hidden one is never answered', () => {
  const length = CHAT.length;
  const chunked = `${length.toString(16)}\r\n${CHAT}\r\n0\r\n\r\n`;
  test.each<[string, string]>([
    ['a length and chunks', `content-length: ${length}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['chunks and a length', `transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n${chunked}`],
    ['two lengths', `content-length: ${length}\r\ncontent-length: 3\r\n\r\n${CHAT}`],
    ['a list of lengths', `content-length: ${length}, 3\r\n\r\n${CHAT}`],
    ['a signed length', `content-length: +${length}\r\n\r\n${CHAT}`],
    ['a negative length', `content-length: -1\r\n\r\n${CHAT}`],
    ['a length beyond counting', `content-length: 99999999999999999999999\r\n\r\n${CHAT}`],
    ['a length in hexadecimal', `content-length: 0x10\r\n\r\n${CHAT}`],
    ['chunks that are something else', `transfer-encoding: xchunked\r\n\r\n${chunked}`],
    ['chunks and then identity', `transfer-encoding: chunked, identity\r\n\r\n${chunked}`],
    ['gzip and chunks', `transfer-encoding: gzip, chunked\r\n\r\n${chunked}`],
    ['a space before the colon', `transfer-encoding : chunked\r\ncontent-length: 0\r\n\r\n${chunked}`],
    ['a folded line', `transfer-encoding:\r\n chunked\r\ncontent-length: 0\r\n\r\n${chunked}`],
    ['a tab in the name', `transfer-\tencoding: chunked\r\ncontent-length: 0\r\n\r\n${chunked}`],
    ['a chunk size that is none', `transfer-encoding: chunked\r\n\r\nzz\r\n${CHAT}\r\n0\r\n\r\n`],
    ['a negative chunk', `transfer-encoding: chunked\r\n\r\n-1\r\n${CHAT}\r\n0\r\n\r\n`],
    [
      'a chunk beyond counting',
      `transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n${CHAT}\r\n0\r\n\r\n`,
    ],
    [
      'chunks ended by line feeds',
      `transfer-encoding: chunked\r\n\r\n${length.toString(16)}\n${CHAT}\n0\n\n`,
    ],
  ])('%s', async (_, rest) => {
    const before = backend.calls.length;
    const { statuses, text } = await exchange([POST + auth() + rest + hidden()]);
    expect(statuses).toEqual([400]);
    expect(text).not.toContain(account.id);
    expect(backend.calls.length).toBe(before);
  });

  test('a body longer than declared: the rest is not a request', async () => {
    const { statuses } = await exchange([
      `${POST}${auth()}content-length: ${length}\r\n\r\n${CHAT}GARBAGE\r\n\r\n`,
    ]);
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(1);
    expect(statuses.at(-1)).toBe(400);
  });

  test('valid chunks are read', async () => {
    const { statuses } = await exchange([
      `${POST}${auth()}connection: close\r\ntransfer-encoding: chunked\r\n\r\n${chunked}`,
    ]);
    expect(statuses).toEqual([200]);
  });
});

describe('bytes that are not a request: closed or refused, never served', () => {
  const get = (rest: string) => `GET /api/public/v1/account HTTP/1.1\r\n${rest}`;
  test.each<[string, string | Uint8Array]>([
    ['line feeds only', `GET /api/public/v1/account HTTP/1.1\nhost: x\nx\n\n`],
    ['carriage returns only', 'GET /api/public/v1/account HTTP/1.1\rhost: x\r\r'],
    ['a request of 1991', 'GET /api/public/v1/account\r\n\r\n'],
    ['a version of the future', 'GET /api/public/v1/account HTTP/9.9\r\nhost: x\r\n\r\n'],
    ['no host', get('\r\n')],
    ['a NUL in a header', get('host: x\r\nx-a: a\0b\r\n\r\n')],
    ['a NUL in the path', 'GET /api/public/v1/\0 HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['a name with a space', get('host: x\r\nx a: b\r\n\r\n')],
    ['a header without a colon', get('host: x\r\nxxx\r\n\r\n')],
    ['a header of a megabyte', get(`host: x\r\nx-a: ${'a'.repeat(1_000_000)}\r\n\r\n`)],
    ['ten thousand headers', get(`host: x\r\n${'x-a: b\r\n'.repeat(10_000)}\r\n`)],
    ['a path of a megabyte', `GET /${'a'.repeat(1_000_000)} HTTP/1.1\r\nhost: x\r\n\r\n`],
    ['a method of noise', '\xff\xfe / HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['a method of ten thousand letters', `${'A'.repeat(10_000)} / HTTP/1.1\r\nhost: x\r\n\r\n`],
    [
      'a TLS greeting',
      new Uint8Array([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, ...Array.from({ length: 200 }, () => 7)]),
    ],
    ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['noise', crypto.getRandomValues(new Uint8Array(5_000))],
    ['OPTIONS for everything', 'OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['CONNECT', 'CONNECT evil.example:443 HTTP/1.1\r\nhost: x\r\n\r\n'],
    [
      'a WebSocket',
      get(
        'host: x\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n',
      ),
    ],
  ])('%s', async (_, bytes) => {
    const { statuses } = await exchange([bytes]);
    // 505 is the protocol's status for an unsupported version.
    expect(statuses.filter((status) => status < 400 || (status >= 500 && status !== 505))).toEqual([]);
  });
});

const WITHOUT_TOKEN = [
  ['GET', '/api/public/v1/account'],
  ['GET', '/api/public/v1/endpoints/svc_chat/models'],
  ['GET', '/api/public/v1/requests/req_1'],
  ['POST', '/api/public/v1/chat/completions'],
  ['POST', '/api/public/v1/images/generations'],
  ['GET', '/v1/models'],
  ['POST', '/v1/chat/completions'],
  ['POST', '/v1/messages'],
  ['POST', '/v1/responses'],
  ['GET', '/api/console/account'],
  ['GET', '/api/console/admin/accounts'],
] as const;

const WRITTEN_AS: readonly ((path: string) => string)[] = [
  (path) => path,
  (path) => `/${path}`,
  (path) => `${path}/`,
  (path) => `${path}.`,
  (path) => `${path};a=b`,
  (path) => `${path}%2f`,
  (path) => `${path}?token=`,
  (path) => `${path}?token=null&x=/healthz`,
  (path) => path.replace(/\/([^/]+)$/, '/%2e/$1'),
  (path) => path.replace(/\/([^/]+)$/, '/x/..;/$1'),
  (path) => path.replace(/\/([^/]+)$/, '/x/../$1'),
  (path) => path.replace('/v1', '/%761'),
  (path) => path.replace('/v1', '/V1'),
  (path) => path.toUpperCase(),
  (path) => `/healthz/..${path}`,
  (path) => `http://evil.example${path}`,
  (path) => `${path}#/healthz`,
  (path) => path.replaceAll('/', '\\'),
];

const HOSTS = [
  'gate',
  'evil.example/?',
  'evil.example/#',
  'a@b',
  'localhost/healthz?',
  'a b',
  '',
  '[::',
  'gate:99999',
  '127.0.0.1\\x',
  '\xff',
];

test(`without a token nothing is given away: ${WITHOUT_TOKEN.length} routes, written in ${WRITTEN_AS.length} ways, under ${HOSTS.length} hosts`, async () => {
  const before = backend.calls.length;
  const served: string[] = [];
  const ask = async (method: string, path: string, host: string): Promise<void> => {
    const body = method === 'POST' ? CHAT : '';
    const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    const { statuses } = await rawExchange(node.url, [head + body]);
    if (statuses.some((status) => status < 400 || (status >= 500 && status !== 505)))
      served.push(`${method} ${path} under '${host}': ${statuses.join()}`);
  };
  for (const [method, path] of WITHOUT_TOKEN) {
    await Promise.all(WRITTEN_AS.flatMap((write) => HOSTS.map((host) => ask(method, write(path), host))));
  }
  expect(served).toEqual([]);
  expect(backend.calls.length).toBe(before);
}, 120_000);

test('a strange Host header with a valid token is answered or refused, never an internal error', async () => {
  for (const host of HOSTS) {
    for (const path of [
      `/api/public/v1/account?token=${account.token}`,
      `/api/public/v1/images/x?expires=1&signature=x`,
      '/api/auth/callback/github?code=x',
      '/docs',
    ]) {
      const { statuses } = await exchange([
        `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
      ]);
      expect({ host, path, ok: statuses.every((status) => status < 500) && statuses.length === 1 }).toEqual({
        host,
        path,
        ok: true,
      });
    }
  }
});

test('100 pipelined requests get 100 answers in order', async () => {
  const { statuses } = await exchange([`GET /healthz HTTP/1.1\r\nhost: gate\r\n\r\n`.repeat(100)]);
  expect(statuses).toEqual(Array.from({ length: 100 }, () => 200));
});

test('an upload without end is refused at the limit and not read to its end', async () => {
  const chunk = Buffer.from(`10000\r\n${' '.repeat(0x10000)}\r\n`);
  const { hostname, port } = new URL(node.url);
  const socket = connect(Number(port), hostname);
  const received: string[] = [];
  let sent = 0;
  const over = new Promise<void>((resolve) => {
    socket.on('data', (bytes) => received.push(bytes.toString('latin1')));
    socket.on('close', () => resolve());
    // The server closes the connection in the middle of the upload, as it should.
    socket.on('error', () => resolve());
  });
  socket.write(`${POST}${auth()}transfer-encoding: chunked\r\n\r\n`);
  const push = (): void => {
    while (!socket.destroyed && sent < 200 * 1_048_576) {
      sent += chunk.length;
      if (!socket.write(chunk)) return;
    }
  };
  socket.on('drain', push);
  push();
  await over;
  // A client that is still sending when the connection closes may never see the response.
  if (received.length > 0) expect(received.join('')).toContain('"request_too_large"');
  expect(sent).toBeLessThan(60 * 1_048_576);
});

test('500 uploads that break off in the middle leave no hold, no socket and no memory behind', async () => {
  const sockets = node.openSockets();
  const before = backend.calls.length;
  const head = `${POST}${auth()}content-length: 1000000\r\n\r\n`;
  for (let round = 0; round < 10; round++) {
    await Promise.all(
      Array.from({ length: 50 }, () => exchange([head + 'x'.repeat(50_000)], { leave: true, firstMs: 50 })),
    );
  }
  expect(await operator.money(account)).toMatchObject({ held: 0, open: 0 });
  expect(backend.calls.length).toBe(before);
  await eventually('their sockets are closed', () => node.openSockets() <= sockets + 5);
});

test.if(LONG)(
  'connections that say nothing, or not enough, are dropped',
  async () => {
    const half = [
      '',
      'POST /api/public/v1/chat/com',
      `${POST}x-a: b`,
      `${POST}${auth()}content-length: 100\r\n\r\nabc`,
      `${POST}${auth()}transfer-encoding: chunked\r\n\r\n5\r\nab`,
      'GET /healthz HTTP/1.1\r\nhost: gate\r\n\r\n',
    ];
    const answers = await Promise.all(
      half.map((bytes) => exchange([bytes], { firstMs: 250_000, quietMs: 250_000, mostMs: 260_000 })),
    );
    expect(answers.map(({ closed }) => closed)).toEqual(half.map(() => true));
  },
  300_000,
);
