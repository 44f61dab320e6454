import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import { amountOf, storedText, type CatalogMap } from './catalog-data.ts';
import { canonicalText, catalogData, parseCatalog } from './parse.ts';
import { readYaml } from './yaml-source.ts';
import { catalogYaml, editedYaml } from './yaml-text.ts';

/** A comment with an anchor's mark where a value may begin: the fast reader leaves such a text to the package. */
const SLOWLY = '# - &\n';

function slowly(text: string): unknown {
  return readYaml(SLOWLY + text).value;
}

/** Up to nine decimals, with or without zeros at the end. */
const written = fc
  .tuple(fc.nat({ max: 10_000 }), fc.stringMatching(/^\d{0,9}$/))
  .map(([whole, fraction]) => (fraction === '' ? String(whole) : `${whole}.${fraction}`));

function sold(amount: string): string {
  return `lists:\n  l:\n    - { model: m, input: ${amount}, output: 1 }\n`;
}

/** By characters alone: no number is involved. */
function shortest(text: string): string {
  if (!text.includes('.')) return text;
  let end = text.length;
  while (text[end - 1] === '0') end--;
  return text.slice(0, text[end - 1] === '.' ? end - 1 : end);
}

test('an amount is the decimal that was written, for every amount with up to nine decimals', () => {
  fc.assert(
    fc.property(fc.array(written, { minLength: 100, maxLength: 100 }), (amounts) => {
      const models = amounts.map((amount) => `    - { model: m, input: ${amount} }`).join('\n');
      const { value } = readYaml(`lists:\n  l:\n${models}\n`);
      const read = (value as { lists: { l: { input: string | number }[] } }).lists.l;
      expect(read.map(({ input }) => String(input))).toEqual(amounts.map(shortest));
    }),
    { numRuns: 300 },
  );
});

test.each([
  '0.1234567891',
  '9999.9999999990001',
  '12345678901234567.5',
  '1e3',
  '.5',
  '1.',
  '0x10',
  '+1',
  '-1',
])('an amount written as %s is passed on as it is, to be refused', (amount) => {
  expect(readYaml(sold(amount)).value).toEqual(parse(sold(`"${amount}"`)));
});

