/** Why a text is not a JSON schema that can be sent. */
export interface SchemaProblem {
  readonly kind:
    | 'notJson'
    | 'notObject'
    | 'type'
    | 'keyword'
    | 'pattern'
    | 'reference'
    | 'tooLong'
    | 'tooDeep';
  /** The place in the schema; empty for the whole. */
  readonly path: string;
  readonly detail: string;
}

type SchemaText =
  | { readonly ok: true; readonly schema: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly problem: SchemaProblem };

export const MAX_SCHEMA_CHARACTERS = 20_000;
const MAX_DEPTH = 60;
const TYPES = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);

/** Keywords, grouped by what their value has to be. */
const KEYWORDS = {
  schema: ['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else'],
  list: ['anyOf', 'oneOf', 'allOf', 'prefixItems'],
  map: ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'],
  size: [
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
    'minProperties',
    'maxProperties',
    'minContains',
    'maxContains',
  ],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
} as const;

export function readSchema(text: string): SchemaText {
  if (text.length > MAX_SCHEMA_CHARACTERS) return wrong('tooLong', '', String(MAX_SCHEMA_CHARACTERS));
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    return wrong('notJson', '', placeIn(String(error)));
  }
  if (!isRecord(schema)) return wrong('notObject', '', '');
  const problem = problemIn(schema, { root: schema, path: '', depth: 0 });
  return problem ? { ok: false, problem } : { ok: true, schema };
}

function wrong(kind: SchemaProblem['kind'], path: string, detail: string): SchemaText {
  return { ok: false, problem: { kind, path, detail } };
}

/** Browsers word the error differently, and some give no position. */
function placeIn(message: string): string {
  const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? [];
  return line === undefined ? '' : `${line}:${column}`;
}

interface Place {
  readonly root: unknown;
  readonly path: string;
  readonly depth: number;
}

function problemIn(schema: unknown, place: Place): SchemaProblem | undefined {
  const { path } = place;
  if (typeof schema === 'boolean') return undefined;
  if (place.depth > MAX_DEPTH) return { kind: 'tooDeep', path, detail: '' };
  if (!isRecord(schema)) return { kind: 'keyword', path, detail: '' };
  return typeProblem(schema, path) ?? valueProblem(schema, place) ?? innerProblem(schema, place);
}

function typeProblem({ type }: Record<string, unknown>, path: string): SchemaProblem | undefined {
  if (type === undefined) return undefined;
  const names: readonly unknown[] = Array.isArray(type) && type.length > 0 ? type : [type];
  const unknown = names.find((name) => typeof name !== 'string' || !TYPES.has(name));
  return unknown === undefined
    ? undefined
    : { kind: 'type', path: at(path, 'type'), detail: JSON.stringify(unknown) };
}

function valueProblem(schema: Record<string, unknown>, { root, path }: Place): SchemaProblem | undefined {
  for (const [key, value] of Object.entries(schema)) {
    if (!isRightValue(key, value)) return { kind: 'keyword', path: at(path, key), detail: '' };
    if (key === 'pattern' && !patternOf(String(value)))
      return { kind: 'pattern', path: at(path, key), detail: String(value) };
    if (key === '$ref' && referenced(root, String(value)) === undefined)
      return { kind: 'reference', path: at(path, key), detail: String(value) };
  }
  return undefined;
}

function isRightValue(key: string, value: unknown): boolean {
  if (isOneOf(KEYWORDS.list, key) || key === 'enum') return Array.isArray(value) && value.length > 0;
  if (isOneOf(KEYWORDS.map, key)) return isRecord(value);
  if (isOneOf(KEYWORDS.size, key)) return Number.isInteger(value) && Number(value) >= 0;
  if (key === 'multipleOf') return typeof value === 'number' && value > 0;
  if (isOneOf(KEYWORDS.number, key)) return typeof value === 'number';
  if (key === 'required') return isNames(value);
  if (key === 'dependentRequired') return isRecord(value) && Object.values(value).every(isNames);
  return !['pattern', '$ref', 'format', 'title', 'description'].includes(key) || typeof value === 'string';
}

function innerProblem(schema: Record<string, unknown>, place: Place): SchemaProblem | undefined {
  for (const { path, inner } of innerSchemas(schema)) {
    const problem = problemIn(inner, { ...place, path: at(place.path, path), depth: place.depth + 1 });
    if (problem) return problem;
  }
  return undefined;
}

/** The schemas directly inside another. */
export function innerSchemas(schema: Record<string, unknown>): { path: string; inner: unknown }[] {
  return Object.entries(schema).flatMap(([key, value]) => {
    if (isOneOf(KEYWORDS.map, key) && isRecord(value))
      return Object.entries(value).map(([name, inner]) => ({ path: `${key}.${name}`, inner }));
    // Before the 2020 draft, the items of a tuple were listed here.
    if ((isOneOf(KEYWORDS.list, key) || key === 'items') && Array.isArray(value))
      return value.map((inner: unknown, index) => ({ path: `${key}[${index}]`, inner }));
    return isOneOf(KEYWORDS.schema, key) ? [{ path: key, inner: value }] : [];
  });
}

/** Only references within the document: `#/$defs/Name`. */
export function referenced(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  const steps = reference
    .slice(1)
    .split('/')
    .filter((step) => step !== '')
    .map((step) => decoded(step).replaceAll('~1', '/').replaceAll('~0', '~'));
  return steps.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, step)
        ? (value as Record<string, unknown>)[step]
        : undefined,
    root,
  );
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step; // A lone percent sign stands for itself.
  }
}

/** Compiled as Unicode if possible: some patterns contain escapes that this mode forbids. */
export function patternOf(text: string): RegExp | undefined {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(text, flags);
    } catch {
      // The pattern may compile without the flag.
    }
  }
  return undefined;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isOneOf(names: readonly string[], name: string): boolean {
  return names.includes(name);
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

function at(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
