import type { ChatRequest } from '../../../wire/openai/chat.ts';

export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const time = { type: 'function', function: { name: 'get_time', description: 'What time it is' } };

/** Canonical requests that every provider gets; what it sends for each is in its `sent.json`. */
export const REQUESTS = {
  text: {
    model: 'any',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello. What now?' },
      { role: 'developer', content: 'Be kind.' },
      { role: 'user', content: [{ type: 'text', text: 'Greet me.' }] },
    ],
    max_tokens: 100,
    temperature: 0.5,
    stop: ['END'],
    seed: 7,
    user: 'user-of-the-client',
  },
  tools: {
    model: 'any',
    messages: [
      { role: 'user', content: 'Weather and time?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_a', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
          { id: 'call_b', type: 'function', function: { name: 'get_time', arguments: '' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_a', content: '{"celsius":-3}' },
      { role: 'tool', tool_call_id: 'call_b', content: [{ type: 'text', text: 'noon' }] },
      { role: 'user', content: 'And in Paris?' },
    ],
    max_tokens: 500,
    tools: [weather, time],
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
    parallel_tool_calls: false,
  },
  image: {
    model: 'any',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
        ],
      },
    ],
    max_tokens: 100,
  },
  reasoning: {
    model: 'any',
    messages: [{ role: 'user', content: 'Six times seven?' }],
    max_completion_tokens: 4096,
    reasoning_effort: 'high',
  },
  cached: {
    model: 'any',
    messages: [
      {
        role: 'system',
        content: [{ type: 'text', text: 'A long book.', cache_control: { type: 'ephemeral' } }],
      },
      { role: 'user', content: 'Is it long?' },
    ],
    max_tokens: 3,
  },
  json: {
    model: 'any',
    messages: [{ role: 'user', content: 'A city, please.' }],
    max_tokens: 100,
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: 'city',
        schema: {
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
          additionalProperties: false,
        },
      },
    },
  },
} satisfies Record<string, ChatRequest>;
