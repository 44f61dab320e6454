import { expect, test } from 'bun:test';
import { closestWord, didYouMean } from './closest.ts';

const KNOWN = ['cached_input', 'input', 'output', 'house', 'idle_ms', 'account create', 'account credit'];

test.each([
  ['cached_inptu', 'cached_input'],
  ['hosue', 'house'],
  ['House', 'house'],
  ['idle', 'idle_ms'],
  ['acount create', 'account create'],
  ['account crdit', 'account credit'],
])('a slip is recognised: %s for %s', (given, meant) => {
  expect(closestWord(given, KNOWN)).toBe(meant);
});

test.each(['', 'x', 'temperature', 'zzzzz', 'input'.repeat(10_000)])('nothing is guessed for %p', (given) => {
  expect(closestWord(given, KNOWN)).toBeUndefined();
  expect(didYouMean(given, KNOWN)).toBe('');
});
