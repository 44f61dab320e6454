import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { fromJSONSchema } from 'zod';
import { SCHEMA_EXAMPLES, TOOL_EXAMPLE } from './examples.ts';
import { readSchema } from './schemaCheck.ts';
import { mismatchesOf, uncheckedKeywords } from './schemaMatch.ts';

const said = (schema: unknown, value: unknown): string[] =>
  mismatchesOf(schema, value).map(({ kind, path, expected }) => [kind, path, expected].join(' ').trim());

test('what does not match is told with its place, and what matches says nothing', () => {
  const person = {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 2 },
      tags: { type: 'array', items: { enum: ['a', 'b'] } },
    },
    required: ['name', 'age'],
    additionalProperties: false,
  };
  expect(said({ ...person, required: ['name'] }, { name: 'Eva', tags: ['a'] })).toEqual([]);
  expect(said(person, { name: 'E', tags: ['a', 'c'], more: 1 })).toEqual([
    'missing age',
    'tooShort name 2',
    'value tags[1] "a", "b"',
    'unknown more',
  ]);
  expect(said(person, null)).toEqual(['type  object']);
});

test('every keyword is kept to', () => {
  const wrong: [unknown, unknown, string][] = [
    [{ type: ['string', 'null'] }, 1, 'type  string, null'],
    [{ type: 'integer' }, 1.5, 'type  integer'],
    [{ const: { a: 1, b: 2 } }, { b: 2, a: 2 }, 'value  {"a":1,"b":2}'],
    [{ minimum: 3 }, 2, 'tooSmall  3'],
    [{ maximum: 3 }, 4, 'tooLarge  3'],
    [{ exclusiveMinimum: 3 }, 3, 'above  3'],
    [{ exclusiveMaximum: 3 }, 3, 'below  3'],
    [{ multipleOf: 0.1 }, 0.35, 'step  0.1'],
    [{ maxLength: 1 }, '👍👍', 'tooLong  1'],
    [{ pattern: '^\\d+$' }, 'x1', 'pattern  ^\\d+$'],
    [{ minItems: 1 }, [], 'tooFew  1'],
    [{ maxItems: 0 }, [1], 'tooMany  0'],
    [
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      'duplicate',
    ],
    [{ prefixItems: [{ type: 'string' }], items: false }, ['a', 1], 'forbidden [1]'],
    [{ items: [{ type: 'string' }], additionalItems: false }, ['a', 1], 'forbidden [1]'],
    [{ contains: { type: 'number' } }, ['a'], 'tooFew  1'],
    [{ minProperties: 1 }, {}, 'tooFew  1'],
    [{ maxProperties: 0 }, { a: 1 }, 'tooMany  0'],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, 'tooLong ab 1'],
    [{ patternProperties: { '^n': { type: 'number' } } }, { n1: 'x' }, 'type n1 number'],
    [{ additionalProperties: { type: 'number' } }, { n: 'x' }, 'type n number'],
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }, 'missing b'],
    [{ dependentSchemas: { a: { required: ['b'] } } }, { a: 1 }, 'missing b'],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 1, 'noneOf'],
    [{ oneOf: [{ type: 'number' }, { minimum: 1 }] }, 1, 'severalOf'],
    [{ oneOf: [{ type: 'string' }] }, 1, 'noneOf'],
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, 3, 'tooLarge  2'],
    [{ not: { type: 'number' } }, 1, 'forbidden'],
    [JSON.parse('{"if":{"type":"number"},"then":{"minimum":5},"else":false}'), 1, 'tooSmall  5'],
    [JSON.parse('{"if":{"type":"number"},"then":true,"else":false}'), 'x', 'forbidden'],
    [{ $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'string' } } }, 1, 'type  string'],
  ];
  for (const [schema, value, expected] of wrong) expect(said(schema, value)).toEqual([expected]);
  const right: [unknown, unknown][] = [
    [{ type: 'integer' }, 2],
    [{ type: 'integer' }, 2.0],
    [{ const: { a: 1, b: 2 } }, { b: 2, a: 1 }],
    [{ multipleOf: 0.1 }, 0.3],
    [{ maxLength: 2 }, '👍👍'],
    [{ minLength: 5 }, 1],
    [{ properties: { toString: { type: 'string' } } }, {}],
    [{ contains: { type: 'number' }, minContains: 0 }, ['a']],
    [{ oneOf: [{ type: 'number' }, { minimum: 5 }] }, 1],
  ];
  for (const [schema, value] of right) expect(said(schema, value)).toEqual([]);
});

