import { expect, test } from 'bun:test';
import { deriveSealingKey, hintOf, seal, unseal } from './seal.ts';

const KEY = deriveSealingKey('the secret of this server');

test('a sealed provider key opens under its name and the same secret, and shows nothing of itself', () => {
  const sealed = seal(KEY, 'OPENAI_API_KEY', 'sk-proj-abcdefgh');
  expect(sealed).not.toContain('abcdefgh');
  expect(seal(KEY, 'OPENAI_API_KEY', 'sk-proj-abcdefgh')).not.toBe(sealed);
  expect(unseal(deriveSealingKey('the secret of this server'), 'OPENAI_API_KEY', sealed)).toBe(
    'sk-proj-abcdefgh',
  );
});

test('it opens under no other secret, no other name, and not after a change', () => {
  const sealed = seal(KEY, 'A', 'sk-proj-abcdefgh');
  expect(unseal(deriveSealingKey('another secret'), 'A', sealed)).toBeUndefined();
  expect(unseal(KEY, 'B', sealed)).toBeUndefined();
  for (const index of [3, 10, 25, sealed.length - 2]) {
    const other = sealed[index] === 'x' ? 'y' : 'x';
    expect(unseal(KEY, 'A', sealed.slice(0, index) + other + sealed.slice(index + 1))).toBeUndefined();
  }
  expect(unseal(KEY, 'A', 'not sealed at all')).toBeUndefined();
});

test('a hint tells keys apart and gives none away', () => {
  expect(hintOf('sk-proj-abcdefgh')).toBe('…efgh');
  expect(hintOf('short')).toBe('…');
});
