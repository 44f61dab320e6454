import { expect, test } from 'bun:test';
import { countableMessages } from './to-chat.ts';
import { countTokensRequestSchema } from './request.ts';

const words = (text: string) => text.split(' ').filter((word) => word !== '').length;

const countOf = (fields: Record<string, unknown>): number => {
  const { texts, tokens } = countableMessages(
    countTokensRequestSchema.parse({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields }),
  );
  return texts.reduce((sum, text) => sum + words(text), tokens);
};

test('the count grows with text, tools, calls and images, and needs no max_tokens', () => {
  const more = [
    { system: 'be brief' },
    { tools: [{ name: 'f', input_schema: { type: 'object' } }] },
    { messages: [{ role: 'user', content: 'hi you all there' }] },
    { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url: 'https://x' } }] }] },
    { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] }] },
  ];
  for (const fields of more) expect(countOf(fields)).toBeGreaterThan(countOf({}));
});
