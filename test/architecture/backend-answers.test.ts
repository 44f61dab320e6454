import { Glob } from 'bun';
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../..');

/** Why a file may do what the others leave to `src/std/json-answer.ts`. */
const READS_BODIES: Readonly<Record<string, string>> = {
  'src/upstream/finished-images.ts': 'The bytes of an image that was converted here.',
};
const PARSES: Readonly<Record<string, string>> = {
  'src/upstream/ai-sdk/json.ts': 'A request that a package wrote, or an error whose text was bounded before.',
};

const BODY_READERS = /\.(?:json|text|arrayBuffer|bytes|blob|formData)\(\)|\breadBounded\(/;

function filesWith(pattern: RegExp, where = 'src/upstream/**/*.ts'): string[] {
  return [...new Glob(where).scanSync(ROOT)]
    .filter((path) => !path.endsWith('.test.ts') && !path.includes('/testing/'))
    .filter((path) => pattern.test(readFileSync(join(ROOT, path), 'utf8')))
    .toSorted();
}

test('bodies of backends are read in one place, which bounds their size and what they make the parser do', () => {
  expect(filesWith(BODY_READERS)).toEqual(Object.keys(READS_BODIES).toSorted());
  expect(filesWith(/\bJSON\.parse\(/)).toEqual(Object.keys(PARSES).toSorted());
});

test('whoever waits for a body of its own would be found', () => {
  for (const line of ['await response.json()', 'await answer.text()', 'readBounded(response, 1, tooLarge)'])
    expect(line).toMatch(BODY_READERS);
});

/** Why a file may ask without saying that the answer stays as it is. */
const ASKS_OTHERWISE: Readonly<Record<string, string>> = {
  'src/cli/health.ts': 'The server of this machine.',
  'src/main/compose.ts': 'This process.',
  'src/upstream/anthropic/native.ts': 'It is given the access of `ai-sdk/transport.ts`.',
};

test('whoever asks others unpacks no compressed answer: some kilobytes may become hundreds of megabytes', () => {
  const everywhere = 'src/**/*.ts';
  const bounded = new Set(filesWith(/decompress: false|\.\.\.target\.options/, everywhere));
  const asking = filesWith(/(?:await|return) fetch\(/, everywhere);
  expect(asking.length).toBeGreaterThan(5);
  expect(asking.filter((path) => !bounded.has(path))).toEqual(Object.keys(ASKS_OTHERWISE).toSorted());
});
