import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { judge, type Evidence } from './runs/judge.ts';
import { readCatalogue, type Scenario } from './runs/catalogue.ts';
import { resultsIn } from './runs/test-results.ts';

const ROOT = join(import.meta.dir, '../..');
const catalogue = await readCatalogue();

test('every scenario has one entry, is checked by tests or runs that exist, or says why it is not', async () => {
  expect(catalogue.length).toBeGreaterThan(100);
  expect(new Set(catalogue.map(({ id }) => id)).size).toBe(catalogue.length);
  const unchecked = catalogue.filter(({ tests, runs, left }) => tests.length + runs.length === 0 && !left);
  expect(unchecked).toEqual([]);
  const missing: string[] = [];
  for (const { id, tests } of catalogue)
    for (const { file, name } of tests) {
      const source = Bun.file(join(ROOT, file));
      if (!(await source.exists())) missing.push(`${id}: ${file}`);
      // A name may be written with a backslash before an apostrophe.
      else if (!(await source.text()).includes(name)) missing.push(`${id}: ${file} > ${name}`);
    }
  expect(missing).toEqual([]);
});

const scenario: Scenario = {
  id: 'T1',
  what: '',
  criterion: '',
  tests: [{ file: 'a.test.ts', name: 'holds' }],
  runs: ['attack'],
  left: undefined,
};
const report = (body: string): string =>
  `<testsuites><testcase classname="a &amp; b" name="it holds" file="a.test.ts">${body}</testcase><testcase name="other"/></testsuites>`;
const evidence = (body: string, faults: string[] = [], shortened?: string): Evidence => ({
  tests: new Map([['a.test.ts', resultsIn(report(body))]]),
  runs: new Map([['attack', { faults, told: 'numbers', shortened }]]),
});

test('a scenario has passed only if everything that checks it ran whole and passed', () => {
  const outcome = (found: Evidence, of = scenario): string => judge(of, found).outcome;
  expect(outcome(evidence(''))).toBe('passed');
  expect(outcome(evidence('<failure type="x"/>'))).toBe('failed');
  expect(outcome(evidence('', ['late']))).toBe('failed');
  expect(outcome(evidence('<skipped/>'))).toBe('not run');
  expect(outcome(evidence('', [], 'only 5 s'))).toBe('not run');
  expect(outcome({ ...evidence(''), runs: new Map() })).toBe('not run');
  expect(outcome({ ...evidence(''), tests: new Map() })).toBe('not run');
  expect(outcome(evidence(''), { ...scenario, tests: [{ file: 'a.test.ts', name: 'no such' }] })).toBe(
    'failed',
  );
  expect(outcome(evidence(''), { ...scenario, tests: [], runs: [] })).toBe('not run');
});
