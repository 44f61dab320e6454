import { expect, test } from 'bun:test';
import { inputBound } from './chat.ts';

test('a byte is a token, besides attachments, which have their own', () => {
  const size = { characters: 1_000, bytes: 1_300 };
  expect(inputBound(size, 24, { characters: 0, tokens: 0 })).toBe(1_324);
  expect(inputBound(size, 24, { characters: 500, tokens: 70 })).toBe(894);
  expect(inputBound(size, 24, { characters: 5_000, tokens: 70 })).toBe(94);
});
