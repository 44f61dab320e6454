import { groupChanges } from './diff.ts';
import { afterEach, describe, expect, test } from 'bun:test';
import { createCipheriv, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testPostgres } from '../../test/support/postgres.ts';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import { builtinCatalog } from './builtin.ts';
import type { Catalog } from './catalog.ts';
import { CatalogDrafts } from './draft/drafts.ts';
import { canonicalText } from './parse.ts';
import { openStoredCatalog, type StoredCatalog, type StoredCatalogOptions } from './stored.ts';
import { CatalogVersions } from './versions.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';

const SEALING_KEY = new Uint8Array(32).fill(1);
const OPENAI = 'https://api.openai.com';
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

describe.each(['sqlite', 'postgres'] as const)('the catalog in the store (%s)', (kind) => {
  test('is the built-in one at first and has no history', async () => {
    const catalog = await openOn(await freshStore(kind));
    expect(catalog.current().endpoints.size).toBe(8);
    const { version, json } = catalog.newest();
    expect([version, json]).toEqual([0, canonicalText(builtinCatalog({}))]);
    expect(await catalog.history()).toEqual([]);
    expect(catalog.status()).toMatchObject({ kind: 'store', path: undefined, error: undefined });
  });

  test('a save reaches another node within a poll', async () => {
    const open = await freshStore(kind);
    const [here, there] = [await openOn(open), await openOn(open, { pollMs: 10 })];
    const changed = nextChange(there);
    expect(await here.save(edited(0.25), 'acc_1', 'dearer', 0)).toEqual({ kind: 'saved', version: 2 });
    expect(guidePrice(here.current())).toBe(250_000_000);
    expect(guidePrice(await changed)).toBe(250_000_000);
    expect(there.current().version).toBe(here.current().version);
  });

  test('the history holds every version, the built-in one first', async () => {
    const catalog = await openOn(await freshStore(kind));
    await catalog.save(edited(0.25), 'acc_1', 'dearer', 0);
    await catalog.save(edited(0.5), 'acc_2', 'dearer still', 2);
    const history = await catalog.history();
    expect(history.map(({ id, actor, note }) => [id, actor, note])).toEqual([
      [3, 'acc_2', 'dearer still'],
      [2, 'acc_1', 'dearer'],
      [1, 'tollgate', 'Built-in catalog'],
    ]);
    expect((await catalog.at(2))?.text).toBe(canonicalText(edited(0.25)));
    expect((await catalog.history({ before: 3, limit: 1 })).map(({ id }) => id)).toEqual([2]);
    expect(await catalog.at(99)).toBeUndefined();
    expect(await catalog.changesAt(1)).toBeUndefined();
    expect(groupChanges((await catalog.changesAt(3)) ?? [])).toEqual([
      {
        kind: 'changed',
        thing: 'model',
        aspect: 'price',
        count: 5,
        names: ['svc_chat/house-guide', 'svcv1_chat/house-guide', 'svcv3_chat/house-guide'],
        before: '0.25 in, 0.25 cached, 0.40 out (USD per million tokens)',
        after: '0.50 in, 0.50 cached, 0.40 out (USD per million tokens)',
      },
    ]);
  });

  test('the history tells what a version changed although the keys of that time are gone', async () => {
    const open = await freshStore(kind);
    const catalog = await openOn(open);
    const backend =
      '  it: { kind: openai, base_url: "https://llm.example.com/v1", api_key: "${IT_API_KEY}" }';
    const added = edited(0.25).replace('upstreams:', `upstreams:\n${backend}`);
    await catalog.setProviderKey('IT_API_KEY', 'sk-of-it-000000001', 'https://llm.example.com');
    await catalog.save(added, 'acc_1', '', 0);
    await catalog.save(edited(0.25), 'acc_1', '', 2);
    await catalog.removeProviderKey('IT_API_KEY');
    const said = groupChanges((await catalog.changesAt(3)) ?? []);
    expect(said).toMatchObject([{ kind: 'removed', thing: 'backend', count: 1, names: ['it'] }]);
    expect(JSON.stringify(await catalog.changesAt(2))).not.toContain('sk-of-it');
  });

  test('of many concurrent saves from the same version exactly one wins', async () => {
    const open = await freshStore(kind);
    const nodes = [await openOn(open), await openOn(open), await openOn(open)];
    for (let round = 0; round < 5; round++) {
      const expected = nodes[0]!.newest().version;
      const saves = Array.from({ length: 9 }, (_, index) =>
        nodes[index % 3]!.save(edited(1 + round + index / 100), `acc_${index}`, '', expected),
      );
      const results = await Promise.all(saves);
      expect(results.filter((result) => result.kind === 'saved')).toHaveLength(1);
      expect(results.filter((result) => result.kind === 'conflict')).toHaveLength(8);
      await Promise.all(nodes.map((node) => node.refresh()));
      expect(new Set(nodes.map((node) => node.current().version)).size).toBe(1);
    }
  });

  test('YAML that an older version has stored is read, and becomes data with the history of its text', async () => {
    const open = await freshStore(kind);
    const versions = new CatalogVersions(open.db, systemClock);
    await versions.add([{ text: `# ours\n${edited(0.25)}`, actor: 'acc_1', note: 'old' }], 0);
    const drafts = new CatalogDrafts(open.db, systemClock);
    await drafts.save(
      'acc_1',
      { text: edited(0.5), base: `# ours\n${edited(0.25)}`, revision: 1 },
      undefined,
    );
    const [here, there] = [await openOn(open), await openOn(open)];
    expect(guidePrice(here.current())).toBe(250_000_000);
    await Promise.all([here.convert(), there.convert()]);
    await here.convert();
    expect((await here.history()).map(({ id, actor }) => [id, actor])).toEqual([
      [2, 'tollgate'],
      [1, 'acc_1'],
    ]);
    expect((await here.at(2))?.text).toBe(canonicalText(edited(0.25)));
    expect((await here.at(1))?.text).toStartWith('# ours');
    expect(guidePrice(there.current())).toBe(250_000_000);
    const { json } = here.newest();
    expect(await here.draft('acc_1')).toMatchObject({ text: edited(0.5), base: json, revision: 2 });
  });

  test('an invalid text is not saved, and its errors are reported', async () => {
    const catalog = await openOn(await freshStore(kind));
    const result = await catalog.save(edited(-1), 'acc_1', '', 0);
    expect(result).toMatchObject({ kind: 'invalid', mistakes: [{ path: 'lists.house_guides[0].input' }] });
    expect(catalog.newest().version).toBe(0);
  });

  test('a provider key is sealed in the store, enables partner_chat on every node, and is shown only as a hint', async () => {
    const open = await freshStore(kind);
    const [here, there] = [await openOn(open), await openOn(open, { pollMs: 10 })];
    const changed = nextChange(there);
    await here.setProviderKey('ANTHROPIC_API_KEY', 'sk-ant-secret-key-1234', 'api.anthropic.com');
    expect((await changed).endpoints.get('partner_chat')!.unavailable).toBeUndefined();
    expect(there.current().upstreams.get('anthropic')!.apiKey).toBe('sk-ant-secret-key-1234');
    expect(await there.listProviderKeys()).toEqual([
      {
        name: 'ANTHROPIC_API_KEY',
        hint: '…1234',
        origin: 'https://api.anthropic.com',
        updatedAt: expect.any(Number),
      },
    ]);
    const rows = await open.db.selectFrom('provider_key').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain('secret-key');
  });

  test('a replaced provider key is used, and one in use is not removed', async () => {
    const catalog = await openOn(await freshStore(kind));
    await catalog.setProviderKey('OPENAI_API_KEY', 'sk-first-00000001', OPENAI);
    await catalog.save(catalog.newest().yaml, 'acc_1', 'keep', 0);
    await catalog.setProviderKey('OPENAI_API_KEY', 'sk-second-0000002', OPENAI);
    expect(catalog.current().upstreams.get('openai')!.apiKey).toBe('sk-second-0000002');
    expect(await failure(catalog.removeProviderKey('OPENAI_API_KEY'))).toMatchObject({
      code: 'invalid_field',
    });
    expect(await catalog.removeProviderKey('OTHER')).toBe(false);
  });
});

