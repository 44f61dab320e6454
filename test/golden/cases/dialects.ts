import type { ClientRequest } from '../case.ts';
import { PIXEL } from './replies.ts';

export const BEARER = { authorization: 'Bearer {token}' };
export const JSON_TYPE = { 'content-type': 'application/json' };

export function post(
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = BEARER,
): ClientRequest {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  return { method: 'POST', path, headers: { ...headers, ...JSON_TYPE }, body: text };
}

export function get(path: string, headers: Readonly<Record<string, string>> = BEARER): ClientRequest {
  return { method: 'GET', path, headers };
}

/** One way to ask for a chat. The fields of a request are those of the dialect. */
export interface Dialect {
  readonly operation: string;
  readonly path: string;
  /** A request for this endpoint and model, with more fields. */
  ask(more?: Record<string, unknown>, route?: Route): Record<string, unknown>;
  /** The fields that express each kind of request in this dialect. */
  readonly kinds: Readonly<Record<string, Record<string, unknown>>>;
  readonly capField: string;
  /** Its answers and errors are produced by another dialect's code, so not every case is repeated. */
  readonly isTwin?: boolean;
}

export interface Route {
  readonly endpoint: string;
  readonly model: string;
}

const M: Route = { endpoint: 'svc_chat', model: 'm' };
const CITY = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const WEATHER = { name: 'get_weather', description: 'The weather of a city' };
const TIME = { name: 'get_time', description: 'What time it is' };
const USER = { role: 'user', content: 'Hi — grüß dich ✓' };
const IMAGE_URL = 'https://pictures.example/gate.png';
const DATA_URL = `data:image/png;base64,${PIXEL}`;

const chatTools = [
  { type: 'function', function: { ...WEATHER, parameters: CITY, strict: true } },
  { type: 'function', function: TIME },
];

/** Kinds of chat request, in OpenAI's fields. */
const CHAT_KINDS = {
  text: {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello. What now?' },
      { role: 'developer', content: 'Be kind.' },
      { role: 'user', content: [{ type: 'text', text: 'Greet me.' }] },
    ],
    max_tokens: 100,
    temperature: 0.5,
    top_p: 0.9,
    stop: ['END'],
    seed: 7,
    user: 'user-of-the-client',
    presence_penalty: null,
    brand_new_field: { kept: true },
  },
  tool: { tools: chatTools, tool_choice: 'required', parallel_tool_calls: false },
  'parallel-tools': { tools: chatTools, tool_choice: 'auto' },
  'tool-results': {
    messages: [
      USER,
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
          { id: 'call_2', type: 'function', function: { name: 'get_time', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '{"celsius":-3}' },
      { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'noon' }] },
    ],
    tools: chatTools,
  },
  images: {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: IMAGE_URL, detail: 'low' } },
          { type: 'image_url', image_url: { url: DATA_URL } },
        ],
      },
    ],
  },
  json: {
    response_format: { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: CITY } },
  },
  reasoning: { reasoning_effort: 'high', max_completion_tokens: 1000 },
};

const MESSAGES_KINDS = {
  text: {
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello. What now?' }] },
      { role: 'user', content: [{ type: 'text', text: 'Greet me.' }] },
    ],
    temperature: 0.5,
    top_p: 0.9,
    top_k: 5,
    stop_sequences: ['END'],
    metadata: { user_id: 'user-of-the-client' },
    brand_new_field: { kept: true },
  },
  tool: {
    tools: [
      { ...WEATHER, input_schema: CITY },
      { ...TIME, input_schema: { type: 'object', properties: {} } },
    ],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
  },
  'parallel-tools': {
    tools: [
      { ...WEATHER, input_schema: CITY },
      { ...TIME, input_schema: { type: 'object' } },
    ],
    tool_choice: { type: 'auto' },
  },
  'tool-results': {
    messages: [
      USER,
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Let me look.' },
          { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Oslo' } },
          { type: 'tool_use', id: 'call_2', name: 'get_time', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: '{"celsius":-3}' },
          {
            type: 'tool_result',
            tool_use_id: 'call_2',
            is_error: true,
            content: [{ type: 'text', text: 'no clock' }],
          },
          { type: 'text', text: 'And now?' },
        ],
      },
    ],
    tools: [{ ...WEATHER, input_schema: CITY }],
  },
  images: {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', source: { type: 'url', url: IMAGE_URL } },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
        ],
      },
    ],
  },
  json: { output_config: { format: { type: 'json_schema', schema: CITY } } },
  reasoning: { max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 } },
};

const responsesTools = [
  { type: 'function', ...WEATHER, parameters: CITY, strict: true },
  { type: 'function', ...TIME },
];

const RESPONSES_KINDS = {
  text: {
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: 'Hi' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello. What now?' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'Greet me.' }] },
    ],
    max_output_tokens: 100,
    temperature: 0.5,
    top_p: 0.9,
    metadata: { order: '7' },
    user: 'user-of-the-client',
    store: false,
  },
  tool: { tools: responsesTools, tool_choice: 'required', parallel_tool_calls: false },
  'parallel-tools': { tools: [...responsesTools, { type: 'custom', name: 'note' }], tool_choice: 'auto' },
  'tool-results': {
    input: [
      USER,
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Oslo"}' },
      { type: 'function_call', call_id: 'call_2', name: 'get_time', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: '{"celsius":-3}' },
      {
        type: 'function_call_output',
        call_id: 'call_2',
        output: [{ type: 'input_text', text: 'noon' }],
      },
    ],
    tools: responsesTools,
  },
  images: {
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: IMAGE_URL, detail: 'low' },
          { type: 'input_image', image_url: DATA_URL },
        ],
      },
    ],
  },
  json: { text: { format: { type: 'json_schema', name: 'city', strict: true, schema: CITY } } },
  reasoning: { reasoning: { effort: 'high', summary: 'auto' }, max_output_tokens: 1000 },
};

export const PUBLIC_CHAT: Dialect = {
  operation: 'chat',
  path: '/api/public/v1/chat/completions',
  ask: (more, { endpoint, model } = M) => ({ endpoint, model, messages: [USER], ...more }),
  kinds: CHAT_KINDS,
  capField: 'max_tokens',
};

export const V1_CHAT: Dialect = {
  operation: 'v1-chat',
  path: '/v1/chat/completions',
  ask: (more, { endpoint, model } = M) => ({ model: `${endpoint}/${model}`, messages: [USER], ...more }),
  kinds: CHAT_KINDS,
  capField: 'max_completion_tokens',
  isTwin: true,
};

export const MESSAGES: Dialect = {
  operation: 'v1-messages',
  path: '/v1/messages',
  ask: (more, { endpoint, model } = M) => ({
    model: `${endpoint}/${model}`,
    max_tokens: 500,
    messages: [USER],
    ...more,
  }),
  kinds: MESSAGES_KINDS,
  capField: 'max_tokens',
};

export const RESPONSES: Dialect = {
  operation: 'v1-responses',
  path: '/v1/responses',
  ask: (more, { endpoint, model } = M) => ({ model: `${endpoint}/${model}`, input: 'Hi', ...more }),
  kinds: RESPONSES_KINDS,
  capField: 'max_output_tokens',
};

export const DIALECTS: readonly Dialect[] = [PUBLIC_CHAT, V1_CHAT, MESSAGES, RESPONSES];
