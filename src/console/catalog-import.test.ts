import { afterAll, beforeAll, expect, test } from 'bun:test';
import { bareModel, ListingServer } from '../../test/import/listing-server.ts';
import type { Answer } from './contract/routes.ts';
import { testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type AdminCatalog = Answer<'GET /api/console/admin/catalog'>;
type AdminCatalogImport = Answer<'POST /api/console/admin/catalog/import'>;

let site: TestConsole;
let admin: Browser;
const openai = new ListingServer(['gpt-5-mini', 'gpt-unheard-of'].map(bareModel));

beforeAll(async () => {
  site = await testConsole();
  admin = await site.admin();
});
afterAll(async () => {
  await site.close();
  await openai.stop();
});

const IMPORT = '/api/console/admin/catalog/import';

test('an administrator gets the models of a backend as a draft, and saves it like any other', async () => {
  await admin.must('PUT', '/api/console/admin/catalog/keys/SHOP_API_KEY', {
    value: openai.key,
    host: openai.baseUrl.replace('/v1', ''),
  });
  const before = await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog');
  const upstream = `  shop: { kind: openai, preset: openai, base_url: "${openai.baseUrl}", api_key: "\${SHOP_API_KEY}" }`;
  const yaml = before.yaml.replace('upstreams:\n', `upstreams:\n${upstream}\n`);
  const { revision } = await admin.must<{ revision: number }>('POST', '/api/console/admin/catalog', {
    yaml,
    note: 'a backend',
    revision: before.revision,
  });
  const draft = await admin.must<AdminCatalogImport>('POST', IMPORT, { provider: 'shop', markup: '1.1' });
  expect(draft).toMatchObject({
    upstream: 'shop',
    markup: '1.1',
    revision,
    new: [{ model: 'gpt-5-mini', price: { input: '0.275', output: '2.20' }, cost: { input: '0.25' } }],
    skipped: [{ model: 'gpt-unheard-of' }],
  });
  const untouched = await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog');
  expect(untouched.revision).toBe(revision);
  await admin.must('POST', '/api/console/admin/catalog', { yaml: draft.yaml, note: '', revision });
  const { endpoints } = await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog');
  expect(endpoints.find(({ code }) => code === 'shop')?.models).toEqual(['gpt-5-mini']);
});

test('what cannot be imported is refused with the reason', async () => {
  const cases = [
    [{ provider: 'nobody' }, "no upstream 'nobody'"],
    [{ provider: 'house' }, 'house'],
    [{ provider: 'groq' }, 'GROQ_API_KEY'],
    [{ provider: 'shop', markup: '0' }, 'markup'],
  ] as const;
  for (const [body, words] of cases) {
    const reply = await admin.call(`POST`, IMPORT, body);
    expect([body, reply.status]).toEqual([body, 400]);
    expect(JSON.stringify(reply.body)).toContain(words);
  }
});