describe.each(['sqlite', 'postgres'] as const)('a catalog at a date (%s)', (kind) => {
  const HOUR = 3_600_000;
  const planned = (input: number, version: number) => ({
    text: edited(input),
    actor: 'acc_1',
    note: 'dearer',
    version,
  });
  /** Two nodes; the clock is the store's, and that of their machines is another one. */
  const nodes = async () => {
    const open = await freshStore(kind);
    const time = { now: 1_000_000_000 };
    const more = { now: () => Promise.resolve(time.now), pollMs: 1_000_000_000 };
    return { time, open, here: await openOn(open, more), there: await openOn(open, more) };
  };

  test('is sold from its moment on by every node, and not a millisecond before', async () => {
    const { time, here, there } = await nodes();
    const from = time.now + HOUR;
    expect(await here.planFor(from, planned(0.25, 0))).toEqual({ kind: 'planned' });
    await there.refresh();
    for (const node of [here, there]) {
      expect(guidePrice(node.current())).toBe(100_000_000);
      expect(node.current().next?.from).toBe(from);
      expect(guidePrice(node.current().next!.catalog)).toBe(250_000_000);
      expect(node.current().validUntil?.()).toBe(time.now + 30_000);
    }
    time.now = from - 1;
    await Promise.all([here.refresh(), there.refresh()]);
    expect([here, there].map((node) => guidePrice(node.current()))).toEqual([100_000_000, 100_000_000]);
    const before = here.current();
    expect(before.validUntil?.()).toBe(from);
    time.now = from;
    await Promise.all([here.refresh(), there.refresh()]);
    expect([here, there].map((node) => guidePrice(node.current()))).toEqual([250_000_000, 250_000_000]);
    expect([here.current().next, before.validUntil?.()]).toEqual([undefined, 0]);
    const [version] = await here.history();
    expect(version).toMatchObject({ id: 2, actor: 'acc_1', note: 'dearer' });
    expect(await there.plans.list()).toMatchObject([
      { from, actor: 'acc_1', state: 'published', version: 2, endedAt: from },
    ]);
  });

  test('can be cancelled until then, and what is published in between is part of it', async () => {
    const { time, here, there } = await nodes();
    await here.save(edited(0.1).replace('House Echo', 'Echo'), 'acc_1', '', 0);
    await here.planFor(time.now + HOUR, {
      ...planned(0.25, 2),
      text: edited(0.25).replace('House Echo', 'Echo'),
    });
    expect(await failure(there.planFor(time.now + 2 * HOUR, planned(0.5, 2)))).toMatchObject({
      code: 'conflict',
    });
    // Another model is changed at once; the price that was announced may not be.
    const beside = edited(0.1).replace('House Echo', 'Echo').replace('name: Chat', 'name: Talk');
    expect(await there.save(beside, 'acc_2', '', 2)).toEqual({ kind: 'saved', version: 3 });
    expect(await failure(there.save(edited(0.3), 'acc_2', '', 3))).toMatchObject({ code: 'conflict' });
    const [waiting] = await there.plans.list();
    expect(await there.cancelPlan(waiting!.id, 'acc_2')).toMatchObject({ id: waiting!.id, note: 'dearer' });
    expect(await there.cancelPlan(waiting!.id, 'acc_2')).toBeUndefined();
    await here.planFor(time.now + HOUR, { ...planned(0.25, 3), text: beside.replace('0.1,', '0.25,') });
    const later = beside.replace('name: Talk', 'name: Speech');
    await there.save(later, 'acc_2', '', 3);
    time.now += HOUR;
    await Promise.all([here.refresh(), there.refresh()]);
    expect(guidePrice(here.current())).toBe(250_000_000);
    expect(here.newest().json).toBe(canonicalText(later.replace('0.1,', '0.25,')));
    expect((await here.plans.list()).map(({ state, endedBy }) => [state, endedBy])).toEqual([
      ['published', undefined],
      ['cancelled', 'acc_2'],
    ]);
  });

  test('is in force on a node that was off at its moment before that node sells anything', async () => {
    const { time, open, here, there } = await nodes();
    await here.planFor(time.now + HOUR, planned(0.25, 0));
    for (const node of [here, there]) node.close();
    time.now += 2 * HOUR;
    const started = await openOn(open, { now: () => Promise.resolve(time.now), pollMs: 1_000_000_000 });
    expect(guidePrice(started.current())).toBe(250_000_000);
    expect(started.newest().version).toBe(2);
    // One that sleeps meanwhile has a price that ended.
    expect([guidePrice(here.current()), here.current().validUntil?.()]).toEqual([
      100_000_000,
      time.now - 2 * HOUR + 30_000,
    ]);
  });

  test('keeps the key that it needs, and the models that another key brings to the built-in catalog', async () => {
    const { time, here, there } = await nodes();
    await here.setProviderKey('ANTHROPIC_API_KEY', 'sk-ant-secret-key-1234', 'api.anthropic.com');
    const text = here
      .newest()
      .yaml.replace('House Guide, input: 0.10', 'House Guide, input: 0.25')
      .replace('upstreams:', 'upstreams:\n  later: { kind: anthropic, api_key: "${ANTHROPIC_API_KEY}" }');
    expect(await here.planFor(time.now + HOUR, { ...planned(0.25, 0), text })).toEqual({ kind: 'planned' });
    expect(await failure(there.removeProviderKey('ANTHROPIC_API_KEY'))).toMatchObject({
      code: 'invalid_field',
      param: 'name',
    });
    await there.setProviderKey('OPENAI_API_KEY', 'sk-proj-0000000001', OPENAI);
    await here.refresh();
    const brought = here.current().endpoints.get('partner_chat')?.models.length ?? 0;
    expect(brought).toBeGreaterThan(0);
    expect(here.current().next?.catalog.endpoints.get('partner_chat')?.models).toHaveLength(brought);
    time.now += HOUR;
    await Promise.all([here.refresh(), there.refresh()]);
    for (const node of [here, there]) {
      expect(guidePrice(node.current())).toBe(250_000_000);
      expect(node.current().upstreams.has('later')).toBe(true);
      expect(node.current().endpoints.get('partner_chat')?.models).toHaveLength(brought);
    }
    expect(await here.removeProviderKey('OTHER')).toBe(false);
  });

  test('is refused in the past, too soon, too late, without a change and with a mistake', async () => {
    const { time, here } = await nodes();
    for (const from of [0, time.now - 1, time.now, time.now + 59_999, time.now + 400 * 24 * HOUR])
      expect(await failure(here.planFor(from, planned(0.25, 0)))).toMatchObject({
        code: 'invalid_field',
        param: 'from',
      });
    const from = time.now + HOUR;
    expect(await here.planFor(from, planned(-1, 0))).toMatchObject({ kind: 'invalid' });
    expect(await here.planFor(from, planned(0.25, 7))).toEqual({ kind: 'conflict', version: 0 });
    expect(await failure(here.planFor(from, { ...planned(0.1, 0), text: builtinCatalog({}) }))).toMatchObject(
      { code: 'invalid_field', param: 'yaml' },
    );
    expect(await here.plans.list()).toEqual([]);
  });

  test('of many that plan, publish, cancel and come to the moment at once, each is done or refused, and nothing is lost', async () => {
    const { time, open, here, there } = await nodes();
    const more = { now: () => Promise.resolve(time.now), pollMs: 1_000_000_000 };
    const all = [here, there, await openOn(open, more)];
    for (let round = 1; round <= 6; round++) {
      await Promise.all(all.map((node) => node.refresh()));
      const { version } = here.newest();
      const from = time.now + HOUR;
      const acts = all.flatMap((node, at) => [
        node.planFor(from + at, planned(round + at / 10, version)),
        node.save(edited(round).replace('House Echo', `Echo ${round}${at}`), 'acc_1', '', version),
      ]);
      const results = await Promise.allSettled(acts);
      const kinds = results.map((result) =>
        result.status === 'fulfilled' ? result.value.kind : (result.reason as { code: string }).code,
      );
      expect(new Set(kinds)).toBeOneOf([
        new Set(['planned', 'conflict']),
        new Set(['saved', 'conflict']),
        new Set(['planned', 'saved', 'conflict']),
      ]);
      const waiting = (await here.plans.list()).filter(({ state }) => state === 'waiting');
      expect(waiting.length).toBe(kinds.filter((done) => done === 'planned').length);
      const published = here.newest().version;
      time.now = from + 10;
      const cancelled =
        waiting[0] && round % 2 === 0
          ? await Promise.all(all.map((node) => node.cancelPlan(waiting[0]!.id, 'acc_3')))
          : [];
      await Promise.all(all.flatMap((node) => [node.refresh(), node.refresh()]));
      // It was due, so that nobody could cancel it any more, and one node published it once.
      expect(cancelled.filter((plan) => plan !== undefined)).toEqual([]);
      expect(here.newest().version).toBe(published + waiting.length);
      expect(new Set(all.map((node) => node.current().version)).size).toBe(1);
    }
  });
});

