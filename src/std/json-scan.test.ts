import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { JSON_LIMITS, JsonScan, nestsDeeper } from './json-scan.ts';

const scan = (text: string): string => new JsonScan().add(new TextEncoder().encode(text)) ?? 'within';

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
    expect(scan(textOf(limit))).toBe('within');
    expect(scan(textOf(limit + 1))).toBe(excess);
  });

  test('keys in all objects together', () => {
    const object = `{${Array.from({ length: 999 }, (_, index) => `"${index}":1`).join()}}`;
    expect(scan(`[${Array.from({ length: 59 }, () => object).join()}]`)).toBe('within');
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
    expect(scan(`{"a":"${inside}","b":["${inside}"]}`)).toBe('within');
});

test('the end of a string is found however its quotes and backslashes are mixed', () => {
  const signs = fc.array(fc.constantFrom('"', '\\', '[', 'a', ',', ':', 'ü'), { maxLength: 30 });
  fc.assert(
    fc.property(signs, (inside) => {
      const text = JSON.stringify(inside.join(''));
      const bomb = '['.repeat(JSON_LIMITS.depth + 1);
      expect(scan(text)).toBe('within');
      expect(scan(`[${text},${bomb}`)).toBe('depth');
      expect(scan(`[${JSON.stringify(`${inside.join('')}${bomb}`)}]`)).toBe('within');
    }),
  );
});

test('a text in pieces is refused exactly where the whole one is, wherever it is cut', () => {
  const signs = fc.array(fc.constantFrom('"', '\\', '[', '{', ']', '}', 'a', ',', ':', 'ü'), {
    maxLength: 400,
  });
  const limits = { depth: 4, values: 20, structure: 30, keysOfObject: 6 };
  fc.assert(
    fc.property(signs, fc.array(fc.nat(12)), (text, cuts) => {
      const bytes = new TextEncoder().encode(text.join(''));
      const inPieces = new JsonScan(limits);
      let at = 0;
      let excess: string | undefined;
      for (const length of [...cuts, bytes.length]) {
        excess ??= inPieces.add(bytes.subarray(at, at + length));
        at += length;
      }
      expect(excess).toBe(new JsonScan(limits).add(bytes) as typeof excess);
    }),
  );
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
