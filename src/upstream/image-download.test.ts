import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { downloadImage, type ImageLinkRules } from './image-download.ts';

/** A backend names the links, so it could name anything that this machine can reach. */

const folder = mkdtempSync(join(tmpdir(), 'image-links-'));
const visits: string[] = [];
let backend: ReturnType<typeof Bun.serve>;
let rules: ImageLinkRules;

beforeAll(() => {
  backend = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname } = new URL(request.url);
      visits.push(pathname);
      if (pathname.endsWith('/moved.png')) return Response.redirect('/internal/admin');
      if (pathname.endsWith('/gzip.png'))
        return new Response(Bun.gzipSync(new Uint8Array(1_000_000)), {
          headers: { 'content-encoding': 'gzip' },
        });
      return new Response(`bytes of ${pathname}`);
    },
  });
  rules = { backend: new URL(`${backend.url.origin}/v1`), ownPath: '/generated-images/' };
});
afterAll(async () => {
  await backend.stop(true);
  rmSync(folder, { recursive: true });
});

const signal = new AbortController().signal;
const fetched = async (link: string, more: Partial<ImageLinkRules> = {}): Promise<string> =>
  new TextDecoder().decode(await downloadImage(link, { ...rules, ...more }, signal));

test('of the backend’s own host, the folder of its images is fetched, by a full or a relative link', async () => {
  expect(await fetched('/generated-images/a.png')).toBe('bytes of /generated-images/a.png');
  expect(await fetched(`${backend.url.origin}/generated-images/b.png`)).toBe(
    'bytes of /generated-images/b.png',
  );
});

test.each([
  '/internal/admin',
  '../internal/admin',
  '/generated-images/../internal/admin',
  '/generated-images/%2e%2e/internal/admin',
  '/generated-images/..%2finternal/admin',
  '/generated-images/%252e%252e/internal',
  '/generated-images/..%5c..%5cinternal',
  '/generated-imagesx/a.png',
])('no other path of it is: %s', async (link) => {
  visits.length = 0;
  await expect(fetched(link)).rejects.toThrow('image link');
  expect(visits).toEqual([]);
});

test('a redirect is not followed, and a compressed image is not unpacked', async () => {
  visits.length = 0;
  await expect(fetched('/generated-images/moved.png')).rejects.toThrow();
  await expect(fetched('/generated-images/gzip.png')).rejects.toThrow('encoding');
  expect(visits).toEqual(['/generated-images/moved.png', '/generated-images/gzip.png']);
});

test.each([
  'http://images.example/a.png',
  'ftp://images.example/a.png',
  'file:///etc/passwd',
  'https://127.0.0.1/a.png',
  'https://[::1]/a.png',
  'https://[::ffff:10.0.0.1]/a.png',
  'https://169.254.169.254/latest/meta-data',
  'https://2130706433/a.png',
  'https://0x7f.1/a.png',
  'https://',
])('only public hosts over https are asked: not %s', async (link) => {
  const lookup = (): Promise<string[]> => Promise.resolve(['93.184.216.34']);
  await expect(fetched(link, { lookup })).rejects.toThrow('image link');
});

test('a name that has a private address among its own is refused', async () => {
  const lookup = (): Promise<string[]> => Promise.resolve(['93.184.216.34', '10.0.0.1']);
  await expect(fetched('https://images.example/a.png', { lookup })).rejects.toThrow('private network');
});

test('the address that was checked is the one connected to, though the name then leads elsewhere', async () => {
  const { readTls } = await import('../http/tls.ts');
  const tls = (await readTls({ kind: 'self-signed' }, folder))!;
  const hosts: string[] = [];
  const serve = (hostname: string, port: number) =>
    Bun.serve({
      hostname,
      port,
      tls,
      fetch(request) {
        hosts.push(`${hostname} as ${new URL(request.url).hostname}`);
        return new Response('the image');
      },
    });
  const checked = serve('127.0.0.2', 0);
  const rebound = serve('127.0.0.1', checked.port ?? 0);
  const lookups: string[] = [];
  const lookup = (host: string): Promise<string[]> => {
    lookups.push(host);
    return Promise.resolve(['127.0.0.2']);
  };
  const link = `https://localhost:${checked.port}/a.png`;
  expect(await fetched(link, { lookup, isPrivate: () => false, ca: tls.cert })).toBe('the image');
  expect(hosts).toEqual(['127.0.0.2 as localhost']);
  expect(lookups).toEqual(['localhost']);
  // The certificate is checked against the name, not the address.
  await expect(
    fetched(link.replace('localhost', 'images.example'), { lookup, isPrivate: () => false, ca: tls.cert }),
  ).rejects.toThrow();
  await Promise.all([checked.stop(true), rebound.stop(true)]);
});
