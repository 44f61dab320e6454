import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { jsonObject } from '../../../test/wire/answers.ts';
import { Fault } from '../../std/fault.ts';
import { chatRequestSchema, type ChatRequest } from '../openai/chat.ts';
import { responsesRequestSchema, type ResponsesRequest } from './request.ts';
import { responsesToChat } from './to-chat.ts';

const ask = (fields: Record<string, unknown>): ResponsesRequest =>
  responsesRequestSchema.parse({ model: 'm', input: 'hi', ...fields });

const say = (input: unknown[]) => responsesToChat(ask({ input })).messages;

const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });

const format = (value: unknown) => responsesToChat(ask({ text: { format: value } })).response_format;

describe('a Responses request in canonical form', () => {
  test('what Codex sends', () => {
    const request = ask({
      model: 'svc_chat/tiny',
      stream: true,
      instructions: 'You are a coding agent.',
      input: [
        {
          type: 'message',
          role: 'developer',
          content: [{ type: 'input_text', text: 'Sandbox: read-only.' }],
        },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'List files' }] },
        { type: 'reasoning', summary: [], encrypted_content: 'x' },
        { type: 'function_call', name: 'shell', arguments: '{"command":["ls"]}', call_id: 'call_1' },
        { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin', call_id: 'call_2' },
        { type: 'function_call_output', call_id: 'call_1', output: 'a.txt' },
        { type: 'custom_tool_call_output', call_id: 'call_2', output: 'ok' },
      ],
      tools: [
        {
          type: 'function',
          name: 'shell',
          description: 'Run',
          strict: false,
          parameters: { type: 'object' },
        },
        { type: 'web_search', external_web_access: false },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning: { effort: 'medium', summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'abc',
      client_metadata: { a: 'b' },
    });
    expect(responsesToChat(request)).toEqual({
      model: 'svc_chat/tiny',
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        { role: 'system', content: 'You are a coding agent.\n\nSandbox: read-only.' },
        { role: 'user', content: 'List files' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'shell', arguments: '{"command":["ls"]}' } },
            {
              id: 'call_2',
              type: 'function',
              function: { name: 'apply_patch', arguments: '{"input":"*** Begin"}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'a.txt' },
        { role: 'tool', tool_call_id: 'call_2', content: 'ok' },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'shell', description: 'Run', strict: false, parameters: { type: 'object' } },
        },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning_effort: 'medium',
    });
  });

  test('a message needs no type; images and files are content', () => {
    const content = [
      { type: 'input_text', text: 'What?' },
      { type: 'input_image', image_url: 'data:image/png;base64,iVBO', detail: 'original' },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' },
    ];
    expect(say([{ role: 'user', content }])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO', detail: 'high' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
        ],
      },
    ]);
  });

  test('text and calls of one turn stay one turn, whichever came first', () => {
    const text = { role: 'assistant', content: [{ type: 'output_text', text: 'Looking.' }] };
    const result = { type: 'function_call_output', call_id: 'a', output: '1' };
    const turn = {
      role: 'assistant' as const,
      content: 'Looking.',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    };
    const tool = { role: 'tool' as const, tool_call_id: 'a', content: '1' };
    expect(say([text, call('a'), result])).toEqual([turn, tool]);
    expect(say([call('a'), text, result])).toEqual([turn, tool]);
    expect(say([call('a'), result, call('b')]).map((message) => message.role)).toEqual([
      'assistant',
      'tool',
      'assistant',
    ]);
  });

  test('an image in a result waits for the next user message, after all results', () => {
    const image = { type: 'input_image', image_url: 'https://example.org/a.png' };
    const messages = say([
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
      { type: 'function_call', call_id: 'b', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: [image] },
      { type: 'function_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'done' }] },
    ]);
    expect(messages.map((message) => message.role)).toEqual(['assistant', 'tool', 'tool', 'user']);
    expect(messages.at(-1)?.content).toEqual([
      { type: 'text', text: 'Attached to the result of a:' },
      { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
    ]);
  });

  test('requests that need stored state are refused with a helpful message', () => {
    const stateful = [
      { previous_response_id: 'resp_1' },
      { conversation: 'conv_1' },
      { prompt: { id: 'pmpt_1' } },
      { background: true },
    ];
    for (const fields of stateful) {
      const [param] = Object.keys(fields);
      expect(() => responsesToChat(ask(fields))).toThrow(
        expect.objectContaining({ code: 'invalid_field', param }),
      );
    }
    expect(() => say([{ type: 'item_reference', id: 'msg_1' }])).toThrow('store: false');
    expect(
      say([
        { type: 'item_reference', id: 'rs_1' },
        { role: 'user', content: 'hi' },
      ]),
    ).toHaveLength(1);
  });

  test('content that cannot be forwarded is refused with its path; records of hosted tools are left out', () => {
    expect(() => say([{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }])).toThrow(
      expect.objectContaining({ code: 'invalid_field', param: 'input.0.content.0' }),
    );
    expect(() => say([{ type: 'computer_call_output', call_id: 'a', output: {} }])).toThrow(Fault);
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
    expect(say([search, { role: 'user', content: 'hi' }])).toEqual([{ role: 'user', content: 'hi' }]);
  });

  test('tool choice, in all its forms', () => {
    const tools = [
      { type: 'function', name: 'f', parameters: {} },
      { type: 'custom', name: 'patch' },
      { type: 'namespace', name: 'git', tools: [{ type: 'function', name: 'log' }] },
      { type: 'web_search' },
    ];
    const chosen = (tool_choice: unknown) => responsesToChat(ask({ tools, tool_choice }));
    expect(chosen('required').tool_choice).toBe('required');
    expect(chosen({ type: 'function', name: 'f' }).tool_choice).toEqual({
      type: 'function',
      function: { name: 'f' },
    });
    expect(chosen({ type: 'custom', name: 'patch' }).tool_choice).toEqual({
      type: 'function',
      function: { name: 'patch' },
    });
    expect(chosen(undefined).tools?.map((tool) => tool.function?.name)).toEqual(['f', 'patch', 'git__log']);
    const some = chosen({
      type: 'allowed_tools',
      mode: 'required',
      tools: [{ type: 'function', name: 'f' }],
    });
    expect([some.tool_choice, some.tools?.map((tool) => tool.function?.name)]).toEqual(['required', ['f']]);
    expect(() => chosen({ type: 'web_search' })).toThrow(Fault);
    expect(() => responsesToChat(ask({ tools: [{ type: 'web_search' }], tool_choice: 'required' }))).toThrow(
      Fault,
    );
    expect(responsesToChat(ask({ tools: [{ type: 'web_search' }], tool_choice: 'auto' }))).toEqual(
      responsesToChat(ask({})),
    );
  });

  test('formats of the answer', () => {
    const schema = { type: 'object' };
    expect(format({ type: 'json_schema', name: 'n', schema, strict: true })).toEqual({
      type: 'json_schema',
      json_schema: { name: 'n', schema, strict: true },
    });
    expect(format({ type: 'json_object' })).toEqual({ type: 'json_object' });
    expect(format({ type: 'text' })).toBeUndefined();
  });

  test('an error is reported with its path', () => {
    const input = [
      { role: 'user', content: 'x' },
      { type: 'function_call', name: 'f', arguments: '{}' },
    ];
    const result = responsesRequestSchema.safeParse({ model: 'm', input });
    expect(result.error?.issues.map((issue) => issue.path.join('.'))).toEqual(['input.1.call_id']);
  });
});

