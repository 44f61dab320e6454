import { expect, test } from 'bun:test';
import { turnsDuring } from '../../test/support/longest-turn.ts';
import { LONG_TEXT } from './long-text.ts';
import { openBytes, sealBytes, sealInSteps } from './sealed-bytes.ts';

const KEY = new Uint8Array(32).fill(7);
const STEPS = 5;

test('what was sealed in steps opens as what was sealed whole does, wherever the steps end', async () => {
  for (const character of ['a', 'ü', '語', '🚪']) {
    const text = `x${character.repeat(2 * LONG_TEXT)}`;
    const whole = sealBytes(KEY, 'item', text);
    const inSteps = await sealInSteps(KEY, 'item', text);
    expect(inSteps.byteLength).toBe(whole.byteLength);
    for (const sealed of [whole, inSteps])
      expect(openBytes(KEY, 'item', sealed).equals(Buffer.from(text))).toBeTrue();
    expect(() => openBytes(KEY, 'another item', inSteps)).toThrow();
    inSteps[inSteps.byteLength >> 1]! ^= 1;
    expect(() => openBytes(KEY, 'item', inSteps)).toThrow();
  }
});

test('others have their turn while a long text is sealed', async () => {
  const turns = await turnsDuring(() => sealInSteps(KEY, 'item', 'x'.repeat(STEPS * LONG_TEXT)));
  expect(turns).toBeGreaterThanOrEqual(STEPS);
});
