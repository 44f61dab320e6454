import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTls } from '../../src/http/tls.ts';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';

/** A backend that should not be one: nobody is charged for it, and nothing is sent to it or kept of it without bound. */

const MEGABYTE = 1_048_576;
let stops: (() => unknown)[];

beforeEach(() => void (stops = []));
afterEach(async () => {
  for (const stop of stops.toReversed()) await stop();
});

async function gatewayFor(baseUrl: string): Promise<{ gateway: Gateway; account: TestAccount }> {
  const gateway = await Gateway.start({ yaml: catalogFor([baseUrl]) });
  stops.push(() => gateway.stop());
  // What a new account has: a loop must end by itself with these.
  return { gateway, account: await gateway.account('1', { chat: 600, images: 60, concurrent: 50 }) };
}

async function expectRefused({
  gateway,
  account,
}: {
  gateway: Gateway;
  account: TestAccount;
}): Promise<void> {
  const response = await gateway.chat(account.token, { max_tokens: 10 });
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { code: 'upstream_error' } });
  await gateway.settled(account);
  expect(await gateway.money(account)).toMatchObject({ balance: 1_000_000_000, held: 0 });
  expect((await gateway.verify()).breaches).toEqual([]);
}

test('a backend without a valid certificate is sent nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-peer-'));
  stops.push(() => rmSync(folder, { recursive: true, force: true }));
  const tls = await readTls({ kind: 'self-signed' }, folder);
  let requests = 0;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: { cert: tls!.cert, key: tls!.key },
    fetch: () => {
      requests++;
      return Response.json({});
    },
  });
  stops.push(() => server.stop(true));
  await expectRefused(await gatewayFor(`https://127.0.0.1:${server.port}/v1`));
  expect(requests).toBe(0);
});

test('a backend that sends headers without end is given up after few of them', async () => {
  const line = Buffer.from(`x-filler: ${'x'.repeat(8_000)}\r\n`);
  let sent = 0;
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data: (socket) => {
        sent += Math.max(0, socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'));
        pour(socket);
      },
      drain: (socket) => pour(socket),
    },
  });
  stops.push(() => server.stop(true));
  function pour(socket: { write(bytes: Uint8Array): number }): void {
    for (let taken = line.length; taken === line.length && sent < 50 * MEGABYTE; sent += taken)
      taken = Math.max(0, socket.write(line));
  }
  await expectRefused(await gatewayFor(`http://127.0.0.1:${server.port}/v1`));
  expect(sent).toBeLessThan(25 * MEGABYTE);
});

test('a gateway that is its own backend ends by itself, and costs nobody anything', async () => {
  const started = Promise.withResolvers<{ gateway: Gateway; account: TestAccount }>();
  let hops = 0;
  // Only here can the gateway's own address be known before it starts.
  const mirror = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      hops++;
      const { gateway, account } = await started.promise;
      return await gateway.fetch('/v1/chat/completions', {
        method: 'POST',
        token: account.token,
        body: JSON.stringify({ ...((await request.json()) as object), model: 'svc_chat/m' }),
      });
    },
  });
  stops.push(() => mirror.stop(true));
  const target = await gatewayFor(`http://127.0.0.1:${mirror.port}/v1`);
  started.resolve(target);
  await expectRefused(target);
  // The account's own limit of requests at once ends it, and nobody tries again without bound.
  expect(hops).toBeLessThan(100);
});