test('a schema of a tree matches a tree; one that leads only to itself, or grows without end, is told', () => {
  const tree = {
    $ref: '#/$defs/n',
    $defs: { n: { type: 'object', properties: { n: { $ref: '#/$defs/n' } } } },
  };
  expect(said(tree, { n: { n: {} } })).toEqual([]);
  expect(said(tree, { n: { n: 1 } })).toEqual(['type n.n object']);
  expect(said({ $ref: '#' }, 1)).toEqual(['tooComplex']);
  const options = { anyOf: [{ $ref: '#' }, { $ref: '#' }] };
  expect(said(options, 1)).toEqual(['tooComplex']);
});

test('keywords that nobody looks at are named', () => {
  const schema = { properties: { at: { type: 'string', format: 'date' } }, unevaluatedProperties: false };
  expect(uncheckedKeywords(schema)).toEqual(['unevaluatedProperties', 'format']);
});

test('another implementation agrees about schemas of objects, lists, numbers and texts', () => {
  const leaf = fc.constantFrom<object>(
    { type: 'string', minLength: 2 },
    { type: 'integer', minimum: 0, maximum: 5 },
    { type: ['number', 'null'] },
    { enum: ['a', 1, null] },
    { type: 'boolean' },
    { anyOf: [{ type: 'string' }, { type: 'integer' }] },
  );
  const { schema } = fc.letrec<{ schema: object }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.record({ type: fc.constant('array'), items: tie('schema'), maxItems: fc.constant(2) }),
      fc.record({
        type: fc.constant('object'),
        properties: fc.record({ a: tie('schema'), b: tie('schema') }),
        required: fc.constantFrom([], ['a'], ['a', 'b']),
        additionalProperties: fc.boolean(),
      }),
    ),
  }));
  const value = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom('', 'a', 'abc', 0, 1, 2.5, 9, true, null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.record({ a: tie('value'), b: tie('value'), c: tie('value') }, { requiredKeys: [] }),
    ),
  })).value;
  fc.assert(
    fc.property(schema, value, (asked, answer) => {
      expect(readSchema(JSON.stringify(asked)).ok).toBe(true);
      expect(said(asked, answer).length === 0).toBe(
        fromJSONSchema(asked as Parameters<typeof fromJSONSchema>[0]).safeParse(answer).success,
      );
    }),
    { numRuns: 2_000 },
  );
});

test('what is wrong with a schema is told with its place', () => {
  const problem = (text: string): string => {
    const read = readSchema(text);
    return read.ok ? '' : [read.problem.kind, read.problem.path, read.problem.detail].join(' ').trim();
  };
  const wrong: [string, string][] = [
    ['{', 'notJson'],
    ['[]', 'notObject'],
    ['{"type":"strin"}', 'type type "strin"'],
    ['{"properties":{"a":{"type":[]}}}', 'type properties.a.type []'],
    ['{"properties":5}', 'keyword properties'],
    ['{"required":"a"}', 'keyword required'],
    ['{"enum":[]}', 'keyword enum'],
    ['{"anyOf":[1]}', 'keyword anyOf[0]'],
    ['{"items":{"minLength":-1}}', 'keyword items.minLength'],
    ['{"multipleOf":0}', 'keyword multipleOf'],
    ['{"pattern":"["}', 'pattern pattern ['],
    ['{"$ref":"#/$defs/a"}', 'reference $ref #/$defs/a'],
    ['{"$ref":"https://example.com"}', 'reference $ref https://example.com'],
    [`${'{"not":'.repeat(99)}{}${'}'.repeat(99)}`, `tooDeep ${'not.'.repeat(61).slice(0, -1)}`],
    [`{"title":"${'x'.repeat(20_000)}"}`, 'tooLong  20000'],
  ];
  expect(wrong.map(([text]) => problem(text).replace(/^notJson.*/, 'notJson'))).toEqual(
    wrong.map(([, told]) => told),
  );
  for (const text of [...Object.values(SCHEMA_EXAMPLES), TOOL_EXAMPLE.parameters])
    expect(problem(text)).toBe('');
});