describe.each(['sqlite', 'postgres'] as const)('a stored provider key (%s)', (kind) => {
  test('from before keys had hosts is not sent until it is entered again', async () => {
    const open = await freshStore(kind);
    const sealed = sealedWithoutHost('OPENAI_API_KEY', 'sk-from-before-0001');
    const row = { name: 'OPENAI_API_KEY', sealed, hint: '…0001', updated_at: 1 };
    await open.db.insertInto('provider_key').values(row).execute();
    const catalog = await openOn(open);
    const problem = `the key OPENAI_API_KEY was entered without a host; enter it again for ${OPENAI}`;
    expect(catalog.current().upstreams.get('openai')).toMatchObject({ apiKey: '', problem });
    expect(catalog.propose(catalog.newest().yaml).mistakes).toMatchObject([{ message: problem }]);
    expect(await catalog.listProviderKeys()).toMatchObject([{ origin: undefined }]);
    await catalog.setProviderKey('OPENAI_API_KEY', 'sk-from-before-0001', OPENAI);
    expect(catalog.current().upstreams.get('openai')).toMatchObject({
      apiKey: 'sk-from-before-0001',
      problem: undefined,
    });
  });

  test('of a kind without base_url is for the default host of that kind', async () => {
    const catalog = await openOn(await freshStore(kind));
    const hosts = {
      anthropic: 'https://api.anthropic.com',
      google: 'https://generativelanguage.googleapis.com',
      mistral: 'https://api.mistral.ai',
      cohere: 'https://api.cohere.com',
      azure: 'https://mine.openai.azure.com',
      bedrock: 'https://bedrock-runtime.eu-west-1.amazonaws.com',
      bfl: 'https://api.bfl.ai',
      fal: 'https://queue.fal.run',
      replicate: 'https://api.replicate.com',
      stability: 'https://api.stability.ai',
    };
    const options: Record<string, string> = {
      azure: 'options: { resource: mine }',
      bedrock: 'options: { region: eu-west-1 }',
    };
    for (const [upstream, host] of Object.entries(hosts)) {
      const yaml = builtinCatalog({}).replace(
        'upstreams:',
        `upstreams:\n  it: { kind: ${upstream}, api_key: "\${IT}", ${options[upstream] ?? ''} }`,
      );
      await catalog.setProviderKey('IT', 'sk-0123456789', 'https://elsewhere.example');
      expect(catalog.propose(yaml).mistakes[0]?.message).toEndWith(`enter it again for ${host}`);
      await catalog.setProviderKey('IT', 'sk-0123456789', host);
      expect(catalog.propose(yaml)).toMatchObject({ ok: true });
    }
  });
});

