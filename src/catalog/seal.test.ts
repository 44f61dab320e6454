import { expect, test } from 'bun:test';
import { hintOf, seal, sealedOrigin, unseal } from './seal.ts';

const KEY = new Uint8Array(32).fill(1);
const ANOTHER_KEY = new Uint8Array(32).fill(2);
const HOST = 'https://api.openai.com';

test('a sealed provider key is unsealed with its name and the same secret, and its text reveals nothing', () => {
  const sealed = seal(KEY, { name: 'OPENAI_API_KEY', origin: HOST }, 'sk-proj-abcdefgh');
  expect(sealed).not.toContain('abcdefgh');
  expect(seal(KEY, { name: 'OPENAI_API_KEY', origin: HOST }, 'sk-proj-abcdefgh')).not.toBe(sealed);
  expect(unseal(Uint8Array.from(KEY), 'OPENAI_API_KEY', sealed)).toBe('sk-proj-abcdefgh');
});

test('it is not unsealed with another secret, another name, or after a change', () => {
  const sealed = seal(KEY, { name: 'A', origin: HOST }, 'sk-proj-abcdefgh');
  expect(unseal(ANOTHER_KEY, 'A', sealed)).toBeUndefined();
  expect(unseal(KEY, 'B', sealed)).toBeUndefined();
  for (const index of [3, 10, 25, sealed.length - 2]) {
    const other = sealed[index] === 'x' ? 'y' : 'x';
    expect(unseal(KEY, 'A', sealed.slice(0, index) + other + sealed.slice(index + 1))).toBeUndefined();
  }
  expect(unseal(KEY, 'A', 'not sealed at all')).toBeUndefined();
});

test('the host it was entered for is readable, and cannot be replaced', () => {
  const sealed = seal(KEY, { name: 'A', origin: HOST }, 'sk-proj-abcdefgh');
  expect(sealedOrigin(sealed)).toBe(HOST);
  const [version, , ...rest] = sealed.split('.');
  const moved = [version, Buffer.from('https://thief.example').toString('base64url'), ...rest].join('.');
  expect(unseal(KEY, 'A', moved)).toBeUndefined();
  expect(unseal(KEY, 'A', ['v1', ...rest].join('.'))).toBeUndefined();
});

test('a hint distinguishes keys without revealing them', () => {
  expect(hintOf('sk-proj-abcdefgh')).toBe('…efgh');
  expect(hintOf('short')).toBe('…');
});
