import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { jsonObject } from '../../../test/wire/answers.ts';
import { Fault } from '../../std/fault.ts';
import { messagesRequestSchema, type MessagesRequest } from './request.ts';
import { messagesToChat } from './to-chat.ts';
import { chatRequestSchema, type ChatRequest } from '../openai/chat.ts';

const ask = (fields: Record<string, unknown>): MessagesRequest =>
  messagesRequestSchema.parse({
    model: 'm',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'hi' }],
    ...fields,
  });

const say = (content: unknown, role = 'user') =>
  messagesToChat(ask({ messages: [{ role, content }] })).messages;

/** As an upstream would get it: symbols and undefined fields are not part of JSON. */
const sent = (chat: ChatRequest): unknown => JSON.parse(JSON.stringify(chat));

describe('a Messages request in canonical form', () => {
  test('what Claude Code sends', () => {
    const request = ask({
      model: 'svc_chat/tiny',
      max_tokens: 128_000,
      stream: true,
      system: [
        { type: 'text', text: 'You are careful.', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: 'Be brief.' },
      ],
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: 'List files', cache_control: { type: 'ephemeral' } }],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'ls it is', signature: 'c2ln' },
            { type: 'text', text: 'Looking.' },
            { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'ls' } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              content: [{ type: 'text', text: 'a.txt' }],
              is_error: false,
            },
            { type: 'text', text: 'And now?' },
          ],
        },
      ],
      tools: [
        {
          name: 'Bash',
          description: 'Run',
          input_schema: { type: 'object' },
          input_examples: [{ command: 'ls' }],
        },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 5 },
      ],
      thinking: { type: 'adaptive' },
      context_management: { edits: [] },
      output_config: {},
      metadata: { user_id: `user_${'0'.repeat(100)}` },
    });
    expect(sent(messagesToChat(request))).toEqual({
      model: 'svc_chat/tiny',
      max_tokens: 128_000,
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        { role: 'system', content: 'You are careful.\n\nBe brief.' },
        { role: 'user', content: 'List files' },
        {
          role: 'assistant',
          content: 'Looking.',
          tool_calls: [
            { id: 'toolu_1', type: 'function', function: { name: 'Bash', arguments: '{"command":"ls"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'toolu_1', content: 'a.txt' },
        { role: 'user', content: 'And now?' },
      ],
      tools: [
        { type: 'function', function: { name: 'Bash', description: 'Run', parameters: { type: 'object' } } },
      ],
    });
  });

  test('cache marks do not reach a backend of another dialect', () => {
    const request = ask({ system: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral' } }] });
    expect(JSON.stringify(messagesToChat(request))).not.toContain('cache_control');
  });

  test('images inline and by URL', () => {
    const base64 = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } };
    const byUrl = { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } };
    expect(say([{ type: 'text', text: 'What?' }, base64, byUrl])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
          { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
        ],
      },
    ]);
  });

  test('documents become text or files, search results become text', () => {
    const pdf = {
      type: 'document',
      title: 'a.pdf',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' },
    };
    const plain = {
      type: 'document',
      title: 'T',
      source: { type: 'text', media_type: 'text/plain', data: 'body' },
    };
    const parts = {
      type: 'document',
      source: { type: 'content', content: [{ type: 'text', text: 'inner' }] },
    };
    const found = {
      type: 'search_result',
      title: 'T',
      source: 'https://x',
      content: [{ type: 'text', text: 'hit' }],
    };
    expect(say([pdf, plain, parts, found])[0]?.content).toEqual([
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
      { type: 'text', text: 'T\n\nbody' },
      { type: 'text', text: 'inner' },
      { type: 'text', text: 'T\nhttps://x\nhit' },
    ]);
  });

  test('an image in a tool result follows in a user message, because tool messages are text', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } };
    const messages = say([
      { type: 'text', text: 'See.' },
      { type: 'tool_result', tool_use_id: 't1', content: [image] },
      { type: 'tool_result', tool_use_id: 't2' },
    ]);
    expect(messages.map((message) => message.role)).toEqual(['tool', 'tool', 'user']);
    expect(messages.map((message) => message.tool_call_id)).toEqual(['t1', 't2', undefined]);
    expect(messages[1]?.content).toBe('');
    expect(messages[2]?.content).toEqual([
      { type: 'text', text: 'Attached to the result of t1:' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
      { type: 'text', text: 'See.' },
    ]);
  });

  test('content that cannot be forwarded is refused with its path, not dropped', () => {
    const refused = [
      { type: 'image', source: { type: 'file', file_id: 'f' } },
      { type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' } },
      { type: 'document', source: { type: 'file', file_id: 'f' } },
      { type: 'container_upload', file_id: 'f' },
    ];
    for (const block of refused) {
      expect(() => say([{ type: 'text', text: 'x' }, block])).toThrow(
        expect.objectContaining({ code: 'invalid_field', param: 'messages.0.content.1' }),
      );
    }
  });

  test('a turn of only thinking and server tools is dropped; a request of only such turns is refused', () => {
    const thoughts = [
      { type: 'redacted_thinking', data: 'x' },
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
    ];
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: thoughts },
    ];
    expect(messagesToChat(ask({ messages })).messages).toEqual([{ role: 'user', content: 'hi' }]);
    expect(() => say(thoughts, 'assistant')).toThrow(Fault);
  });

  test('tool choice, in all its forms', () => {
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    const chosen = (tool_choice: unknown) => sent(messagesToChat(ask({ tools, tool_choice })));
    expect(chosen({ type: 'auto' })).toMatchObject({ tool_choice: 'auto' });
    expect(chosen({ type: 'any', disable_parallel_tool_use: true })).toMatchObject({
      tool_choice: 'required',
      parallel_tool_calls: false,
    });
    expect(chosen({ type: 'none' })).toMatchObject({ tool_choice: 'none' });
    expect(chosen({ type: 'tool', name: 'f' })).toMatchObject({
      tool_choice: { type: 'function', function: { name: 'f' } },
    });
    expect(chosen({ type: 'tool', name: 'web_search' })).not.toHaveProperty('tool_choice');
    expect(
      sent(
        messagesToChat(
          ask({ tools: [{ type: 'bash_20250124', name: 'bash' }], tool_choice: { type: 'any' } }),
        ),
      ),
    ).toEqual(sent(messagesToChat(ask({}))));
  });

  test('thinking and effort become a reasoning effort; a schema becomes a response format', () => {
    const effort = (fields: Record<string, unknown>) => messagesToChat(ask(fields)).reasoning_effort;
    expect(effort({ thinking: { type: 'enabled', budget_tokens: 1_024 } })).toBe('low');
    expect(effort({ thinking: { type: 'enabled', budget_tokens: 8_000 } })).toBe('medium');
    expect(effort({ thinking: { type: 'enabled', budget_tokens: 32_000 } })).toBe('high');
    expect(effort({ thinking: { type: 'disabled' } })).toBeUndefined();
    expect(effort({ thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } })).toBe('xhigh');
    const format = { type: 'json_schema', schema: { type: 'object' } };
    const expected = {
      type: 'json_schema',
      json_schema: { name: 'answer', schema: { type: 'object' }, strict: true },
    };
    expect(messagesToChat(ask({ output_config: { format } })).response_format).toEqual(expected);
    expect(messagesToChat(ask({ output_format: format })).response_format).toEqual(expected);
  });

  test('an error is reported with its path', () => {
    const content = [
      { type: 'text', text: 'x' },
      { type: 'image', source: { type: 'base64', data: 'iVBO' } },
    ];
    const result = messagesRequestSchema.safeParse({
      model: 'm',
      max_tokens: 1,
      messages: [{ role: 'user', content }],
    });
    expect(result.error?.issues.map((issue) => issue.path.join('.'))).toEqual([
      'messages.0.content.1.source.media_type',
    ]);
    for (const broken of [
      { max_tokens: 0 },
      { max_tokens: undefined },
      { messages: [] },
      { stop_sequences: Array.from({ length: 1_001 }, () => 'a') },
    ]) {
      expect(messagesRequestSchema.safeParse({ ...ask({}), ...broken }).success).toBe(false);
    }
  });
});

