import { expect, test } from 'bun:test';
import { vocabularyTokens } from '../../tokenizer/testing/in-process-counter.ts';
import type { ChatRequest } from '../../wire/openai/chat.ts';
import { chatInput } from '../testing/chat-input.ts';

/** Our count of the input: three tokens, four per message, its text, its tools, and its attachments as they were measured. */
const inputOf = (request: Partial<ChatRequest>): Promise<number> => chatInput(request).chargedInput();

const TEXT = 'How long is a piece of string?';
const WORDS = vocabularyTokens(TEXT);

test('the texts of all messages, four tokens for each message, and three', async () => {
  expect(await inputOf({ messages: [{ role: 'user', content: TEXT }] })).toBe(3 + 4 + WORDS);
  const messages: ChatRequest['messages'] = [
    { role: 'system', content: TEXT },
    { role: 'user', content: TEXT, name: 'somebody' },
  ];
  expect(await inputOf({ messages })).toBe(3 + 2 * (4 + WORDS) + vocabularyTokens('somebody'));
});

test('the parts of a message: text, and attachments as they were measured', async () => {
  const text = { type: 'text' as const, text: TEXT };
  const image = { type: 'image_url' as const, image_url: { url: 'https://example.com/a.png' } };
  const audio = { type: 'input_audio' as const, input_audio: { data: 'AAAA', format: 'mp3' } };
  expect(await inputOf({ messages: [{ role: 'user', content: [text, text] }] })).toBe(3 + 4 + 2 * WORDS);
  const content = [text, image, audio];
  const attached = chatInput({ messages: [{ role: 'user', content }] }, 700);
  expect(await attached.chargedInput()).toBe(3 + 4 + WORDS + 700);
});

test('tool definitions, tool calls, the format of the answer, and fields that nobody knows', async () => {
  const tools = [
    { type: 'function' as const, function: { name: 'measure', parameters: { type: 'object' } } },
  ];
  const calls = [
    { id: 'call_1', type: 'function' as const, function: { name: 'measure', arguments: '{"of":1}' } },
  ];
  const format = { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } };
  expect(await inputOf({ messages: [{ role: 'user', content: TEXT }], tools, response_format: format })).toBe(
    3 + 4 + WORDS + vocabularyTokens(JSON.stringify(tools)) + vocabularyTokens(JSON.stringify(format)),
  );
  const called: ChatRequest['messages'] = [
    { role: 'assistant', content: null, tool_calls: calls, reasoning_content: TEXT },
    { role: 'tool', content: 'two', tool_call_id: 'call_1' },
  ];
  expect(await inputOf({ messages: called })).toBe(
    3 + 8 + vocabularyTokens('measure') + vocabularyTokens('{"of":1}') + WORDS + vocabularyTokens('two'),
  );
});

test('text cannot hide under a name', async () => {
  const messages: ChatRequest['messages'] = [{ role: 'tool', content: 'x', tool_call_id: TEXT.repeat(100) }];
  expect(await inputOf({ messages })).toBeGreaterThan(100 * (WORDS - 1));
});
