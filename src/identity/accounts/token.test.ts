import { expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { hashToken, newToken, tokenHasher } from './token.ts';

const pepper = new Uint8Array(32).fill(7);

test('a token has the published format and always the same hash', () => {
  for (let round = 0; round < 200; round++) {
    const { token, hash, hint } = newToken(pepper);
    expect(token).toMatch(/^sk-[0-9A-Za-z]{49}$/);
    expect(hashToken(token, pepper)).toBe(hash);
    expect(hint).toBe(`sk-…${token.slice(-4)}`);
  }
});

test('a typo at any position is detected by the checksum alone', () => {
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

test('text that is not a token has no hash', () => {
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

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const valueOf = (digits: string): bigint =>
  [...digits].reduce((value, digit) => value * 62n + BigInt(ALPHABET.indexOf(digit)), 0n);

test('a token encodes all of its 256 random bits and their CRC-32, and nothing else; its hash is an HMAC', () => {
  const bits = fc.uint8Array({ minLength: 32, maxLength: 32 });
  const extremes = fc.constantFrom(new Uint8Array(32), new Uint8Array(32).fill(255));
  fc.assert(
    fc.property(fc.oneof(bits, extremes), (random) => {
      const { token, hash } = newToken(pepper, (bytes) => {
        expect(bytes).toBe(32);
        return random;
      });
      const [body, check] = [token.slice(3, 46), token.slice(46)];
      expect(valueOf(body)).toBe(BigInt(`0x${Buffer.from(random).toString('hex')}`));
      expect(valueOf(check)).toBe(BigInt(crc32(body)));
      expect(token).toHaveLength(52);
      expect(hash).toBe(createHmac('sha256', pepper).update(token).digest('hex') as never);
    }),
  );
});

test('text in another format is not a token, even with a correct checksum', () => {
  const { token } = newToken(pepper);
  const [body, check] = [token.slice(3, 46), token.slice(46)];
  for (const wrong of [
    `sk-${body}0${check}`,
    `pk-${body}${check}`,
    `sk-${body} ${check}`,
    `sk-${body}${check}\n`,
    `${body}${check}`,
  ])
    expect(hashToken(wrong, pepper)).toBeUndefined();
});

test('the caching hasher returns the same as the uncached one, for tokens and for typos, on every call', () => {
  const remembering = tokenHasher(pepper);
  const tokens = Array.from({ length: 20 }, () => newToken(pepper).token);
  for (let round = 0; round < 2; round++) {
    for (const token of tokens) {
      expect(remembering(token)).toBe(hashToken(token, pepper));
      expect(remembering(`${token.slice(0, -1)}-`)).toBeUndefined();
    }
  }
});
