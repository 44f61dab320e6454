import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { countPieces } from './count-pieces.ts';
import { cutTolerance, fewestTokens } from './port.ts';
import { cutBefore, SLICE_CHARACTERS, slicesOf } from './slices.ts';
import { vocabularyTokens } from './testing/in-process-counter.ts';

const UNITS = `a Z e 0 9 . ! - = / ' ’ é ß 世 界 。 🚪 👩‍👩‍👧 ก ا — the don't XMLHttp ZmFzdA`.split(' ');
const unit = fc.constantFrom(...UNITS, ' ', '  ', '\n', '\t', '\u0301', ' word');
const hostile = fc
  .array(fc.tuple(unit, fc.integer({ min: 1, max: 400 })), { maxLength: 12 })
  .map((runs) => runs.map(([text, times]) => text.repeat(times)).join(''));

test('no piece that an encoding may take as one is longer than 512 characters, whatever the text', () => {
  const pieces = /[\p{L}\p{M}]+|\s+|\p{N}+|[^\s\p{L}\p{N}]+/gu;
  fc.assert(
    fc.property(hostile, (text) => {
      countPieces(text, (part) => {
        for (const [piece] of part.matchAll(pieces)) expect(piece.length).toBeLessThanOrEqual(512);
        return 0;
      });
    }),
  );
});

test('all of a text is counted, and nothing twice', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      let seen = '';
      countPieces(text, (part) => {
        seen += part;
        return 0;
      });
      expect(seen).toBe(text);
    }),
  );
});

const partsOf = (text: string): string[] => {
  const parts: string[] = [];
  countPieces(text, (part) => parts.push(part));
  return parts;
};

test('a cut is never between the two halves of a character, from the first that has two to the last', () => {
  for (const character of ['\u{10000}', '🚪', '\u{10ffff}'])
    for (const before of ['', 'a', '!', '!'.repeat(255)])
      for (const after of [character.repeat(600), character + '!'.repeat(300)])
        for (const part of partsOf(before + after)) expect(part.isWellFormed()).toBe(true);
  const lengths = partsOf(`${'!'.repeat(255)}🚪${'!'.repeat(300)}`).map(({ length }) => length);
  expect(lengths).toEqual([255, 256, 46]);
});

test('every other character may be the last before a cut, a half without its other one too', () => {
  for (const character of ['a', '\ud7ff', '\udc00'])
    expect(partsOf(character.repeat(600)).map(({ length }) => length)).toEqual([256, 256, 88]);
  expect(partsOf(`${'!'.repeat(511)}\ud800`).map(({ length }) => length)).toEqual([256, 256]);
});

test('the count of a cut text is within the tolerance of that of the whole one', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const { tokens, cuts } = countPieces(text, vocabularyTokens);
      expect(Math.abs(tokens - vocabularyTokens(text))).toBeLessThanOrEqual(cutTolerance(cuts));
    }),
    { numRuns: 60 },
  );
});

test('cutting between two pieces never changes the count', () => {
  fc.assert(
    fc.property(hostile, fc.integer({ min: 1, max: 2_000 }), (text, to) => {
      if (to >= text.length) return;
      const { at, isSafe } = cutBefore(text, 0, to);
      if (!isSafe) return;
      const apart = vocabularyTokens(text.slice(0, at)) + vocabularyTokens(text.slice(at));
      expect(apart).toBe(vocabularyTokens(text));
    }),
    { numRuns: 60 },
  );
});

test('slices have all of the texts in order, and none is longer than a turn takes', () => {
  fc.assert(
    fc.property(fc.array(hostile, { maxLength: 20 }), fc.integer({ min: 1, max: 20 }), (texts, times) => {
      const long = texts.map((text) => text.repeat(times));
      const slices = [...slicesOf(long)];
      expect(slices.flatMap((slice) => slice.texts).join('')).toBe(long.join(''));
      for (const { characters } of slices) expect(characters).toBeLessThanOrEqual(SLICE_CHARACTERS);
    }),
    { numRuns: 30 },
  );
});

test('the fewest tokens of a text are never more than it has', () => {
  fc.assert(
    fc.property(fc.oneof(hostile, fc.string({ unit: 'binary', maxLength: 300 })), (text) => {
      expect(fewestTokens(text)).toBeLessThanOrEqual(vocabularyTokens(text));
    }),
    { numRuns: 100 },
  );
});
