import { describe, expect, test } from 'bun:test';
import type { z } from 'zod';
import { FAULTS } from '../std/fault.ts';
import { componentSchemas } from './component-schemas.ts';
import { openApiDocument } from './openapi.ts';
import { ANSWER_FIELD_TEXTS, FIELD_TEXTS } from './field-texts.ts';
import type { ApiParts } from './operation.ts';
import { apiRoutes, OPERATIONS } from './operations.ts';

// As a client gets it.
const document = JSON.parse(JSON.stringify(openApiDocument(OPERATIONS))) as Json & {
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, Json>>;
};

interface Json {
  [key: string]: unknown;
}

interface Operation extends Json {
  operationId: string;
  parameters?: { name?: string; in?: string; $ref?: string }[];
  responses: Record<string, Json>;
  security?: Record<string, unknown>[];
  'x-error-codes': string[];
}

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

/** Every object within a value, with its path. */
function* walk(value: unknown, where = '#'): Generator<{ where: string; node: Json }> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield { where, node: value as Json };
  for (const [key, inner] of Object.entries(value)) yield* walk(inner, `${where}/${key}`);
}

function resolve(reference: string): unknown {
  let here: unknown = document;
  for (const key of reference.replace(/^#\//, '').split('/')) here = (here as Json | undefined)?.[key];
  return here;
}

describe('the OpenAPI document', () => {
  test('has the paths of the public API, each operation named once', () => {
    expect(Object.keys(document.paths).sort()).toEqual([
      '/api/hello',
      '/api/public/v1/account',
      '/api/public/v1/chat/completions',
      '/api/public/v1/endpoints/{code}/models',
      '/api/public/v1/images/edits',
      '/api/public/v1/images/generations',
      '/api/public/v1/images/jobs/{id}',
      '/api/public/v1/images/{id}',
      '/api/public/v1/models',
      '/api/public/v1/openapi.json',
      '/api/public/v1/quotes',
      '/api/public/v1/requests/{id}',
      '/v1/chat/completions',
      '/v1/completions',
      '/v1/conversations',
      '/v1/conversations/{id}',
      '/v1/conversations/{id}/items',
      '/v1/conversations/{id}/items/{item}',
      '/v1/embeddings',
      '/v1/images',
      '/v1/images/edits',
      '/v1/images/generations',
      '/v1/messages',
      '/v1/messages/count_tokens',
      '/v1/models',
      '/v1/models/{id}',
      '/v1/models/{model}:generateContent',
      '/v1/models/{model}:streamGenerateContent',
      '/v1/moderations',
      '/v1/responses',
      '/v1/responses/{id}',
      '/v1/responses/{id}/cancel',
      '/v1/responses/{id}/input_items',
      '/v1beta/models',
      '/v1beta/models/{model}',
      '/v1beta/models/{model}:batchEmbedContents',
      '/v1beta/models/{model}:countTokens',
      '/v1beta/models/{model}:embedContent',
      '/v1beta/models/{model}:generateContent',
      '/v1beta/models/{model}:streamGenerateContent',
    ]);
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(document['openapi']).toBe('3.1.0');
  });

  test('says of every field what it means, and has no text that no field has', () => {
    const silent = [...walk(document)].flatMap(({ where, node }) =>
      Object.entries((node['properties'] ?? {}) as Record<string, Json>)
        .filter(([, field]) => typeof field === 'object' && !field['description'] && !field['$ref'])
        .map(([name]) => `${where}/${name}`),
    );
    // An example may have a field called `properties`, as a schema of a tool has.
    expect(silent.filter((where) => !where.includes('/examples/'))).toEqual([]);
    const used = new Set<string>();
    const dialects = [...new Set(OPERATIONS.map(({ dialect }) => dialect))];
    componentSchemas(OPERATIONS, dialects, (key) => used.add(key));
    const written = Object.keys({ ...FIELD_TEXTS, ...ANSWER_FIELD_TEXTS });
    expect(written.filter((key) => !used.has(key))).toEqual([]);
  });

  test('has an example of every request, and of every answer but a file and itself', () => {
    const hasExample = (part: unknown): boolean => {
      const { content } = part as { content: Record<string, Json> };
      return Object.values(content).some(({ examples }) => examples !== undefined);
    };
    const without = operations.flatMap(({ operation }) => [
      ...('requestBody' in operation && !hasExample(operation['requestBody'])
        ? [`${operation.operationId} request`]
        : []),
      ...(hasExample(operation.responses['200']) ? [] : [operation.operationId]),
    ]);
    expect(without).toEqual(['getImage', 'getOpenApi']);
  });

  test('has exactly the routes that the router is given', () => {
    // A handler is made from these parts and not called.
    const routes = apiRoutes({} as ApiParts).map(({ method, path }) => `${method} ${path}`);
    const documented = operations.map(
      ({ method, path }) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '*')}`,
    );
    expect(routes.map((route) => route.replace('**', '*')).sort()).toEqual(documented.sort());
    expect(routes).toContain('GET /v1/models/**');
  });

  test('everything that people look up by is described', () => {
    expect(document['info']).toHaveProperty('contact');
    const tags = document['tags'] as { name: string; description?: string }[];
    for (const { operation } of operations) {
      expect([operation.operationId, typeof operation['description']]).toEqual([
        operation.operationId,
        'string',
      ]);
      const [tag] = operation['tags'] as string[];
      const described = tags.find(({ name }) => name === tag)?.description ?? '';
      expect([tag, described.length > tag!.length]).toEqual([tag, true]);
    }
  });

  test('every reference has a target', () => {
    const references = [...walk(document)].flatMap(({ node }) =>
      typeof node['$ref'] === 'string' ? [node['$ref']] : [],
    );
    expect(references.length).toBeGreaterThan(50);
    for (const reference of references) {
      expect(reference).toStartWith('#/components/');
      expect(resolve(reference)).toBeDefined();
    }
  });

  test('every path parameter is declared, and every security scheme exists', () => {
    for (const { path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      expect(declared.map((parameter) => parameter.name)).toEqual(inPath);
      for (const scheme of (operation.security ?? []).flatMap((one) => Object.keys(one))) {
        expect(document.components['securitySchemes']).toHaveProperty(scheme);
      }
    }
    const schemes = Object.values(document.components['securitySchemes'] ?? {});
    expect(
      schemes.map(({ type, in: place, name }) => [type, place ?? '', name ?? ''].join(' ').trim()),
    ).toEqual(['http', 'apiKey header x-api-key', 'apiKey query token']);
  });

  test('requests that spend money document every status of the spec', () => {
    const paid = operations.filter(({ operation }) =>
      Object.hasOwn(operation.responses['200']?.['headers'] as Json, 'x-tollgate-held'),
    );
    expect(paid.map(({ path }) => path).sort()).toEqual(
      operations
        .filter(
          ({ method, path }) =>
            method === 'post' &&
            !/(?:count_tokens|quotes|countTokens|conversations|items|cancel)$/.test(path),
        )
        .map(({ path }) => path)
        .sort(),
    );
    for (const { path, operation } of paid) {
      // A thread of Anthropic's that is continued is not found.
      const statuses = Object.keys(operation.responses).filter(
        (status) => path !== '/v1/messages' || status !== '404',
      );
      expect(statuses).toEqual(['200', '400', '401', '402', '429', '500']);
    }
    for (const { operation } of operations) expect(operation.responses).toHaveProperty('500');
  });

  test('every answer names its request, and every answer to a token its rate limit', () => {
    for (const { path, operation } of operations) {
      for (const response of Object.values(operation.responses)) {
        const whole = typeof response['$ref'] === 'string' ? resolve(response['$ref']) : response;
        expect((whole as Json)['headers']).toHaveProperty('x-request-id');
      }
      if (!path.startsWith('/api/public/v1/') || isFree(operation)) continue;
      expect(operation.responses['200']?.['headers']).toHaveProperty('x-ratelimit-remaining-requests');
    }
  });

  test('every error code has an example under its own status, in every dialect', () => {
    // 405 is not an answer of any operation.
    const all = Object.keys(FAULTS).filter((code) => code !== 'method_not_allowed');
    for (const dialect of new Set(OPERATIONS.map((operation) => operation.dialect))) {
      const responses = Object.entries(document.components['responses'] ?? {}).filter(
        ([name]) => (/^(?:Messages|Google)/.exec(name)?.[0] ?? '') === dialect.prefix,
      );
      const shown = responses.flatMap(([, response]) => examplesIn(response));
      for (const example of shown) dialect.schema.parse(example);
      expect(shown.map(codeOf).sort()).toEqual(all.sort());
    }
  });

  test('the example of a body too large names the limit that is in force', () => {
    const { content } = document.components['responses']?.['BadRequest'] as unknown as {
      content: { 'application/json': { examples: Record<string, { value: { error: Json } }> } };
    };
    const { error } = content['application/json'].examples['request_too_large']?.value ?? {};
    expect(error?.['message']).toBe('The body may be at most 20 MB.');
  });

  test("every operation's codes are those of the statuses it documents", () => {
    for (const { operation } of operations) {
      const codes = operation['x-error-codes'];
      expect(new Set(codes).size).toBe(codes.length);
      const statuses = codes.map((code) => String(FAULTS[code as keyof typeof FAULTS].status));
      expect([...new Set(statuses)].sort()).toEqual(
        Object.keys(operation.responses).filter((status) => status !== '200'),
      );
    }
  });

  test('every example is valid by its schema', () => {
    const schemas: Record<string, z.ZodType> = {};
    for (const { request, answer } of OPERATIONS)
      for (const body of [request, request?.or, answer.body, answer.asyncBody])
        if (body) schemas[body.name] = body.schema;
    const seen = new Set<string>();
    for (const { node } of walk(document.paths)) {
      const { schema } = node as { schema?: { $ref?: string; anyOf?: { $ref?: string }[] } };
      const names = (schema?.anyOf ?? [schema]).map((one) => one?.$ref?.split('/').at(-1) ?? '');
      if (!names.some((name) => Object.hasOwn(schemas, name))) continue;
      for (const example of examplesIn(node)) {
        const valid = names.find((name) => schemas[name]?.safeParse(example).success);
        expect({ names, example, valid }).toMatchObject({ valid: expect.any(String) as string });
        seen.add(valid ?? '');
      }
    }
    // A form has no example.
    expect([...seen, 'ImageForm', 'ImageEditForm'].sort()).toEqual(Object.keys(schemas).sort());
    expect(seen.size).toBeGreaterThan(18);
  });

  test('a stream has the schema of its chunk, and its example is valid', () => {
    const streamed = OPERATIONS.filter(({ answer }) => answer.stream);
    expect(streamed.map(({ path }) => path).sort()).toEqual([
      '/api/public/v1/chat/completions',
      '/api/public/v1/images/edits',
      '/api/public/v1/images/generations',
      '/v1/chat/completions',
      '/v1/completions',
      '/v1/images',
      '/v1/images/edits',
      '/v1/images/generations',
      '/v1/messages',
      '/v1/models/{model}:streamGenerateContent',
      '/v1/responses',
      '/v1beta/models/{model}:streamGenerateContent',
    ]);
    for (const { path, answer, dialect } of streamed) {
      const { content } = document.paths[path]?.['post']?.responses['200'] as {
        content: Record<string, { schema: Json; examples: { stream: { value: string } } }>;
      };
      const { schema, examples } = content['text/event-stream'] ?? {};
      const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
      const chunk = reference(answer.stream?.name ?? '');
      const event = answer.stream?.hasErrorEvent ? { anyOf: [chunk, reference(dialect.name)] } : chunk;
      // A proxy that checks answers reads the body as one text.
      expect(schema).toMatchObject({ type: 'string', contentSchema: event });
      const lines = [...(examples?.stream.value ?? '').matchAll(/^data: (\{.*)$/gm)];
      expect(lines.length).toBeGreaterThan(0);
      for (const [, data = ''] of lines) answer.stream?.chunk.parse(JSON.parse(data));
    }
  });

  test('a body that is one of several refers to each of them, so that generators make one type of each', () => {
    const schemas = document.components['schemas'] ?? {};
    const unions = Object.entries(schemas).filter(([, schema]) => schema['anyOf'] ?? schema['oneOf']);
    expect(unions.map(([name]) => name)).toEqual(
      expect.arrayContaining(['QuoteRequest', 'CountGeminiTokensRequest', 'MessagesEvent', 'ResponsesEvent']),
    );
    for (const [name, { anyOf, oneOf }] of unions)
      for (const alternative of (anyOf ?? oneOf) as Json[])
        expect({ name, keys: Object.keys(alternative) }).toEqual({ name, keys: ['$ref'] });
    expect(schemas['QuoteRequest']?.['anyOf']).toEqual([
      { $ref: '#/components/schemas/ChatRequest' },
      { $ref: '#/components/schemas/ImageRequest' },
    ]);
  });

  test('what several bodies have in common is described once', () => {
    const schemas = document.components['schemas'] ?? {};
    const messagesOf = (name: string) =>
      (schemas[name]?.['properties'] as Record<string, { items?: unknown }>)['messages']?.items;
    for (const name of ['ChatRequest', 'V1ChatRequest'])
      expect(messagesOf(name)).toEqual({ $ref: '#/components/schemas/ChatMessage' });
    for (const name of ['MessagesRequest', 'CountTokensRequest'])
      expect(messagesOf(name)).toEqual({ $ref: '#/components/schemas/MessagesMessage' });
    expect(schemas['CountGeminiContents']?.['required']).toEqual(['contents']);
  });

  test('the request schemas say what is required and what the bounds are', () => {
    const schema = (name: string) =>
      document.components['schemas']?.[name] as { required: string[]; properties: Record<string, Json> };
    const chat = schema('ChatRequest');
    expect(chat.required.sort()).toEqual(['messages', 'model']);
    const orNull = (type: string, minimum: number, maximum: number) => ({
      anyOf: [{ type, minimum, maximum }, { type: 'null' }],
    });
    expect(chat.properties).toMatchObject({
      temperature: orNull('number', 0, 2),
      top_p: orNull('number', 0, 1),
      presence_penalty: orNull('number', -2, 2),
      frequency_penalty: orNull('number', -2, 2),
      n: orNull('integer', 1, 8),
      max_tokens: orNull('integer', 1, 10_000_000),
      endpoint_code: { type: 'string' },
    });
    const image = schema('ImageRequest');
    expect(image.required.sort()).toEqual(['model', 'prompt']);
    expect(image.properties).toMatchObject({
      prompt: { type: 'string', minLength: 1, maxLength: 32_000 },
      n: orNull('integer', 1, 10),
    });
  });
});

/** Answers without a token, and knows of no rate limit then. */
function isFree({ security }: Operation): boolean {
  return security?.length === 0;
}

/** OpenAI's clients find it in the error, Anthropic's and Google's in its details. */
function codeOf(example: unknown): string {
  const { error } = example as {
    error: {
      code?: string | number;
      details?: { error_code: string } | { metadata?: { code: string } }[];
    };
  };
  if (Array.isArray(error.details)) return error.details[0]?.metadata?.code ?? '';
  return typeof error.code === 'string' ? error.code : (error.details?.error_code ?? '');
}

function examplesIn(value: unknown): unknown[] {
  return [...walk(value)].flatMap(({ node }) => {
    const examples = node['examples'];
    if (typeof examples !== 'object' || examples === null || Array.isArray(examples)) return [];
    return Object.values(examples as Record<string, { value: unknown }>).map((example) => example.value);
  });
}
