import { expect, test } from 'bun:test';
import type { Mutant } from './operators.ts';
import { reportOf, type Tried } from './report.ts';
import type { Verdict } from './workshop.ts';

const area = { name: 'the area', sources: [], stages: [] };
const mutant = (change: string): Mutant => ({
  file: 'a.ts',
  line: 3,
  source: 'x = a < b;',
  change,
  start: 0,
  end: 0,
  replacement: '',
});
const tried = (change: string, verdict: Verdict): Tried => ({ mutant: mutant(change), area, verdict });
const accepted = (change: string, file = 'a.ts') => ({
  file,
  source: 'x = a < b;',
  change,
  reason: 'because',
});

const ALL = [tried('1', 'killed'), tried('2', 'hangs'), tried('3', 'survived'), tried('4', 'survived')];

test('both figures are told: of all that were tried, and without those that are accepted', () => {
  const { lines, percent } = reportOf(ALL, ALL, [accepted('4')]);
  expect(percent).toBeCloseTo(66.7, 1);
  expect(lines).toEqual([
    'survivors',
    '  a.ts:3 3   in: x = a < b;',
    '  a.ts:3 4   in: x = a < b;\n    accepted: because',
    'the area: 2 of 4 killed',
    '50.0 % of 4 killed, 1 of them because they hang',
    '66.7 % of 3 without the 1 that are accepted',
  ]);
});

test('what was not tried against all tests, or could not be decided, counts as a survivor, and is told', () => {
  const unsure = [ALL[0]!, tried('5', 'undecided'), { ...tried('6', 'survived'), isUnfinished: true }];
  const { lines, percent } = reportOf(unsure, unsure, []);
  expect(percent).toBeCloseTo(33.3, 1);
  expect(lines).toContain('  a.ts:3 5 (undecided)   in: x = a < b;');
  expect(lines).toContain('  a.ts:3 6 (not all tests)   in: x = a < b;');
  expect(lines.at(-1)).toBe('2 count as survivors that were not tried against all tests');
});

test('a reason is reported that belongs to no mutant, to one of another file, or to one that is killed', () => {
  const { lines } = reportOf(ALL, ALL, [accepted('5'), accepted('3', 'b.ts'), accepted('1'), accepted('2')]);
  expect(lines.filter((line) => line.startsWith('stale'))).toEqual([
    'stale, there is no such mutant: a.ts 5   in: x = a < b;',
    'stale, there is no such mutant: b.ts 3   in: x = a < b;',
  ]);
  expect(lines.filter((line) => line.startsWith('accepted, but killed'))).toHaveLength(2);
});

test('nothing tried is no success', () => {
  expect(reportOf([], [], []).percent).toBe(0);
});
