import { expect, test } from 'bun:test';
import { de } from './de/index.ts';
import { deOperator } from './de/operator.ts';
import { dePlayground } from './de/playgroundTexts.ts';
import { deTeam } from './de/team.ts';
import { en } from './en/index.ts';
import { enOperator } from './en/operator.ts';
import { enPlayground } from './en/playgroundTexts.ts';
import { enTeam } from './en/team.ts';

test('every text of every language has the same placeholders and is not empty', () => {
  const english = new Map(textsIn({ ...en, ...enOperator, ...enPlayground, ...enTeam }));
  for (const [key, text] of textsIn({ ...de, ...deOperator, ...dePlayground, ...deTeam })) {
    expect({ key, placeholders: placeholders(text) }).toEqual({
      key,
      placeholders: placeholders(english.get(key) ?? ''),
    });
    expect(text.trim()).not.toBe('');
  }
});

test('every plural has both of its forms', () => {
  const keys = new Set(textsIn({ ...en, ...enOperator, ...enPlayground, ...enTeam }).map(([key]) => key));
  for (const key of keys) {
    if (key.endsWith('_one')) expect(keys).toContain(key.replace(/_one$/, '_other'));
    if (key.endsWith('_other')) expect(keys).toContain(key.replace(/_other$/, '_one'));
  }
});

/** What was replaced, and by what: one name for each thing, in the words of the product. */
const REPLACED: readonly (readonly [found: RegExp, better: string])[] = [
  [/upstream/i, 'backend'],
  [/e-mail/i, 'email'],
  [/\bpictures?\b/i, 'image'],
  [/refused calls?/i, 'rejected requests'],
  [/(?<!time to (?:the )?|for the )first token/i, 'time to first token'],
  [/whole answer/i, 'total time'],
  [/used up or over/i, 'used or expired'],
  [/\btop it up\b/i, 'add funds'],
  [/\bretry later\b/i, 'try again in … seconds'],
  [/\bit (?:gets|needs)\b|\bone that\b|\bthey are\b/i, 'the thing itself as the subject'],
  [/more than (?:it|they) brought|that brought/i, 'lost, revenue'],
  [/total overrun/i, 'charged beyond holds'],
];
const MOST_WORDS = 20;

test('every English text is short, and has one name for each thing', () => {
  const texts = textsIn({ ...en, ...enOperator, ...enPlayground, ...enTeam });
  expect(texts.length).toBeGreaterThan(2_000);
  const found = texts.flatMap(([key, text]) => [
    ...REPLACED.filter(([words]) => words.test(text)).map(([, better]) => `${key}: ${text} → ${better}`),
    ...sentencesOf(text)
      .filter((sentence) => sentence.split(/\s+/).length > MOST_WORDS)
      .map((sentence) => `${key}: more than ${MOST_WORDS} words: ${sentence}`),
  ]);
  expect(found).toEqual([]);
});

function sentencesOf(text: string): string[] {
  return text.replaceAll(/\{\{[^}]*\}\}/g, '…').split(/(?<=[.!?])\s+/);
}

function textsIn(tree: object, path = ''): [string, string][] {
  return Object.entries(tree).flatMap(([key, value]: [string, unknown]) => {
    const name = path ? `${path}.${key}` : key;
    return typeof value === 'object' && value !== null
      ? textsIn(value, name)
      : [[name, String(value)] as [string, string]];
  });
}

function placeholders(text: string): string[] {
  return [...text.matchAll(/\{\{(\w+)/g)].map((match) => match[1] ?? '').sort();
}
