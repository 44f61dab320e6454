import { afterAll, beforeAll, expect, test } from 'bun:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { Answer } from './contract/routes.ts';
import type { UpstreamStatus } from '../upstream/pool.ts';
import { encodingFor } from './answers.ts';
import type { RouteDeclaration } from './route.ts';
import { ROUTES } from './routes.ts';
import { HEALTHY, PASSWORD, testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type AdminCatalog = Answer<'GET /api/console/admin/catalog'>;

type ModelList = Answer<'GET /api/console/models'>;

const MODELS = 5_000;
const OFFERS = 2;

let site: TestConsole;
let admin: Browser;
let yaml: string;
let house: UpstreamStatus['state'] = 'ok';

beforeAll(async () => {
  site = await testConsole({
    backends: { list: () => [{ name: 'house', kind: 'house', ...HEALTHY, state: house }] },
  });
  admin = await site.admin();
  yaml = largeCatalog();
  const { revision } = await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog');
  await admin.must('POST', '/api/console/admin/catalog', { yaml, note: '', revision });
}, 120_000);
afterAll(() => site.close());

/** As sent: `fetch` would decode it. */
async function sent(path: string, accepted: string, browser = admin) {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = { cookie, 'accept-encoding': accepted, 'sec-fetch-site': 'same-origin' };
  const response = await fetch(`${site.url}${path}`, { headers, decompress: false });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

test('a catalog of five thousand models, longer than half a million characters, is taken and listed', async () => {
  expect(yaml.length).toBeGreaterThan(500_000);
  const { models, endpoints } = await admin.must<ModelList>('GET', '/api/console/models');
  expect([models.length, endpoints.length]).toEqual([MODELS * OFFERS, OFFERS]);
});

test('a list is compressed as the client takes it, and is the same when it is not', async () => {
  const plain = await sent('/api/console/models', 'identity');
  expect(plain.response.headers.get('content-encoding')).toBeNull();
  for (const [accepted, decode] of [
    ['gzip', gunzipSync],
    ['gzip, deflate, br', brotliDecompressSync],
  ] as const) {
    const { response, bytes } = await sent('/api/console/models', accepted);
    expect(response.headers.get('content-encoding')).toBe(accepted === 'gzip' ? 'gzip' : 'br');
    expect(response.headers.get('vary')).toBe('accept-encoding');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(bytes.length * 8).toBeLessThan(plain.bytes.length);
    expect(decode(bytes).equals(plain.bytes)).toBe(true);
  }
});

test('the list that is sent again is true again: whether an endpoint works is said as it is now', async () => {
  const status = async (): Promise<string[]> => {
    const { bytes } = await sent('/api/console/models', 'br');
    const { endpoints } = JSON.parse(brotliDecompressSync(bytes).toString()) as ModelList;
    return endpoints.map((endpoint) => endpoint.status);
  };
  expect(await status()).toEqual(['up', 'up']);
  house = 'resting';
  expect(await status()).toEqual(['down', 'down']);
  house = 'ok';
  expect(await status()).toEqual(['up', 'up']);
});

test('a client may exclude an encoding', () => {
  expect(encodingFor('gzip;q=0.5, br;q=0')).toBe('gzip');
  expect(encodingFor('GZIP')).toBe('gzip');
  expect(encodingFor('br;q=0.0, gzip;q=0')).toBeUndefined();
  expect(encodingFor(null)).toBeUndefined();
});

test('nothing with a token in it is compressed, and nothing but reads', async () => {
  const routes: readonly RouteDeclaration[] = ROUTES;
  expect(routes.filter((route) => route.compressed && !route.name.startsWith('GET '))).toEqual([]);
  await admin.must('POST', '/api/console/confirm', { password: PASSWORD });
  const made = await admin.raw('POST', '/api/console/token', {
    body: {},
    headers: { 'accept-encoding': 'gzip, br' },
  });
  expect(made.headers.get('content-encoding')).toBeNull();
  expect(await made.json()).toHaveProperty('token');
  for (const path of ['/api/console/session', '/api/console/token', '/api/console/requests.csv'])
    expect((await sent(path, 'gzip, br')).response.headers.get('content-encoding')).toBeNull();
});

function largeCatalog(): string {
  const models = Array.from(
    { length: MODELS },
    (_, index) =>
      `    - { model: vendor/model-${index}, display_name: Model ${index}, input: 1.${index}, output: 2, context: 128000, max_output: 8000, tools: true }`,
  );
  const endpoints = Array.from(
    { length: OFFERS },
    (_, index) =>
      `  svc_${index}: { name: Endpoint ${index}, type: chat_completion, lists: [chat], upstreams: [house] }`,
  );
  return `upstreams:
  house: { kind: house }
lists:
  chat:
${models.join('\n')}
endpoints:
${endpoints.join('\n')}
`;
}
