import { expect, test } from 'bun:test';
import { isTest, sourcesIn, SRC } from './source-graph.ts';

test('every exported name is unique', async () => {
  const homes = new Map<string, Set<string>>();
  const pattern =
    /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\*?|class|interface|type|const|let|enum)\s+(\w+)/gm;
  for (const { file, text } of await sourcesIn(SRC)) {
    if (isTest(file)) continue;
    for (const [, name = ''] of text.matchAll(pattern))
      homes.set(name, (homes.get(name) ?? new Set()).add(file));
  }
  expect(homes.size).toBeGreaterThan(500);
  const shared = [...homes].filter(([, files]) => files.size > 1);
  expect(shared.map(([name, files]) => `${name}: ${[...files].join(', ')}`)).toEqual([]);
});
