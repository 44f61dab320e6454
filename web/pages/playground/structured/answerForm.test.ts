import { expect, test } from 'bun:test';
import { asCode } from '../asCode.ts';
import { bodyOf, type Turn } from '../conversation.ts';
import { parseChat } from '../keptChats.ts';
import { EMPTY_DRAFT, recipeOf, type Draft } from '../recipe.ts';
import { chatFragment, chatFromFragment } from '../sharedChat.ts';
import type { ModelItem } from '../../../lib/answers.ts';
import { formProblem, parseForm, toolProblems } from './answerForm.ts';
import { SCHEMA_EXAMPLES, TOOL_EXAMPLE } from './examples.ts';
import { withCallPart, type ToolCall } from './toolCalls.ts';

const model = (more: Partial<ModelItem> = {}) =>
  ({ endpoint: 'svc_chat', model: 'house-echo', tools: true, ...more }) as ModelItem;
const draft = (more: Partial<Draft> = {}): Draft => ({ ...EMPTY_DRAFT, ...more });
const turn = (more: Partial<Turn>): Turn => ({
  id: 1,
  role: 'assistant',
  text: '',
  images: [],
  reasoning: '',
  status: 'done',
  model: 'house-echo',
  ...more,
});

test('a schema goes with the request, strictly where strict backends take it; a wrong one is a problem', () => {
  const asked = (schema: string) => recipeOf(draft({ answerAs: 'schema', schema }), model()).parameters;
  const schema = JSON.parse(SCHEMA_EXAMPLES.contact) as unknown;
  expect(asked(SCHEMA_EXAMPLES.contact).response_format).toEqual({
    type: 'json_schema',
    json_schema: { name: 'contact', strict: true, schema },
  });
  expect(asked('{"type":"object","properties":{"a":{}}}').response_format).toMatchObject({
    json_schema: { name: 'answer', schema: { type: 'object' } },
  });
  expect(JSON.stringify(asked('{"type":"object","properties":{"a":{}}}'))).not.toContain('strict');
  expect(formProblem(draft({ answerAs: 'schema', schema: '{' }))?.kind).toBe('notJson');
  expect(formProblem(draft({ answerAs: 'json', schema: '{' }))).toBeUndefined();
  expect(recipeOf(draft({ answerAs: 'json' }), model()).parameters).toEqual({
    response_format: { type: 'json_object' },
  });
  expect(recipeOf(draft(), model()).parameters).toEqual({});
});

test('tools go only to models that call them', () => {
  const asked = draft({ tools: [TOOL_EXAMPLE] });
  expect(recipeOf(asked, model()).parameters.tools?.[0]?.function).toEqual({
    name: 'get_weather',
    description: TOOL_EXAMPLE.description,
    parameters: JSON.parse(TOOL_EXAMPLE.parameters),
  });
  expect(recipeOf(asked, model({ tools: false })).parameters).toEqual({});
});

test('a tool has a name of its own and an object of parameters', () => {
  const problems = (name: string, parameters = '{"type":"object"}') => {
    const found = toolProblems({ name, description: '', parameters }, ['taken']);
    return [found.name, found.parameters?.kind];
  };
  expect(problems('get_weather-2')).toEqual([undefined, undefined]);
  expect(problems('')[0]).toBe('format');
  expect(problems('get weather')[0]).toBe('format');
  expect(problems('x'.repeat(65))[0]).toBe('format');
  expect(problems('taken')[0]).toBe('taken');
  expect(problems('a', '{')[1]).toBe('notJson');
  expect(problems('a', '{"type":"string"}')[1]).toBe('notObject');
});

test('pieces of calls become whole calls, also where a backend does not number them', () => {
  const pieces = [
    { index: 0, id: 'c1', name: 'a', arguments: '' },
    { index: 0, arguments: '{"x"' },
    { index: 1, id: 'c2', name: 'b', arguments: '{}' },
    { index: 0, arguments: ':1}' },
  ];
  const calls = [
    { id: 'c1', name: 'a', arguments: '{"x":1}' },
    { id: 'c2', name: 'b', arguments: '{}' },
  ];
  expect(pieces.reduce<readonly ToolCall[]>(withCallPart, [])).toEqual(calls);
  const whole = calls.map((call) => ({ ...call, index: undefined as never }));
  expect(whole.reduce<readonly ToolCall[]>(withCallPart, [])).toEqual(calls);
  expect(withCallPart([], { index: 1e9, id: 'far', name: 'a' })).toHaveLength(1);
  expect(withCallPart(calls, { index: -1, arguments: 'x' })).toEqual(calls);
});

test('a call goes back with its result, and without one it is left out', () => {
  const call = { id: 'c1', name: 'get_weather', arguments: '{"city":"Rome"}' };
  const asked = turn({ role: 'user', text: 'Weather?', model: '' });
  const messages = (toolCalls: ToolCall[], text = '') =>
    bodyOf(recipeOf(draft(), model()), [asked, turn({ toolCalls, text })]).messages.slice(1);
  expect(messages([{ ...call, result: '21' }])).toEqual([
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: '21' },
  ]);
  expect(messages([call])).toEqual([]);
  expect(messages([call], 'One moment.')).toEqual([{ role: 'assistant', content: 'One moment.' }]);
});

test('the code has schema and tools, with the words of Python in Python', () => {
  const tool = {
    ...TOOL_EXAMPLE,
    parameters: '{"type":"object","properties":{"a":{"const":null}},"additionalProperties":false}',
  };
  const asked = draft({
    answerAs: 'schema',
    schema: SCHEMA_EXAMPLES.review,
    tools: [tool],
    system: 'say "true", null',
  });
  const body = bodyOf(recipeOf(asked, model()), [turn({ role: 'user', text: 'false' })]);
  const python = asCode('python', 'https://example.com', body);
  expect(python).toContain('"additionalProperties": False');
  expect(python).toContain('"const": None');
  expect(python).toContain('"strict": True');
  expect(python).toContain('say \\"true\\", null');
  expect(python).toContain('"content": "false"');
  expect(python).toContain('print(answer.choices[0].message)');
  for (const dialect of ['curl', 'javascript'] as const)
    expect(asCode(dialect, 'https://example.com', body)).toContain('"additionalProperties": false');
});

test('schema, tools and calls are kept with a chat and go with its link', async () => {
  const chat = {
    id: 'a',
    title: 'Weather',
    at: 1,
    choice: 'svc_chat house-echo',
    system: '',
    form: { answerAs: 'schema' as const, schema: SCHEMA_EXAMPLES.review, tools: [TOOL_EXAMPLE] },
    turns: [
      {
        role: 'assistant' as const,
        text: '',
        reasoning: '',
        status: 'done' as const,
        model: 'house-echo',
        format: { kind: 'schema' as const, schema: { type: 'object' } },
        toolCalls: [{ id: 'c1', name: 'get_weather', arguments: '{}', result: '21' }],
      },
    ],
  };
  expect(parseChat(JSON.parse(JSON.stringify(chat)))).toEqual(chat);
  expect(await chatFromFragment((await chatFragment(chat)) ?? '')).toEqual(chat);
  for (const form of [
    1,
    { ...chat.form, answerAs: 'xml' },
    { ...chat.form, tools: [{ name: 'no parameters' }] },
  ])
    expect(parseChat({ ...chat, form })).toBeUndefined();
  expect(parseForm({ ...chat.form, tools: [TOOL_EXAMPLE, TOOL_EXAMPLE] })).toBeUndefined();
});