const word = fc.stringMatching(/^[a-z]\w{0,8}$/);
const anyText = fc.oneof(
  word,
  fc.string({ maxLength: 12, unit: 'binary' }).filter((text) => !/[\uE000\uE001]|\$\{/.test(text)),
  fc.constantFrom(
    'yes',
    'null',
    '1.50',
    '0x1',
    '1e3',
    '~',
    '',
    ' ',
    "it's",
    'a: b',
    'x #y',
    '<<',
    '- a',
    '${A}',
  ),
);
const scalar = fc.oneof(anyText, fc.nat(), fc.boolean(), fc.constant(null));
const few = <Value>(key: fc.Arbitrary<string>, value: fc.Arbitrary<Value>) =>
  fc.dictionary(key, value, { maxKeys: 3 });
const model = fc
  .record({
    model: anyText,
    display_name: anyText,
    input: written.map(amountOf),
    context: fc.nat(),
    above: few(fc.constantFrom('200000', '1000', '017'), fc.record({ input: written.map(amountOf) })),
    image: few(fc.constantFrom('1024x1024', '512x512', 'default'), written.map(amountOf)),
    upstream_models: few(anyText, anyText),
  })
  .map((entry): CatalogMap => entry);
const catalog: fc.Arbitrary<CatalogMap> = fc.record({
  upstreams: few(anyText, few(anyText, scalar)),
  lists: few(word, fc.array(model, { maxLength: 3 })),
  aliases: few(anyText, anyText),
});

describe('a catalog', () => {
  test('is the same after it was written as YAML and read again, by either reader', () => {
    fc.assert(
      fc.property(catalog, (data) => {
        const yaml = catalogYaml(data);
        const wanted = JSON.parse(storedText(data));
        expect(catalogData(yaml)).toEqual(wanted);
        expect(slowly(yaml)).toEqual(wanted);
      }),
      { numRuns: 200 },
    );
  });

  test('is the same in its stored form for an older node, which reads that as YAML with the package', () => {
    fc.assert(
      fc.property(catalog, (data) => {
        const stored = storedText(data);
        expect(parse(stored)).toEqual(JSON.parse(stored));
        expect(catalogData(stored)).toEqual(JSON.parse(stored));
      }),
      { numRuns: 200 },
    );
  });

  test('is stored in one form, however it was written', () => {
    const text =
      'upstreams: { house: { kind: house } } # ours\nlists: { l: [{ model: m, input: 2.50, output: 2.00 }] }\n';
    const stored =
      '{"upstreams":{"house":{"kind":"house"}},"lists":{"l":[{"model":"m","input":"2.5","output":2}]}}';
    expect(canonicalText(text)).toBe(stored);
    expect(canonicalText(stored)).toBe(stored);
  });
});

test("an operator's own text says what it is to say after an edit, whatever it said before", () => {
  fc.assert(
    fc.property(catalog, catalog, (before, after) => {
      expect(catalogData(editedYaml(catalogYaml(before), after))).toEqual(JSON.parse(storedText(after)));
    }),
    { numRuns: 50 },
  );
});

/** What has a meaning in YAML, to be put together at random. */
const FRAGMENTS =
  `a~b~a: ~b: ~c: ~: ~:~\n~\n  ~\na: ~\n  b: ~\n- ~- ~{ ~ }~[~]~, ~"~'~#~ # ~&x ~*x~<<~|~>~!~? ~---\n~1.50~0.1~017~1e3~0x1f~1_000~null~yes~true~\t~\r\n~\\~"\\u0041"~2024-01-01~1024x1024~200000~\${A}~__proto__: ~.5~-1~ ~{ a: 1 }~"x": ~'it''s'~http://x/y~%~@`
    .split('~')
    .concat('~', '`');
const fragments = fc.array(fc.constantFrom(...FRAGMENTS), { minLength: 2, maxLength: 12 });

test('the fast reader understands any text as the package does, or leaves it to the package', () => {
  fc.assert(
    fc.property(fragments, (parts) => {
      const text = `k: ${parts.join('')}`;
      const { value, mistakes } = readYaml(text);
      if (mistakes.length > 0) return;
      const slow = readYaml(SLOWLY + text);
      expect([slow.mistakes, slow.value]).toEqual([[], value]);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  'a: 1\na: 2\n',
  '{ a: 1, a: 2 }',
  '{"a":1, b: 2, b: 3}',
  '{"a":{"b":1,"b":2}}',
  "{ a: x 'y, b: z', b: w }",
  "{ a: it's, b: it's, b: w }",
  'a: "x: y"\nb: 1\nb: 2 # c: d\n',
])('keys that are written twice are refused: %j', (text) => {
  expect(readYaml(text).mistakes).toMatchObject([{ message: expect.stringContaining('unique') }]);
});

test('a mistake in one of thousands of models is shown at its line and column', () => {
  const models = Array.from(
    { length: 3_000 },
    (_, index) => `    - { model: m${index}, input: 1, output: 1 }`,
  );
  models[1_234] = '    - { model: m, input: -1, output: dear }';
  const text = `upstreams:\n  house: { kind: house }\nlists:\n  l:\n${models.join('\n')}\nendpoints: {}\n`;
  expect(() => parseCatalog(text, { fileName: 'f', env: {} })).toThrow(
    'f:1239:26 lists.l[1234].input: must not be negative\nf:1239:38 lists.l[1234].output: must be',
  );
});

test("an operator's own text keeps its comments and forms; only what differs is written", () => {
  const text = `# ours
upstreams:
  a: { kind: openai, api_key: \${A_KEY} } # first
lists:
  l:
    - { model: m, input: 0.10, output: 2.000000001 } # dear
    - model: n
      input: 1
endpoints: {}
`;
  const before = catalogData(text) as CatalogMap & { lists: { l: CatalogMap[] } };
  const [first = {}, second = {}] = before.lists.l;
  const added = { model: 'new/one', input: '0.25', above: { '200000': { input: 1 } } };
  const after = {
    ...before,
    upstreams: { ...(before['upstreams'] as CatalogMap), b: { kind: 'openai', api_key: '${B_KEY}' } },
    lists: {
      l: [first, { ...second, input: '1.5', cost: { a: { input: 1 } } }, added],
      k: [{ model: '1.10' }],
    },
    endpoints: { e: { name: 'E', lists: ['l'] } },
  };
  expect(editedYaml(text, after)).toBe(`# ours
upstreams:
  a: { kind: openai, api_key: \${A_KEY} } # first
  b: { kind: openai, api_key: \${B_KEY} }
lists:
  l:
    - { model: m, input: 0.10, output: 2.000000001 } # dear
    - model: n
      input: 1.50
      cost: { a: { input: 1.00 } }
    - { model: new/one, input: 0.25, above: { 200000: { input: 1.00 } } }
  k:
    - { model: "1.10" }
endpoints:
  e: { name: E, lists: [ l ] }
`);
});
