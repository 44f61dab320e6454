import { expect, test } from 'bun:test';
import { countTokens } from '../../std/tokens.ts';
import type { ChatRequest } from '../../wire/openai/chat.ts';
import { Meter } from './meter.ts';

/** Our count of the input: four tokens per message, its text, its tools, 800 per image. */
function inputOf(request: Pick<ChatRequest, 'messages' | 'tools'>): number {
  const meter = new Meter({ model: 'm', ...request });
  meter.observe({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { content: 'x' }, finish_reason: null }],
  });
  return meter.counted().input;
}

const TEXT = 'How long is a piece of string?';
const WORDS = countTokens(TEXT);

test('the texts of all messages, and four tokens for each message', () => {
  expect(inputOf({ messages: [{ role: 'user', content: TEXT }] })).toBe(4 + WORDS);
  const messages: ChatRequest['messages'] = [
    { role: 'system', content: TEXT },
    { role: 'user', content: TEXT },
  ];
  expect(inputOf({ messages })).toBe(2 * (4 + WORDS));
});

test('the parts of a message: text, images, and nothing for what cannot be counted', () => {
  const text = { type: 'text' as const, text: TEXT };
  const image = { type: 'image_url' as const, image_url: { url: 'https://example.com/a.png' } };
  const audio = { type: 'input_audio' as const, input_audio: { data: 'AAAA', format: 'mp3' } };
  expect(inputOf({ messages: [{ role: 'user', content: [text, text] }] })).toBe(4 + 2 * WORDS);
  expect(inputOf({ messages: [{ role: 'user', content: [text, image, image] }] })).toBe(4 + WORDS + 1_600);
  expect(inputOf({ messages: [{ role: 'user', content: [text, audio] }] })).toBe(4 + WORDS);
});

test('tool definitions and tool calls', () => {
  const tools = [
    { type: 'function' as const, function: { name: 'measure', parameters: { type: 'object' } } },
  ];
  const calls = [
    { id: 'c1', type: 'function' as const, function: { name: 'measure', arguments: '{"of":1}' } },
  ];
  expect(inputOf({ messages: [{ role: 'user', content: TEXT }], tools })).toBe(
    4 + WORDS + countTokens(JSON.stringify(tools)),
  );
  expect(inputOf({ messages: [{ role: 'assistant', content: null, tool_calls: calls }] })).toBe(
    4 + countTokens(JSON.stringify(calls)),
  );
});
