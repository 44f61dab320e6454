import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { hashToken, newToken } from './token.ts';

const pepper = new Uint8Array(32).fill(7);

test('a token has the published shape and is known again by its hash', () => {
  for (let round = 0; round < 200; round++) {
    const { token, hash, hint } = newToken(pepper);
    expect(token).toMatch(/^sk-[0-9A-Za-z]{49}$/);
    expect(hashToken(token, pepper)).toBe(hash);
    expect(hint).toBe(`sk-…${token.slice(-4)}`);
  }
});

test('a typo in any place is refused by the checksum alone', () => {
  const { token } = newToken(pepper);
  fc.assert(
    fc.property(
      fc.integer({ min: 3, max: token.length - 1 }),
      fc.constantFrom(...'09AZaz'),
      (place, letter) => {
        fc.pre(token[place] !== letter);
        expect(hashToken(token.slice(0, place) + letter + token.slice(place + 1), pepper)).toBeUndefined();
      },
    ),
  );
});

test('what is no token has no hash', () => {
  fc.assert(fc.property(fc.string(), (text) => hashToken(text, pepper) === undefined));
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...'0Az'), minLength: 49, maxLength: 49 }),
      (text) => hashToken(`sk-${text}`, pepper) === undefined,
    ),
  );
});

test('without the pepper the stored hash cannot be made from a token', () => {
  const { token, hash } = newToken(pepper);
  expect(hashToken(token, new Uint8Array(32).fill(8))).not.toBe(hash);
});