describe('a Responses request survives the canonical form', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
  const name = fc.stringMatching(/^[a-z]{1,12}$/);
  const id = fc.stringMatching(/^call_[a-z0-9]{1,10}$/);
  const part = fc.oneof(
    text.map((value) => ({ type: 'input_text', text: value })),
    fc.constant({ type: 'input_image', image_url: 'https://example.org/a.png', detail: 'low' }),
  );
  const user = fc
    .array(part, { minLength: 1, maxLength: 3 })
    .map((content) => ({ type: 'message', role: 'user', content }));
  const assistant = text.map((value) => ({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: value }],
  }));
  const call = fc.tuple(id, name, jsonObject).map(([call_id, tool, input]) => ({
    type: 'function_call',
    call_id,
    name: tool,
    arguments: JSON.stringify(input),
  }));
  const output = fc
    .tuple(id, text)
    .map(([call_id, value]) => ({ type: 'function_call_output', call_id, output: value }));
  const round = fc.tuple(
    user,
    fc.array(assistant, { maxLength: 1 }),
    fc.array(call, { maxLength: 2 }),
    fc.array(output, { maxLength: 2 }),
  );
  const tool = fc.record({
    type: fc.constant('function'),
    name,
    description: text,
    parameters: jsonObject,
    strict: fc.boolean(),
  });
  const requests = fc.record(
    {
      model: name,
      input: fc.array(round, { minLength: 1, maxLength: 3 }).map((rounds) => rounds.flat(2)),
      instructions: text,
      tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
      max_output_tokens: fc.integer({ min: 1, max: 200_000 }),
      temperature: fc.float({ min: 0, max: 1, noNaN: true }),
      top_p: fc.float({ min: 0, max: 1, noNaN: true }),
      user: name,
      reasoning: fc.record({ effort: fc.constantFrom('low', 'medium', 'high') }),
      text: fc.record({
        format: fc.record({
          type: fc.constant('json_schema'),
          name,
          schema: jsonObject,
          strict: fc.boolean(),
        }),
      }),
    },
    { requiredKeys: ['model', 'input'] },
  );

  test('everything that both forms can express is preserved', () => {
    fc.assert(
      fc.property(requests, (request) => {
        const chat = responsesToChat(responsesRequestSchema.parse(request));
        expect(chatRequestSchema.safeParse(chat).success).toBe(true);
        expect(backToResponses(chat)).toEqual(request);
      }),
    );
  });
});

