import { expect, test } from 'bun:test';
import { findOptions, type Option } from './options.ts';

const MANY: Option[] = Array.from({ length: 5_000 }, (_, index) => ({
  value: `svc_${index % 7} vendor/model-${index}`,
  label: `Model ${index}`,
  group: `Endpoint ${index % 7}`,
}));

test('of thousands of options so many are shown, and how many more there are', () => {
  const { shown, more } = findOptions(MANY, '');
  expect(shown.map(({ label }) => label)).toEqual(Array.from({ length: 50 }, (_, index) => `Model ${index}`));
  expect(more).toBe(4_950);
});

test('every word is looked for in name, value and group, whatever its case', () => {
  expect(findOptions(MANY, ' VENDOR/model-4999 ').shown.map(({ label }) => label)).toEqual(['Model 4999']);
  expect(findOptions(MANY, 'model-49 svc_6').shown.every(({ group }) => group === 'Endpoint 6')).toBe(true);
  expect(findOptions(MANY, 'nothing like it')).toEqual({ shown: [], more: 0 });
});

test('a name that begins with the text comes before one that only has it', () => {
  const options = ['old gpt', 'gpt new', 'other'].map((label) => ({ value: label, label }));
  expect(findOptions(options, 'gpt').shown.map(({ label }) => label)).toEqual(['gpt new', 'old gpt']);
});
