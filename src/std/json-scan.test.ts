import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { JSON_LIMITS, JsonScan, nestsDeeper } from './json-scan.ts';

const scan = (text: string): string => new JsonScan(new TextEncoder().encode(text)).run();

describe('the text is refused for', () => {
  const { depth, values, structure, keysOfObject } = JSON_LIMITS;
  test.each([
    ['depth', (count: number) => '['.repeat(count), depth],
    ['values', (count: number) => `[${'1,'.repeat(count - 1)}1]`, values],
    ['structure', (count: number) => `[${'{},'.repeat(count - 2)}{}]`, structure],
    ['structure', (count: number) => `[${'[],'.repeat(count - 2)}[]]`, structure],
    [
      'keysOfObject',
      (count: number) => `{${Array.from({ length: count }, (_, index) => `"${index}":1`).join()}}`,
      keysOfObject,
    ],
  ])('%s beyond the limit, and not at it', (excess, textOf, limit) => {
    expect(scan(textOf(limit))).toBe('done');
    expect(scan(textOf(limit + 1))).toBe(excess);
  });

  test('keys in all objects together', () => {
    const object = `{${Array.from({ length: 999 }, (_, index) => `"${index}":1`).join()}}`;
    expect(scan(`[${Array.from({ length: 59 }, () => object).join()}]`)).toBe('done');
    expect(scan(`[${Array.from({ length: 61 }, () => object).join()}]`)).toBe('structure');
  });
});

test('what stands in strings does not count, whatever is escaped in them', () => {
  const brackets = '[{'.repeat(100);
  for (const inside of [
    brackets,
    `\\\\\\"${brackets}`,
    `\\"${brackets}\\\\`,
    `\\u0022${brackets}`,
    `ü${brackets}`,
  ])
    expect(scan(`{"a":"${inside}","b":["${inside}"]}`)).toBe('done');
});

test('the end of a string is found however its quotes and backslashes are mixed', () => {
  const signs = fc.array(fc.constantFrom('"', '\\', '[', 'a', ',', ':', 'ü'), { maxLength: 30 });
  fc.assert(
    fc.property(signs, (inside) => {
      const text = JSON.stringify(inside.join(''));
      const bomb = '['.repeat(JSON_LIMITS.depth + 1);
      expect(scan(text)).toBe('done');
      expect(scan(`[${text},${bomb}`)).toBe('depth');
      expect(scan(`[${JSON.stringify(`${inside.join('')}${bomb}`)}]`)).toBe('done');
    }),
  );
});

test('a long text is looked through in steps, and their results are those of one', () => {
  const texts = [
    `{"a":[${'1,'.repeat(5_000)}1]}`,
    '[{'.repeat(50),
    `["${'x'.repeat(10_000)}"]`,
    '"open',
    ']]]]',
  ];
  for (const text of texts) {
    const inSteps = new JsonScan(new TextEncoder().encode(text));
    let result = inSteps.run(100);
    for (let step = 0; result === 'more' && step < 1_000; step++) result = inSteps.run(100);
    expect(result).toBe(scan(text) as typeof result);
  }
  expect(new JsonScan(new TextEncoder().encode(texts[0])).run(100)).toBe('more');
});

test('a value nests deeper than the limit exactly where its text does', () => {
  const nested = (levels: number, inner: unknown): unknown =>
    levels === 0 ? inner : nested(levels - 1, levels % 2 === 0 ? [0, inner] : { a: 0, b: inner });
  fc.assert(
    fc.property(
      fc.integer({ min: JSON_LIMITS.depth - 3, max: JSON_LIMITS.depth + 1 }),
      fc.jsonValue({ maxDepth: 4 }),
      (levels, inner) => {
        const whole = nested(levels, inner);
        const isDeeper = scan(JSON.stringify(whole)) === 'depth';
        expect(nestsDeeper(whole, JSON_LIMITS.depth)).toBe(isDeeper);
      },
    ),
  );
});