/** The inverse, written independently, so that the test does not share the code it tests. */
function backToResponses(chat: ChatRequest): Record<string, unknown> {
  const [first] = chat.messages;
  const system = first?.role === 'system' ? first.content : undefined;
  const format = chat.response_format as { json_schema: object } | undefined;
  const fields = {
    model: chat.model,
    input: chat.messages.filter((message) => message.role !== 'system').flatMap(itemsOf),
    instructions: system,
    tools: chat.tools?.map((tool) => ({ type: 'function', ...tool.function })),
    max_output_tokens: chat.max_tokens,
    temperature: chat.temperature,
    top_p: chat.top_p,
    user: chat.user,
    reasoning: chat.reasoning_effort === undefined ? undefined : { effort: chat.reasoning_effort },
    text: format && { format: { type: 'json_schema', ...format.json_schema } },
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function itemsOf(message: ChatRequest['messages'][number]): unknown[] {
  const { role, content } = message;
  if (role === 'tool')
    return [{ type: 'function_call_output', call_id: message.tool_call_id, output: content }];
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? []);
  const calls = (message.tool_calls ?? []).map((call) => ({
    type: 'function_call',
    call_id: call.id,
    name: call.function?.name,
    arguments: call.function?.arguments,
  }));
  const items = parts.map((part) => {
    if (part.type === 'image_url')
      return { type: 'input_image', image_url: part.image_url.url, detail: part.image_url.detail };
    return part.type === 'text'
      ? { type: role === 'user' ? 'input_text' : 'output_text', text: part.text }
      : part;
  });
  return items.length === 0 ? calls : [{ type: 'message', role, content: items }, ...calls];
}
