import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../..');
const PAGE = join(ROOT, 'docs/bill.md');
const TITLE = '## What was found, and the tests that keep it mended';

/** The rows of the page's table, without its head: each ends in the tests that it names. */
function rowsOfPage(): string[] {
  const section = readFileSync(PAGE, 'utf8').split(TITLE)[1]?.split('\n## ')[0] ?? '';
  return section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| what was asked'));
}

test('everything that was found to cost the operator more than was paid has a test that exists', async () => {
  const rows = rowsOfPage();
  expect(rows).toHaveLength(14);
  const missing: string[] = [];
  for (const row of rows) {
    const named = [...row.matchAll(/`(\S+\.test\.ts) > ([^`]+)`/g)];
    if (named.length === 0) missing.push(`no test: ${row}`);
    for (const [, file = '', name = ''] of named) {
      const source = Bun.file(join(ROOT, file));
      if (!(await source.exists())) missing.push(file);
      else if (!(await source.text()).includes(name)) missing.push(`${file} > ${name}`);
    }
  }
  expect(missing).toEqual([]);
});
