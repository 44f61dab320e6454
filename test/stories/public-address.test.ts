import { afterAll, beforeAll, expect, test } from 'bun:test';
import { eventually, NodeProcess } from '../support/node-process.ts';

/** One address in every link, wherever the server listens and whatever a request calls it. */

const PUBLIC = 'https://gate.example.com';
let node: NodeProcess;
let token: string;

beforeAll(async () => {
  node = await NodeProcess.start({ env: { TOLLGATE_PUBLIC_URL: `${PUBLIC}/`, TOLLGATE_PROT: '1' } });
  const { output } = await node.cli('account', 'create', 'a@example.com', '--balance', '5', '--json');
  ({ token } = JSON.parse(output) as { token: string });
}, 60_000);
afterAll(() => node.stop());

async function get(path: string, init: RequestInit = {}): Promise<Response> {
  return await fetch(`${node.url}${path}`, { ...init, headers: { authorization: `Bearer ${token}` } });
}

test('links to images', async () => {
  const response = await fetch(`${node.url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'house-paint', prompt: 'a gate', size: '256x256', response_format: 'url' }),
  });
  const { data } = (await response.json()) as { data: { url: string }[] };
  const link = data[0]?.url ?? '';
  expect(link).toStartWith(`${PUBLIC}/api/public/v1/images/`);
  expect((await fetch(link.replace(PUBLIC, node.url))).headers.get('content-type')).toBe('image/png');
}, 60_000);

test('links to a new password, from the command line and for the console', async () => {
  const { output } = await node.cli('account', 'reset-link', 'a@example.com', '--json');
  expect(JSON.parse(output).link).toStartWith(`${PUBLIC}/reset-password#`);
  const session = (await (await get('/api/console/session')).json()) as { site: { publicUrl: string } };
  expect(session.site.publicUrl).toBe(PUBLIC);
}, 60_000);

test('the first account, the OpenAPI document and the hint at a wrong path', async () => {
  expect(node.greeting).toContain(`${PUBLIC}/setup/`);
  const document = (await (await get('/api/public/v1/openapi.json')).json()) as { servers: unknown };
  expect(document.servers).toEqual([{ url: PUBLIC }]);
  const wrongBase = await get('/chat/completions', { method: 'POST', body: '{}' });
  expect(await wrongBase.text()).toContain(`The base URL is ${PUBLIC}/v1`);
});

test('`tollgate config` says where it comes from; a mistyped variable is in the log and in that list', async () => {
  const { code, output } = await node.cli('config', '--json');
  expect(code).toBe(0);
  const { settings, unknown } = JSON.parse(output);
  expect(settings).toContainEqual({
    name: 'TOLLGATE_PUBLIC_URL',
    value: `${PUBLIC}/`,
    source: 'environment',
  });
  expect(unknown).toEqual([{ name: 'TOLLGATE_PROT', meant: 'TOLLGATE_PORT' }]);
  await eventually('it is in the log', () => node.log.includes('"check":"settings"'));
  expect(node.log).toContain('TOLLGATE_PORT');
  const plain = await node.cli('config');
  expect(plain.output).toContain(
    'TOLLGATE_PROT is set, and Tollgate does not know it. Did you mean TOLLGATE_PORT?',
  );
  expect(plain.output + output + node.log).not.toContain(node.env['TOLLGATE_SECRET'] ?? 'no secret');
}, 60_000);
