import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { countPieces } from './count-pieces.ts';

/** Which parts of a text an encoding is given: all of it, long runs in parts, and how often it was cut is known. */

function partsOf(text: string) {
  const parts: string[] = [];
  const { tokens, cuts } = countPieces(text, (part) => {
    parts.push(part);
    return part.length;
  });
  expect(tokens).toBe(text.length);
  expect(cuts).toBe(parts.length - 1);
  return parts;
}
const lengths = (text: string) => partsOf(text).map(({ length }) => length);

describe('a text', () => {
  test('of ordinary pieces is given whole', () => {
    expect(partsOf('')).toEqual(['']);
    expect(partsOf('Just some words.')).toEqual(['Just some words.']);
    expect(partsOf('x'.repeat(256))).toHaveLength(1);
    expect(lengths('x'.repeat(257))).toEqual([256, 1]);
    expect(partsOf(`${'x'.repeat(256)} ${'y'.repeat(256)}`)).toHaveLength(1);
  });

  test.each([
    ['letters', 'x'],
    ['digits', '7'],
    ['signs', '!'],
    ['white space', ' '],
    ['letters beyond ASCII', '世'],
  ])('with a long run of %s is cut there, before it, within it and after it', (_, one) => {
    const [word, tail] = one === ' ' ? ['word', 'tail'] : ['word, so ', '\n'];
    expect(lengths(one.repeat(600))).toEqual([256, 256, 88]);
    const other = one === 'x' || one === '世' ? '12 ' : word;
    expect(lengths(other + one.repeat(300))).toEqual([other.length, 256, 44]);
    expect(lengths(one.repeat(512) + tail)).toEqual([256, 256, tail.length]);
  });

  test('is not cut between the two halves of a character', () => {
    expect(lengths(`!${'😀'.repeat(200)}`)).toEqual([255, 146]);
    expect(lengths('😀'.repeat(200))).toEqual([256, 144]);
  });

  test('of any kind is given completely, in its order', () => {
    const run = fc
      .tuple(fc.constantFrom('a', '1', '!', ' ', 'ß', '世', '😀'), fc.integer({ min: 1, max: 600 }))
      .map(([one, times]) => one.repeat(times));
    fc.assert(fc.property(fc.array(run), (runs) => partsOf(runs.join('')).join('') === runs.join('')));
  });
});
