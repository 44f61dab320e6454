import { describe, expect, test } from 'bun:test';
import { FAULTS } from '../../std/fault.ts';
import {
  accountAnswer,
  chatAnswer,
  chatBody,
  endpointList,
  errorAnswer,
  imageAnswer,
  imageBody,
  modelEntriesSchema,
  receiptAnswer,
} from './schemas.ts';
import { openApiDocument } from './document.ts';

// As a client gets it.
const document = JSON.parse(JSON.stringify(openApiDocument())) as Json & {
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
}

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

/** Every object within a value, with where it is. */
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
      '/api/public/v1/account',
      '/api/public/v1/chat/completions',
      '/api/public/v1/endpoints/{code}/models',
      '/api/public/v1/images/generations',
      '/api/public/v1/models',
      '/api/public/v1/openapi.json',
      '/api/public/v1/requests/{id}',
    ]);
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(document['openapi']).toBe('3.1.0');
  });

  test('every reference leads somewhere', () => {
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
    for (const { method, operation } of operations) {
      const statuses = Object.keys(operation.responses);
      if (method === 'post') expect(statuses).toEqual(['200', '400', '401', '402', '429', '500']);
      expect(statuses).toContain('500');
    }
  });

  test('every answer names its request, and every answer to a token its rate limit', () => {
    for (const { path, operation } of operations) {
      for (const response of Object.values(operation.responses)) {
        const whole = typeof response['$ref'] === 'string' ? resolve(response['$ref']) : response;
        expect((whole as Json)['headers']).toHaveProperty('x-request-id');
      }
      if (path.endsWith('openapi.json')) continue;
      expect(operation.responses['200']?.['headers']).toHaveProperty('x-ratelimit-remaining-requests');
    }
  });

  test('every error code has an example under its own status', () => {
    const shown = Object.values(document.components['responses'] ?? {}).flatMap((response) =>
      examplesIn(response),
    );
    for (const example of shown) expect(() => errorAnswer.parse(example)).not.toThrow();
    const codes = shown.map((example) => (example as { error: { code: string } }).error.code);
    // A wrong method is no operation's answer.
    expect(codes.sort()).toEqual(
      Object.keys(FAULTS)
        .filter((code) => code !== 'method_not_allowed')
        .sort(),
    );
  });

  test('every example is valid by the schema it stands for', () => {
    const schemas = {
      ChatRequest: chatBody,
      ChatAnswer: chatAnswer,
      ImageRequest: imageBody,
      ImageAnswer: imageAnswer,
      EndpointList: endpointList,
      ModelEntries: modelEntriesSchema,
      Account: accountAnswer,
      Receipt: receiptAnswer,
    };
    const seen = new Set<string>();
    for (const { node } of walk(document.paths)) {
      const { schema } = node as { schema?: { $ref?: string } };
      const name = schema?.$ref?.split('/').at(-1) ?? '';
      if (!Object.hasOwn(schemas, name)) continue;
      seen.add(name);
      for (const example of examplesIn(node)) schemas[name as keyof typeof schemas].parse(example);
    }
    expect([...seen].sort()).toEqual(Object.keys(schemas).sort());
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

function examplesIn(value: unknown): unknown[] {
  return [...walk(value)].flatMap(({ node }) => {
    const examples = node['examples'];
    if (typeof examples !== 'object' || examples === null || Array.isArray(examples)) return [];
    return Object.values(examples as Record<string, { value: unknown }>).map((example) => example.value);
  });
}
