import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { countTokens as vocabulary } from 'gpt-tokenizer/encoding/o200k_base';
import type { ChatRequest } from '../wire/chat.ts';
import { inputCeiling } from './ceiling.ts';

function sized(request: ChatRequest) {
  const text = JSON.stringify(request);
  return { bytes: Buffer.byteLength(text), characters: text.length };
}

const chat = (content: ChatRequest['messages'][number]['content']): ChatRequest => ({
  model: 'm',
  messages: [{ role: 'user', content }],
});

test('the ceiling is above what a common vocabulary counts, for prose, code, other scripts and random text', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 400 }),
    fc.lorem({ maxCount: 60 }),
    fc
      .array(fc.constantFrom('const x = 1;\n', '世界', 'Grüße ', '🚪', '   ', '{"a":[1,2]}', '1234567890'), {
        maxLength: 60,
      })
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const request = chat(text);
      expect(inputCeiling(request, sized(request), 1_000_000)).toBeGreaterThanOrEqual(vocabulary(text));
    }),
    { numRuns: 300 },
  );
});

test('a picture in base64 counts as a picture, not as text', () => {
  const request = chat([
    { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(2_000_000)}` } },
  ]);
  expect(inputCeiling(request, sized(request), 1_000_000)).toBeLessThan(5_000);
});

test('the ceiling is never above the model’s window, and what cannot fit is refused', () => {
  const request = chat('word '.repeat(3_000));
  expect(inputCeiling(request, sized(request), 5_000)).toBe(5_000);
  expect(() => inputCeiling(request, sized(request), 1_000)).toThrow('do not fit');
});
