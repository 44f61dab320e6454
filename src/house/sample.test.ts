import { describe, expect, test } from 'bun:test';
import { z } from 'zod';
import { schemaSample } from './sample.ts';

describe('a sample of a JSON schema', () => {
  const tree: z.ZodType = z.object({
    name: z.string(),
    get children() {
      return z.array(tree);
    },
  });
  const schemas = {
    object: z.object({
      a: z.string().min(3).max(5),
      b: z.number().min(2.5),
      c: z.int().max(-3),
      d: z.boolean(),
      e: z.null(),
    }),
    optional: z.object({
      a: z.string().optional(),
      b: z.string().nullable(),
      c: z.union([z.number(), z.string()]),
    }),
    lists: z.object({
      a: z.array(z.int()).min(3),
      b: z.tuple([z.string(), z.number()]),
      c: z.array(z.string()).max(0),
    }),
    choices: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('x'), x: z.int() }),
      z.object({ kind: z.literal('y') }),
    ]),
    formats: z.object({ a: z.email(), b: z.uuid(), c: z.iso.datetime(), d: z.url(), e: z.ipv4() }),
    steps: z.object({ a: z.int().multipleOf(7).min(8), b: z.number().gt(1).lt(2) }),
    merged: z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() })),
    tree,
  };

  test.each(Object.entries(schemas))('is accepted by it: %s', (_name, schema) => {
    const made = schemaSample(z.toJSONSchema(schema));
    expect(schema.safeParse(made)).toMatchObject({ success: true });
  });

  test('uses the schema’s own examples', () => {
    expect(schemaSample({ default: 5 })).toBe(5);
    expect(schemaSample({ enum: ['b', 'a'] })).toBe('b');
    expect(schemaSample({ type: 'string', examples: ['Oslo'] })).toBe('Oslo');
    expect(schemaSample({ const: null })).toBeNull();
  });

  test.each([
    [undefined],
    [true],
    [null],
    [7],
    [{ $ref: '#' }],
    [{ $ref: 'http://elsewhere/' }],
    [{ allOf: [{ $ref: '#' }] }],
    [{ type: 'nonsense' }],
  ])('terminates for invalid schemas: %p', (schema) => {
    expect(JSON.stringify(schemaSample(schema))).toBeString();
  });

  test('a schema that asks for a million items is refused, and the client is told why', () => {
    const schema = { type: 'array', minItems: 1_000_000, items: { type: 'string' } };
    expect(() => schemaSample(schema)).toThrow(
      expect.objectContaining({
        kind: 'rejected',
        publicMessage: expect.stringContaining('more than 1,000 values'),
      }),
    );
  });

  test('optional parts that do not fit are left out, and required ones are present', () => {
    const node = {
      type: 'object',
      properties: Object.fromEntries([...'abcdefgh'].map((name) => [name, { $ref: '#' }])),
    };
    const wide = { ...node, properties: { ...node.properties, id: { type: 'integer' } }, required: ['id'] };
    expect(schemaSample(wide)).toEqual({ id: 1 });
  });
});

describe('a hostile schema terminates soon', () => {
  const nested = (levels: number): object =>
    levels === 0 ? { type: 'string' } : { type: 'array', minItems: 100, items: nested(levels - 1) };
  const many = (count: number, value: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, value]));
  const each = (items: object) => ({ type: 'array', minItems: 900, items });

  test.each<[string, unknown]>([
    ['ten nested lists of a hundred', nested(10)],
    [
      'the same, by reference',
      { $defs: { l: { minItems: 100, items: { $ref: '#/$defs/l' } } }, $ref: '#/$defs/l' },
    ],
    ['long strings in a list', each({ type: 'string', minLength: 10_000 })],
    ['one string of two gigabytes', { type: 'string', minLength: 2 ** 31 }],
    ['a long default for every item', each({ default: 'x'.repeat(50_000) })],
    ['a large enum value for every item', each({ enum: [many(500, 1)] })],
    ['more properties than fit', { properties: many(100_000, {}), required: Object.keys(many(5_000, 1)) }],
    ['a long name for every item', each({ required: ['x'.repeat(50_000)] })],
    [
      'wide allOf for every item',
      {
        $defs: { wide: many(5_000, 1) },
        ...each({ allOf: Array.from({ length: 5_000 }, () => ({ $ref: '#/$defs/wide' })) }),
      },
    ],
    ['wide anyOf for every item', each({ anyOf: Array.from({ length: 50_000 }, () => ({ type: 'null' })) })],
    ['a long reference for every item', each({ $ref: `#/${'x/'.repeat(50_000)}` })],
    ['a long list of types for every item', each({ type: Array.from({ length: 50_000 }, () => 'null') })],
    ['prefix items', { prefixItems: Array.from({ length: 5_000 }, () => ({})) }],
  ])('%s', (_name, schema) => {
    withinBounds(schema);
  });

  test('whatever they are made of, the sample has at most 1,000 values and its text a bounded size', () => {
    const random = mulberry(20_261_115);
    for (let round = 0; round < 1_000; round++) withinBounds(hostile(random, 0));
  });
});

/** A sample within the bounds and the same every time, or a refusal. */
function withinBounds(schema: unknown): void {
  const made = attempt(schema);
  if (made === undefined) return;
  const text = JSON.stringify(made.value);
  expect(valuesIn(made.value)).toBeLessThanOrEqual(1_000);
  expect(text.length).toBeLessThan(200_000);
  expect(JSON.stringify(attempt(schema)?.value)).toBe(text);
}

function attempt(schema: unknown): { value: unknown } | undefined {
  try {
    return { value: schemaSample(schema) };
  } catch (error) {
    expect(error).toMatchObject({ kind: 'rejected' });
    return undefined;
  }
}

function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, item) => sum + valuesIn(item), 1);
}

function hostile(random: () => number, depth: number): unknown {
  const pick = (most: number): number => Math.floor(random() * most);
  const below = (): unknown => (depth > 6 ? { $ref: '#' } : hostile(random, depth + 1));
  const several = (most: number): unknown[] => Array.from({ length: 1 + pick(most) }, below);
  const named = (most: number) => Object.fromEntries(several(most).map((item, index) => [`k${index}`, item]));
  const kinds: (() => unknown)[] = [
    () => ({ type: 'array', minItems: pick(2) === 0 ? pick(200) : 10 ** pick(10), items: below() }),
    () => ({ properties: named(4), required: ['k0', 'k1', 'absent'] }),
    () => ({ type: 'string', minLength: 10 ** pick(10), pattern: '(a+)+$' }),
    () => ({ allOf: several(3) }),
    () => ({ anyOf: several(3) }),
    () => ({ $ref: '#' }),
    () => ({ default: named(2) }),
    () => ({ prefixItems: several(3), minItems: pick(50) }),
    () => ({ type: 'number', multipleOf: pick(3), minimum: pick(100) }),
  ];
  return kinds[pick(kinds.length)]?.();
}

/** Mulberry32: small, seeded, good enough to shuffle schemas. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
