import { expect, test } from 'bun:test';
import { CASES } from './cases/all.ts';
import { foundIn, markdown, type Found } from './report.ts';

/** One round of one case. */
function run(version: string, verdict: 'holds' | 'fails', figure: string): Found {
  const [one] = CASES;
  if (one === undefined) throw new Error('there are no cases');
  const gateway = { version, settings: ['as it comes'], shims: [] };
  return foundIn(
    [{ name: 'gate', about: 'a gateway', gateway, rounds: [[{ case: one, verdict, figure }]] }],
    [one],
  );
}

test('a table of several runs has the rounds of all in one column, and says how many broke a bound', () => {
  const [same, other] = [run('1', 'holds', '11 answered'), run('1', 'fails', '200 answered')];
  expect(markdown([same, same])).toContain('| ✓ 11 answered |');
  expect(markdown([same, other, same])).toContain('| ✗ in 1 of 3 rounds: 11 answered / 200 answered |');
  expect(markdown([same, other]).match(/\*\*gate\*\*/g)).toHaveLength(1);
});

test('two versions of a gateway are not added up', () => {
  expect(() => markdown([run('1', 'holds', 'a'), run('2', 'holds', 'a')])).toThrow('several versions: 1, 2');
});
