import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { reachedTests, readNeeds } from './reached-tests.ts';

/** What `npm run quick` chooses to run. */

describe('the tests that a change reaches', () => {
  const needs = new Map([
    ['src/leaf.ts', []],
    ['src/middle.ts', ['src/leaf.ts']],
    ['src/leaf.test.ts', ['src/leaf.ts']],
    ['src/another.test.ts', ['src/leaf.ts']],
    ['src/middle.test.ts', ['src/middle.ts']],
    ['src/apart.test.ts', []],
    ['test/stories/whole.test.ts', ['src/middle.ts']],
    ['test/golden/golden.test.ts', []],
  ]);
  const reached = (...changed: string[]) =>
    reachedTests(changed, needs).map(({ file, distance }) => `${distance} ${file}`);

  test('are those that need it directly or by others, nearest first, its own and unit tests before the rest', () => {
    expect(reached('src/leaf.ts')).toEqual([
      '1 src/leaf.test.ts',
      '1 src/another.test.ts',
      '2 src/middle.test.ts',
      '2 test/stories/whole.test.ts',
    ]);
  });

  test('are the changed tests themselves before all others', () => {
    expect(reached('src/middle.ts', 'src/apart.test.ts')[0]).toBe('0 src/apart.test.ts');
  });

  test('of a recording are those of the folder that it belongs to', () => {
    expect(reached('test/golden/recorded/chat/one.txt')).toEqual(['1 test/golden/golden.test.ts']);
  });

  test('do not include one that was removed', () => {
    expect(reached('src/removed.test.ts')).toEqual([]);
  });
});

test('in this program, money reaches its own test first, and a thread the tests of what starts it', async () => {
  const needs = await readNeeds(resolve(import.meta.dir, '..'));
  expect(reachedTests(['src/std/money.ts'], needs)[0]).toEqual({
    file: 'src/std/money.test.ts',
    distance: 1,
  });
  expect(reachedTests(['src/tokenizer/count-worker.ts'], needs).map(({ file }) => file)).toContain(
    'src/tokenizer/worker-counter.test.ts',
  );
});
