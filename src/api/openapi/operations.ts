import { errorReferences, type ErrorStatus } from './errors.ts';

/** The paths of the public API, each with its operation. */
export function operations(): Record<string, unknown> {
  return {
    [`${PREFIX}/chat/completions`]: { post: chatCompletions() },
    [`${PREFIX}/images/generations`]: { post: imageGenerations() },
    [`${PREFIX}/models`]: { get: listEndpoints() },
    [`${PREFIX}/endpoints/{code}/models`]: { get: listModels() },
    [`${PREFIX}/account`]: { get: account() },
    [`${PREFIX}/requests/{id}`]: { get: receipt() },
    [`${PREFIX}/openapi.json`]: { get: openApi() },
  };
}

const PREFIX = '/api/public/v1';
const POST_ERRORS: readonly ErrorStatus[] = [400, 401, 402, 429, 500];
const GET_ERRORS: readonly ErrorStatus[] = [400, 401, 500];
const NO_TOKEN: Record<string, never> = {};

const IDEMPOTENCY_KEY = { $ref: '#/components/parameters/IdempotencyKey' };

function chatCompletions(): unknown {
  return {
    operationId: 'createChatCompletion',
    tags: ['Inference'],
    summary: 'Answer a conversation',
    description:
      'With stream: true the answer is server-sent events: chunks, then [DONE], or one error event. ' +
      'Unknown fields are passed on to the backend.',
    parameters: [IDEMPOTENCY_KEY],
    requestBody: body('ChatRequest', CHAT_EXAMPLES),
    responses: {
      200: ok({
        description: 'The answer, whole or as a stream',
        headers: INFERENCE_HEADERS,
        content: {
          'application/json': {
            schema: reference('ChatAnswer'),
            examples: { answer: { value: CHAT_ANSWER } },
          },
          'text/event-stream': {
            schema: { type: 'string', description: 'Each data line is a ChatChunk, an Error, or [DONE].' },
            examples: { stream: { value: CHAT_STREAM } },
          },
        },
      }),
      ...errorReferences(POST_ERRORS),
    },
  };
}

function imageGenerations(): unknown {
  return {
    operationId: 'createImage',
    tags: ['Inference'],
    summary: 'Paint images from a description',
    parameters: [IDEMPOTENCY_KEY],
    requestBody: body('ImageRequest', IMAGE_EXAMPLES),
    responses: {
      200: ok({
        description: 'The images; what was delivered is what was charged',
        headers: INFERENCE_HEADERS,
        content: jsonContent('ImageAnswer', IMAGE_ANSWER),
      }),
      ...errorReferences(POST_ERRORS),
    },
  };
}

function listEndpoints(): unknown {
  return {
    operationId: 'listEndpoints',
    tags: ['Catalog'],
    summary: 'List the endpoints and their models',
    description: 'Works without a token; a token that is sent must be valid.',
    security: [NO_TOKEN, ...SECURITY],
    responses: {
      200: ok({ description: 'All endpoints', content: jsonContent('EndpointList', ENDPOINT_LIST) }),
      ...errorReferences(GET_ERRORS),
    },
  };
}

function listModels(): unknown {
  return {
    operationId: 'listModels',
    tags: ['Catalog'],
    summary: 'List the models of one endpoint',
    parameters: [pathParameter('code', 'Endpoint code', 'svc_chat')],
    responses: {
      200: ok({ description: 'The models', content: jsonContent('ModelEntries', MODEL_ENTRIES) }),
      ...errorReferences(GET_ERRORS),
    },
  };
}

function account(): unknown {
  return {
    operationId: 'getAccount',
    tags: ['Account'],
    summary: "The account's balance, limits and use this month",
    responses: {
      200: ok({ description: 'The account of the token', content: jsonContent('Account', ACCOUNT) }),
      ...errorReferences(GET_ERRORS),
    },
  };
}

function receipt(): unknown {
  return {
    operationId: 'getRequest',
    tags: ['Account'],
    summary: 'The receipt of one request: what it used, at which price, and who counted',
    parameters: [pathParameter('id', 'The x-request-id of an answer', 'req_0WPlqUf4abcdefghijklmnop')],
    responses: {
      200: ok({ description: 'The receipt', content: jsonContent('Receipt', RECEIPT) }),
      ...errorReferences([...GET_ERRORS, 404]),
    },
  };
}

function openApi(): unknown {
  return {
    operationId: 'getOpenApi',
    tags: ['Catalog'],
    summary: 'This document',
    security: [NO_TOKEN],
    responses: {
      200: {
        description: 'OpenAPI 3.1',
        headers: REQUEST_ID,
        content: { 'application/json': { schema: { type: 'object' } } },
      },
      ...errorReferences([400, 500]),
    },
  };
}

/** Any one of the three. */
export const SECURITY = [{ bearer: [] }, { apiKey: [] }, { queryToken: [] }];