describe('the catalog in the store', () => {
  test.each([
    ['azure', 'resource: "thief.example/"', 'must be up to 63 letters'],
    ['azure', 'resource: "${KNOWN_API_KEY}"', 'and is not used here'],
    ['bedrock', 'region: "x.thief.example/"', 'must be up to 63 letters'],
    ['azure', 'resource: mine, api_version: "${KNOWN_API_KEY}"', 'enter it again for https://mine.'],
    ['gguf', 'path: "${KNOWN_API_KEY}"', 'and is not used here'],
  ])('an option of %p cannot redirect a key: %s', async (upstream, options, told) => {
    const catalog = await openOn(await freshStore('sqlite'), { env: { IT_API_KEY: 'sk-it' } });
    await catalog.setProviderKey('KNOWN_API_KEY', 'sk-known-0001', OPENAI);
    const key = upstream === 'gguf' ? '' : 'api_key: "${IT_API_KEY}",';
    const yaml = builtinCatalog({}).replace(
      'upstreams:',
      `upstreams:\n  it: { kind: ${upstream}, ${key} options: { ${options} } }`,
    );
    const { ok, mistakes } = catalog.propose(yaml);
    expect([ok, mistakes[0]?.line, mistakes[0]?.message]).toEqual([false, 3, expect.stringContaining(told)]);
    expect(JSON.stringify(mistakes)).not.toContain('sk-');
  });

  test('a list of variables that cannot be read is refused at start', async () => {
    for (const listed of ['A B', 'NAME=', 'NAME=ftp://x'])
      expect(
        String(await failure(openOn(await freshStore('sqlite'), { env: { TOLLGATE_CATALOG_ENV: listed } }))),
      ).toContain('TOLLGATE_CATALOG_ENV must be');
  });

  test('Tollgate’s own variables are not read, even if they are listed', async () => {
    const env = { TOLLGATE_SECRET: 'own', TOLLGATE_CATALOG_ENV: 'TOLLGATE_SECRET' };
    const catalog = await openOn(await freshStore('sqlite'), { env });
    const yaml = builtinCatalog({}).replace(
      'upstreams:',
      'upstreams:\n  it: { kind: openai, base_url: "http://127.0.0.1:1", api_key: "${TOLLGATE_SECRET}" }',
    );
    expect(catalog.propose(yaml).mistakes[0]?.message).toContain('sent to nobody');
  });

  test('a proposal lists what would change and stores nothing', async () => {
    const catalog = await openOn(await freshStore('sqlite'));
    const yaml = edited(0.25)
      .replace('svcv5_chat:', 'renamed_chat:')
      .replace('house-echo: svc_chat', 'house-echo: svcv1_chat')
      .replace('context: 128000, vision', 'context: 32000, vision');
    const { ok, changes } = catalog.propose(yaml);
    expect(ok).toBe(true);
    const lines = changes.map(
      ({ kind, subject, before, after }) => `${kind} ${subject}: ${before} → ${after}`,
    );
    expect(lines).toContain('removed endpoint svcv5_chat: Specialized chat → undefined');
    expect(lines).toContain('added endpoint renamed_chat: undefined → Specialized chat');
    expect(lines).toContain(
      'changed model svc_chat/house-guide: price: 0.10 in, 0.10 cached, 0.40 out (USD per million tokens) → 0.25 in, 0.25 cached, 0.40 out (USD per million tokens)',
    );
    expect(lines).toContain('changed model svc_chat/house-echo: context: 128000 tokens → 32000 tokens');
    expect(lines).toContain('changed alias house-echo: target: svc_chat/house-echo → svcv1_chat/house-echo');
    expect(catalog.propose(builtinCatalog({})).changes).toEqual([]);
    expect(catalog.newest().version).toBe(0);
  });

  test('a proposal shows no secret', async () => {
    const env = { OPENAI_API_KEY: 'sk-from-environment-1', OTHER_API_KEY: 'sk-quite-another-0002' };
    const catalog = await openOn(await freshStore('sqlite'), { env });
    const { ok, changes } = catalog.propose(
      catalog.newest().yaml.replace('${OPENAI_API_KEY}', '${OTHER_API_KEY}'),
    );
    expect(ok).toBe(true);
    expect(changes).toMatchObject([
      { kind: 'changed', subject: 'backend openai: key', before: '…nt-1', after: '…0002' },
    ]);
  });

  test('a node that lacks a variable keeps its old catalog, says why, and shows the newest text to edit', async () => {
    const open = await freshStore('sqlite');
    const here = await openOn(open, { env: { ANTHROPIC_API_KEY: 'k', SPECIAL_API_KEY: 'key' } });
    const there = await openOn(open, { env: {} });
    const yaml = builtinCatalog({ ANTHROPIC_API_KEY: 'k' }).replace(
      '${ANTHROPIC_API_KEY}',
      '${SPECIAL_API_KEY}',
    );
    expect(await here.save(yaml, 'acc_1', '', 0)).toMatchObject({ kind: 'saved' });
    await there.refresh();
    expect(there.current().upstreams.has('anthropic')).toBe(false);
    expect(there.status().error).toContain('SPECIAL_API_KEY, which is not set');
    expect(there.newest()).toMatchObject({ version: 2, json: canonicalText(yaml) });
    expect(String(await failure(openOn(open, { env: {} })))).toMatch(
      /catalog version 2 upstreams\.anthropic\.api_key/,
    );
  });

  test('a key sealed with another secret counts as not set', async () => {
    const open = await freshStore('sqlite');
    const here = await openOn(open);
    await here.setProviderKey('OPENAI_API_KEY', 'sk-proj-0000000001', OPENAI);
    const other = await openOn(open, { sealingKey: new Uint8Array(32).fill(2) });
    expect(other.current().endpoints.get('partner_chat')!.unavailable).toContain('OPENAI_API_KEY');
  });

  test.each([
    ['PATH TO', 'value', 'name', OPENAI],
    ['', 'value', 'name', OPENAI],
    ['KEY', '', 'value', OPENAI],
    ['KEY', 'two\nlines', 'value', OPENAI],
    ['KEY', 'x'.repeat(5000), 'value', OPENAI],
    ['KEY', 'value', 'host', ''],
    ['KEY', 'value', 'host', 'ftp://api.example.com'],
    ['KEY', 'value', 'host', 'https://user:word@api.example.com'],
  ])('a provider key named %p is checked', async (name, value, param, host) => {
    const catalog = await openOn(await freshStore('sqlite'));
    expect(await failure(catalog.setProviderKey(name, value, host))).toMatchObject({
      code: 'invalid_field',
      param,
    });
  });

  test('an unreachable store leaves the catalog in force', async () => {
    const open = await freshStore('sqlite');
    const catalog = await openOn(open);
    await open.db.destroy();
    expect(await failure(catalog.refresh())).toBeInstanceOf(Error);
    expect(catalog.current().endpoints.size).toBe(8);
  });
});

