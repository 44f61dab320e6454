import { afterAll, beforeAll, expect, test } from 'bun:test';
import { bareModel, ListingServer } from '../../test/import/listing-server.ts';
import type { Answer } from './contract/routes.ts';
import { testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type AdminPrices = Answer<'GET /api/console/admin/prices'>;
type AdminCatalogDraft = Answer<'GET /api/console/admin/catalog/draft'>;
type AdminProviders = Answer<'GET /api/console/admin/providers'>;

type AdminCatalog = Answer<'GET /api/console/admin/catalog'>;
type AdminCatalogImport = Answer<'POST /api/console/admin/catalog/import'>;

let site: TestConsole;
let admin: Browser;
const server = new ListingServer(['llama-3', 'nomic-embed', 'whisper-1'].map(bareModel));
const ROUTE = '/api/console/admin/backends/preview';
const EDIT = '/api/console/admin/catalog/draft/edit';
const own = { provider: 'attic', server: { baseUrl: server.baseUrl, keyName: 'ATTIC_API_KEY' } };

beforeAll(async () => {
  site = await testConsole();
  admin = await site.admin();
});
afterAll(async () => {
  await site.close();
  await server.stop();
});

test('every provider that lists its models is offered, with the key it needs and whether that is stored', async () => {
  const { items, local } = await admin.must<AdminProviders>('GET', '/api/console/admin/providers');
  const openai = items.find(({ name }) => name === 'openai');
  expect(openai).toEqual({
    name: 'openai',
    title: 'OpenAI',
    host: 'api.openai.com',
    origin: 'https://api.openai.com',
    keyName: 'OPENAI_API_KEY',
    hasKey: false,
    isAdded: false,
  });
  expect(items.length).toBeGreaterThan(20);
  expect(items.slice(0, 4).map(({ name }) => name)).toEqual(['openai', 'anthropic', 'google', 'openrouter']);
  expect(local.map(({ name }) => name)).toEqual(['ollama', 'lmstudio', 'llamacpp', 'vllm']);
  await admin.must('PUT', '/api/console/admin/catalog/keys/OPENAI_API_KEY', {
    value: 'sk-1',
    host: 'https://api.openai.com',
  });
  const again = await admin.must<AdminProviders>('GET', '/api/console/admin/providers');
  expect(again.items.find(({ name }) => name === 'openai')?.hasKey).toBe(true);
});

test('a server of one’s own becomes a backend with the prices that the operator sets, and no cost that nobody knows', async () => {
  await admin.must('PUT', '/api/console/admin/catalog/keys/ATTIC_API_KEY', {
    value: server.key,
    host: new URL(server.baseUrl).origin,
  });
  const ownPrice = { chat: { price: { input: '0.5', output: '1.25' } } };
  const draft = await admin.must<AdminCatalogImport>('POST', ROUTE, {
    ...own,
    ownPrice,
    models: ['llama-3'],
  });
  expect(draft.new).toMatchObject([
    { model: 'llama-3', price: { input: '0.50', output: '1.25' }, cost: null, type: 'chat_completion' },
  ]);
  expect(draft.yaml).toContain('api_key: ${ATTIC_API_KEY}');
  expect(draft.yaml).not.toContain('cost: { attic');
  const { revision } = await admin.must<{ revision: number }>('POST', '/api/console/admin/catalog', {
    yaml: draft.yaml,
    note: '',
    revision: draft.revision,
  });
  const { endpoints, upstreams } = await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog');
  expect(endpoints.find(({ code }) => code === 'attic')?.models).toEqual(['llama-3']);
  expect(upstreams.find(({ name }) => name === 'attic')).toMatchObject({
    baseUrl: server.baseUrl,
    hasKey: true,
  });

  const free = await admin.must<AdminCatalogImport>('POST', ROUTE, {
    ...own,
    ownPrice: 'free',
  });
  expect(free.revision).toBe(revision);
  expect(free.new.map(({ model, type }) => [model, type])).toEqual([['nomic-embed', 'embedding']]);
  expect(free.yaml).toMatch(/model: nomic-embed, free: true/);
  expect(free.skipped.map(({ model }) => model)).toEqual(['whisper-1']);
});

test('embeddings and images of an own server get prices and costs of their own; what nobody knows stays unknown', async () => {
  const studio = new ListingServer(
    ['gpt-4o-mini', 'mystery-7b', 'nomic-embed', 'flux-schnell'].map(bareModel),
  );
  await admin.must('PUT', '/api/console/admin/catalog/keys/STUDIO_API_KEY', {
    value: studio.key,
    host: new URL(studio.baseUrl).origin,
  });
  const made = await admin.must<AdminCatalogImport>('POST', ROUTE, {
    provider: 'studio',
    server: { baseUrl: studio.baseUrl, keyName: 'STUDIO_API_KEY' },
    ownPrice: {
      chat: { price: { input: '1', output: '2' }, cost: { input: '0.5', output: '1' } },
      embedding: { price: { input: '0.1' }, cost: { input: '0.05' } },
      image: { price: { image: '0.04' }, cost: { image: '0.03' } },
    },
    assumed: { tools: true },
  });
  expect(made.new.map(({ model, type, context, price }) => [model, type, context, price])).toEqual([
    ['gpt-4o-mini', 'chat_completion', 128_000, { input: '1.00', output: '2.00' }],
    ['mystery-7b', 'chat_completion', null, { input: '1.00', output: '2.00' }],
    ['nomic-embed', 'embedding', null, { input: '0.10', output: '0.00' }],
    ['flux-schnell', 'image_generation', null, { image: '0.04' }],
  ]);
  expect(made.new.map(({ abilities }) => abilities)).toEqual([
    ['vision', 'tools'],
    ['tools'],
    ['tools'],
    ['tools'],
  ]);
  expect(made.yaml).toContain('model: mystery-7b, input: 1.00, output: 2.00, tools: true, cost: { studio');
  expect(made.yaml).toContain('cost: { studio: { image: 0.03 } }');
  expect(made.yaml).not.toContain('context: 128_000');
  await studio.stop();
});

test('what cannot become a backend is refused with the reason, and the catalog stays as it is', async () => {
  const before = await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog');
  const cases = [
    [{ provider: 'Attic' }, 'provider'],
    [{ provider: 'other', server: { baseUrl: 'ftp://x' } }, 'baseUrl'],
    [{ provider: 'other', server: { baseUrl: server.baseUrl } }, 'Say what its models are sold for'],
    [
      {
        provider: 'other',
        server: { baseUrl: 'http://127.0.0.1:1/v1' },
        ownPrice: 'free',
      },
      'does not list its models',
    ],
    [{ provider: 'attic', server: { baseUrl: 'http://127.0.0.1:1/v1' } }, 'another address'],
    [{ provider: 'nobody' }, "no upstream 'nobody'"],
    [{ ...own, ownPrice: { chat: { price: { input: '-1', output: '0' } } } }, 'ownPrice'],
    [{ ...own, ownPrice: { image: { price: { image: '0' } } } }, 'ownPrice'],
    [{ ...own, ownPrice: {} }, 'ownPrice'],
    [{ ...own, ownPrice: { chat: { price: { input: '0', output: '0' } } } }, 'ownPrice'],
  ] as const;
  for (const [body, words] of cases) {
    const reply = await admin.call('POST', ROUTE, body);
    expect([body, reply.status]).toEqual([body, 400]);
    expect(JSON.stringify(reply.body)).toContain(words);
  }
  const { revision } = await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog');
  expect(revision).toBe(before.revision);
});

test('once a real backend serves something, what only the built-in one serves comes last and is a demo', async () => {
  const { models } = await admin.must<Answer<'GET /api/console/models'>>('GET', '/api/console/models');
  const demos = models.map(({ isDemo }) => isDemo);
  expect(models.find(({ model }) => model === 'llama-3')?.isDemo).toBe(false);
  expect(demos).toContain(true);
  expect(demos).toEqual(demos.toSorted((one, other) => Number(one) - Number(other)));
});

test('a backend that is only in the draft is told of as new, and one that the draft removes as removed', async () => {
  const backends = () =>
    admin.must<Answer<'GET /api/console/admin/backends'>>('GET', '/api/console/admin/backends');
  const { yaml, revision } = await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog');
  const drafted = yaml.replace('upstreams:\n', 'upstreams:\n  novel: { kind: house }\n');
  await admin.must('PUT', '/api/console/admin/catalog/draft', { yaml: drafted, tag: null });
  expect((await backends()).drafted).toEqual([{ name: 'novel', kind: 'house', baseUrl: null }]);
  await admin.must('POST', EDIT, {
    edits: [{ kind: 'remove_backend', backend: 'attic', withReferences: true }],
  });
  const { items } = await backends();
  expect(items.filter(({ isRemoved }) => isRemoved).map(({ name }) => name)).toEqual(['attic']);
  await admin.must('POST', '/api/console/admin/catalog/draft/discard', {});
  expect((await backends()).drafted).toEqual([]);
  expect((await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog')).revision).toBe(revision);
});

test('a key is stored once its provider has accepted it; a refused one is not, and the provider’s reason is told', async () => {
  const loft = new ListingServer([bareModel('llama-3')]);
  const body = { provider: 'loft', server: { baseUrl: loft.baseUrl, keyName: 'LOFT_API_KEY' } };
  const keys = async () =>
    (
      await admin.must<Answer<'GET /api/console/admin/catalog/keys'>>(
        'GET',
        '/api/console/admin/catalog/keys',
      )
    ).items;
  const wrong = await admin.call('POST', '/api/console/admin/backends/key', { ...body, value: 'sk-wrong' });
  expect(wrong.status).toBe(400);
  expect(JSON.stringify(wrong.body)).toContain('status 401: Incorrect API key provided');
  expect(JSON.stringify(wrong.body)).not.toContain('..');
  expect((await keys()).map(({ name }) => name)).not.toContain('LOFT_API_KEY');
  await admin.must('POST', '/api/console/admin/backends/key', { ...body, value: loft.key });
  expect((await keys()).find(({ name }) => name === 'LOFT_API_KEY')).toMatchObject({
    host: new URL(loft.baseUrl).origin,
  });
  await loft.stop();
});

test('a key leaves for no other server than its own, whatever address a draft gives it', async () => {
  const thief = new ListingServer([bareModel('llama-3')]);
  const reply = await admin.call('POST', ROUTE, {
    provider: 'thief',
    server: { baseUrl: thief.baseUrl, keyName: 'ATTIC_API_KEY' },
    ownPrice: 'free',
  });
  expect(reply.status).toBe(400);
  expect(thief.asked).toEqual([]);
  await thief.stop();
});

test('a backend is paused and resumed in the catalog, which says who did it', async () => {
  const shown = async (): Promise<boolean | undefined> => {
    const { items } = await admin.must<Answer<'GET /api/console/admin/backends'>>(
      'GET',
      '/api/console/admin/backends',
    );
    return items.find(({ name }) => name === 'attic')?.paused;
  };
  const before = await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog');
  await admin.must('PUT', '/api/console/admin/backends/attic/paused', { paused: true });
  expect(await shown()).toBe(true);
  expect(site.catalog.current().upstreams.get('attic')?.paused).toBe(true);
  await admin.must('PUT', '/api/console/admin/backends/attic/paused', { paused: false });
  expect(await shown()).toBe(false);
  const after = await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog');
  expect(after.yaml).toBe(before.yaml);
  const { items } = await admin.must<{ items: { note: string; actor: string }[] }>(
    'GET',
    '/api/console/admin/catalog/history',
  );
  expect(items.slice(0, 2).map(({ note }) => note)).toEqual(['attic resumed', 'attic paused']);
  expect(items[0]?.actor).toBe('admin@example.com');
  expect(
    (await admin.call('PUT', '/api/console/admin/backends/nobody/paused', { paused: true })).status,
  ).toBe(404);
});

test('prices are changed in the draft and nowhere else, digit for digit', async () => {
  const row = async () => {
    const { items } = await admin.must<AdminPrices>('GET', '/api/console/admin/prices');
    return items.find(({ list, model }) => list === 'attic_models' && model === 'llama-3');
  };
  const priced = await row();
  expect(priced).toMatchObject({ input: '0.50', output: '1.25' });
  // Nobody knows what it costs, and how long its context is.
  expect([priced?.costs, priced?.context]).toEqual([undefined, undefined]);
  const before = await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog');
  const { draft } = await admin.must<AdminCatalogDraft>('POST', EDIT, {
    edits: [{ kind: 'set_model', list: 'attic_models', model: 'llama-3', output: '1.000000001' }],
  });
  expect(await row()).toMatchObject({ output: '1.000000001', published: { input: '0.50', output: '1.25' } });
  expect(draft).toMatchObject({
    yaml: before.yaml.replace('output: 1.25', 'output: 1.000000001'),
    revision: before.revision ?? 0,
  });
  const body = { yaml: draft?.yaml, revision: draft?.revision, note: '' };
  await admin.must('POST', '/api/console/admin/catalog', body);
  const last = await row();
  expect(last).toMatchObject({ input: '0.50', output: '1.000000001' });
  expect(last?.published).toBeUndefined();
});

test('everything of a model is edited: costs, lengths, abilities; null is unknown again, and nothing else changes', async () => {
  const of = { list: 'attic_models', model: 'llama-3' };
  const edit = (...edits: object[]) => admin.must<AdminCatalogDraft>('POST', EDIT, { edits });
  const row = async () => {
    const { items } = await admin.must<AdminPrices>('GET', '/api/console/admin/prices');
    return items.find(({ list, model }) => list === of.list && model === of.model);
  };
  const known = { context: 32_768, max_output: 4_096, vision: true, files: true, cached_input: '0.1' };
  const cost = { attic: { input: '0.2', output: '0.8' } };
  const { draft } = await edit({ kind: 'set_model', ...of, ...known, cost });
  expect(draft?.yaml).toContain('inputs: { file: { max_tokens: 32768 } }');
  expect(await row()).toMatchObject({
    context: 32_768,
    maxOutput: 4_096,
    vision: true,
    files: true,
    cachedInput: '0.10',
    costs: { attic: { input: '0.20', output: '0.80' } },
  });
  await edit({ kind: 'scale_prices', models: [of], factor: '1.1' });
  // 0.5, 1.000000001 and 0.1 times 1.1, rounded up; what it costs stays.
  expect(await row()).toMatchObject({
    input: '0.55',
    output: '1.100000002',
    cachedInput: '0.11',
    costs: { attic: { input: '0.20', output: '0.80' } },
  });
  const nothing = { context: null, max_output: null, vision: false, files: false, cached_input: null };
  const prices = { input: '0.5', output: '1.000000001' };
  const last = await edit({ kind: 'set_model', ...of, ...nothing, ...prices, cost: { attic: null } });
  expect(last).toEqual({ draft: null });
});

test('a price of a model that is not there, or that is no price, is refused', async () => {
  for (const change of [
    { list: 'attic_models', model: 'nobody', input: '1' },
    { list: 'nobody', model: 'llama-3', input: '1' },
    { list: 'attic_models', model: 'llama-3', input: '-1' },
    { list: 'attic_models', model: 'llama-3', input: '10001' },
  ]) {
    const reply = await admin.call('POST', EDIT, { edits: [{ kind: 'set_model', ...change }] });
    expect([change, reply.status]).toEqual([change, 400]);
  }
});
