import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { ASYNC, endOfJob, type SeenJob } from '../support/image-jobs.ts';
import { images, ScriptedBackend } from '../support/scripted-backend.ts';

/** A generation that takes longer than a proxy waits: 100 s there and 120 s here, scaled down. */

const IDLE_MS = 300;
const backend = new ScriptedBackend();
let gateway: Gateway;
let proxy: Server;
let cuts = 0;

beforeAll(async () => {
  gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]) });
  proxy = createServer((client) => forward(client));
  await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening));
});
afterAll(async () => {
  proxy.close();
  await gateway.stop();
  await backend.stop();
});

/** Bytes both ways; a connection on which nothing moves is cut, as a proxy's read timeout does. */
function forward(client: Socket): void {
  const { hostname, port } = new URL(gateway.url);
  const server = connect(Number(port), hostname);
  client.pipe(server);
  server.pipe(client);
  server.setTimeout(IDLE_MS, () => {
    cuts++;
    client.destroy();
    server.destroy();
  });
  for (const socket of [client, server]) socket.on('error', () => undefined);
}

test('a generation that takes longer than a proxy waits is lost to a plain request, and not to a job', async () => {
  const address = proxy.address();
  if (typeof address !== 'object' || !address) throw new Error('the proxy has no address');
  const url = `http://127.0.0.1:${address.port}`;
  const account = await gateway.account('1');
  const gate = Promise.withResolvers<void>();
  backend.script(async () => {
    await gate.promise;
    return images(1);
  });
  const paint = (headers: Record<string, string>) =>
    fetch(`${url}/api/public/v1/images/generations`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${account.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ endpoint: 'svc_tgter', model: 'p', prompt: 'a gate' }),
      keepalive: false,
    });
  const job = (await (await paint(ASYNC)).json()) as SeenJob;
  // The job's generation is as slow as this one, which outlasts the proxy.
  const lost = await paint({}).then(
    () => 'answered',
    () => 'cut',
  );
  expect({ lost, isCut: cuts > 0 }).toEqual({ lost: 'cut', isCut: true });
  gate.resolve();
  expect(await endOfJob(url, account.token, job.id)).toMatchObject({ status: 'done', data: [{}] });
  await gateway.settled(account);
  expect((await gateway.verify()).breaches).toEqual([]);
});
