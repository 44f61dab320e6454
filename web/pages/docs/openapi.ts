/** As much of OpenAPI 3.1 as our own document uses. */
export interface ApiDocument {
  readonly tags?: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

interface Operation {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, ApiResponse | Reference>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
  readonly example?: unknown;
}

export interface ApiResponse {
  readonly description: string;
  readonly headers?: Readonly<
    Record<string, { readonly description?: string; readonly example?: unknown } | Reference>
  >;
  readonly content?: Content;
}

type Content = Readonly<
  Record<
    string,
    {
      readonly schema?: Schema | Reference;
      readonly examples?: Readonly<Record<string, { readonly value?: unknown }>>;
    }
  >
>;

export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema | Reference>>;
  readonly required?: readonly string[];
  readonly items?: Schema | Reference;
  readonly anyOf?: readonly (Schema | Reference)[];
  readonly oneOf?: readonly (Schema | Reference)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
}

export interface Reference {
  readonly $ref: string;
}

export interface Endpoint {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

export function endpointsOf(document: ApiDocument): Endpoint[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
}

/** Follows `#/components/…`; the caller knows what kind of thing it asked for. */
export function resolve<Thing extends object>(document: ApiDocument, thing: Thing | Reference): Thing {
  if (!('$ref' in thing)) return thing;
  const [, , group = '', name = ''] = thing.$ref.split('/');
  return (document.components[group]?.[name] ?? {}) as Thing;
}

export function isPublic(operation: Operation): boolean {
  const { security } = operation;
  return security?.length === 0 || security?.some((choice) => Object.keys(choice).length === 0) === true;
}

/** "integer", "string or null", "array of object", in words. */
export function typeName(document: ApiDocument, given: Schema | Reference): string {
  const schema = resolve<Schema>(document, given);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map((choice) => typeName(document, choice)))].join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.type === 'array' && schema.items) return `array of ${typeName(document, schema.items)}`;
  return typeof schema.type === 'string' ? schema.type : (schema.type?.join(' | ') ?? 'any');
}

export function limitsOf(schema: Schema): string {
  const parts: string[] = [];
  if (schema.minimum !== undefined && Math.abs(schema.minimum) < Number.MAX_SAFE_INTEGER)
    parts.push(`≥ ${schema.minimum}`);
  if (schema.maximum !== undefined && schema.maximum < Number.MAX_SAFE_INTEGER)
    parts.push(`≤ ${schema.maximum}`);
  if (schema.maxLength !== undefined) parts.push(`≤ ${schema.maxLength} characters`);
  if (schema.maxItems !== undefined) parts.push(`≤ ${schema.maxItems} items`);
  if (schema.default !== undefined) parts.push(`= ${JSON.stringify(schema.default)}`);
  return parts.join(', ');
}
