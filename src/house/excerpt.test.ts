import { expect, test } from 'bun:test';
import { leadOf } from './excerpt.ts';
import type { Section } from './guides.ts';

const lead = (body: string): string => leadOf({ body } as Section);

test('the first sentence leads, without its links, and a colon becomes a full stop', () => {
  expect(lead('Read [the guide](/docs). Then more.')).toBe('Read the guide.');
  expect(lead('- a list\n\nThree ways:\n\n- one')).toBe('Three ways.');
});

test('what ends a sentence ends none within code', () => {
  expect(lead('With `stream: true` images come. More.')).toBe('With `stream: true` images come.');
});

test('a long sentence is cut between words, and never within code', () => {
  const words = 'word '.repeat(30);
  expect(lead(`${words}and more words without an end`)).toBe(`${words}and more …`);
  expect(lead(`${words}and \`code that goes on\` for long`)).toBe(`${words}and …`);
});
