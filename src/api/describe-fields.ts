import { ANSWER_FIELD_TEXTS } from './field-texts-answers.ts';
import { FIELD_TEXTS } from './field-texts.ts';

interface JsonSchema {
  description?: string;
  readonly properties?: Record<string, JsonSchema>;
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
}

const TEXTS: Readonly<Record<string, string>> = { ...ANSWER_FIELD_TEXTS, ...FIELD_TEXTS };

/** Gives every field of a schema that says nothing about itself its text, and tells which texts were used. */
export function describeFields(name: string, schema: unknown, onUsed?: (key: string) => void): void {
  // Made by `z.toJSONSchema` just now, and nobody else has it yet.
  describeWithin(name, schema as JsonSchema, onUsed ?? (() => undefined));
}

function describeWithin(parent: string, schema: JsonSchema, onUsed: (key: string) => void): void {
  for (const [field, inner] of Object.entries(schema.properties ?? {})) {
    const key = [`${parent}.${field}`, field].find((one) => Object.hasOwn(TEXTS, one));
    if (inner.description === undefined && key !== undefined) {
      inner.description = TEXTS[key] ?? '';
      onUsed(key);
    }
    describeWithin(field, inner, onUsed);
  }
  const { items, additionalProperties, anyOf = [], oneOf = [], allOf = [] } = schema;
  const further = typeof additionalProperties === 'object' ? [additionalProperties] : [];
  for (const inner of [...(items ? [items] : []), ...further, ...anyOf, ...oneOf, ...allOf])
    describeWithin(parent, inner, onUsed);
}