/** As sealed by the first version: without an origin. */
function sealedWithoutHost(name: string, value: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', SEALING_KEY, nonce).setAAD(Buffer.from(name));
  const text = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
  return ['v1', ...[nonce, text, cipher.getAuthTag()].map((part) => part.toString('base64url'))].join('.');
}

/** The error it is refused with; `undefined` if it is not. */
function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

function edited(guideInput: number): string {
  return builtinCatalog({}).replace('House Guide, input: 0.10', `House Guide, input: ${guideInput}`);
}

function guidePrice(catalog: Catalog): number {
  const model = catalog.endpoints.get('svc_chat')!.models.find(({ id }) => id === 'house-guide')!;
  return model.price.kind === 'tokens' ? model.price.input : -1;
}

function nextChange(catalog: StoredCatalog): Promise<Catalog> {
  return new Promise((resolve) => {
    const stop = catalog.onChange((next) => {
      stop();
      resolve(next);
    });
  });
}

async function freshStore(kind: 'sqlite' | 'postgres'): Promise<Store> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-stored-'));
  closing.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const databaseUrl = kind === 'postgres' ? await (await testPostgres()).freshDatabase() : undefined;
  const store = await openStore({
    dataDir,
    databaseUrl,
    log: silentLog,
    clock: systemClock,
    ledgerSql: LEDGER_SQL,
  });
  closing.push(() => store.close());
  return store;
}

async function openOn(store: Store, more: Partial<StoredCatalogOptions> = {}): Promise<StoredCatalog> {
  const catalog = await openStoredCatalog({
    db: store.db,
    durable: () => store.durable(),
    sealingKey: SEALING_KEY,
    builtin: builtinCatalog,
    env: {},
    log: silentLog,
    clock: systemClock,
    ...more,
  });
  closing.push(() => catalog.close());
  return catalog;
}
