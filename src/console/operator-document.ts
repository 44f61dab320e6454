import { z } from 'zod';
import { OPERATOR_RIGHTS } from '../identity/accounts/operator-roles.ts';
import { operatorPath, isInOperatorApi } from './operator-api.ts';
import type { RouteDeclaration } from './route.ts';

type Json = Record<string, unknown>;

/** The operators' API as OpenAPI 3.1, generated from the declarations that the router serves. */
export function operatorDocument(routes: readonly RouteDeclaration[], version: string): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes.filter(isInOperatorApi)) {
    const [method = '', path = ''] = route.name.split(' ');
    (paths[operatorPath(path)] ??= {})[method.toLowerCase()] = describeOperation(route, method);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tollgate operators’ API',
      version,
      description:
        'What operators do in the console, for programs. Send an operator token as `Authorization: Bearer op-…`; an owner makes it in the console. Amounts are decimal dollars as text, times are milliseconds since 1970.',
      contact: { name: 'The operator of this server' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ operatorToken: [] }],
    paths,
    components: {
      schemas: { Error: ERROR },
      securitySchemes: { operatorToken: { type: 'http', scheme: 'bearer', bearerFormat: 'op-…' } },
    },
  };
}

function describeOperation(route: RouteDeclaration, method: string): Json {
  const { name, may, summary, query, body, answer, money } = route;
  const parameters = [
    ...Array.from(name.matchAll(/\{(\w+)\}/g), ([, param]) => parameter(param ?? '', 'path', true)),
    ...queryParameters(query),
    ...(method === 'GET' ? [] : [{ ...IDEMPOTENCY_KEY, required: money === true }]),
  ];
  const roles = may ? OPERATOR_RIGHTS[may].join(', ') : '';
  return {
    operationId: operationId(name),
    tags: [tagOf(name)],
    summary,
    description: `${summary}. Roles: ${roles}.`,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, content: json(schemaOf(body)) } } : {}),
    responses: {
      200: {
        description: 'Done',
        content: name.endsWith('.csv')
          ? { 'text/csv': { schema: { type: 'string' } } }
          : json(answer ? schemaOf(answer) : { type: ['object', 'array'] }),
      },
      ...Object.fromEntries(
        Object.entries(REFUSALS).map(([status, description]) => [
          status,
          { description, content: json({ $ref: '#/components/schemas/Error' }) },
        ]),
      ),
    },
  };
}

const REFUSALS = {
  400: 'The request is wrong, or its Idempotency-Key was used for another one.',
  401: 'The token is missing, not valid, ended, expired or from a foreign network.',
  403: 'The role of the token is too small: `not_allowed`, with the roles that may.',
  404: 'There is nothing of this name.',
  409: 'It cannot be done as things are now.',
  503: 'The service is briefly unavailable.',
};

const ERROR: Json = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'type', 'param'],
      properties: {
        code: { type: 'string' },
        message: { type: 'string', description: 'For people' },
        type: { type: 'string' },
        param: { type: ['string', 'null'], description: 'The field that is wrong, where one is' },
        roles: { type: 'string', description: 'Of `not_allowed`: the roles that may' },
      },
    },
  },
};

const IDEMPOTENCY_KEY: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'The same key and body give the same answer, and are done once; another body is refused.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

function json(schema: Json): Json {
  return { 'application/json': { schema } };
}

function schemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...plain } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return plain;
}

function queryParameters(query: z.ZodType | undefined): Json[] {
  if (!query) return [];
  const { properties = {}, required = [] } = schemaOf(query) as {
    readonly properties?: Readonly<Record<string, Json>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    ...parameter(name, 'query', required.includes(name)),
    schema,
  }));
}

function parameter(name: string, place: 'path' | 'query', required: boolean): Json {
  return { name, in: place, required, schema: { type: 'string' } };
}

function tagOf(name: string): string {
  return (
    operatorPath(name.split(' ')[1] ?? '')
      .split('/')[4]
      ?.split('.')[0] ?? ''
  );
}

/** `postAccountsIdCredit` */
function operationId(name: string): string {
  const [method = '', path = ''] = name.split(' ');
  const words = path.replace('/api/console/admin', '').match(/[A-Za-z0-9]+/g) ?? [];
  return [method.toLowerCase(), ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join(
    '',
  );
}
