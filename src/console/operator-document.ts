import { z } from 'zod';
import { OPERATOR_RIGHTS } from '../identity/accounts/roles.ts';
import type { RouteDeclaration } from './route.ts';
import { writeAudit } from '../activity/audit.ts';
import type { ErrorFormat } from '../http/response.ts';
import type { IncomingRequest } from '../http/router.ts';
import type { Operator } from '../identity/accounts/operators.ts';
import { Fault } from '../std/fault.ts';
import { faultBody } from '../wire/fault-body.ts';
import { CONSOLE_ERRORS } from './answers.ts';
import type { RouteParts } from './parts.ts';

type Json = Record<string, unknown>;

/** The schema of each route's answer, by its name; null: the answer is a file. */
interface AnswerSchemas {
  readonly answers: Readonly<Record<string, Json | null>>;
  readonly schemas: Json;
}

/**
 * The operators' API as OpenAPI 3.1, generated from the declarations that the router serves, and from the types of what
 * their handlers return, which `scripts/write-operator-answers.ts` has written down.
 */
export async function operatorDocument(routes: readonly RouteDeclaration[], version: string): Promise<Json> {
  // Its type would be thousands of lines long.
  const read: unknown = await import('../../schema/operator-answers.json', { with: { type: 'json' } });
  const { answers, schemas } = (read as { default: AnswerSchemas }).default;
  const paths: Record<string, Json> = {};
  const operations = routes.filter(isInOperatorApi);
  for (const route of operations) {
    const [method = '', path = ''] = route.name.split(' ');
    const operation = describeOperation(route, method, answerOf(route.name, answers));
    (paths[operatorPath(path)] ??= {})[method.toLowerCase()] = operation;
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
    tags: [...new Set(operations.map(({ name }) => tagOf(name)))].map(tag),
    paths,
    components: {
      schemas: { ...schemas, Error: ERROR },
      securitySchemes: { operatorToken: { type: 'http', scheme: 'bearer', bearerFormat: 'op-…' } },
    },
  };
}

function describeOperation(route: RouteDeclaration, method: string, answer: Json): Json {
  const { name, may, summary, query, body, money } = route;
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
      200: { description: 'Done', content: answer },
      ...Object.fromEntries(
        Object.entries(REFUSALS).map(([status, description]) => [
          status,
          { description, content: json({ $ref: '#/components/schemas/Error' }) },
        ]),
      ),
    },
  };
}

function answerOf(name: string, answers: AnswerSchemas['answers']): Json {
  const schema = answers[name];
  if (schema === undefined) throw new Error(`run bun scripts/write-operator-answers.ts: there is no ${name}`);
  if (schema) return json(schema);
  const isPdf = name.endsWith('pdf');
  return isPdf ? { 'application/pdf': {} } : { 'text/csv': { schema: { type: 'string' } } };
}

/** The tag of an operation, by the first word of its path. */
const TAGS: Readonly<Record<string, string>> = {
  accounts: 'Customers, their limits, money, tokens and statements',
  attention: 'What should be looked at',
  audit: 'Who did what',
  backends: 'Backends, their health and tests',
  catalog: 'What is sold, its drafts, versions and provider keys',
  codes: 'Redeem codes',
  entries: 'Entries of the ledger',
  invites: 'Invitations to register',
  ledger: 'Checks of the books',
  'list-values': 'What lists can be filtered by',
  logo: 'The logo on pages and statements',
  mail: 'How mail is sent',
  margin: 'What requests brought and cost',
  messages: 'Mail and webhook messages with their attempts',
  operators: 'Who operates',
  overview: 'Revenue, cost and usage',
  payments: 'Card payments, refunds and disputes',
  prices: 'Prices, published and drafted',
  'provider-bills': 'What providers billed',
  providers: 'Providers that a backend can be made of',
  'public-pages': 'Pages that everybody can see',
  'refused-calls': 'Requests that were refused, and why',
  'request-values': 'What requests can be filtered by',
  requests: 'Requests with their receipts',
  settings: 'Settings of the site',
  teams: 'Teams with their members and apps',
  traffic: 'Who uses what now',
  webhooks: "The operator's own webhooks",
  'welcome-credit': 'What a new account gets',
};

function tag(name: string): Json {
  return { name, description: TAGS[name] ?? name };
}

const REFUSALS = {
  400: 'The request is wrong, or its Idempotency-Key was used for another one.',
  401: 'The token is missing, not valid, ended, expired or from a foreign network.',
  403: 'The role of the token is too small: `not_allowed`, with the roles that may.',
  404: 'There is nothing of this name.',
  409: 'It cannot be done as things are now.',
  429: 'There are too many calls: `Retry-After` says when to go on.',
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

/** The console's operations for programs, under `/api/operator/v1`, with `Authorization: Bearer op-…`. */
const OPERATOR_API = '/api/operator/v1';

export function operatorPath(path: string): string {
  return path.replace('/api/console/admin', OPERATOR_API);
}

export function isInOperatorApi({ who, consoleOnly }: RouteDeclaration): boolean {
  return who === 'operator' && consoleOnly === undefined;
}

/** The shape that the public API's errors have. */
export const OPERATOR_ERRORS: ErrorFormat = { ...CONSOLE_ERRORS, body: faultBody };

/** Only the header is read: an address with a token in it would end up in logs. */
export async function tokenOperator(parts: RouteParts, incoming: IncomingRequest): Promise<Operator> {
  const header = incoming.request.headers.get('authorization');
  if (header === null)
    throw new Fault('missing_token', 'Send an operator token as `Authorization: Bearer op-…`.');
  const [, token = ''] = /^Bearer +(\S+) *$/i.exec(header) ?? [];
  const found = await parts.operators.ofToken(token, incoming.address);
  if ('operator' in found) return found.operator;
  const { id, code } = found;
  if (id !== undefined && parts.operators.mayTellRefusal(id, code)) {
    const entry = { actor: id, action: 'operator-token.use.refused', target: id, detail: { code } };
    await writeAudit(parts.store, entry, parts.clock.now());
  }
  throw code === 'network_not_allowed'
    ? new Fault(code, 'This token may not be used from your network.')
    : new Fault(code, 'This is not a valid operator token.');
}
