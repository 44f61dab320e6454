import { expect, test } from 'bun:test';
import { qrMatrix } from './qr.ts';

/** Compared once with a reader of another make; from then on it must not change. */
test('a code that readers understood stays as it was', () => {
  const rows = qrMatrix('hi').map((row) => row.map((dark) => (dark ? '#' : '.')).join(''));
  expect(rows).toEqual([
    '#######..####.#######',
    '#.....#..##.#.#.....#',
    '#.###.#.##.##.#.###.#',
    '#.###.#.##..#.#.###.#',
    '#.###.#.#..##.#.###.#',
    '#.....#.##..#.#.....#',
    '#######.#.#.#.#######',
    '........#.###........',
    '#.#####.....#.#####..',
    '.###.#.#..#.#..#....#',
    '..##..##.#.#.#..####.',
    '###.#....#.....##.#..',
    '###.#.#....#.#..#.#.#',
    '........#..####..#..#',
    '#######...#.#.##...#.',
    '#.....#.#######..#..#',
    '#.###.#.#...#..#..#..',
    '#.###.#.###.#..#..#..',
    '#.###.#.#..#.#..###..',
    '#.....#..##....##.#..',
    '#######.#.##.#..####.',
  ]);
});

test('longer texts take larger codes, and one beyond the largest is refused', () => {
  expect(qrMatrix('x'.repeat(120))).toHaveLength(45);
  expect(qrMatrix('x'.repeat(600))).toHaveLength(93);
  expect(() => qrMatrix('x'.repeat(700))).toThrow('too long');
});
