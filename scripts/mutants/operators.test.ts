import { expect, test } from 'bun:test';
import { AREAS } from './areas.ts';
import { mutantsOf } from './operators.ts';
import { filesOf } from './workshop.ts';

const ROOT = `${import.meta.dir}/../..`;
const changes = (text: string): string[] => mutantsOf('a.ts', text).map(({ change }) => change);

test.each([
  ['a bound moves by one and turns round', 'f(a < b);', ['< → <=', '< → >=']],
  ['an equality turns round', 'x = a === b;', ['=== → !==']],
  ['arithmetic', 'x = a * b;', ['* → /']],
  ['logic', 'x = a && b;', ['&& → ||']],
  ['a negation', 'x = !a;', ['!a → a']],
  ['a literal', 'x = true;', ['true → false']],
  ['a number', 'x = 5;', ['5 → (5 + 1)', '5 → (5 - 1)']],
  ['a big number', 'x = 5n;', ['5n → (5n + 1n)', '5n → (5n - 1n)']],
  ['a text', `x = 'a';`, [`'a' → ''`]],
  ['a rounding', 'x = Math.ceil(a);', ['Math.ceil → Math.floor']],
  ['a condition', 'x = a ? b : c;', ['a → !(a)']],
])('%s', (_, text, expected) => {
  expect(changes(text)).toEqual(expect.arrayContaining(expected));
});

test('a call, an assignment and an early return are removed', () => {
  expect(changes('function f() { if (a) return 1; save(); this.x = 2; }')).toEqual(
    expect.arrayContaining([
      'if (a) return 1; → (removed)',
      'save(); → (removed)',
      'this.x = 2; → (removed)',
    ]),
  );
});

test('types, imports, names and texts for people are left alone', () => {
  const text = `import { a } from './a.ts';
    type T = 'one' | 2;
    const b: Record<'k', 3> = { k: c as 'one' };
    throw new Fault(code, 'words for people', unavailable('more of them'));
    log.warn('words', { n: 4 });
    log.error('words', { n: 4 });`;
  expect(changes(text)).toEqual([expect.stringContaining('log.error')]);
});

test('pauses and sizes of batches are left alone, but not what a client reads or the books reckon with', () => {
  expect(changes('const PAUSE_MS = 5; const PIECE_BYTES = 16; const MOST_TOGETHER = 9;')).toEqual([]);
  for (const name of ['RETRY_AFTER_MS', 'DAY_MS', 'KEPT_MS', 'MAX_BALANCE', 'MAX_ATTEMPTS'])
    expect(changes(`const ${name} = 5;`)).toHaveLength(2);
});

test('so are pauses and sizes in one constant, unless they are none or one', () => {
  expect(changes('const LIMITS = { waiting: 2_000, hangMs: 60, mostBytes: 99 };')).toEqual([]);
  expect(changes('const LIMITS = { retryAfterMs: 60, pauseMs: 1, tokens: 99 };')).toHaveLength(6);
});

test('a bound that only paces is not moved by one, but turned round', () => {
  expect(changes('const x = size >= MAX_KNOWN;')).toEqual(['>= → <']);
  expect(changes('const x = age >= KEPT_MS;')).toEqual(['>= → >', '>= → <']);
});

test('a fallback that only the compiler needs is left alone, one for a missing key is not', () => {
  expect(changes('f(bytes[at] ?? 0); const [a = 1, b = 2] = list; f(ends[index - 1] ?? 0);')).not.toContain(
    '0 → (0 + 1)',
  );
  expect(changes('const [a = 1, b = 2] = list;')).toEqual([]);
  expect(changes('x = counts[key] ?? 0;')).toContain('0 → (0 + 1)');
  expect(changes('x = given ?? 5;')).toContain('5 → (5 + 1)');
});

test('a mutant is named by its line’s text, so that it is known again where the line has moved', () => {
  const swap = (file: string, text: string) => mutantsOf(file, text).find(({ change }) => change === '* → /');
  expect(swap('a.ts', '  x = a * b;')).toMatchObject({ source: 'x = a * b;', line: 1 });
  expect(swap('b.ts', 'y();\n\nx = a * b;')).toMatchObject({ source: 'x = a * b;', line: 3 });
});

test('the same change at two places of a line has two names', () => {
  expect(changes('const x = f(1, 1);')).toEqual([
    '1 → (1 + 1)',
    '1 → (1 - 1)',
    '1 → (1 + 1) #2',
    '1 → (1 - 1) #2',
  ]);
});

test('every pattern of the table matches a file', () => {
  for (const { sources, except = [], stages } of AREAS)
    for (const pattern of [...sources, ...except, ...stages.flat()])
      expect(filesOf(ROOT, pattern).length).toBeGreaterThan(0);
});
