import { MAX_BODY_BYTES } from '../http/request-body.ts';
import { json } from '../http/response.ts';
import { FAULTS, Fault, type ApiFaultCode, type FaultOptions } from '../std/fault.ts';
import { componentSchemas } from './component-schemas.ts';
import { COMMON_ERRORS, OPENAI_ERRORS, type ErrorDialect } from './errors.ts';
import type { ApiAnswer, ApiBody, ApiOperation, ApiStream, ApiTag, PathParameter } from './operation.ts';

/** The public API as OpenAPI 3.1, generated from the declarations that the router serves. */
export function openApiDocument(operations: readonly ApiOperation[], publicUrl?: string): OpenApiDocument {
  const dialects = [...new Set(operations.map(({ dialect }) => dialect))];
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations)
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = describeOperation(operation);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tollgate public API',
      version: '1',
      description: 'One API in front of many AI backends: chat, images, models, and what each request cost.',
      contact: { name: 'The operator of this server' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: publicUrl ?? '/' }],
    security: SECURITY,
    tags: TAGS.map((name) => ({ name, description: TAG_DESCRIPTIONS[name] ?? name })),
    paths,
    components: {
      schemas: componentSchemas(operations, dialects),
      responses: Object.assign({}, ...dialects.map(errorResponses)),
      headers: HEADERS,
      parameters: PARAMETERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

export const documentOperation: ApiOperation = {
  id: 'getOpenApi',
  method: 'GET',
  path: '/api/public/v1/openapi.json',
  tag: 'Catalog',
  summary: 'Get this document',
  token: 'none',
  answer: {
    description: 'OpenAPI 3.1',
    headers: 'none',
    untyped: { mediaType: 'application/json', schema: { type: 'object' } },
  },
  errors: COMMON_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: ({ openApi }) => {
    // Made on first request, because it takes longer than the rest of the startup.
    let text: string | undefined;
    return async ({ requestId }) => json((text ??= JSON.stringify(openApi())), requestId);
  },
};

interface OpenApiDocument {
  openapi: '3.1.0';
  info: Record<string, unknown>;
  servers: readonly { url: string }[];
  security: readonly Record<string, readonly string[]>[];
  tags: readonly { name: string; description: string }[];
  paths: Record<string, unknown>;
  components: Record<string, Record<string, unknown>>;
}

const TAGS: readonly ApiTag[] = [
  'Inference',
  'Catalog',
  'Account',
  'OpenAI-compatible',
  'Anthropic-compatible',
  'Gemini-compatible',
];

const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  Inference: 'Chats and images by endpoint and model, and what they would cost.',
  Catalog: 'Endpoints, models and prices.',
  Account: 'The balance, and the receipt of each request.',
  'OpenAI-compatible': "For clients of OpenAI's API; models are named code/model.",
  'Anthropic-compatible': "For clients of Anthropic's API; models are named code/model.",
  'Gemini-compatible': "For clients of Google's Gemini API; models are named code/model.",
};

