import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { cutBefore, SLICE_CHARACTERS, slicesOf } from './slices.ts';
import { fewestTokens } from './port.ts';

/** Long texts are counted in slices: nothing is lost or counted twice, and cuts inside of tokens are known. */

const sizes = (texts: readonly string[]) => [...slicesOf(texts)].map(({ characters }) => characters);

describe('slices', () => {
  test('are the texts, whole and in order, none longer than a slice may be', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.nat(40_000).map((length) => 'word '.repeat(length / 5)),
      fc.nat(40_000).map((length) => 'x'.repeat(length)),
    );
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), (texts) => {
        const slices = [...slicesOf(texts)];
        expect(slices.flatMap((slice) => slice.texts).join('') === texts.join('')).toBe(true);
        for (const { texts: parts, characters } of slices) {
          expect(characters).toBe(parts.join('').length);
          expect(characters).toBeLessThanOrEqual(SLICE_CHARACTERS);
        }
      }),
      { numRuns: 50 },
    );
  });

  test('are as few as possible: texts that fit share one, and one that fits exactly is not cut', () => {
    expect(SLICE_CHARACTERS).toBe(16_384);
    expect(sizes([])).toEqual([0]);
    expect(sizes(['a', '', 'b'])).toEqual([2]);
    expect([...slicesOf(['a', 'b'])]).toEqual([{ texts: ['a', 'b'], characters: 2, cuts: 0 }]);
    expect(sizes(['x'.repeat(16_384)])).toEqual([16_384]);
    expect(sizes(['x'.repeat(16_000), 'y'.repeat(384)])).toEqual([16_384]);
    expect(sizes(['x'.repeat(16_385)])).toEqual([16_384, 1]);
  });

  test('are shorter where characters take longer, and nothing is cut between two texts', () => {
    expect(sizes(['字'.repeat(4_100)])).toEqual([2_048, 2_048, 4]);
    expect(sizes([`${'x'.repeat(8_192)}${'字'.repeat(1_025)}`])).toEqual([9_216, 1]);
    const slices = [...slicesOf(['x'.repeat(16_380), '字'])];
    expect(slices.map(({ characters, cuts }) => [characters, cuts])).toEqual([
      [16_380, 0],
      [1, 0],
    ]);
  });

  test('say whether they were cut inside of what may be one token', () => {
    const cuts = (text: string) => [...slicesOf([text])].map((slice) => slice.cuts);
    expect(cuts('x'.repeat(40_000))).toEqual([1, 1, 0]);
    expect(cuts('word '.repeat(8_000))).toEqual([0, 0, 0]);
  });
});

describe('a cut', () => {
  test('is after the last word that ends before the place, and safe', () => {
    expect(cutBefore('one two three', 0, 9)).toEqual({ at: 7, isSafe: true });
    expect(cutBefore('one two three', 0, 7)).toEqual({ at: 7, isSafe: true });
    expect(cutBefore('12 345', 0, 5)).toEqual({ at: 2, isSafe: true });
  });

  test('is never inside of a word, before its accent or its apostrophe, unless there is no other place', () => {
    expect(cutBefore('a don’t know', 0, 5)).toEqual({ at: 1, isSafe: true });
    expect(cutBefore("a don't know", 0, 5)).toEqual({ at: 1, isSafe: true });
    expect(cutBefore('a cafe\u0301s', 0, 6)).toEqual({ at: 1, isSafe: true });
    expect(cutBefore('abcdef', 0, 4)).toEqual({ at: 4, isSafe: false });
    // A letter of two halves, and a picture of two halves.
    expect(cutBefore('abc\u{1d400}', 0, 3)).toEqual({ at: 3, isSafe: false });
    expect(cutBefore('abc\u{1f600}', 0, 3)).toEqual({ at: 3, isSafe: true });
    // Not before the place where it began.
    expect(cutBefore('one two', 4, 6)).toEqual({ at: 6, isSafe: false });
  });

  test('is not between the two halves of a character', () => {
    const faces = '😀'.repeat(5);
    expect(cutBefore(faces, 0, 4)).toEqual({ at: 4, isSafe: false });
    expect(cutBefore(faces, 0, 5)).toEqual({ at: 4, isSafe: false });
    // The first character that is no half.
    expect(cutBefore('\ue000'.repeat(5), 0, 4)).toEqual({ at: 4, isSafe: false });
    // One half alone is all that there is room for.
    expect(cutBefore(faces, 4, 5)).toEqual({ at: 5, isSafe: false });
  });

  test('is looked for in the last two thousand characters', () => {
    const far = `one ${'x'.repeat(3_000)}`;
    expect(cutBefore(far, 0, 2_050)).toEqual({ at: 3, isSafe: true });
    expect(cutBefore(far, 0, 2_051)).toEqual({ at: 2_051, isSafe: false });
  });
});

test('the fewest tokens are one for each word and each number, and one for any text at all', () => {
  expect(['', ' ', '!?', 'word', 'two words', 'don’t', "it's 42 times", 'a1b2'].map(fewestTokens)).toEqual([
    0, 1, 1, 1, 2, 1, 3, 4,
  ]);
});
