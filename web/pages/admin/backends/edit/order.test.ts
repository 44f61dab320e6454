import { expect, test } from 'bun:test';
import {
  hasAdjacentGroups,
  movedRow,
  orderRows,
  placesOfRows,
  shareOf,
  withoutRow,
  withRow,
} from './order.ts';

const PLACES = [
  [{ upstream: 'a', weight: 1 }],
  [
    { upstream: 'b', weight: 3 },
    { upstream: 'c', weight: 1 },
  ],
];

test('rows say the same as places, and a backend moves without changing which places share their load', () => {
  const rows = orderRows(PLACES);
  expect(placesOfRows(rows)).toEqual(PLACES);
  expect(placesOfRows(movedRow(rows, 2, 0))).toEqual([
    [{ upstream: 'c', weight: 1 }],
    [
      { upstream: 'a', weight: 1 },
      { upstream: 'b', weight: 3 },
    ],
  ]);
});

test('a share is the weight among those of the same place, and a text that is no weight is none', () => {
  const rows = orderRows(PLACES);
  expect(rows.map((_, index) => shareOf(rows, index))).toEqual([1, 0.75, 0.25]);
  const wrong = withRow(rows, 1, { weight: '0' });
  expect(shareOf(wrong, 2)).toBeUndefined();
  expect(shareOf(wrong, 0)).toBe(1);
  expect(placesOfRows(wrong)).toBeUndefined();
});

test('without the first of a group the next one begins it', () => {
  expect(placesOfRows(withoutRow(orderRows(PLACES), 1))).toEqual([
    [{ upstream: 'a', weight: 1 }],
    [{ upstream: 'c', weight: 1 }],
  ]);
});

test('two groups side by side are found', () => {
  const place = (...names: string[]) => names.map((upstream) => ({ upstream, weight: 1 }));
  expect(hasAdjacentGroups(orderRows([place('a', 'b'), place('c', 'd')]))).toBe(true);
  expect(hasAdjacentGroups(orderRows([place('a', 'b'), place('c'), place('d', 'e')]))).toBe(false);
});
