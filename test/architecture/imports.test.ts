import { expect, test } from 'bun:test';
import {
  cycleIn,
  importsIn,
  isTest,
  isTesting,
  loadedWith,
  sourcesIn,
  SRC,
  WEB,
  type Import,
} from './source-graph.ts';

/**
 * Each folder may import only what its line allows, and a folder without a line fails. The lines are in order: none
 * allows a folder below it. `relay` and `house` may import only single files of the ports they use.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  std: [],
  tokenizer: ['std'],
  wire: ['std'],
  store: ['std'],
  ledger: ['std', 'store'],
  catalog: ['std', 'store', 'tokenizer/port.ts'],
  outbox: ['std', 'store', 'catalog/seal.ts'],
  upstream: ['std', 'wire', 'catalog'],
  house: ['std', 'wire', 'catalog/catalog.ts', 'upstream/port.ts'],
  relay: [
    'std',
    'wire',
    'ledger/port.ts',
    'ledger/price.ts',
    'ledger/priced-parts.ts',
    'ledger/decide.ts',
    'ledger/token-limits.ts',
    'upstream/port.ts',
    'catalog/catalog.ts',
    'catalog/image-abilities.ts',
    'tokenizer',
  ],
  identity: ['std', 'store', 'ledger', 'outbox'],
  activity: ['std', 'store', 'ledger'],
  payments: ['std', 'store', 'ledger', 'outbox'],
  telemetry: ['std', 'activity'],
  cli: ['std', 'wire', 'store', 'ledger', 'catalog', 'outbox', 'upstream', 'identity', 'activity'],
  http: ['std', 'wire', 'ledger', 'catalog', 'relay'],
  console: [
    'std',
    'wire',
    'store',
    'ledger',
    'catalog',
    'outbox',
    'upstream',
    'identity',
    'activity',
    'payments',
    'relay',
    'http',
  ],
  api: [
    'std',
    'tokenizer/port.ts',
    'wire',
    'store',
    'ledger',
    'catalog',
    'upstream/port.ts',
    'identity',
    'activity',
    'relay',
    'http',
    'console/playground-relay.ts',
  ],
  main: [
    'std',
    'tokenizer',
    'wire',
    'store',
    'ledger',
    'catalog',
    'outbox',
    'upstream',
    'house',
    'relay',
    'identity',
    'activity',
    'payments',
    'telemetry',
    'cli',
    'http',
    'console',
    'api',
  ],
};

/** The two ledgers share a contract but no code: what both need is in the folder above them. */
const TWINS = ['ledger/sqlite/', 'ledger/postgres/'];

test('every folder imports only what the table allows', async () => {
  const breaches = (await program()).filter((one) => !isAllowed(one));
  expect(breaches.map(arrow)).toEqual([]);
});

test('no line of the table allows a folder below it', () => {
  const folders = Object.keys(MAY_IMPORT);
  const upwards = folders.flatMap((folder, place) =>
    (MAY_IMPORT[folder] ?? [])
      .filter((entry) => folders.indexOf(topFolder(entry)) >= place)
      .map((entry) => `${folder} → ${entry}`),
  );
  expect(upwards).toEqual([]);
});

test('neither ledger imports the other', async () => {
  const [sqlite = '', postgres = ''] = TWINS;
  const across = (await program()).filter(
    ({ from, to }) =>
      (from.startsWith(sqlite) && to.startsWith(postgres)) ||
      (from.startsWith(postgres) && to.startsWith(sqlite)),
  );
  expect(across.map(arrow)).toEqual([]);
});

test('the console pages import only the server’s contract and its table of prices', async () => {
  const outside = (await importsIn(WEB))
    .filter(({ to }) => to.startsWith('..'))
    .filter(
      ({ to }) =>
        !/^\.\.\/(src\/console\/contract(\.ts|\/)|src\/std\/(dimension-texts|price-dimensions)\.ts|docs\/|node_modules\/)/.test(
          to,
        ),
    );
  expect(outside.map(arrow)).toEqual([]);
});

test('there is no import cycle, types included', async () => {
  expect(cycleIn(await importsIn(SRC))).toEqual([]);
});

test('test support is in testing folders, and only tests use it', async () => {
  const misplaced = (await sourcesIn(SRC))
    .filter(({ file }) => !isTest(file) && !isTesting(file))
    .filter(({ text }) => /from '(bun:test|fast-check|(?:\.\.\/)+test\/[^']*)'/.test(text))
    .map(({ file }) => file);
  const used = (await importsIn(SRC)).filter(({ from, to }) => isTesting(to) && !isTesting(from));
  expect([...misplaced, ...used.map(arrow)]).toEqual([]);
});

test('the built-in backend is loaded when it is first called', async () => {
  const imports = await importsIn(SRC);
  expect(imports.filter(({ to, kind }) => to === 'house/house.ts' && kind === 'dynamic')).toHaveLength(1);
  const loaded = [...loadedWith('main/main.ts', imports)].filter((file) => file.startsWith('house/'));
  expect(loaded).toEqual(['house/backend.ts']);
});

test('secrets are compared in one place, which takes whatever a client sends', async () => {
  const sources = (await sourcesIn(SRC)).filter(({ text }) => text.includes('timingSafeEqual'));
  expect(sources.map(({ file }) => file)).toEqual(['std/same-secret.ts']);
});

test('the request path stays under 70 lines', async () => {
  const lines = (await Bun.file(`${SRC}/relay/relay.ts`).text()).trimEnd().split('\n');
  expect(lines.length).toBeLessThan(70);
});

test('the request path names no provider, no SQL and no HTTP', async () => {
  const words =
    /\b(anthropic|openai|gemini|bedrock|azure|mistral|cohere|sqlite|postgres|select|fetch|headers)\b/i;
  for (const { file, text } of await sourcesIn(SRC)) {
    if (!file.startsWith('relay/') || isTest(file)) continue;
    // Import paths are checked by the table.
    const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|from '[^']*'/gm, '');
    expect({ file, found: words.exec(code)?.[0] }).toEqual({ file, found: undefined });
  }
});

/** Test support may import whatever it needs. */
async function program(): Promise<Import[]> {
  return (await importsIn(SRC)).filter(({ from }) => !isTesting(from));
}

function isAllowed({ from, to }: Import): boolean {
  const folder = topFolder(from);
  if (folder === topFolder(to)) return true;
  // Only the composition root reaches outside: for the console's pages.
  if (to.startsWith('..')) return folder === 'main' && to === '../web/pages.ts';
  const allowed = MAY_IMPORT[folder];
  return (
    allowed !== undefined &&
    allowed.some((entry) => to === entry || (!entry.includes('/') && topFolder(to) === entry))
  );
}

function topFolder(path: string): string {
  return path.includes('/') ? path.slice(0, path.indexOf('/')) : path;
}

function arrow({ from, to }: Import): string {
  return `${from} → ${to}`;
}
