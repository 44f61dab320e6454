import { expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { editDraft } from './draft/draft-edit.ts';
import { mergeCatalogs } from './draft/merge.ts';
import type { CatalogFile } from './file-schema.ts';
import { foldEntries } from './folded-text.ts';
import { editCatalog } from './import/edit-yaml.ts';
import { readOneLineEntry } from './one-line-entry.ts';
import { readYaml } from './yaml-source.ts';

/**
 * A long list of models in one line each is read without the YAML parser. A text in which a line ends as on Windows always
 * goes through it, and so tells what it makes of the rest.
 */
const byParser = (text: string): string => text.replace('\n', '\r\n');

const word = fc.constantFrom('gpt-5', 'Model 7', 'Vendor (EU)', 'a/b.c_d', 'yes', 'No', 'null', 'Infinity');
const number = fc.constantFrom(
  '0',
  '7',
  '0.25',
  '10.0',
  '007',
  '1e3',
  '-1',
  '.5',
  '5.',
  '0x10',
  '1_000',
  '9'.repeat(16),
  '0.1234567890123456',
);
const quoted = fc.constantFrom(
  '"a: b"',
  '"x # y"',
  '"\\u0041"',
  "'it''s'",
  '"é ü"',
  '""',
  '"{ }"',
  '"[ a, b ]"',
);
const odd = fc.constantFrom(
  '~',
  '',
  '&a 1',
  '*a',
  '!!str 1',
  '${KEY}',
  '@x',
  'a: b',
  'x # y',
  '"open',
  '{}',
  '[]',
  '%x',
);
const space = fc.constantFrom('', ' ', '  ');
const joined = (values: readonly string[], [open, close]: readonly [string, string], pad: string): string =>
  open + pad + values.join(', ') + pad + close;

function valueWith(scalar: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const { value } = fc.letrec<{ value: string }>((tie) => {
    const pair = fc.tuple(fc.constantFrom('k', 'l_2', '__proto__', '1K', 'true'), tie('value'));
    const unique = { selector: ([key]: [string, string]) => key, minLength: 1, maxLength: 3 };
    return {
      value: fc.oneof(
        { depthSize: 'small' },
        { arbitrary: scalar, weight: 6 },
        fc
          .tuple(fc.array(tie('value'), { minLength: 1, maxLength: 3 }), space)
          .map(([items, pad]) => joined(items, ['[', ']'], pad)),
        fc.tuple(fc.uniqueArray(pair, unique), space).map(([own, pad]) =>
          joined(
            own.map(([key, item]) => `${key}: ${item}`),
            ['{', '}'],
            pad,
          ),
        ),
      ),
    };
  });
  return value;
}

const KEYS = ['input', 'output', 'display_name', 'inputs', 'context'];

/** What may stand between the braces of an entry, and how. */
function bracesWith(model: string, scalar: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const value = valueWith(scalar);
  const pairs = fc.uniqueArray(fc.tuple(fc.constantFrom(...KEYS), value), { selector: ([key]) => key });
  return fc
    .tuple(pairs, space)
    .map(([own, pad]) =>
      joined([`model: ${model}`, ...own.map(([key, item]) => `${key}: ${item}`)], ['{', '}'], pad),
    );
}

const clean = fc.oneof(word, number, quoted);
const dirty = fc.oneof({ arbitrary: clean, weight: 4 }, odd);

/** One entry of a list: mostly as imports write it, sometimes as people do, or with a mistake. */
function entryLines(model: string, hasMistakes: boolean): fc.Arbitrary<string> {
  const usual = `    - { model: "${model}", input: 0.25, output: 1.50, context: 128000, tools: true }`;
  const other = fc.constantFrom(
    `    - model: ${model}\n      input: 1`,
    `    # said about the next\n    - { model: ${model} } # and after it`,
    `    - {\n        model: ${model} }`,
    `    - >-\n        - { model: ${model} }`,
    `\n    - { model: ${model} }`,
    `    -  { model: ${model} }`,
    `    - { model: ${model} } `,
  );
  const wrong = fc.constantFrom(
    `    - just a text\n      - { model: ${model} }`,

    `    - { model: ${model}, model: twice }`,
    `      - { model: ${model} }`,
    `    - { model: ${model}`,
  );
  const written = bracesWith(model, hasMistakes ? dirty : clean).map((braces) => `    - ${braces}`);
  return fc.oneof(
    { arbitrary: fc.constant(usual), weight: 60 },
    { arbitrary: written, weight: 6 },
    { arbitrary: other, weight: 1 },
    { arbitrary: hasMistakes ? wrong : other, weight: 1 },
  );
}

const LONG = 280;
const entries = (hasMistakes: boolean): fc.Arbitrary<string[]> =>
  fc.tuple(...Array.from({ length: LONG }, (_, index) => entryLines(`m${index}`, hasMistakes)));
const catalogText = fc
  .tuple(fc.oneof({ arbitrary: entries(false), weight: 3 }, entries(true)), fc.integer({ min: 0, max: 9 }))
  .map(([all, form]) => {
    const [first, second] = [all.slice(0, LONG / 2).join('\n'), all.slice(LONG / 2).join('\n')];
    const text = `upstreams:\n  house: { kind: house }\nlists:\n  first:\n${first}\n  second:\n${second}\nlimits: { chat: 5 }\n`;
    // All of it inside of one long value.
    return form === 0 ? `notes: |\n${text.replaceAll(/^/gm, '  ')}` : text;
  });

test('a long text is what the YAML parser makes of it, with every mistake and position', () => {
  let clean = 0;
  fc.assert(
    fc.property(catalogText, fc.integer({ min: 0, max: LONG / 2 - 1 }), (text, index) => {
      expect(text.length).toBeGreaterThan(20_000);
      const [read, wanted] = [readYaml(text), readYaml(byParser(text))];
      if (foldEntries(text) && wanted.mistakes.length === 0) clean++;
      expect(read.mistakes).toEqual(wanted.mistakes);
      expect(read.value).toEqual(wanted.value);
      for (const list of ['first', 'second'])
        for (const inside of [[], [index], [index, 'input'], [index, 'inputs', 'k'], [index, 'none', 3]])
          for (const atKey of [false, true]) {
            const mistake = { path: ['lists', list, ...inside], message: 'is wrong', atKey };
            expect(read.place(mistake)).toEqual(wanted.place(mistake));
          }
      expect(read.place({ path: ['limits', 'chat'], message: '' })).toEqual(
        wanted.place({ path: ['limits', 'chat'], message: '' }),
      );
    }),
    { numRuns: 40 },
  );
  expect(clean).toBeGreaterThan(10);
}, 120_000);

test('one entry in one line is what the YAML parser makes of it, or is left to it', () => {
  let read = 0;
  fc.assert(
    fc.property(fc.oneof(bracesWith('m', clean), bracesWith('m', dirty)), (braces) => {
      const line = `  - ${braces}`;
      const entry = readOneLineEntry(line);
      if (!entry) return;
      read++;
      const wanted = readYaml(line);
      expect(wanted.mistakes).toEqual([]);
      expect([entry.value]).toEqual(wanted.value as never);
      for (const [key, { start, end }] of entry.places) {
        const [alone] = readYaml(`- { ${key}: ${line.slice(start, end)} }`).value as Record<
          string,
          unknown
        >[];
        expect(alone?.[key]).toEqual(entry.value[key]);
      }
    }),
    { numRuns: 2_000 },
  );
  expect(read).toBeGreaterThan(200);
}, 60_000);

test('an entry that names a key twice is left to the YAML parser, which refuses it', () => {
  expect(readOneLineEntry('  - { model: a, input: 1 }')).toBeDefined();
  expect(readOneLineEntry('  - { model: a, model: b }')).toBeUndefined();
});

const MODELS = Array.from({ length: 300 }, (_, index) => `vendor/model-${index}`);
const lines = MODELS.map((model, index) =>
  index % 100 === 50
    ? `    - model: "${model}"\n      input: 1\n      output: 2`
    : `    - {model: "${model}", output: 2}`,
);
const TEXT = `# Prices of today\nupstreams:\n  house: { kind: house }\nlists:\n  all:\n${lines.join('\n')}\n`;
const FILE = {
  upstreams: { house: {} },
  lists: { all: MODELS.map((model) => ({ model })) },
  endpoints: {},
} as unknown as CatalogFile;

/** A price of one model, another one removed, or a new one. */
function editOf(priced: readonly string[], removed: readonly string[]) {
  return fc.oneof(
    fc.record({
      kind: fc.constant('price' as const),
      list: fc.constant('all'),
      model: fc.constantFrom(...priced),
      input: fc.option(fc.constantFrom('0.5', '3'), { nil: undefined }),
      output: fc.option(fc.constant('12.25'), { nil: undefined }),
    }),
    fc.record({
      kind: fc.constant('remove_model' as const),
      list: fc.constant('all'),
      model: fc.constantFrom(...removed),
    }),
    fc.nat({ max: 5 }).map((number) => ({
      kind: 'add_model' as const,
      list: 'all',
      model: `new/${number}`,
      input: String(number + 1),
      output: '2',
    })),
  );
}

test('an edit changes what it names, and no other line of a long list', () => {
  const edits = fc.array(editOf(MODELS.slice(0, 260), MODELS.slice(260)), { maxLength: 8 });
  fc.assert(
    fc.property(edits, (wanted) => {
      const changed = editDraft(TEXT, FILE, wanted);
      expect(readYaml(changed).value).toEqual(readYaml(editDraft(byParser(TEXT), FILE, wanted)).value);
      const named = new Set(wanted.map(({ model }) => model));
      const kept = lines.filter(
        (line, index) => line.startsWith('    - {') && !named.has(MODELS[index] ?? ''),
      );
      const left = new Set(changed.split('\n'));
      // One that stands alone among those that are changed is written as the others are.
      const rewritten = kept.filter(
        (line) => !left.has(line) && !left.has(line.replace('{', '{ ').replace('}', ' }')),
      );
      expect(rewritten).toEqual([]);
      expect(changed).toStartWith('# Prices of today\n');
    }),
    { numRuns: 30 },
  );
}, 60_000);

test('changes of two people to a long list are merged as if it was read as a whole', () => {
  const edit = editOf([...MODELS.slice(0, 6), ...MODELS.slice(50, 53)], MODELS.slice(290));
  const edits = fc.uniqueArray(edit, { selector: ({ model }) => model, maxLength: 4 });
  const prefers = fc.constantFrom(undefined, 'mine' as const, 'theirs' as const);
  fc.assert(
    fc.property(edits, edits, prefers, (own, others, prefer) => {
      const [mine, theirs] = [editDraft(TEXT, FILE, own), editDraft(TEXT, FILE, others)];
      const { text, conflicts } = mergeCatalogs({ base: TEXT, mine, theirs, prefer });
      const whole = mergeCatalogs({ base: byParser(TEXT), mine, theirs, prefer });
      expect(conflicts.toSorted()).toEqual(whole.conflicts.toSorted());
      expect(byModel(text)).toEqual(byModel(whole.text));
    }),
    { numRuns: 30 },
  );
}, 60_000);

/** New models may be at another place. */
function byModel(text: string): unknown {
  const { lists, ...others } = readYaml(text).value as { lists: { all: { model: string }[] } };
  return { ...others, all: lists.all.toSorted((a, b) => (a.model < b.model ? -1 : 1)) };
}

test('models that somebody put in another order, or in another list, are merged as a whole', () => {
  const models = MODELS.slice(0, 30).map((model) => `    - { model: "${model}", input: 1, output: 2 }`);
  const text = (one: readonly string[], two: readonly string[]): string =>
    `lists:\n  one:\n${one.join('\n')}\n  two:\n${two.join('\n')}\n`;
  const base = text(models.slice(0, 20), models.slice(20));
  const turned = text(models.slice(0, 20).toReversed(), models.slice(20));
  expect(readYaml(mergeCatalogs({ base, mine: turned, theirs: base }).text).value).toEqual(
    readYaml(turned).value,
  );
  const moved = text(models.slice(0, 19), [...models.slice(20), ...models.slice(19, 20)]);
  expect(readYaml(mergeCatalogs({ base, mine: moved, theirs: base }).text).value).toEqual(
    readYaml(moved).value,
  );
});

test('an import adds to a long list and updates what is in it', () => {
  const edit = {
    upstreams: { partner: { kind: 'openai' } },
    models: { all: [{ model: 'new/one', input: 1, output: 2 }] },
    endpoints: {},
    updates: [{ list: 'all', model: 'vendor/model-7', set: { input: 4, costs: { partner: { input: 3 } } } }],
  };
  const changed = editCatalog(TEXT, edit);
  expect(readYaml(changed).value).toEqual(readYaml(editCatalog(byParser(TEXT), edit)).value);
  expect(changed).toContain(lines.slice(120, 140).join('\n'));
});

test('lines that look like entries inside of a longer text stay what they are', () => {
  const text = `notes: |\n${lines.slice(0, 40).join('\n')}\nlists:\n  all:\n${lines.slice(200).join('\n')}\n`;
  const edits = [{ kind: 'price' as const, list: 'all', model: 'vendor/model-201', input: '9' }];
  const changed = readYaml(editDraft(text, FILE, edits)).value;
  expect(changed).toEqual(readYaml(editDraft(byParser(text), FILE, edits)).value);
});

test('merged or not, such lines stay what each version says', () => {
  const models = MODELS.slice(0, 30).map((model) => `    - { model: "${model}", input: 1, output: 2 }`);
  const text = (notes: readonly string[], all: readonly string[]): string =>
    `lists:\n  all:\n${all.join('\n')}\nnotes: |\n  Old prices:\n${notes.join('\n')}\n`;
  const base = text(models.slice(0, 9), models);
  const mine = text([...models.slice(0, 4), '    and more', ...models.slice(4, 9)], models);
  const theirs = text(models.slice(0, 9), models.toSpliced(12, 1));
  const { text: merged, conflicts } = mergeCatalogs({ base, mine, theirs, prefer: 'mine' });
  expect(conflicts).toEqual([]);
  expect(readYaml(merged).value).toEqual(
    readYaml(text([...models.slice(0, 4), '    and more', ...models.slice(4, 9)], models.toSpliced(12, 1)))
      .value,
  );
});
