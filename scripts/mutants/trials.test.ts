import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TrialLog } from './trials.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'trials-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const area = { name: 'the area', sources: [], stages: [] };
const mutant = (change: string) => ({
  file: 'a.ts',
  line: 3,
  source: 'x = a < b;',
  change,
  start: 0,
  end: 0,
  replacement: '',
});

test('a run goes on where the last one stopped, with the times of its stages', () => {
  const path = join(folder, 'results.jsonl');
  const first = new TrialLog(path, 'sample 1');
  first.keep({ area, mutant: mutant('1'), survived: 1 });
  first.keep({ area, mutant: mutant('2'), survived: 0, verdict: 'killed' });
  first.keep({ area, mutant: mutant('1'), survived: 2, verdict: 'survived' });
  first.keepSilence('the area 0', 15_000);
  const second = new TrialLog(path, 'sample 1');
  expect(second.trial(area, mutant('1'))).toMatchObject({ survived: 2, verdict: 'survived' });
  expect(second.trial(area, mutant('2'))).toMatchObject({ survived: 0, verdict: 'killed' });
  expect(second.trial(area, mutant('3'))).toEqual({ area, mutant: mutant('3'), survived: 0 });
  expect(second.silenceOf('the area 0')).toBe(15_000);
  expect(second.silenceOf('the area 1')).toBeUndefined();
});

test('results of another sample, or of other sources, are not added to these', () => {
  const path = join(folder, 'results.jsonl');
  new TrialLog(path, 'sample 1').keep({ area, mutant: mutant('1'), survived: 0, verdict: 'killed' });
  expect(() => new TrialLog(path, 'sample 2')).toThrow('another sample');
});
