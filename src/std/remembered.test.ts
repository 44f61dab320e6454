import { expect, test } from 'bun:test';
import { remembered } from './remembered.ts';

function counted(most: number) {
  const asked: string[] = [];
  const length = remembered((text) => {
    asked.push(text);
    return text === '' ? undefined : text.length;
  }, most);
  return { asked, length };
}

test('a result is computed once, and again after too many others', () => {
  const { asked, length } = counted(2);
  for (let round = 0; round < 2; round++) expect([length('a'), length('bb')]).toEqual([1, 2]);
  expect(asked).toEqual(['a', 'bb']);
  expect(length('ccc')).toBe(3);
  expect(length('a')).toBe(1);
  expect(asked).toEqual(['a', 'bb', 'ccc', 'a']);
});

test('arguments without a result push out nothing', () => {
  const { asked, length } = counted(1);
  expect([length('a'), length(''), length(''), length('a')]).toEqual([1, undefined, undefined, 1]);
  expect(asked).toEqual(['a', '', '']);
});
