import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { vocabularyTokens } from '../../tokenizer/testing/in-process-counter.ts';
import { inputBound } from '../chat.ts';
import { NO_ATTACHMENTS } from './attachments.ts';

/**
 * The bound on the input against real tokenizers, on text that was chosen to need many tokens. `most` is how far the
 * bound may be above the count: a looser one would make holds larger than they need to be.
 */

const repeated = (unit: fc.Arbitrary<string>) =>
  fc.array(unit, { minLength: 40, maxLength: 400 }).map((parts) => parts.join(''));
const characters = (from: number, to: number) =>
  fc.integer({ min: from, max: to }).map((code) => String.fromCodePoint(code));

const sentences = fc
  .array(fc.lorem({ maxCount: 6 }), { minLength: 20, maxLength: 40 })
  .map((words) => words.join(' '));

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

const TEXTS: readonly { name: string; text: fc.Arbitrary<string>; most: number }[] = [
  { name: 'prose', text: sentences, most: 8 },
  { name: 'digits', text: repeated(characters(0x30, 0x39)), most: 5 },
  { name: 'punctuation', text: repeated(fc.constantFrom(...'!#$%&()*+,-./:;<=>?@[]^_`{|}~')), most: 4 },
  { name: 'base64', text: repeated(fc.constantFrom(...BASE64)), most: 4 },
  { name: 'hex', text: repeated(fc.constantFrom(...'0123456789abcdef')), most: 4 },
  { name: 'emoji', text: repeated(characters(0x1f300, 0x1faff)), most: 4 },
  { name: 'common Chinese', text: repeated(characters(0x4e00, 0x9fff)), most: 4 },
  { name: 'rare Chinese', text: repeated(characters(0x20000, 0x2a6df)), most: 2 },
  { name: 'white space', text: repeated(fc.constantFrom(' ', '  ', '\n', '\t', ' \n')), most: 40 },
  { name: 'control characters', text: repeated(characters(0x1, 0x1f)), most: 12 },
  { name: 'mixed', text: fc.string({ unit: 'grapheme', minLength: 100, maxLength: 400 }), most: 6 },
];

/** What models of these families count for a digit: Llama 2, Gemma and DeepSeek split numbers into digits. */
const digitByDigit = (text: string): number => text.replace(/\D/g, '').length;

test.each(TEXTS)(
  '$name: the bound is never below a tokenizer’s count, and not far above it',
  ({ text, most }) => {
    fc.assert(
      fc.property(text, (content) => {
        const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] });
        const size = { bytes: Buffer.byteLength(body), characters: body.length };
        const envelope = body.length - JSON.stringify(content).length;
        const bound = inputBound(size, 0, NO_ATTACHMENTS) - envelope;
        const tokens = vocabularyTokens(content);
        expect(bound).toBeGreaterThanOrEqual(Math.max(tokens, digitByDigit(content)));
        expect(bound).toBeLessThanOrEqual(most * tokens + 2);
      }),
      { numRuns: 60 },
    );
  },
);

test('the bound is exact for the worst text there is: half of it would be too low', () => {
  const digits = '7'.repeat(1_000);
  const size = { bytes: digits.length, characters: digits.length };
  expect(inputBound(size, 0, NO_ATTACHMENTS)).toBe(digitByDigit(digits));
});
