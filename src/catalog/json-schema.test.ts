import { expect, test } from 'bun:test';
import { SERVER_SETTINGS, serverSettings } from '../main/server-settings.ts';
import { catalogJsonSchema } from './json-schema.ts';
import { parseCatalog } from './parse.ts';

const ROOT = new URL('../../', import.meta.url).pathname;

test('the JSON Schema for editors is the one the parser uses (else run: bun scripts/write-schema.ts)', async () => {
  expect(await Bun.file(`${ROOT}schema/tollgate.schema.json`).json()).toEqual(
    JSON.parse(catalogJsonSchema(SERVER_SETTINGS)),
  );
});

test('the example file works unchanged, without any key', async () => {
  const catalog = parseCatalog(await example(), {
    fileName: 'tollgate.example.yaml',
    env: {},
    settings: SERVER_SETTINGS,
  });
  expect([...catalog.endpoints.keys()]).toEqual(['svc_chat', 'svc_tgter']);
});

test('the example file works with everything in it switched on', async () => {
  const on = (await example()).replace(/^( +)#(?=\S| {2})/gm, '$1').replace(/^#(?=\S)/gm, '');
  const variables = [...on.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name = '']) => name);
  const env = Object.fromEntries(
    variables.map((name) => [name, name.endsWith('_URL') ? 'https://example.com/v1' : 'value']),
  );
  const catalog = parseCatalog(on, { fileName: 'tollgate.example.yaml', env, settings: SERVER_SETTINGS });
  expect(catalog.endpoints.size).toBeGreaterThan(6);
  expect(catalog.endpoints.get('partner_chat')!.places.map((place) => place.length)).toEqual([2, 1]);
  expect(catalog.upstreams.size).toBeGreaterThan(9);
  expect(serverSettings(catalog, '/etc').tls).toMatchObject({ kind: 'files' });
});

function example(): Promise<string> {
  return Bun.file(`${ROOT}tollgate.example.yaml`).text();
}
