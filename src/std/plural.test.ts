import { expect, test } from 'bun:test';
import { plural } from './plural.ts';

test('only one is singular, and irregular words have their own plural', () => {
  expect([0, 1, 2].map((count) => plural(count, 'request'))).toEqual([
    '0 requests',
    '1 request',
    '2 requests',
  ]);
  expect([0, 1, 2].map((count) => plural(count, 'entry', 'entries'))).toEqual([
    '0 entries',
    '1 entry',
    '2 entries',
  ]);
});
