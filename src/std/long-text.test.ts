import { expect, test } from 'bun:test';
import { turnsDuring } from '../../test/support/longest-turn.ts';
import { decodeInSteps, encodeInSteps, LONG_TEXT } from './long-text.ts';

/** Characters of one to four bytes at the places where a step ends. */
const TEXTS = ['a', 'ü', '語', '🚪', '\ufeff'].flatMap((character) =>
  [1, 2, 3, 4].map((shift) => 'x'.repeat(shift) + character.repeat(LONG_TEXT)),
);

test('a text is the same in steps, wherever they end', async () => {
  for (const text of TEXTS) {
    const bytes = await encodeInSteps(text);
    expect(bytes.equals(Buffer.from(text))).toBeTrue();
    expect((await decodeInSteps(new TextDecoder(), bytes)) === text).toBeTrue();
  }
});

test('other work has its turn between the steps', async () => {
  const text = '語'.repeat(5 * LONG_TEXT);
  expect(await turnsDuring(() => encodeInSteps(text))).toBeGreaterThanOrEqual(5);
  const bytes = new Uint8Array(5 * LONG_TEXT).fill(0x61);
  expect(await turnsDuring(() => decodeInSteps(new TextDecoder(), bytes))).toBeGreaterThanOrEqual(5);
});

test('of several long texts, one step is done in each turn', async () => {
  const text = 'x'.repeat(5 * LONG_TEXT);
  const turns = await turnsDuring(() =>
    Promise.all([encodeInSteps(text), encodeInSteps(text), encodeInSteps(text)]),
  );
  expect(turns).toBeGreaterThanOrEqual(14);
});

test('what is no UTF-8 is refused in whichever step it is, and at the end', async () => {
  const strict = () => new TextDecoder('utf-8', { fatal: true });
  const bytes = new Uint8Array(2 * LONG_TEXT + 1).fill(0x61);
  bytes[LONG_TEXT + 5] = 0xff;
  expect(decodeInSteps(strict(), bytes)).rejects.toThrow();
  bytes[LONG_TEXT + 5] = 0x61;
  bytes[2 * LONG_TEXT] = 0xe8;
  expect(decodeInSteps(strict(), bytes)).rejects.toThrow();
});
