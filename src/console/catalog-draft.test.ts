import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import type { Answer } from './contract/routes.ts';
import { testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type AdminBackendDetail = Answer<'GET /api/console/admin/backends/{id}/edit'>;
type AdminCatalogDraft = Answer<'GET /api/console/admin/catalog/draft'>;
type AdminMergedDraft = Answer<'POST /api/console/admin/catalog/draft/merge'>;

type AdminCatalog = Answer<'GET /api/console/admin/catalog'>;
type AdminCatalogProposal = Answer<'POST /api/console/admin/catalog/propose'>;

let site: TestConsole;
let admin: Browser;
const DRAFT = '/api/console/admin/catalog/draft';
/** As the console shows what is stored. */
const CATALOG = `upstreams:
  main: { kind: openai, base_url: "https://main.example/v1", api_key: \${MAIN_API_KEY} }
  spare: { kind: openai, base_url: "https://spare.example/v1" }
lists:
  models:
    - { model: small, input: 1.00, output: 2.00, cost: { main: { input: 0.50, output: 1.00 } } }
    - { model: large, input: 3.00, output: 4.00 }
  others:
    - { model: odd, input: 1.00, output: 1.00 }
endpoints:
  chat: { name: Chat, type: chat_completion, lists: [ models ], upstreams: [ main, spare ] }
  odd: { name: Odd, type: chat_completion, lists: [ others ], upstreams: [ main ] }
aliases:
  strange: odd/odd
`;

beforeAll(async () => {
  site = await testConsole();
  admin = await site.admin();
  await admin.must('PUT', '/api/console/admin/catalog/keys/MAIN_API_KEY', {
    value: 'sk-main',
    host: 'https://main.example',
  });
});
afterAll(() => site.close());
beforeEach(async () => {
  await admin.must('POST', `${DRAFT}/discard`);
  if ((await published()).yaml !== CATALOG) await publish(CATALOG);
});

async function published(): Promise<AdminCatalog> {
  return await admin.must<AdminCatalog>('GET', '/api/console/admin/catalog');
}

async function publish(yaml: string, revision?: number): Promise<void> {
  const { revision: newest } = await published();
  const body = { yaml, note: '', revision: revision ?? newest ?? 0 };
  await admin.must('POST', '/api/console/admin/catalog', body);
}

async function draft(): Promise<AdminCatalogDraft['draft']> {
  return (await admin.must<AdminCatalogDraft>('GET', DRAFT)).draft;
}

async function edit(...edits: object[]): Promise<string> {
  const made = await admin.must<AdminCatalogDraft>('POST', `${DRAFT}/edit`, { edits });
  return made.draft?.yaml ?? '';
}

async function refusedEdit(one: object): Promise<string> {
  const { status, body } = await admin.call<{ error: { message: string } }>('POST', `${DRAFT}/edit`, {
    edits: [one],
  });
  expect(status).toBe(400);
  return body.error.message;
}

test('a draft stays until it is published or discarded, and only its owner has it', async () => {
  const yaml = CATALOG.replace('input: 3.00', 'input: 5');
  await admin.must('PUT', DRAFT, { yaml, tag: null });
  expect(await draft()).toMatchObject({ yaml, isOutdated: false });
  const row = await site.store.db
    .selectFrom('setting')
    .select('key')
    .where('key', 'like', 'catalog_draft:%')
    .execute();
  expect(row).toEqual([{ key: `catalog_draft:${await admin.accountId()}` }]);
  const { revision } = (await draft()) ?? {};
  await publish(yaml, revision);
  expect(await draft()).toBeNull();
});

test('a page that has not seen the newest draft cannot overwrite it', async () => {
  const first = await admin.must<AdminCatalogDraft>('PUT', DRAFT, { yaml: `${CATALOG}# one\n`, tag: null });
  const tag = first.draft?.tag;
  await admin.must('PUT', DRAFT, { yaml: `${CATALOG}# two\n`, tag });
  for (const stale of [tag, null])
    expect((await admin.call('PUT', DRAFT, { yaml: `${CATALOG}# three\n`, tag: stale })).status).toBe(409);
  expect((await draft())?.yaml).toContain('# two');
});

test('what is typed stays as it is typed until a page changes the draft, which then is data without comments', async () => {
  const yaml = CATALOG.replace('lists:\n', 'lists: # ours\n');
  await admin.must('PUT', DRAFT, { yaml, tag: null });
  expect((await draft())?.yaml).toBe(yaml);
  const changed = await edit({ kind: 'set_model', list: 'models', model: 'large', input: '9' });
  expect(changed).toBe(CATALOG.replace('input: 3.00', 'input: 9.00'));
  const { value } = await site.store.db
    .selectFrom('setting')
    .select('value')
    .where('key', 'like', 'catalog_draft:%')
    .executeTakeFirstOrThrow();
  const { yaml: text, base } = JSON.parse(value) as { yaml: string; base: string };
  expect(text).toBe(base.replace('"input":3', '"input":9'));
  expect(base).toStartWith('{"upstreams":{"main":{"kind":"openai"');
});

test('a draft that says what is published is none', async () => {
  const first = await admin.must<AdminCatalogDraft>('PUT', DRAFT, { yaml: `${CATALOG}# one\n`, tag: null });
  await admin.must('PUT', DRAFT, { yaml: CATALOG, tag: first.draft?.tag });
  expect(await draft()).toBeNull();
});

test('after somebody else has published, a draft is outdated until it is merged, and cannot be published before', async () => {
  await edit({ kind: 'set_model', list: 'models', model: 'large', input: '9' });
  const { yaml = '', revision } = (await draft()) ?? {};
  const newer = CATALOG.replace('output: 4.00', 'output: 8');
  expect((await site.catalog.save(newer, 'acc_other', '', revision ?? 0)).kind).toBe('saved');
  expect((await draft())?.isOutdated).toBe(true);
  expect((await admin.call('POST', '/api/console/admin/catalog', { yaml, note: '', revision })).status).toBe(
    409,
  );
  const { conflicts } = await admin.must<AdminMergedDraft>('POST', `${DRAFT}/merge`);
  expect(conflicts).toEqual([]);
  expect(await draft()).toMatchObject({
    isOutdated: false,
    yaml: expect.stringContaining('model: large, input: 9.00, output: 8.00'),
  });
});

test('what both have changed is decided by the operator and by nobody else', async () => {
  await edit({ kind: 'set_model', list: 'models', model: 'large', input: '9' });
  const { revision } = (await draft()) ?? {};
  await site.catalog.save(CATALOG.replace('input: 3.00', 'input: 7'), 'acc_other', '', revision ?? 0);
  const merged = await admin.must<AdminMergedDraft>('POST', `${DRAFT}/merge`);
  expect(merged.conflicts).toEqual(['lists.models.large.input']);
  expect(merged.draft?.isOutdated).toBe(true);
  await admin.must('POST', `${DRAFT}/merge`, { prefer: 'mine' });
  expect(await draft()).toMatchObject({ isOutdated: false, yaml: expect.stringContaining('input: 9.00') });
});

test("pausing a backend, which is published at once, keeps the operator's draft", async () => {
  await edit({ kind: 'set_model', list: 'models', model: 'large', input: '9' });
  await admin.must('PUT', '/api/console/admin/backends/spare/paused', { paused: true });
  const kept = await draft();
  expect(kept?.isOutdated).toBe(false);
  expect(kept?.yaml).toContain('paused: true');
  expect(kept?.yaml).toContain('input: 9.00');
});

test('order and weights, address, keys and models are changed without YAML', async () => {
  const yaml = await edit(
    {
      kind: 'places',
      endpoint: 'chat',
      places: [
        [
          { upstream: 'spare', weight: 3 },
          { upstream: 'main', weight: 1 },
        ],
      ],
    },
    { kind: 'address', backend: 'spare', baseUrl: 'https://new.example/v1' },
    { kind: 'keys', backend: 'main', names: ['MAIN_API_KEY', 'MAIN_API_KEY_2'] },
    { kind: 'add_model', list: 'models', model: 'huge', name: 'Huge', input: '10', output: '0.000000001' },
    { kind: 'remove_model', list: 'models', model: 'large' },
  );
  expect(yaml).toContain('upstreams: [ { name: spare, weight: 3 }, { name: main, weight: 1 } ]');
  expect(yaml).toContain('base_url: "https://new.example/v1"');
  expect(yaml).toContain('api_keys: [ ${MAIN_API_KEY}, ${MAIN_API_KEY_2} ]');
  expect(yaml).not.toContain('api_key: ');
  expect(yaml).toContain('{ model: huge, display_name: Huge, input: 10.00, output: 0.000000001 }');
  expect(yaml).not.toContain('large');
  const missing = await admin.must<AdminCatalogProposal>('POST', '/api/console/admin/catalog/propose', {
    yaml,
  });
  expect(missing.problems.map(({ missingKey }) => missingKey)).toEqual([
    { name: 'MAIN_API_KEY_2', host: 'https://main.example' },
  ]);
  const detail = await admin.must<AdminBackendDetail>('GET', '/api/console/admin/backends/main/edit');
  expect(detail.keys).toEqual([
    { name: 'MAIN_API_KEY', hint: expect.any(String), source: 'stored' },
    { name: 'MAIN_API_KEY_2', hint: null, source: 'missing' },
  ]);
  expect(detail.nextKeyName).toBe('MAIN_API_KEY_3');
  expect(detail.models.map(({ model }) => model)).toEqual(['small', 'huge', 'odd']);
  await admin.must('PUT', '/api/console/admin/catalog/keys/MAIN_API_KEY_2', {
    value: 'sk-second',
    host: 'https://main.example',
  });
  const { revision } = (await draft()) ?? {};
  await publish(yaml, revision);
  expect(site.catalog.current().upstreams.get('main')?.apiKeys).toEqual(['sk-main', 'sk-second']);
  expect(site.catalog.current().endpoints.get('chat')?.places).toEqual([
    [
      { upstream: 'spare', weight: 3 },
      { upstream: 'main', weight: 1 },
    ],
  ]);
  await edit({ kind: 'keys', backend: 'main', names: ['MAIN_API_KEY'] });
  const spare = await admin.must<AdminBackendDetail>('GET', '/api/console/admin/backends/main/edit');
  expect(spare.spareKeys.map(({ name }) => name)).toEqual(['MAIN_API_KEY_2']);
});

test('a backend in use is removed only together with what refers to it, and what that is can be seen before', async () => {
  const remove = { kind: 'remove_backend', backend: 'main' };
  const { references } = await admin.must<AdminBackendDetail>('GET', '/api/console/admin/backends/main/edit');
  expect(references).toEqual({
    sharedEndpoints: ['chat'],
    ownEndpoints: ['odd'],
    ownLists: ['others'],
    aliases: ['strange'],
    details: ['lists.models.small.cost.main'],
  });
  expect(await refusedEdit({ ...remove, withReferences: false })).toContain('odd, chat, lists.models.small');
  const yaml = await edit({ ...remove, withReferences: true });
  expect(yaml).not.toContain('main');
  expect(yaml).not.toContain('odd');
  expect(yaml).not.toContain('cost');
  const { revision } = (await draft()) ?? {};
  await publish(yaml, revision);
  expect([...site.catalog.current().upstreams.keys()]).toEqual(['spare']);
  expect([...site.catalog.current().endpoints.keys()]).toEqual(['chat']);
});

test('an edit that cannot be meant is refused with the reason, and changes nothing', async () => {
  const pair = (...names: string[]) => names.map((upstream) => ({ upstream, weight: 1 }));
  const places = [pair('main', 'spare'), pair('third', 'fourth')];
  expect(await refusedEdit({ kind: 'places', endpoint: 'chat', places })).toContain(
    'cannot follow each other',
  );
  expect(await refusedEdit({ kind: 'remove_model', list: 'others', model: 'odd' })).toContain('only model');
  expect(await refusedEdit({ kind: 'keys', backend: 'nobody', names: [] })).toContain('no backend nobody');
  expect(await refusedEdit({ kind: 'add_model', list: 'models', model: 'small', input: '1', output: '1' })).toContain(
    'already',
  ); // prettier-ignore
  expect(await draft()).toBeNull();
  await admin.must('PUT', DRAFT, { yaml: 'upstreams: [', tag: null });
  expect(await refusedEdit({ kind: 'keys', backend: 'main', names: [] })).toContain('has mistakes');
  expect((await admin.call('GET', '/api/console/admin/backends/main/edit')).status).toBe(400);
});

test('the last error of a backend is known after a restart too: the receipts have it', async () => {
  const user = await site.user('customer@example.com');
  const id = await user.accountId();
  await site.credit(id, 5);
  const attempts = [{ upstream: 'main', result: 'failed', reason: 'timeout', durationMs: 5 }] as const;
  await site.charge(id, { failed: true, attempts });
  const { items, editable } = await admin.must<Answer<'GET /api/console/admin/backends'>>(
    'GET',
    '/api/console/admin/backends',
  );
  expect(editable).toBe(true);
  expect(items.find(({ name }) => name === 'main')).toMatchObject({
    lastError: { message: 'timeout' },
    recent: { lastHour: 1, errorRate: 1 },
  });
});
