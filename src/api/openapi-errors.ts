import { FAULTS, Fault, type FaultCode, type FaultOptions } from '../std/fault.ts';
import { MAX_BODY_BYTES } from '../http/json-body.ts';
import type { ErrorDialect } from './errors.ts';

/** The error responses of a dialect by status, each with an example for every code. */
export function errorResponses(dialect: ErrorDialect): Record<string, unknown> {
  return Object.fromEntries(
    ERROR_STATUSES.map((status) => [`${dialect.prefix}${NAMES[status]}`, errorResponse(status, dialect)]),
  );
}

/** 405 is not listed: no operation answers with it. */
const ERROR_STATUSES = [400, 401, 402, 404, 429, 500] as const;
type ErrorStatus = (typeof ERROR_STATUSES)[number];

export function errorReferences(
  statuses: ReadonlySet<number>,
  { prefix }: ErrorDialect,
): Record<string, unknown> {
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
  500: 'A fault on our side or at the backend. Retry later; what was not delivered was not charged.',
};

function errorResponse(status: ErrorStatus, dialect: ErrorDialect): unknown {
  const codes = (Object.keys(FAULTS) as FaultCode[]).filter((code) => FAULTS[code].status === status);
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
function example(code: FaultCode): Fault {
  const [message, more] = EXAMPLES[code];
  return new Fault(code, message, more);
}

const EXAMPLES: Record<FaultCode, readonly [message: string, more?: FaultOptions]> = {
  invalid_json: ['The body is not valid JSON.'],
  invalid_field: ['temperature: Too big: expected number to be <=2', { param: 'temperature' }],
  missing_field: ['model is required.', { param: 'model' }],
  unknown_endpoint: ["There is no endpoint 'svc_chatt'.", { param: 'endpoint' }],
  unsupported_endpoint: ["Endpoint 'svc_tgter' does not do chat completions.", { param: 'endpoint' }],
  unsupported_model: ["Endpoint 'svc_chat' has no model 'gpt-9'.", { param: 'model' }],
  request_too_large: [`The body may be at most ${MAX_BODY_BYTES / 1_048_576} MB.`],
  context_length_exceeded: ["The messages do not fit into the model's 8192 tokens.", { param: 'messages' }],
  https_required: ['Use https. A token that was sent over plain HTTP should be replaced.'],
  idempotency_key_reused: [
    'This Idempotency-Key was used with another request.',
    { param: 'Idempotency-Key' },
  ],
  missing_token: ['Send your API token as `Authorization: Bearer sk-…`.'],
  invalid_token: ['This is not a valid API token.'],
  payment_required: [
    'The balance does not cover this request.',
    { extra: { reason: 'insufficient_balance', available_usd: 0.01, required_usd: 0.12 } },
  ],
  not_found: ['There is no such request on this account.'],
  method_not_allowed: ['This path answers to POST.'],
  rate_limit_exceeded: ['Too many requests. Wait a second.'],
  concurrency_limit_exceeded: ['Too many requests at once. Wait for one to end.'],
  internal_error: ['Something went wrong on our side. Retry later.'],
  upstream_error: ['The backend could not answer.'],
  upstream_timeout: ['The backend did not answer in time.'],
  service_unavailable: ['The service is not available for the moment. Retry soon.'],
};