describe('a Messages request survives the canonical form', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
  const textBlock = text.map((value) => ({ type: 'text' as const, text: value }));
  const image = fc.constantFrom(
    { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png', data: 'iVBO' } },
    { type: 'image' as const, source: { type: 'url' as const, url: 'https://example.org/a.png' } },
  );
  const id = fc.stringMatching(/^toolu_[a-z0-9]{1,10}$/);
  const name = fc.stringMatching(/^[a-z_]{1,12}$/);
  const use = fc.record({ type: fc.constant('tool_use' as const), id, name, input: jsonObject });
  const result = fc.record({ type: fc.constant('tool_result' as const), tool_use_id: id, content: text });
  const user = fc
    .tuple(fc.array(result, { maxLength: 2 }), fc.array(fc.oneof(textBlock, image), { maxLength: 3 }))
    .filter(([results, said]) => results.length + said.length > 0)
    .map(([results, said]) => ({ role: 'user' as const, content: [...results, ...said] }));
  const assistant = fc
    .tuple(fc.array(textBlock, { maxLength: 1 }), fc.array(use, { maxLength: 2 }))
    .filter(([said, uses]) => said.length + uses.length > 0)
    .map(([said, uses]) => ({ role: 'assistant' as const, content: [...said, ...uses] }));
  const turns = fc
    .array(fc.tuple(user, assistant), { minLength: 1, maxLength: 3 })
    .map((pairs) => pairs.flat());
  const tool = fc.record({ name, description: text, input_schema: jsonObject });
  const requests = fc.record(
    {
      model: name,
      max_tokens: fc.integer({ min: 1, max: 200_000 }),
      messages: turns,
      system: text,
      tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
      temperature: fc.float({ min: 0, max: 1, noNaN: true }),
      top_p: fc.float({ min: 0, max: 1, noNaN: true }),
      stop_sequences: fc.array(text, { minLength: 1, maxLength: 4 }),
      stream: fc.boolean(),
    },
    { requiredKeys: ['model', 'max_tokens', 'messages'] },
  );

  test('everything that both forms can express is preserved', () => {
    fc.assert(
      fc.property(requests, (request) => {
        const chat = messagesToChat(messagesRequestSchema.parse(request));
        expect(chatRequestSchema.safeParse(sent(chat)).success).toBe(true);
        const { stream, ...rest } = request;
        expect(backToMessages(chat)).toEqual(stream ? { ...rest, stream } : rest);
      }),
    );
  });
});

