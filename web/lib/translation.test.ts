import { expect, test } from 'bun:test';
import { createInstance, type TFunction } from 'i18next';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { initReactI18next } from 'react-i18next';
import { TranslationProvider, useTranslation } from './translation.tsx';

type Call = readonly [key: string, values?: object];

/** What the library says, and what a page says that has asked for the same text before, with other values. */
async function saidBy(texts: object, calls: readonly Call[]) {
  const library = createInstance();
  await library.use(initReactI18next).init({
    lng: 'en',
    fallbackLng: false,
    resources: { en: { translation: texts } },
    interpolation: { escapeValue: false },
  });
  const said: string[] = [];
  function Page() {
    const { t } = useTranslation();
    said.push(...calls.map((call) => asked(t, call)));
    return null;
  }
  renderToStaticMarkup(createElement(TranslationProvider, null, createElement(Page)));
  return { said, expected: calls.map((call) => asked(library.t, call)) };
}

/** The keys of this test are not those of the console. */
function asked(t: TFunction, call: Call): string {
  return Reflect.apply(t, undefined, [...call]) as string;
}

test('a text is what the library makes of it, whatever it was filled with before', async () => {
  const texts = {
    plain: 'No values.',
    named: 'Receipt of {{id}} from {{from}}',
    twice: '{{id}}, again {{id}}',
    rows_one: '{{count, number}} row',
    rows_other: '{{count, number}} rows',
    atMost: 'at most {{most, number}}',
  };
  const { said, expected } = await saidBy(texts, [
    ['plain'],
    ['plain', {}],
    ['named', { id: 'a', from: 'b' }],
    ['named', { id: '{{from}}', from: '$1 $& \u{e000}id\u{e000}' }],
    ['named', { from: 'c', id: '' }],
    ['twice', { id: 'x' }],
    ['twice', { id: 'y' }],
    ['rows', { count: 1 }],
    ['rows', { count: 12_345 }],
    ['atMost', { most: 10_000 }],
    ['atMost', { most: 2 }],
    ['not there'],
    ['not there', { id: 'z' }],
  ]);
  expect(said).toEqual(expected);
  expect(said).toContain('12,345 rows');
});
