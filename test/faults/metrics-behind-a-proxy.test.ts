import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { NodeProcess } from '../support/node-process.ts';
import { rawExchange } from '../support/raw-client.ts';

/**
 * A proxy on the same machine passes on what strangers ask, and what it sends looks like a request of this machine. So
 * nobody reads what a business earns without the token for it.
 */

let node: NodeProcess;

beforeAll(async () => {
  // As it starts when nobody has configured anything.
  node = await NodeProcess.start({ env: { TOLLGATE_METRICS_TOKEN: '' } });
}, 60_000);
afterAll(async () => {
  await node.stop();
});

describe('strangers do not get metrics through', () => {
  const host = '127.0.0.1:8700';
  const others = 'user-agent: curl/8\r\naccept: */*\r\n';
  test.each([
    [
      'a bare proxy_pass of nginx',
      `GET /metrics HTTP/1.0\r\nHost: ${host}\r\nConnection: close\r\n${others}\r\n`,
    ],
    ['one with HTTP/1.1', `GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${others}\r\n`],
    [
      'one that keeps the name',
      `GET /metrics HTTP/1.1\r\nHost: gate.example\r\nConnection: close\r\n${others}\r\n`,
    ],
    [
      'one that says for whom',
      `GET /metrics HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n\r\n`,
    ],
    ['a tunnel to the port', 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'],
    [
      'a token that is not theirs',
      'GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer undefined\r\nConnection: close\r\n\r\n',
    ],
  ])('%s', async (_, request) => {
    const { text, statuses } = await rawExchange(node.url, [request]);
    expect(statuses).toEqual([401]);
    expect(text).not.toContain('tollgate_');
  });
});

test('the operator gets the token of the installation from the command line, and metrics with it', async () => {
  const child = Bun.spawn([process.execPath, 'src/main/main.ts', 'metrics', 'token'], {
    cwd: `${import.meta.dir}/../..`,
    env: { ...process.env, ...node.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const token = (await new Response(child.stdout).text()).trim();
  expect(await child.exited).toBe(0);
  expect(token).toMatch(/^metrics-[\w-]{40,}$/);
  const response = await fetch(`${node.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(200);
  expect(await response.text()).toContain('tollgate_');
  expect(node.log).not.toContain(token);
});
