import { describe, expect, test } from 'bun:test';
import { z } from 'zod';
import { sampleOf } from './sample.ts';

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
    const made = sampleOf(z.toJSONSchema(schema));
    expect(schema.safeParse(made)).toMatchObject({ success: true });
  });

  test('takes what the schema itself proposes', () => {
    expect(sampleOf({ default: 5 })).toBe(5);
    expect(sampleOf({ enum: ['b', 'a'] })).toBe('b');
    expect(sampleOf({ type: 'string', examples: ['Oslo'] })).toBe('Oslo');
    expect(sampleOf({ const: null })).toBeNull();
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
  ])('ends on nonsense as well: %p', (schema) => {
    expect(JSON.stringify(sampleOf(schema))).toBeString();
  });

  test('a schema that asks for a million items is answered within bounds', () => {
    expect(sampleOf({ type: 'array', minItems: 1_000_000, items: { type: 'string' } })).toHaveLength(100);
  });
});
