import { afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../std/clock.ts';
import { makeLog, silentLog, type Log } from '../std/log.ts';
import { StartupError } from '../std/startup-error.ts';
import { builtinCatalog } from './builtin.ts';
import type { Catalog, CatalogSource } from './catalog.ts';
import { CatalogError } from './mistakes.ts';
import { openCatalog, type CatalogOptions } from './source.ts';

const folders: string[] = [];
const sources: CatalogSource[] = [];

afterEach(() => {
  for (const source of sources.splice(0)) source.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe('a catalog file', () => {
  test('that changes replaces the catalog; requests keep the one they have', async () => {
    const { path, source } = open(text('0.10'));
    const before = source.current();
    const changed = nextChange(source);
    writeFileSync(path, text('0.20'));
    expect(inputOf(await changed)).toBe(200_000_000);
    expect(inputOf(source.current())).toBe(200_000_000);
    expect(inputOf(before)).toBe(100_000_000);
    expect(source.current().version).not.toBe(before.version);
  });

  test('that is replaced by a rename, as editors do, is noticed every time', async () => {
    const { path, source } = open(text('0.10'));
    for (const price of ['0.20', '0.30', '0.40']) {
      const changed = nextChange(source);
      writeFileSync(`${path}.new`, text(price));
      renameSync(`${path}.new`, path);
      expect(inputOf(await changed)).toBe(Number(price) * 1_000_000_000);
    }
  });

  test('is noticed while other files of its folder are written all the time', async () => {
    const { path, source } = open(text('0.10'));
    const neighbour = setInterval(() => writeFileSync(`${path}.db-wal`, crypto.randomUUID()), 1);
    try {
      const edited = nextChange(source);
      writeFileSync(path, text('0.20'));
      expect(inputOf(await edited)).toBe(200_000_000);
      const replaced = nextChange(source);
      writeFileSync(`${path}.new`, text('0.30'));
      renameSync(`${path}.new`, path);
      expect(inputOf(await replaced)).toBe(300_000_000);
    } finally {
      clearInterval(neighbour);
    }
  });

  test('behind a replaced symlink, as Kubernetes does, is noticed', async () => {
    const folder = makeFolder();
    for (const [version, price] of [
      ['v1', '0.10'],
      ['v2', '0.20'],
    ] as const) {
      mkdirSync(join(folder, version));
      writeFileSync(join(folder, version, 'tollgate.yaml'), text(price));
    }
    symlinkSync('v1', join(folder, '..data'));
    symlinkSync(join('..data', 'tollgate.yaml'), join(folder, 'tollgate.yaml'));
    const source = openAt(join(folder, 'tollgate.yaml'));
    const changed = nextChange(source);
    symlinkSync('v2', join(folder, '..data_new'));
    renameSync(join(folder, '..data_new'), join(folder, '..data'));
    expect(inputOf(await changed)).toBe(200_000_000);
  });

  test('behind a link is noticed when what the link leads to changes', async () => {
    const elsewhere = join(makeFolder(), 'real.yaml');
    writeFileSync(elsewhere, text('0.10'));
    const link = join(makeFolder(), 'tollgate.yaml');
    symlinkSync(elsewhere, link);
    const source = openAt(link);
    const changed = nextChange(source);
    writeFileSync(elsewhere, text('0.20'));
    expect(inputOf(await changed)).toBe(200_000_000);
  });

  test('that becomes invalid keeps the old catalog and says why, and a repaired one is loaded', async () => {
    const warned = warnings();
    const { path, source } = open(text('0.10'), { log: warned.log });
    const before = source.current();
    writeFileSync(path, text('-1'));
    expect(await warned.event('catalog_refused')).toMatchObject({
      event: 'catalog_refused',
      reason: expect.stringContaining('must not be negative'),
    });
    expect(source.current()).toBe(before);
    expect(source.status()).toMatchObject({
      kind: 'file',
      path,
      error: expect.stringMatching(/tollgate\.yaml:\d+:\d+ lists\.list\[0\]\.input/),
    });
    const changed = nextChange(source);
    writeFileSync(path, text('0.30'));
    expect(inputOf(await changed)).toBe(300_000_000);
    expect(source.status().error).toBeUndefined();
  });

  test('that is deleted keeps the old catalog; restoring it clears the error', async () => {
    const warned = warnings();
    const { path, source } = open(text('0.10'), { log: warned.log });
    unlinkSync(path);
    await warned.event('catalog_refused');
    expect(inputOf(source.current())).toBe(100_000_000);
    expect(source.status().error).toContain('ENOENT');
    writeFileSync(path, text('0.10'));
    await warned.event('catalog_recovered');
    expect(source.status().error).toBeUndefined();
    expect(inputOf(source.current())).toBe(100_000_000);
  });

  test('a failing listener does not affect the others', async () => {
    const { path, source } = open(text('0.10'));
    source.onChange(() => {
      throw new Error('listener');
    });
    const changed = nextChange(source);
    writeFileSync(path, text('0.20'));
    expect(inputOf(await changed)).toBe(200_000_000);
  });

  test('a stopped listener is not called any more', async () => {
    const { path, source } = open(text('0.10'));
    const heard: Catalog[] = [];
    const stop = source.onChange((catalog) => heard.push(catalog));
    stop();
    const changed = nextChange(source);
    writeFileSync(path, text('0.20'));
    await changed;
    expect(heard).toEqual([]);
  });

  test('that is invalid or missing refuses the start', () => {
    expect(() => open(text('oops'))).toThrow(CatalogError);
    expect(() => openAt(join(makeFolder(), 'none.yaml'))).toThrow(StartupError);
  });
});

test('without a file the built-in catalog is used', () => {
  const source = openCatalog({ builtin: builtinCatalog, env: {}, log: silentLog, clock: systemClock });
  expect(source.current().endpoints.size).toBe(8);
  expect(source.status()).toMatchObject({ path: undefined, error: undefined });
  source.close();
});

function text(input: string): string {
  return `upstreams: { house: { kind: house } }
lists:
  list: [{ model: m, input: ${input}, output: 1 }]
endpoints:
  chat: { name: Chat, type: chat_completion, lists: [list], upstreams: [house] }
`;
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-catalog-'));
  folders.push(folder);
  return folder;
}

function open(content: string, more: Partial<CatalogOptions> = {}): { path: string; source: CatalogSource } {
  const path = join(makeFolder(), 'tollgate.yaml');
  writeFileSync(path, content);
  return { path, source: openAt(path, more) };
}

function openAt(path: string, more: Partial<CatalogOptions> = {}): CatalogSource {
  const source = openCatalog({
    path,
    builtin: builtinCatalog,
    env: {},
    log: silentLog,
    clock: systemClock,
    ...more,
  });
  sources.push(source);
  return source;
}

function nextChange(source: CatalogSource): Promise<Catalog> {
  return new Promise((resolve) => {
    const stop = source.onChange((catalog) => {
      stop();
      resolve(catalog);
    });
  });
}

function inputOf(catalog: Catalog): number {
  const price = catalog.endpoints.get('chat')!.models[0]!.price;
  return price.kind === 'tokens' ? price.input : -1;
}

/** A log whose events can be awaited. */
function warnings(): { log: Log; event(name: string): Promise<Record<string, unknown>> } {
  const events = new Map<string, PromiseWithResolvers<Record<string, unknown>>>();
  const named = (name: string): PromiseWithResolvers<Record<string, unknown>> => {
    const known = events.get(name) ?? Promise.withResolvers<Record<string, unknown>>();
    events.set(name, known);
    return known;
  };
  const log = makeLog((line) => {
    // What makeLog writes is an object; the test then looks at single fields.
    const entry = JSON.parse(line) as Record<string, unknown>;
    named(String(entry['event'])).resolve(entry);
  });
  return { log, event: (name) => named(name).promise };
}
