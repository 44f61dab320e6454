import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { countTokens as vocabulary } from 'gpt-tokenizer/encoding/o200k_base';
import type { ChatRequest } from '../wire/openai/chat.ts';
import { inputCeiling } from './chat.ts';

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

test('two characters are a token, and each further byte of a character is one more', () => {
  const request = chat('whatever: only the size counts');
  const ceiling = (characters: number, bytes = characters) =>
    inputCeiling(request, { characters, bytes }, 1_000_000);
  expect(ceiling(1_000)).toBe(500);
  expect(ceiling(1_001)).toBe(501);
  expect(ceiling(1_000, 1_300)).toBe(800);
});

test('attachments count by their kind, and their base64 not as text', () => {
  const size = { characters: 2_000, bytes: 2_000 };
  const with1000 = (part: object) => inputCeiling(chat([part as never]), size, 1_000_000);
  const base64 = 'A'.repeat(1_000);
  expect(with1000({ type: 'text', text: base64 })).toBe(1_000);
  expect(with1000({ type: 'refusal', refusal: base64 })).toBe(1_000);
  expect(with1000({ type: 'input_audio', input_audio: { data: base64, format: 'mp3' } })).toBe(500 + 10);
  expect(with1000({ type: 'file', file: { file_data: base64 } })).toBe(500 + 125);
  expect(with1000({ type: 'file', file: { file_id: 'file_1' } })).toBe(1_000);
  const url = `data:${'A'.repeat(995)}`;
  expect(with1000({ type: 'image_url', image_url: { url } })).toBe(500 + 4_000);
  expect(with1000({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } })).toBe(
    1_000 + 4_000,
  );
});

test('attachments add up over all parts of all messages', () => {
  const picture = { type: 'image_url' as const, image_url: { url: 'https://example.com/a.png' } };
  const request: ChatRequest = {
    model: 'm',
    messages: [
      { role: 'user', content: [picture, picture] },
      { role: 'user', content: 'and' },
      { role: 'user', content: [picture] },
    ],
  };
  expect(inputCeiling(request, { characters: 100, bytes: 100 }, 1_000_000)).toBe(50 + 12_000);
});

test('a request cannot fit if it needs more than twice the window without attachments', () => {
  const ceiling = (characters: number, parts: ChatRequest['messages'][number]['content'] = 'x') =>
    inputCeiling(chat(parts), { characters, bytes: characters }, 1_000);
  expect(ceiling(4_000)).toBe(1_000);
  expect(() => ceiling(4_001)).toThrow('do not fit');
  const picture = { type: 'image_url' as const, image_url: { url: 'https://example.com/a.png' } };
  expect(ceiling(4_000, [picture])).toBe(1_000);
});

test('an image in base64 counts as an image, not as text', () => {
  const request = chat([
    { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(2_000_000)}` } },
  ]);
  expect(inputCeiling(request, sized(request), 1_000_000)).toBeLessThan(5_000);
});

test('the ceiling is never above the model’s window, and a request that cannot fit is refused', () => {
  const request = chat('word '.repeat(3_000));
  expect(inputCeiling(request, sized(request), 5_000)).toBe(5_000);
  expect(() => inputCeiling(request, sized(request), 1_000)).toThrow('do not fit');
});
