import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { ErrorDialect } from './errors.ts';
import { ANSWER_FIELD_TEXTS, FIELD_TEXTS } from './field-texts.ts';
import type { ApiOperation } from './operation.ts';

interface JsonSchema {
  $ref?: string;
  description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Record<string, JsonSchema>;
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly anyOf?: JsonSchema[];
  readonly oneOf?: JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
}

/**
 * The schemas of all bodies by name. One that is part of another is referred to, and so is every schema that has an `id`
 * of its own: generators make one type of each, and some fail on a type that they meet twice. `onUsed` is told which texts
 * describe a field.
 */
export function componentSchemas(
  operations: readonly ApiOperation[],
  dialects: readonly ErrorDialect[],
  onUsed: (key: string) => void = () => undefined,
): Record<string, JsonSchema> {
  const input = new NamedSchemas();
  const output = new NamedSchemas();
  for (const { request, answer } of operations) {
    for (const body of [request, request?.or]) if (body) input.add(body.name, body.schema);
    for (const body of [answer.body, answer.asyncBody]) if (body) output.add(body.name, body.schema);
    if (answer.stream) output.add(answer.stream.name, answer.stream.chunk);
  }
  for (const { name, schema } of dialects) output.add(name, schema);
  const schemas = join(input.toJson('input'), output.toJson('output'));
  for (const [name, schema] of Object.entries(schemas)) describeWithin(name, schema, onUsed);
  return Object.fromEntries(Object.entries(schemas).flatMap(([name, schema]) => variants(name, schema)));
}

class NamedSchemas {
  readonly #registry = z.registry<{ id: string }>();
  readonly #byName = new Map<string, z.ZodType>();

  add(name: string, schema: z.ZodType): void {
    const known = this.#byName.get(name);
    if (known && known !== schema) throw new Error(`two schemas are called ${name}`);
    this.#byName.set(name, schema);
    this.#registry.add(schema, { id: name });
  }

  toJson(io: 'input' | 'output'): Record<string, JsonSchema> {
    const { schemas } = z.toJSONSchema(this.#registry, { io, target: 'draft-2020-12', uri: referenceTo });
    const { __shared: shared, ...named } = schemas;
    const all = { ...named, ...shared?.$defs } as Record<
      string,
      JsonSchema & { $id?: string; $schema?: string }
    >;
    return Object.fromEntries(
      Object.entries(all).map(([name, whole]) => {
        const { $id: _, $schema: __, ...schema } = whole;
        for (const one of within(schema)) if (one.$ref) one.$ref = one.$ref.replace(SHARED, '/');
        return [name, schema];
      }),
    );
  }
}

function referenceTo(name: string): string {
  return `#/components/schemas/${name}`;
}

/** Where zod puts schemas with an `id` that are not in the registry. */
const SHARED = '/__shared#/$defs/';

/** The alternatives of a schema as schemas of their own, where a constant `type` tells them apart. */
function variants(name: string, schema: JsonSchema): [name: string, schema: JsonSchema][] {
  const alternatives = schema.oneOf ?? schema.anyOf ?? [];
  const parts: [string, JsonSchema][] = [];
  for (const [index, alternative] of alternatives.entries()) {
    const { type } = alternative.properties ?? {};
    const tag = type?.const ?? type?.enum?.[0];
    if (typeof tag !== 'string') continue;
    const part = `${name}${tag
      .split(/[^a-z]+/i)
      .map(capitalised)
      .join('')}`;
    parts.push([part, alternative]);
    alternatives[index] = { $ref: referenceTo(part) };
  }
  return [[name, schema], ...parts];
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function join(
  input: Record<string, JsonSchema>,
  output: Record<string, JsonSchema>,
): Record<string, JsonSchema> {
  for (const [name, schema] of Object.entries(output))
    if (input[name] && !isDeepStrictEqual(input[name], schema))
      throw new Error(`two schemas are called ${name}`);
  return { ...input, ...output };
}

const TEXTS: Readonly<Record<string, string>> = { ...ANSWER_FIELD_TEXTS, ...FIELD_TEXTS };

/** Adds descriptions to the fields that have none. */
function describeWithin(parent: string, schema: JsonSchema, onUsed: (key: string) => void): void {
  for (const [field, inner] of Object.entries(schema.properties ?? {})) {
    const key = [`${parent}.${field}`, field].find((one) => Object.hasOwn(TEXTS, one));
    if (inner.description === undefined && key !== undefined) {
      inner.description = TEXTS[key] ?? '';
      onUsed(key);
    }
    describeWithin(field, inner, onUsed);
  }
  for (const inner of alternativesOf(schema)) describeWithin(parent, inner, onUsed);
}

function alternativesOf({ items, additionalProperties, anyOf = [], oneOf = [], allOf = [] }: JsonSchema) {
  const further = typeof additionalProperties === 'object' ? [additionalProperties] : [];
  return [...(items ? [items] : []), ...further, ...anyOf, ...oneOf, ...allOf];
}

function* within(schema: JsonSchema): Generator<JsonSchema> {
  yield schema;
  for (const inner of [...Object.values(schema.properties ?? {}), ...alternativesOf(schema)])
    yield* within(inner);
}