function describeOperation(operation: ApiOperation): unknown {
  const { id, tag, summary, description, request, answer, errors, dialect } = operation;
  const parameters = [
    ...(operation.parameters ?? []).map(pathParameter),
    ...(operation.query ?? []).map((one) => ({ ...one, in: 'query' })),
    ...(answer.headers === 'paid' ? [{ $ref: '#/components/parameters/MaxCost' }] : []),
    ...(operation.idempotencyKey ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    ...(operation.respondAsync ? [{ $ref: '#/components/parameters/Prefer' }] : []),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: description ?? summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(operation.token === 'required' ? {} : { security: optionalSecurity(operation.token) }),
    ...(request ? { requestBody: { required: true, content: bodyContent(request) } } : {}),
    responses: {
      200: {
        description: answer.description,
        headers: ANSWER_HEADERS[answer.headers],
        content: answerContent(answer, dialect),
      },
      ...errorReferences(new Set(errors.map((code) => FAULTS[code].status)), dialect),
    },
    // The responses above are shared between operations; these are the codes of this one.
    'x-error-codes': errors,
  };
}

/** One of the three is enough. */
const SECURITY = [{ bearer: [] }, { apiKey: [] }, { queryToken: [] }];

function optionalSecurity(token: 'optional' | 'none'): readonly Record<string, readonly string[]>[] {
  return token === 'optional' ? [{}, ...SECURITY] : [];
}

function pathParameter({ name, description, example }: PathParameter): unknown {
  return { name, in: 'path', required: true, description, schema: { type: 'string' }, example };
}

function answerContent({ body, asyncBody, stream, untyped }: ApiAnswer, dialect: ErrorDialect): unknown {
  return {
    ...(body ? bodyContent(body, asyncBody) : {}),
    ...(stream ? { 'text/event-stream': streamContent(stream, dialect) } : {}),
    ...(untyped ? { [untyped.mediaType]: { schema: untyped.schema } } : {}),
  };
}

function bodyContent(
  { name, examples, mediaType = 'application/json', or }: ApiBody,
  other?: ApiBody,
): Record<string, unknown> {
  const named = Object.entries({ ...examples, ...other?.examples }).map(([name, value]) => [name, { value }]);
  return {
    [mediaType]: {
      schema: other ? { anyOf: [schemaReference(name), schemaReference(other.name)] } : schemaReference(name),
      ...(named.length > 0 ? { examples: Object.fromEntries(named) } : {}),
    },
    ...(or ? bodyContent(or) : {}),
  };
}

/** OpenAPI 3.1 cannot describe a sequence of events: it is a text, and `contentSchema` is that of one event's data. */
function streamContent(
  { name, description, example, hasErrorEvent }: ApiStream,
  { name: error }: ErrorDialect,
) {
  const chunk = schemaReference(name);
  return {
    schema: {
      type: 'string',
      description,
      contentMediaType: 'application/json',
      contentSchema: hasErrorEvent ? { anyOf: [chunk, schemaReference(error)] } : chunk,
    },
    examples: { stream: { value: example } },
  };
}

function schemaReference(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

function headerReferences(names: Record<string, keyof typeof HEADERS>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(names).map(([name, component]) => [name, { $ref: `#/components/headers/${component}` }]),
  );
}

const text = (description: string, example: string) => ({ description, schema: { type: 'string' }, example });

const HEADERS = {
  RequestId: text('Names this request in the receipt, the log and support', 'req_0WPlqUf4abcdefghijklmnop'),
  RetryAfter: text('Whole seconds to wait before the next try', '2'),
  ShouldRetry: text('`false`: the same request will fail again', 'false'),
  RateLimitLimit: text('Requests per minute', '600'),
  RateLimitRemaining: text('Requests left at this moment', '599'),
  RateLimitReset: text('Until the limit is whole again', '100ms'),
  RateLimit: text('The same in the format of the IETF draft', '"requests";r=599;t=1'),
  RateLimitPolicy: text('The policy in the format of the IETF draft', '"requests";q=600;w=60'),
  Endpoint: text('The endpoint that served the request', 'svc_chat'),
  Held: text('Dollars set aside for the request', '0.0066'),
  Cost: text('Dollars charged; of a stream, the receipt tells', '0.0000046'),
  Dropped: text('Fields of the request that the backend did not get, at most 20', 'brand_new_field'),
  MaxTokens: text('The output cap for each choice, where it is lower than asked or than the default', '2048'),
  CapReason: text('What lowered the output cap: `balance`, or `max_cost` for max_cost_usd', 'balance'),
  BudgetRemaining: text("What is left of the account's budget, where it has one", '4.25'),
};

const REQUEST_ID = headerReferences({ 'x-request-id': 'RequestId' });

const RATE_HEADERS = {
  ...REQUEST_ID,
  ...headerReferences({
    'x-ratelimit-limit-requests': 'RateLimitLimit',
    'x-ratelimit-remaining-requests': 'RateLimitRemaining',
    'x-ratelimit-reset-requests': 'RateLimitReset',
    RateLimit: 'RateLimit',
    'RateLimit-Policy': 'RateLimitPolicy',
  }),
};

const PAID_HEADERS = {
  ...RATE_HEADERS,
  ...headerReferences({
    'x-tollgate-endpoint': 'Endpoint',
    'x-tollgate-held': 'Held',
    'x-tollgate-cost': 'Cost',
    'x-tollgate-max-tokens': 'MaxTokens',
    'x-tollgate-cap-reason': 'CapReason',
    'x-tollgate-dropped': 'Dropped',
    'x-tollgate-budget-remaining-usd': 'BudgetRemaining',
  }),
};

const ANSWER_HEADERS: Record<ApiAnswer['headers'], unknown> = {
  none: REQUEST_ID,
  rate: RATE_HEADERS,
  paid: PAID_HEADERS,
};

const PARAMETERS = {
  MaxCost: {
    name: 'x-tollgate-max-cost',
    in: 'header',
    description: 'The request costs at most this many US dollars, as max_cost_usd in the body.',
    schema: { type: 'string', examples: ['0.05'] },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'The same key and body give the same answer and are charged once.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    description:
      '`respond-async`: answers immediately with a job, which is asked for later. The rest is ignored.',
    schema: { type: 'string', examples: ['respond-async'] },
  },
};

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', description: 'Authorization: Bearer sk-…' },
  apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  queryToken: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'For clients that cannot set a header. URLs end up in logs of others; prefer a header.',
  },
};

/** The error responses of a dialect by status, each with an example for every code. */
function errorResponses(dialect: ErrorDialect): Record<string, unknown> {
  return Object.fromEntries(
    ERROR_STATUSES.map((status) => [`${dialect.prefix}${NAMES[status]}`, errorResponse(status, dialect)]),
  );
}

