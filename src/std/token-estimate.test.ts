import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { countTokens as vocabulary } from 'gpt-tokenizer/encoding/o200k_base';
import { estimateTokens } from './token-estimate.ts';

const SAMPLES: [string, string][] = [
  [
    'prose',
    'It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, it was the epoch of belief.',
  ],
  [
    'code',
    'export function add(a: number, b: number): number {\n  // sums two numbers\n  return a + b;\n}\n\nconst total = [1, 2, 3].reduce(add, 0);\nconsole.log(`total: ${total}`);\n'.repeat(
      3,
    ),
  ],
  [
    'JSON',
    JSON.stringify(
      {
        name: 'tollgate',
        version: '0.1.0',
        private: true,
        list: [1, 22, 333],
        nested: { key: 'value', flag: false },
      },
      null,
      2,
    ),
  ],
  [
    'German',
    'Die Geschwindigkeit der Verarbeitung hängt von mehreren Faktoren ab, insbesondere von der Größe der Anfrage und der Auslastung des Servers. Das ist nicht überraschend.',
  ],
  ['Chinese', '今天天气很好，我们去公园散步吧。你觉得怎么样？我想吃冰淇淋，但是有点冷。'],
  ['Russian', 'Сегодня хорошая погода, пойдём гулять в парк. Что ты об этом думаешь?'],
];

test.each(SAMPLES)('%s is counted within fifteen per cent of a common vocabulary', (_, text) => {
  const ratio = estimateTokens(text) / vocabulary(text);
  expect(ratio).toBeGreaterThan(0.85);
  expect(ratio).toBeLessThan(1.15);
});

test('an empty text has no tokens, and no text has more tokens than bytes', () => {
  expect(estimateTokens('')).toBe(0);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => estimateTokens(text) <= Buffer.byteLength(text)),
  );
});

test('counting in two blocks differs from counting at once by at most one token', () => {
  const words = SAMPLES[0]![1];
  for (let cut = 0; cut <= words.length; cut++) {
    const apart = estimateTokens(words.slice(0, cut)) + estimateTokens(words.slice(cut));
    expect(Math.abs(apart - estimateTokens(words))).toBeLessThanOrEqual(1);
  }
});

/** Each kind of piece, at its limits. */
const COUNTS: [string, string, number][] = [
  ['a word of up to nine Latin letters', 'Aaaaaaaaz', 1],
  ['one of ten', 'Zaaaaaaaaa', 2],
  ['lower case to its last letter', 'zzzzzzzzz', 1],
  ['the first letter with an accent', 'À'.repeat(9), 1],
  ['the last Latin letter', '\u024f'.repeat(9), 1],
  ['the first letter after it, four a token', '\u0250'.repeat(9), 3],
  ['a word with the space before it', ' word', 1],
  ['a word with an apostrophe', `don't`, 1],
  ['three digits', '000', 1],
  ['four digits', '9999', 2],
  ['three of the last digit', '999', 1],
  ...[...'/:@[`{'].map((sign): [string, string, number] => [`three times ${sign}`, sign.repeat(3), 2]),
  ['the last sign before the letters with an accent', '¿'.repeat(9), 3],
  ['two signs', '{}', 1],
  ['three signs', '{}~', 2],
  ['signs with the space before them', ' {}', 1],
  ['a single space', ' ', 0],
  ['indentation', '    ', 1],
  ['a line break', '\n', 1],
  ['the first character that is not ASCII', '\u0080'.repeat(4), 1],
  ['the last one before East Asia', '\u2e7f'.repeat(5), 2],
  ['the first one of East Asia', '\u2e80'.repeat(5), 4],
  ['an East Asian word', '世界世界世', 4],
  ['a sentence', 'Hello, world! 42', 5],
];

test.each(COUNTS)('the estimate: %s', (_, text, tokens) => {
  expect(estimateTokens(text)).toBe(tokens);
});
