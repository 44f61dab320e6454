import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { Glob } from 'bun';

/** Which files a file needs, by their paths from the root. */
export type Needs = ReadonlyMap<string, readonly string[]>;

export interface ReachedTest {
  readonly file: string;
  /** How many imports are between the change and the test: 0 is the test itself. */
  readonly distance: number;
}

/** The tests that a change can make fail, the nearest first; of those equally near, unit tests before whole servers. */
export function reachedTests(changed: readonly string[], needs: Needs): ReachedTest[] {
  const neededBy = usersOf(needs);
  const ownTests = new Set(changed.map((file) => file.replace(/\.tsx?$/, '.test.ts')));
  const rank = (file: string): number => (ownTests.has(file) ? 0 : file.startsWith('test/') ? 2 : 1);
  const distances = new Map(changed.map((file) => [file, 0]));
  for (const [file, distance] of distances) {
    for (const user of [...(neededBy.get(file) ?? []), ...testsBeside(file, needs)])
      if (!distances.has(user)) distances.set(user, distance + 1);
  }
  return [...distances]
    .map(([file, distance]) => ({ file, distance }))
    .filter(({ file }) => isTest(file) && needs.has(file))
    .toSorted((a, b) => a.distance - b.distance || rank(a.file) - rank(b.file) || (a.file < b.file ? -1 : 1));
}

function usersOf(needs: Needs): ReadonlyMap<string, readonly string[]> {
  const users = new Map<string, string[]>();
  for (const [file, needed] of needs) {
    for (const one of needed) {
      const known = users.get(one);
      if (known) known.push(file);
      else users.set(one, [file]);
    }
  }
  return users;
}

/** Data of tests, such as a recording, is found by its folder and imported by nobody. */
function testsBeside(file: string, needs: Needs): string[] {
  if (!file.startsWith('test/') || /\.tsx?$/.test(file)) return [];
  for (let folder = dirname(file); folder !== 'test'; folder = dirname(folder)) {
    const tests = [...needs.keys()].filter((one) => dirname(one) === folder && isTest(one));
    if (tests.length > 0) return tests;
  }
  return [];
}

/** What every file needs: imports other than of types, and files that it names, such as the program of a thread. */
export async function readNeeds(root: string): Promise<Needs> {
  const files = await Array.fromAsync(
    new Glob('{src,web,test,scripts,bench,conformance}/**/*.{ts,tsx}').scan(root),
  );
  const read = async (file: string): Promise<[string, string[]]> => [
    file,
    namedFiles(await Bun.file(join(root, file)).text(), root, file),
  ];
  return new Map(await Promise.all(files.map(read)));
}

const TYPE_IMPORT = /^(?:import|export) type [^;]*;$/gm;
const PATH = /['"`]((?:[\w@.-]+\/|\.{1,2}\/)+[\w.-]+\.\w+)['"`]/g;

function namedFiles(text: string, root: string, file: string): string[] {
  const named = new Set<string>();
  for (const [, path = ''] of text.replaceAll(TYPE_IMPORT, '').matchAll(PATH)) {
    const whole = [resolve(root, dirname(file), path), resolve(root, path)].find((one) => existsSync(one));
    if (whole !== undefined) named.add(relative(root, whole));
  }
  return [...named];
}

function isTest(file: string): boolean {
  return /\.test\.tsx?$/.test(file);
}
