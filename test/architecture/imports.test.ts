import { expect, test } from 'bun:test';
import { dirname, join, relative, resolve } from 'node:path';
import { Glob } from 'bun';

/**
 * Folders are walls: each may import only what its line allows, and a folder without a line fails. `relay` is held to
 * single files, because it must know no SQL, no HTTP and no provider.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  std: [],
  wire: ['std'],
  store: ['std'],
  ledger: ['std', 'store'],
  catalog: ['std', 'store'],
  upstream: ['std', 'wire', 'catalog'],
  relay: [
    'std',
    'wire',
    'ledger/port.ts',
    'ledger/price.ts',
    'ledger/decide.ts',
    'upstream/port.ts',
    'catalog/catalog.ts',
    'catalog/pricing.ts',
  ],
  identity: ['std', 'store', 'ledger'],
  activity: ['std', 'store', 'ledger'],
  console: ['std', 'wire', 'store', 'ledger', 'catalog', 'upstream', 'identity', 'activity', 'relay'],
  http: ['std', 'wire', 'ledger', 'catalog', 'upstream', 'identity', 'activity', 'relay', 'console', 'store'],
  cli: ['std', 'wire', 'store', 'ledger', 'catalog', 'upstream', 'identity', 'activity'],
};

const SRC = resolve(import.meta.dir, '../../src');
const WEB = resolve(import.meta.dir, '../../web');

interface Import {
  readonly from: string;
  readonly to: string;
}

test('every folder imports only what the table allows', async () => {
  const breaches = (await importsIn(SRC)).filter(({ from, to }) => !isAllowed(from, to));
  expect(breaches.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
});

test('the console pages know the server only by its contract', async () => {
  const outside = (await importsIn(WEB))
    .filter(({ to }) => to.startsWith('..'))
    .filter(({ to }) => !/^\.\.\/(src\/console\/contract(\.ts|\/)|docs\/|node_modules\/)/.test(to));
  expect(outside.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
});

test('no file imports itself through others', async () => {
  const graph = new Map<string, string[]>();
  for (const { from, to } of await importsIn(SRC, 'values'))
    graph.set(from, [...(graph.get(from) ?? []), to]);
  expect(cycleIn(graph)).toEqual([]);
});

test('the request path stays a story of under 70 lines', async () => {
  const lines = (await Bun.file(join(SRC, 'relay/relay.ts')).text()).trimEnd().split('\n');
  expect(lines.length).toBeLessThan(70);
});

test('the request path names no provider, no SQL and no HTTP', async () => {
  const words =
    /\b(anthropic|openai|gemini|bedrock|azure|mistral|cohere|sqlite|postgres|select|fetch|headers)\b/i;
  for await (const file of new Glob('relay/*.ts').scan(SRC)) {
    if (file.endsWith('.test.ts')) continue;
    const code = (await Bun.file(join(SRC, file)).text()).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    expect({ file, found: words.exec(code)?.[0] }).toEqual({ file, found: undefined });
  }
});

function isAllowed(from: string, to: string): boolean {
  const folder = topFolder(from);
  // The composition roots at the top may import everything, and nothing below imports them.
  if (!from.includes('/')) return true;
  if (folder === topFolder(to)) return true;
  const allowed = MAY_IMPORT[folder];
  return (
    allowed !== undefined &&
    allowed.some((entry) => to === entry || (!entry.includes('/') && topFolder(to) === entry))
  );
}

function topFolder(path: string): string {
  return path.includes('/') ? path.slice(0, path.indexOf('/')) : path;
}

async function importsIn(root: string, kinds: 'all' | 'values' = 'all'): Promise<Import[]> {
  const found: Import[] = [];
  for await (const file of new Glob('**/*.{ts,tsx}').scan(root)) {
    if (/\.test\.tsx?$/.test(file)) continue;
    const text = await Bun.file(join(root, file)).text();
    const pattern = /^(?:import|export)\s+(type\s)?[^'"]*?from\s+'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;
    for (const [, type, named, dynamic] of text.matchAll(pattern)) {
      if (kinds === 'values' && type) continue;
      const target = named ?? dynamic ?? '';
      // Texts and styles are data; the walls are between code.
      if (!/\.tsx?$/.test(target)) continue;
      found.push({ from: file, to: relative(root, resolve(root, dirname(file), target)) });
    }
  }
  return found;
}

function cycleIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (node: string): string[] | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return undefined;
    path.push(node);
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next);
      if (cycle) return cycle;
    }
    path.pop();
    done.add(node);
    return undefined;
  };
  for (const node of graph.keys()) {
    const cycle = visit(node);
    if (cycle) return cycle;
  }
  return [];
}