/** The inverse, written independently, so that the test does not share the code it tests. */
function backToMessages(chat: ChatRequest): Record<string, unknown> {
  const [first, ...others] = chat.messages;
  const system = first?.role === 'system' ? { system: first.content } : {};
  const turns: { role: string; content: unknown[] }[] = [];
  for (const message of first?.role === 'system' ? others : chat.messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content =
      message.role === 'tool' ? [resultOf(message)] : [...partsOf(message.content), ...usesOf(message)];
    const last = turns.at(-1);
    if (last?.role === role && role === 'user') last.content.push(...content);
    else turns.push({ role, content });
  }
  const tools = chat.tools?.map((tool) => ({
    name: tool.function?.name,
    description: tool.function?.description,
    input_schema: tool.function?.parameters,
  }));
  const { model, max_tokens, temperature, top_p, stop, stream } = chat;
  const fields = {
    model,
    max_tokens,
    messages: turns,
    tools,
    temperature,
    top_p,
    stop_sequences: stop,
    stream,
    ...system,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

type Message = ChatRequest['messages'][number];

function resultOf(message: Message): unknown {
  return { type: 'tool_result', tool_use_id: message.tool_call_id, content: message.content };
}

function usesOf(message: Message): unknown[] {
  return (message.tool_calls ?? []).map((call) => ({
    type: 'tool_use',
    id: call.id,
    name: call.function?.name,
    input: JSON.parse(call.function?.arguments ?? ''),
  }));
}

function partsOf(content: Message['content']): unknown[] {
  if (content === null || content === undefined) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part) => {
    if (part.type !== 'image_url') return part;
    const match = /^data:(.+);base64,(.+)$/.exec(part.image_url.url);
    const source = match
      ? { type: 'base64', media_type: match[1], data: match[2] }
      : { type: 'url', url: part.image_url.url };
    return { type: 'image', source };
  });
}
