import { afterAll, beforeAll, beforeEach, expect, spyOn, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collectImages } from './image-response.ts';
import type { ImageLinkRules } from './image-download.ts';
import { UpstreamFailure } from './port.ts';

/**
 * A backend names the links of its images, so it could name anything that this machine can reach. A socket listens on
 * every address of this machine and counts who connects; calls of `fetch` are counted too, for addresses that nobody
 * here can listen on.
 */

const PUBLIC = '93.184.216.34';
const folder = mkdtempSync(join(tmpdir(), 'hostile-links-'));
let inside: Server;
let port = 0;
let connections = 0;
let certificate: { readonly cert: string; readonly key: string };
const calls = spyOn(globalThis, 'fetch');

beforeAll(async () => {
  inside = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  const listening = Promise.withResolvers<void>();
  inside.listen(0, '::', () => listening.resolve());
  inside.once('error', () => inside.listen(0, '0.0.0.0', () => listening.resolve()));
  await listening.promise;
  const address = inside.address();
  port = typeof address === 'object' && address ? address.port : 0;
  const { readTls } = await import('../http/tls.ts');
  certificate = (await readTls({ kind: 'self-signed' }, folder))!;
});
afterAll(async () => {
  calls.mockRestore();
  await new Promise((closed) => inside.close(closed));
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  connections = 0;
  calls.mockClear();
});

const signal = new AbortController().signal;
const targetsOfCalls = (): string[] =>
  calls.mock.calls.map(([target]) => (target instanceof Request ? target.url : target.toString()));
const rules = (more: Partial<ImageLinkRules> = {}): ImageLinkRules => ({
  backend: new URL('https://api.provider.example/v1'),
  ownPath: '/generated-images/',
  lookup: () => Promise.resolve([PUBLIC]),
  ...more,
});
const fetched = (link: string, more?: Partial<ImageLinkRules>) =>
  collectImages({ data: [{ url: link }] }, rules(more), signal).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

/** 127.0.0.1 in the notations that resolvers and parsers of addresses take. */
const LOOPBACK = `127.0.0.1 127.1 127.0.1 127.000.000.001 0177.0.0.1 0177.0.0.01 0177.1 0x7f.0.0.1 0x7f.1 0x7F.0x0.0x0.0x1
  2130706433 0x7f000001 0X7F000001 017700000001 00000177.1 127.0.0.1. 127.255.255.254 127.0.0.53 127.8.8.8 0 0.0.0.0 0x0
  00 0.0.0.1 0.1.2.3 １２７.０.０.１ ①②⑦.⓪.⓪.① 127。0。0。1 127．0．0．1 %31%32%37.0.0.1 127.0.0.%31`;
const PRIVATE = `10.0.0.1 10.255.255.255 10.1 012.0.0.1 0xa.0.0.1 167772161 0x0a000001 172.16.0.1 172.31.255.254 0xac.16.0.1
  2886729729 192.168.0.1 192.168.1.1 192.168.255.255 0xc0.0xa8.0.1 3232235777 0300.0250.1.1 192.168.257 100.64.0.1
  100.127.255.254 169.254.169.254 169.254.0.1 0xa9fea9fe 2852039166 0251.0376.0251.0376 169.254.43518 169.254.170.2
  100.100.100.200 192.0.0.192 192.0.0.8 192.0.2.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 192.88.99.1
  168.63.129.16 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255`;
const SIX = `:: ::1 0:0:0:0:0:0:0:1 0000::0001 ::0:1 ::127.0.0.1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:7f00:0001
  0:0:0:0:0:ffff:7f00:1 ::FFFF:10.0.0.1 ::ffff:a00:1 ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::ffff:192.168.0.1
  ::ffff:0:127.0.0.1 ::ffff:0:7f00:1 ::ffff:0.0.0.0 64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::10.0.0.1
  64:ff9b:1::7f00:1 2002:7f00:1:: 2002:a9fe:a9fe:: 2002:c0a8:101::1 2001:0:7f00:1::1 2001::1 2001:10::1 2001:20::1
  2001:db8::1 3fff::1 5f00::1 100::1 fc00::1 fd00::1 fd00:ec2::254 fd12:3456:789a::1 fe80::1 fe80::a9fe:a9fe febf::1
  fec0::1 feff::1 ff02::1 ff05::2 ff0e::1`;
const SCHEMES = `http ftp ftps file gopher dict ldap ldaps tftp telnet ssh sftp smb jar netdoc ws wss blob about javascript
  view-source chrome mailto news nntp rtsp php expect phar zip glob`;

function words(text: string): string[] {
  return text.split(/\s+/);
}

const TARGETS = (at: number): readonly string[] => [
  ...words(LOOPBACK).map((host) => `https://${host}:${at}/a.png`),
  ...words(PRIVATE).map((host) => `https://${host}:${at}/latest/meta-data`),
  ...words(SIX).map((host) => `https://[${host}]:${at}/a.png`),
  ...words(SCHEMES).map((scheme) => `${scheme}://127.0.0.1:${at}/a.png`),
  ...words(SCHEMES).map((scheme) => `${scheme}:127.0.0.1:${at}`),
  `http://${PUBLIC}:${at}/a.png`,
  `https://images.example@127.0.0.1:${at}/a.png`,
  `https://images.example:443@127.0.0.1:${at}/a.png`,
  `https://127.0.0.1:${at}#@images.example/a.png`,
  `https://127.0.0.1:${at}?@images.example/a.png`,
  `https://127.0.0.1:${at}\\@images.example/a.png`,
  `https:\\\\127.0.0.1:${at}\\a.png`,
  `https:/127.0.0.1:${at}/a.png`,
  `https:127.0.0.1:${at}/a.png`,
  `https:///127.0.0.1:${at}/a.png`,
  `//127.0.0.1:${at}/a.png`,
  `\\\\127.0.0.1:${at}\\a.png`,
  ` https://127.0.0.1:${at}/a.png`,
  `https://127.0.\t0.1:${at}/a.png`,
  `ht\ntps://127.0.0.1:${at}/a.png`,
  `https://[::1%25lo]:${at}/a.png`,
  `https://[fe80::1%25eth0]:${at}/a.png`,
  'https://',
  'https://[',
  'https://:443/a.png',
  '',
  '/internal/admin',
  '/generated-images/../internal/admin',
  '/generated-images/%2e%2e/internal/admin',
  '/generated-images/..%2f..%2finternal',
  '/generated-images/..%5cinternal',
  '/generated-images/%252e%252e/internal',
  'file:///etc/passwd',
  'data:text/html;base64,PGI+aGk8L2I+',
  'data:image/png,<svg onload=alert(1)>',
];

