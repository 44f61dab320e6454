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
