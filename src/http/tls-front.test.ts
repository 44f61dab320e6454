import { afterAll, expect, test } from 'bun:test';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { TlsFront } from './tls-front.ts';
import { readTls } from './tls.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-front-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the server behind knows the address and the port of each client, for as long as it is connected', async () => {
  const tls = await readTls({ kind: 'self-signed' }, folder);
  const seen: number[] = [];
  const inner = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request, server) {
      const port = server.requestIP(request)?.port ?? 0;
      seen.push(port);
      return Response.json(front.peerOf(port) ?? {});
    },
  });
  const options = { host: '127.0.0.1', port: 0, shared: false, tls: tls!, innerPort: inner.port ?? 0 };
  const front = await TlsFront.listen(options);
  const client = connect({ host: '127.0.0.1', port: front.port, servername: 'localhost', ca: tls!.cert });
  await once(client, 'secureConnect');
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  let answer = '';
  while (!answer.includes('}')) answer += String((await once(client, 'data'))[0]);
  expect(answer).toContain(`{"address":"127.0.0.1","port":${client.localPort}}`);
  client.destroy();
  while (front.peerOf(seen[0] ?? 0) !== undefined) await Bun.sleep(5);
  front.stop();
  await inner.stop(true);
});
