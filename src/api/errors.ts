import { z } from 'zod';
import type { ErrorFormat } from '../http/response.ts';
import { FAULTS, type ApiFaultCode, type FaultType } from '../std/fault.ts';
import { messagesErrorBody } from '../wire/anthropic/answer.ts';
import { faultBody } from '../wire/fault-body.ts';
import { googleErrorBody } from '../wire/gemini/answer.ts';

/** The error format of a family of clients. */
export interface ErrorDialect {
  /** Prefix of its error responses' names in the document. */
  readonly prefix: string;
  readonly name: string;
  readonly schema: z.ZodType;
  readonly body: ErrorFormat['body'];
}

// `Object.keys` loses the type of the table's keys.
const codes = Object.keys(FAULTS) as [ApiFaultCode, ...ApiFaultCode[]];
const types = [...new Set(codes.map((code) => FAULTS[code].type))] as [FaultType, ...FaultType[]];

const reason = z.enum([
  'insufficient_balance',
  'limit_reached',
  'funds_on_hold',
  'request_exceeds_balance',
  'max_cost_too_low',
]);

/** The spec's shape, which is also OpenAI's. */
export const OPENAI_ERRORS: ErrorDialect = {
  prefix: '',
  name: 'Error',
  schema: z.object({
    error: z.looseObject({
      code: z.enum(codes),
      message: z.string().describe('For people'),
      type: z.enum(types),
      param: z.string().nullable().describe('The field that is wrong, where one is'),
      reason: reason.optional().describe('Of a 402'),
    }),
  }),
  body: faultBody,
};

/** Anthropic's shape: its clients read no other. */
export const ANTHROPIC_ERRORS: ErrorDialect = {
  prefix: 'Messages',
  name: 'MessagesError',
  schema: z.object({
    type: z.literal('error'),
    error: z.object({
      type: z.string(),
      message: z.string().describe('For people'),
      details: z.looseObject({
        error_code: z.enum([...codes, 'thread_not_found']),
        param: z.string().optional().describe('The field that is wrong, where one is'),
        reason: reason.optional().describe('Of a 402'),
      }),
    }),
    request_id: z.string(),
  }),
  body: messagesErrorBody,
};

/** Google's shape. */
export const GOOGLE_ERRORS: ErrorDialect = {
  prefix: 'Google',
  name: 'GoogleError',
  schema: z.object({
    error: z.object({
      code: z.int().describe('The HTTP status'),
      message: z.string().describe('For people'),
      status: z.string(),
      details: z
        .array(
          z.looseObject({
            '@type': z.string(),
            metadata: z.looseObject({ code: z.enum(codes), param: z.string().optional() }).optional(),
            retryDelay: z.string().optional().describe('How long to wait, such as 2s'),
          }),
        )
        .describe(
          'An ErrorInfo whose metadata has the code and what belongs to it; a RetryInfo where waiting helps',
        ),
    }),
  }),
  body: googleErrorBody,
};

/** Errors that every operation may answer with: before it is reached, or when it fails unexpectedly. */
export const COMMON_ERRORS = [
  'invalid_field',
  'https_required',
  'internal_error',
  'service_unavailable',
] as const satisfies readonly ApiFaultCode[];

export const TOKEN_ERRORS = [
  ...COMMON_ERRORS,
  'missing_token',
  'invalid_token',
  'network_not_allowed',
] as const satisfies readonly ApiFaultCode[];

export const BODY_ERRORS = [
  ...TOKEN_ERRORS,
  'invalid_json',
  'missing_field',
  'request_too_large',
] as const satisfies readonly ApiFaultCode[];

/** Errors of operations that price a request without sending it. */
export const QUOTE_ERRORS = [
  ...BODY_ERRORS,
  'unknown_endpoint',
  'unsupported_endpoint',
  'unsupported_model',
  'model_not_allowed',
  'context_length_exceeded',
  'payment_required',
  'rate_limit_exceeded',
] as const satisfies readonly ApiFaultCode[];

/** Errors of operations that are relayed to a backend and charged. */
export const INFERENCE_ERRORS = [
  ...QUOTE_ERRORS,
  'concurrency_limit_exceeded',
  'upstream_error',
  'upstream_timeout',
] as const satisfies readonly ApiFaultCode[];

export const KEYED_INFERENCE_ERRORS = [
  ...INFERENCE_ERRORS,
  'idempotency_key_reused',
  'idempotency_answer_gone',
] as const satisfies readonly ApiFaultCode[];