/** 405 is not listed: no operation answers with it. */
const ERROR_STATUSES = [400, 401, 402, 404, 429, 500] as const;
type ErrorStatus = (typeof ERROR_STATUSES)[number];

function errorReferences(statuses: ReadonlySet<number>, { prefix }: ErrorDialect): Record<string, unknown> {
  return Object.fromEntries(
    ERROR_STATUSES.filter((status) => statuses.has(status)).map((status) => [
      String(status),
      { $ref: `#/components/responses/${prefix}${NAMES[status]}` },
    ]),
  );
}

const NAMES: Record<ErrorStatus, string> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  402: 'PaymentRequired',
  404: 'NotFound',
  429: 'TooManyRequests',
  500: 'ServerError',
};

const DESCRIPTIONS: Record<ErrorStatus, string> = {
  400: 'The request is wrong, or names an endpoint or model that is not there.',
  401: 'The token is missing or not valid.',
  402: 'The balance or a limit does not cover this request. Retry-After is sent only where waiting helps.',
  404: 'There is nothing of this name.',
  429: 'Too many requests. Wait as long as Retry-After says.',
  500: 'A fault on our side or at the backend. Try again later; what was not delivered was not charged.',
};

function errorResponse(status: ErrorStatus, dialect: ErrorDialect): unknown {
  const codes = (Object.keys(FAULTS) as ApiFaultCode[]).filter((code) => FAULTS[code].status === status);
  const shouldRetry = { 'x-should-retry': { $ref: '#/components/headers/ShouldRetry' } };
  const retryAfter = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } };
  return {
    description: DESCRIPTIONS[status],
    headers: {
      'x-request-id': { $ref: '#/components/headers/RequestId' },
      ...([401, 402].includes(status) ? shouldRetry : {}),
      ...([402, 429, 500].includes(status) ? retryAfter : {}),
    },
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${dialect.name}` },
        examples: Object.fromEntries(
          codes.map((code) => [code, { value: dialect.body(example(code), 'req_0WPlqUf4abcdefghijklmnop') }]),
        ),
      },
    },
  };
}

/** Made by the class that makes the real errors, so that the examples stay true. */
function example(code: ApiFaultCode): Fault {
  const [message, more] = EXAMPLES[code];
  return new Fault(code, message, more);
}

const EXAMPLES: Record<ApiFaultCode, readonly [message: string, more?: FaultOptions]> = {
  invalid_json: ['The body is not valid JSON.'],
  invalid_field: ['temperature must be at most 2.', { param: 'temperature' }],
  missing_field: ['model is required.', { param: 'model' }],
  unknown_endpoint: ["There is no endpoint 'svc_chatt'.", { param: 'endpoint' }],
  unsupported_endpoint: ["Endpoint 'svc_tgter' does not do chat completions.", { param: 'endpoint' }],
  unsupported_model: ["Endpoint 'svc_chat' has no model 'gpt-9'.", { param: 'model' }],
  model_not_allowed: ['This token may not use this model.', { param: 'model' }],
  not_supported: ['Batches are not supported. Send each request by itself.'],
  request_too_large: [`The body may be at most ${MAX_BODY_BYTES / 1_048_576} MB.`],
  context_length_exceeded: ["The messages do not fit into the model's 8192 tokens.", { param: 'messages' }],
  https_required: ['Use https. A token that was sent over plain HTTP should be replaced.'],
  idempotency_key_reused: [
    'This Idempotency-Key was used with another request.',
    { param: 'Idempotency-Key' },
  ],
  idempotency_answer_gone: [
    'The request with this Idempotency-Key is done (req_01JCKZ), but its answer is no longer kept.',
    { param: 'Idempotency-Key', extra: { request_id: 'req_01JCKZ' } },
  ],
  previous_response_not_found: [
    'There is no stored response resp_0WPlqUf4abcdefghijklmnop on this account.',
    { param: 'previous_response_id' },
  ],
  missing_token: ['Send your API token as `Authorization: Bearer sk-…`.'],
  invalid_token: ['This is not a valid API token.'],
  network_not_allowed: ['This token may not be used from your network.'],
  payment_required: [
    'The balance does not cover this request.',
    { extra: { reason: 'insufficient_balance', available_usd: 0.01, required_usd: 0.12 } },
  ],
  not_found: ['There is no such request on this account.'],
  method_not_allowed: ['This path answers to POST.'],
  rate_limit_exceeded: ['Too many requests. Try again in 1 second.'],
  concurrency_limit_exceeded: ['Too many concurrent requests. Try again when one has finished.'],
  internal_error: ['Something went wrong on our side. Try again later.'],
  upstream_error: ['The backend could not answer.'],
  upstream_timeout: ['The backend did not answer in time.'],
  service_unavailable: ['The service is not available for the moment. Try again soon.'],
};
