import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AREAS } from './areas.ts';
import { ImportGraph } from './import-graph.ts';
import { mutantsOf } from './operators.ts';
import { filesOf } from './workshop.ts';

const ROOT = join(import.meta.dir, '../..');

test('every pattern of an area matches a file, and every file with mutants is reached by a test of its area', () => {
  const graph = new ImportGraph(ROOT);
  for (const { sources, stages } of AREAS) {
    const files = sources.flatMap((pattern) => filesOf(ROOT, pattern));
    const tests = stages.flat().flatMap((pattern) => filesOf(ROOT, pattern));
    const isReached = (file: string): boolean => tests.some((one) => graph.distance(one, file) !== undefined);
    const hasMutants = (file: string): boolean =>
      mutantsOf(file, readFileSync(join(ROOT, file), 'utf8')).length > 0;
    const missed = files.filter((file) => !file.endsWith('.test.ts') && !isReached(file));
    expect(missed.filter(hasMutants)).toEqual([]);
  }
});
