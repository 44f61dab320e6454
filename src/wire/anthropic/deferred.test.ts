import { expect, test } from 'bun:test';
import { messagesRequestSchema } from './request.ts';
import { messagesToChat } from './to-chat.ts';

/** Deferred tools, which are offered only after the model has searched for them. */

const TOOLS = [
  { name: 'ToolSearch', input_schema: { type: 'object' } },
  { name: 'WebFetch', input_schema: { type: 'object' }, defer_loading: true },
  { name: 'Placeholder', input_schema: { type: 'object' }, defer_loading: true },
];
const ASKED = { role: 'user', content: 'fetch it' };
const SEARCHED = [
  ASKED,
  { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'ToolSearch', input: {} }] },
  {
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: 't1',
        content: [{ type: 'tool_reference', tool_name: 'WebFetch' }],
      },
    ],
  },
];

const chatOf = (messages: unknown[], tools: unknown[]) =>
  messagesToChat(messagesRequestSchema.parse({ model: 'm', max_tokens: 10, messages, tools }));
const names = (messages: unknown[], tools: unknown[]) =>
  chatOf(messages, tools).tools?.map((tool) => tool.function?.name);

test('a deferred tool is offered once a result refers to it, and not before', () => {
  expect(names([ASKED], TOOLS)).toEqual(['ToolSearch']);
  expect(names(SEARCHED, TOOLS)).toEqual(['ToolSearch', 'WebFetch']);
});

test('the result tells the model what was found', () => {
  expect(chatOf(SEARCHED, TOOLS).messages.at(-1)).toEqual({
    role: 'tool',
    tool_call_id: 't1',
    content: 'The tool WebFetch is loaded and can be called now.',
  });
});

test('every tool is offered if the provider would do the search', () => {
  const hosted = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' };
  expect(names([ASKED], [hosted, ...TOOLS])).toEqual(['ToolSearch', 'WebFetch', 'Placeholder']);
});
