import { z } from 'zod';
import { errorResponses } from './errors.ts';
import { operations, SECURITY } from './operations.ts';
import {
  accountAnswer,
  chatAnswer,
  chatBody,
  chatChunk,
  endpointList,
  errorAnswer,
  imageAnswer,
  imageBody,
  modelEntriesSchema,
  receiptAnswer,
} from './schemas.ts';

/** The public API as OpenAPI 3.1, from the same schemas that check its requests. */
export function openApiDocument(): OpenApiDocument {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tollgate public API',
      version: '1',
      description: 'One API in front of many AI backends: chat, images, models, and what each request cost.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: SECURITY,
    tags: [{ name: 'Inference' }, { name: 'Catalog' }, { name: 'Account' }],
    paths: operations(),
    components: {
      schemas: schemas(),
      responses: errorResponses(),
      headers: HEADERS,
      parameters: PARAMETERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

export interface OpenApiDocument {
  openapi: '3.1.0';
  info: Record<string, unknown>;
  servers: readonly { url: string }[];
  security: readonly Record<string, readonly string[]>[];
  tags: readonly { name: string }[];
  paths: Record<string, unknown>;
  components: Record<string, Record<string, unknown>>;
}

/** By the name that references use. */
const SCHEMAS: Record<string, { schema: z.ZodType; io: 'input' | 'output' }> = {
  ChatRequest: { schema: chatBody, io: 'input' },
  ChatAnswer: { schema: chatAnswer, io: 'output' },
  ChatChunk: { schema: chatChunk, io: 'output' },
  ImageRequest: { schema: imageBody, io: 'input' },
  ImageAnswer: { schema: imageAnswer, io: 'output' },
  EndpointList: { schema: endpointList, io: 'output' },
  ModelEntries: { schema: modelEntriesSchema, io: 'output' },
  Account: { schema: accountAnswer, io: 'output' },
  Receipt: { schema: receiptAnswer, io: 'output' },
  Error: { schema: errorAnswer, io: 'output' },
};

function schemas(): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(SCHEMAS).map(([name, { schema, io }]) => {
      const { $schema: _, ...json } = z.toJSONSchema(schema, { io, target: 'draft-2020-12' });
      return [name, json];
    }),
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
  RateLimit: text('The same in the words of the IETF draft', '"requests";r=599;t=1'),
  RateLimitPolicy: text('The policy in the words of the IETF draft', '"requests";q=600;w=60'),
  Endpoint: text('The endpoint that served the request', 'svc_chat'),
  Held: text('Dollars set aside for the request', '0.0066'),
  Cost: text('Dollars charged; of a stream, the receipt tells', '0.0000046'),
  MaxTokens: text('Set when the balance could not afford the output cap that was asked for', '2048'),
};

const PARAMETERS = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'The same key and body give the same answer and are charged once.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
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
