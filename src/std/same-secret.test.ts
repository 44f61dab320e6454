import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { sameSecret } from './same-secret.ts';

const anyText = fc.string({ unit: 'binary' });
const anySecret = fc.oneof(anyText, fc.uint8Array());

test('a secret is the same as itself, as text and as bytes', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(sameSecret(text, text)).toBe(true);
      expect(sameSecret(Buffer.from(text), text)).toBe(true);
    }),
  );
});

test('anything else is another one, whatever its length and characters, and never an error', () => {
  fc.assert(
    fc.property(anySecret, anySecret, (given, secret) => {
      expect(sameSecret(given, secret)).toBe(Buffer.from(given).equals(Buffer.from(secret)));
    }),
  );
  expect(sameSecret('é'.repeat(64), 'a'.repeat(64))).toBe(false);
  expect(sameSecret('', 'a')).toBe(false);
});
