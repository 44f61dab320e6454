/** A body that is allowed, and as dear to handle as one can be. */
export interface WorstBody {
  readonly name: string;
  readonly path: string;
  readonly body: string;
}

const CHAT = '/api/public/v1/chat/completions';
const MEGABYTE = 1_048_576;
const BACKEND = { endpoint: 'svc_chat', model: 'm', max_tokens: 1 };
const V1_MODEL = 'svc_chat/m';
const TEXT = { type: 'text', text: 'x' };
const INPUT_TEXT = { type: 'input_text', text: 'x' };

export function worstBodies(): WorstBody[] {
  const long = 'word '.repeat((19 * MEGABYTE) / 5);
  const hi = [{ role: 'user', content: 'hi' }];
  const short = Array.from({ length: 5_900 }, () => ({ role: 'user', content: [TEXT, TEXT] }));
  const parts = [
    { role: 'user', content: Array.from({ length: 19_900 }, () => ({ type: 'text', text: 'x' })) },
  ];
  const one = (content: unknown) => [{ role: 'user', content }];
  return [
    chat('a string of 19 MB', { messages: one(long) }),
    chat('a string of 6 MB of three-byte characters', { messages: one('語'.repeat(6 * MEGABYTE)) }),
    chat('5,900 messages of two parts', { messages: short }),
    chat('19,900 parts of a message', { messages: parts }),
    chat('490,000 numbers in a field of the backend', {
      messages: hi,
      script: Array.from({ length: 490_000 }, (_, n) => n),
    }),
    chat('49,000 objects in a field of the backend', {
      messages: hi,
      script: Array.from({ length: 49_000 }, () => ({})),
    }),
    chat('49,000 objects in an unknown field', {
      messages: hi,
      unknown: Array.from({ length: 49_000 }, () => ({})),
    }),
    chat('950 chains of 60 levels', {
      messages: hi,
      script: Array.from({ length: 950 }, () => nested(60)),
    }),
    chat('10,000 keys', {
      messages: hi,
      script: Object.fromEntries(Array.from({ length: 9_990 }, (_, n) => [`k${n}`, n])),
    }),
    chat('a tool whose schema has 18,000 properties', { messages: hi, tools: [tool(18_000)] }),
    chat('512 tools', { messages: hi, tools: Array.from({ length: 512 }, () => tool(10)) }),
    responses(
      '5,900 items',
      short.map(({ role }) => ({ type: 'message', role, content: [INPUT_TEXT, INPUT_TEXT] })),
    ),
    messages('/v1/messages', '5,900 messages of two parts', short),
    messages('/v1/messages/count_tokens', 'a string of 19 MB', one(long)),
    messages('/v1/messages/count_tokens', '5,900 messages of two parts', short),
    house('a string of 19 MB', long),
    house('a string of one million characters', long.slice(0, 999_000)),
    house('a schema of ten nested arrays', 'hi', nestedArrays(10)),
    house('a schema of 9,000 properties', 'hi', objectSchema(9_000)),
    {
      name: 'quote: a string of 19 MB',
      path: '/api/public/v1/quotes',
      body: JSON.stringify({ ...BACKEND, messages: one(long) }),
    },
  ];
}

function chat(name: string, fields: Record<string, unknown>): WorstBody {
  return { name: `chat: ${name}`, path: CHAT, body: JSON.stringify({ ...BACKEND, ...fields }) };
}

function responses(name: string, input: unknown): WorstBody {
  const body = { model: V1_MODEL, max_output_tokens: 16, input };
  return { name: `responses: ${name}`, path: '/v1/responses', body: JSON.stringify(body) };
}

function messages(path: string, name: string, list: unknown): WorstBody {
  const body = { model: V1_MODEL, max_tokens: 1, messages: list };
  return { name: `${path.slice(4)}: ${name}`, path, body: JSON.stringify(body) };
}

function house(name: string, content: string, schema?: unknown): WorstBody {
  const format = schema && { type: 'json_schema', json_schema: { name: 'worst', schema } };
  const body = {
    endpoint: 'house_chat',
    model: 'house-echo',
    max_tokens: 100,
    messages: [{ role: 'user', content: schema ? '/json' : content }],
    ...(format ? { response_format: format } : {}),
  };
  return { name: `house-echo: ${name}`, path: CHAT, body: JSON.stringify(body) };
}

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)];
}

function nestedArrays(depth: number): unknown {
  return depth === 0 ? { type: 'integer' } : { type: 'array', minItems: 100, items: nestedArrays(depth - 1) };
}

function objectSchema(properties: number): unknown {
  const entries = Array.from({ length: properties }, (_, n) => [`p${n}`, { type: 'string' }]);
  return { type: 'object', properties: Object.fromEntries(entries) };
}

function tool(properties: number): unknown {
  const halves = Math.ceil(properties / 9_000);
  const parts = Array.from({ length: halves }, () => objectSchema(Math.min(9_000, properties)));
  return {
    type: 'function',
    function: {
      name: 'worst',
      parameters: { type: 'object', properties: Object.fromEntries(parts.map((part, n) => [`q${n}`, part])) },
    },
  };
}