const REQUEST_ID = headerReferences({ 'x-request-id': 'RequestId' });

const RATE_HEADERS = headerReferences({
  'x-ratelimit-limit-requests': 'RateLimitLimit',
  'x-ratelimit-remaining-requests': 'RateLimitRemaining',
  'x-ratelimit-reset-requests': 'RateLimitReset',
  RateLimit: 'RateLimit',
  'RateLimit-Policy': 'RateLimitPolicy',
});

const INFERENCE_HEADERS = headerReferences({
  'x-tollgate-endpoint': 'Endpoint',
  'x-tollgate-held': 'Held',
  'x-tollgate-cost': 'Cost',
  'x-tollgate-max-tokens': 'MaxTokens',
});

function headerReferences(names: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(names).map(([name, component]) => [name, { $ref: `#/components/headers/${component}` }]),
  );
}

function ok(response: { description: string; headers?: Record<string, unknown>; content: unknown }): unknown {
  return { ...response, headers: { ...REQUEST_ID, ...RATE_HEADERS, ...response.headers } };
}

function reference(schema: string): unknown {
  return { $ref: `#/components/schemas/${schema}` };
}

function jsonContent(schema: string, example: unknown): unknown {
  return { 'application/json': { schema: reference(schema), examples: { example: { value: example } } } };
}

function body(schema: string, examples: Record<string, unknown>): unknown {
  const named = Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]));
  return { required: true, content: { 'application/json': { schema: reference(schema), examples: named } } };
}

function pathParameter(name: string, description: string, example: string): unknown {
  return { name, in: 'path', required: true, description, schema: { type: 'string' }, example };
}

const CHAT_EXAMPLES = {
  simple: {
    endpoint: 'svc_chat',
    model: 'house-guide',
    messages: [{ role: 'user', content: 'What is a hold?' }],
  },
  stream: {
    model: 'svc_chat/house-guide',
    messages: [{ role: 'user', content: 'What is a hold?' }],
    stream: true,
    stream_options: { include_usage: true },
  },
};

const CHAT_ANSWER = {
  id: 'req_0WPlqUf4abcdefghijklmnop',
  object: 'chat.completion',
  created: 1_763_170_000,
  model: 'house-guide',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Money set aside for a request.' },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 14, completion_tokens: 8, total_tokens: 22 },
};

const CHAT_STREAM =
  'data: {"id":"req_0WPlqUf4abcdefghijklmnop","object":"chat.completion.chunk","created":1763170000,' +
  '"model":"house-guide","choices":[{"index":0,"delta":{"role":"assistant","content":"Money"},"finish_reason":null}]}\n\n' +
  'data: [DONE]\n\n';

const IMAGE_EXAMPLES = {
  simple: {
    endpoint_code: 'svc_tgter',
    model: 'house-paint',
    prompt: 'a lighthouse at dusk',
    size: '512x512',
    n: 1,
  },
};
const IMAGE_ANSWER = {
  created: 1_763_170_000,
  data: [{ url: 'https://host/api/public/v1/images/img_1?expires=1' }],
};

const ENDPOINT_LIST = {
  success: true,
  data: [
    {
      endpoint: 'svc_chat',
      name: 'Primary chat',
      endpoint_type: 'chat_completion',
      models: [{ model: 'house-guide', display_name: 'House Guide' }],
    },
  ],
};

const MODEL_ENTRIES = [{ model: 'house-guide', display_name: 'House Guide', source_table: 'house_models' }];

const ACCOUNT = {
  account: 'acc_0WPlqUf4abcdefgh',
  email: 'you@example.org',
  balance_usd: 9.5,
  held_usd: 0.02,
  available_usd: 9.48,
  limits: { chat_per_minute: 600, images_per_minute: 60, concurrent: 50, monthly_usd: null },
  usage: { month_usd: 0.5, running: 1 },
};

const RECEIPT = {
  id: 'req_0WPlqUf4abcdefghijklmnop',
  object: 'request',
  endpoint: 'svc_chat',
  model: 'house-guide',
  created: 1_763_170_000,
  finished: 1_763_170_001,
  state: 'posted',
  outcome: 'completed',
  error_code: null,
  finish_reason: 'stop',
  stream: false,
  usage: {
    input_tokens: 14,
    cached_tokens: 0,
    output_tokens: 8,
    reasoning_tokens: 0,
    images: 0,
    source: 'upstream',
  },
  lines: [
    { item: 'input', quantity: 14, unit_price_usd: '0.10', per: 1_000_000, amount_usd: '0.0000014' },
    { item: 'output', quantity: 8, unit_price_usd: '0.40', per: 1_000_000, amount_usd: '0.0000032' },
  ],
  held_usd: '0.0066',
  charged_usd: '0.0000046',
  backend: 'house',
  attempts: [{ backend: 'house', result: 'served', reason: null, duration_ms: 12 }],
  timing: { first_byte_ms: 9, duration_ms: 12 },
};
