import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { CASES } from './cases/index.ts';
import { fileOf, recordedFiles } from './files.ts';
import { runAll } from './run.ts';

/**
 * What goes over the wire, byte for byte: client to gateway and back, gateway to backend and back, and the receipt. A
 * difference that is meant is recorded with `bun test/golden/record.ts`, and its diff is part of the change.
 */

const TEST_TIMEOUT_MS = 120_000;
const recordings = new Map(CASES.map(({ name }) => [name, Promise.withResolvers<string>()]));
let finished: Promise<void> | undefined;

beforeAll(() => {
  for (const { promise } of recordings.values()) promise.catch(() => undefined);
  finished = runAll(CASES, ({ name }, recording) => {
    const result = recordings.get(name);
    void recording.then(result?.resolve, result?.reject);
  });
});
afterAll(() => finished);

describe('the bytes of', () => {
  for (const golden of CASES) {
    test(
      golden.name,
      async () => {
        const recorded = await Bun.file(fileOf(golden)).text();
        expect(await recordings.get(golden.name)?.promise).toBe(recorded);
      },
      TEST_TIMEOUT_MS,
    );
  }
});

test('every recording belongs to one case', () => {
  expect(recordings.size).toBe(CASES.length);
  expect(recordedFiles().sort()).toEqual(CASES.map(fileOf).sort());
});

test('every error of the guide is recorded', async () => {
  const guide = await Bun.file(join(import.meta.dir, '../../docs/guide/errors.md')).text();
  const listed = [...guide.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1] ?? '');
  const named = [...guide.matchAll(/^`(\w+)`: /gm)].map((match) => match[1] ?? '');
  const words = [...listed, ...named, 'payment_required', 'method_not_allowed'];
  expect(words.length).toBeGreaterThan(20);
  const texts = await Promise.all(recordedFiles().map((file) => Bun.file(file).text()));
  const told = texts.join('\n');
  const missing = words.filter((word) => !new RegExp(`"(?:code|error_code|reason)":"${word}"`).test(told));
  expect(missing).toEqual([]);
});
