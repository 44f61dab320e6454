import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ImportGraph } from './import-graph.ts';

const FILES = {
  'a.test.ts': `import { b } from './src/b.ts';\nimport type { T } from './src/type.ts';\n`,
  'src/b.ts': `export { c } from './c.ts';\nconst path = join(import.meta.dir, 'child.ts');\n`,
  'src/c.ts': `import { b } from './b.ts';\nexport const c = await import('../d.ts');\n`,
  'src/child.ts': `spawn('src/started.ts');\n`,
  'src/started.ts': '',
  'src/type.ts': '',
  'd.ts': '',
  'other.ts': '',
};

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'import-graph-'));
  mkdirSync(join(root, 'src'));
  for (const [file, text] of Object.entries(FILES)) writeFileSync(join(root, file), text);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test('a test reaches what it imports or starts, in how many steps, and no type', () => {
  const graph = new ImportGraph(root);
  const distances = Object.keys(FILES).map((file) => [file, graph.distance('a.test.ts', file)]);
  expect(Object.fromEntries(distances)).toEqual({
    'a.test.ts': 0,
    'src/b.ts': 1,
    'src/c.ts': 2,
    'src/child.ts': 2,
    'd.ts': 3,
    'src/started.ts': 3,
    'src/type.ts': undefined,
    'other.ts': undefined,
  });
});
