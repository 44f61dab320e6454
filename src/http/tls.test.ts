import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTls } from './tls.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-tls-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a self-signed certificate serves HTTPS to clients that trust it, and to no others', async () => {
  const tls = await readTls({ kind: 'self-signed' }, folder);
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    tls: tls!,
    fetch: () => new Response('secret words'),
  });
  const url = `https://127.0.0.1:${server.port}/`;
  expect(await (await fetch(url, { tls: { ca: tls!.cert } })).text()).toBe('secret words');
  await expect(fetch(url)).rejects.toThrow();
  await server.stop(true);
});

test('it is made once and kept, its key readable only by us; the operator’s own files are used unchanged', async () => {
  const first = await readTls({ kind: 'self-signed' }, folder);
  expect(await readTls({ kind: 'self-signed' }, folder)).toEqual(first);
  expect(statSync(join(folder, 'tls-key.pem')).mode & 0o777).toBe(0o600);
  const files = {
    kind: 'files',
    cert: join(folder, 'tls-cert.pem'),
    key: join(folder, 'tls-key.pem'),
  } as const;
  expect(await readTls(files, folder)).toEqual(first);
  await expect(readTls({ ...files, key: join(folder, 'none.pem') }, folder)).rejects.toThrow('none.pem');
});

test('files that do not belong together, or are none, are named in one sentence', async () => {
  const other = join(folder, 'other');
  mkdirSync(other);
  await readTls({ kind: 'self-signed' }, folder);
  await readTls({ kind: 'self-signed' }, other);
  const cert = join(folder, 'tls-cert.pem');
  const key = join(other, 'tls-key.pem');
  const wrong = join(folder, 'wrong.pem');
  writeFileSync(wrong, 'no PEM');
  await expect(readTls({ kind: 'files', cert, key }, folder)).rejects.toThrow(
    `The certificate ${cert} and the key ${key} do not belong together.`,
  );
  await expect(readTls({ kind: 'files', cert: wrong, key }, folder)).rejects.toThrow(
    `${wrong} is no PEM certificate`,
  );
  await expect(readTls({ kind: 'files', cert, key: wrong }, folder)).rejects.toThrow(
    `${wrong} is no PEM key`,
  );
});
