import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { firstTokens, tokenCount } from './tokens.ts';

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc
    .array(fc.constantFrom('a', ' ', '\n', 'é', '漢', '😀', 'word'), { maxLength: 100 })
    .map((parts) => parts.join('')),
);

describe('tokenCount', () => {
  test('is zero for the empty text and one for the shortest', () => {
    expect(tokenCount('')).toBe(0);
    expect(tokenCount('a')).toBe(1);
    expect(tokenCount('Hello world, this is Tollgate.')).toBe(7);
  });

  test('never exceeds half of the UTF-8 bytes plus one, so the input ceiling covers it', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(tokenCount(text)).toBeLessThanOrEqual(Math.floor(Buffer.byteLength(text) / 2) + 1);
      }),
    );
  });

  test('the first k tokens count as exactly k, for every k', () => {
    fc.assert(
      fc.property(anyText, fc.nat(60), (text, limit) => {
        const cut = firstTokens(text, limit);
        expect(text.startsWith(cut)).toBe(true);
        expect(tokenCount(cut)).toBe(Math.min(limit, tokenCount(text)));
      }),
    );
  });

  test('a cut never splits a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.nat(20), (text, limit) => {
        fc.pre(text.isWellFormed());
        expect(firstTokens(text, limit).isWellFormed()).toBe(true);
      }),
    );
  });

  test('counts two megabytes in one linear pass', () => {
    expect(tokenCount('abcdef'.repeat(350_000))).toBe(350_000);
  });
});