test('of at least 150 hostile links, none leads to a connection', async () => {
  const links = TARGETS(port);
  expect(new Set(links).size).toBeGreaterThanOrEqual(150);
  const outcomes = await Promise.all(links.map(async (link) => ({ link, failure: await fetched(link) })));
  const passed = outcomes.filter(
    ({ failure }) => !(failure instanceof UpstreamFailure && failure.kind === 'protocol'),
  );
  expect(passed.map(({ link }) => link)).toEqual([]);
  expect([connections, targetsOfCalls()]).toEqual([0, []]);
});

test('a name of a blocked address leads to none either, in whatever place of the answer it stands', async () => {
  const blocked = [...words(PRIVATE), ...words(SIX)].filter((host) => /^(?:\d+\.){3}\d+$|:/.test(host));
  const names = blocked.flatMap((address) => [[address], [PUBLIC, address], [address, PUBLIC]]);
  const failures = await Promise.all(
    names.map((addresses) =>
      fetched(`https://images.example:${port}/a.png`, { lookup: () => Promise.resolve(addresses) }),
    ),
  );
  expect(failures.every((failure) => failure instanceof UpstreamFailure)).toBe(true);
  expect([connections, calls.mock.calls.length]).toEqual([0, 0]);
});

test.each(['localhost', 'localhost.', 'LOCALHOST', 'ip6-localhost', 'localhost.localdomain', 'a.localhost'])(
  'the system’s own name %s leads to no connection',
  async (name) => {
    const { lookup: _, ...real } = rules();
    const thrown = await collectImages(
      { data: [{ url: `https://${name}:${port}/a.png` }] },
      real,
      signal,
    ).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(UpstreamFailure);
    expect(connections).toBe(0);
  },
);

/** A server on a public address, as far as the test's rules know. */
function outside(answer: (request: Request) => Response) {
  return Bun.serve({ hostname: '127.0.0.2', port: 0, tls: certificate, fetch: answer });
}
const asPublic: Partial<ImageLinkRules> = { isPrivate: (address) => address !== '127.0.0.2' };

test.each([301, 302, 303, 307, 308])('a redirect by %i into the inside is not followed', async (status) => {
  const visits: string[] = [];
  const server = outside((request) => {
    visits.push(new URL(request.url).pathname);
    return new Response(null, { status, headers: { location: `http://127.0.0.1:${port}/latest/meta-data` } });
  });
  const failure = await fetched(`https://localhost:${server.port}/a.png`, {
    ...asPublic,
    lookup: () => Promise.resolve(['127.0.0.2']),
    ca: certificate.cert,
  });
  expect(failure).toBeInstanceOf(UpstreamFailure);
  expect([visits, connections]).toEqual([['/a.png'], 0]);
  await server.stop(true);
});

test('a name that changes between check and connection is resolved once', async () => {
  const server = outside(() => new Response('no image'));
  const answers = [['127.0.0.2'], ['127.0.0.1']];
  const asked: string[] = [];
  const lookup = (host: string): Promise<string[]> => {
    asked.push(host);
    return Promise.resolve(answers.shift() ?? ['127.0.0.1']);
  };
  await fetched(`https://localhost:${server.port}/a.png`, { ...asPublic, lookup, ca: certificate.cert });
  expect(asked).toEqual(['localhost']);
  expect(targetsOfCalls().map((url) => new URL(url).hostname)).toEqual(['127.0.0.2']);
  expect(connections).toBe(0);
  await server.stop(true);
});

test('an image is at most 20 MB, with a length and without one', async () => {
  const tooMuch = 20 * 1_048_576 + 1;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) => {
      if (url.endsWith('/declared.png')) return new Response(new Uint8Array(tooMuch));
      const block = new Uint8Array(1_048_576);
      return new Response(
        new ReadableStream({ pull: (controller) => controller.enqueue(block) }, { highWaterMark: 0 }),
      );
    },
  });
  for (const name of ['declared', 'endless']) {
    const failure = await fetched(`/generated-images/${name}.png`, { backend: server.url });
    expect(failure).toMatchObject({ kind: 'protocol', message: expect.stringContaining('too large') });
  }
  await server.stop(true);
});

test('a server that does not finish is left, and so is a name that is not resolved', async () => {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(9)) })),
  });
  expect(await fetched('/generated-images/slow.png', { backend: server.url, timeoutMs: 50 })).toMatchObject({
    kind: 'protocol',
  });
  const lookup = (): Promise<string[]> => new Promise(() => undefined);
  expect(await fetched('https://images.example/a.png', { lookup, timeoutMs: 50 })).toMatchObject({
    kind: 'protocol',
  });
  await server.stop(true);
});
