import { field } from './conversation.ts';

/**
 * A value that a JSON schema accepts, always the same one: examples, defaults and enums first, then the plainest value
 * of the type. `$ref`, `anyOf`, `oneOf` and `allOf` are followed; `pattern` is not solved.
 */
export function sampleOf(schema: unknown): unknown {
  return sample(schema, { root: schema, name: 'value', depth: 0 });
}

interface Place {
  readonly root: unknown;
  /** The property's name: a string is filled with it, so that a reader sees where it went. */
  readonly name: string;
  readonly depth: number;
}

/** A schema that refers to itself ends here. */
const MAX_DEPTH = 12;
const MAX_ITEMS = 100;

function sample(schema: unknown, place: Place): unknown {
  if (place.depth > MAX_DEPTH || schema === true || typeof schema !== 'object' || schema === null)
    return null;
  const inner: Place = { ...place, depth: place.depth + 1 };
  for (const key of ['const', 'default'] as const) if (key in schema) return field(schema, key);
  for (const key of ['examples', 'enum'] as const) {
    const values = field(schema, key);
    if (Array.isArray(values) && values.length > 0) return values[0];
  }
  const reference = field(schema, '$ref');
  if (typeof reference === 'string') return sample(resolve(place.root, reference), inner);
  for (const key of ['anyOf', 'oneOf'] as const) {
    const options = field(schema, key);
    if (Array.isArray(options) && options.length > 0) return sample(plainest(options), inner);
  }
  const all = field(schema, 'allOf');
  if (Array.isArray(all))
    return sample(
      Object.assign({}, schema, { allOf: undefined }, ...all.map((part) => deref(place.root, part))),
      inner,
    );
  return sampleOfType(schema, inner);
}

function sampleOfType(schema: object, place: Place): unknown {
  const declared = field(schema, 'type');
  const type = Array.isArray(declared) ? (declared.find((option) => option !== 'null') ?? 'null') : declared;
  switch (type ?? impliedType(schema)) {
    case 'object':
      return sampleObject(schema, place);
    case 'array':
      return sampleArray(schema, place);
    case 'string':
      return sampleString(schema, place.name);
    case 'integer':
      return sampleNumber(schema, true);
    case 'number':
      return sampleNumber(schema, false);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

/** From here on only what is required is filled, so that a schema that refers to itself comes to an end. */
function isDeep(place: Place): boolean {
  return place.depth > MAX_DEPTH / 2;
}

function impliedType(schema: object): string | undefined {
  if ('properties' in schema || 'required' in schema) return 'object';
  return 'items' in schema ? 'array' : undefined;
}

function sampleObject(schema: object, place: Place): Record<string, unknown> {
  const properties = field(schema, 'properties');
  const required = field(schema, 'required');
  const names = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  const must = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  const wanted = isDeep(place) ? must : [...new Set([...names, ...must])];
  return Object.fromEntries(
    wanted.map((name) => [name, sample(field(properties, name) ?? { type: 'string' }, { ...place, name })]),
  );
}

function sampleArray(schema: object, place: Place): unknown[] {
  const prefix = field(schema, 'prefixItems');
  const fixed = Array.isArray(prefix) ? prefix.map((item) => sample(item, place)) : [];
  const least = numberOf(schema, 'minItems') ?? (fixed.length > 0 || isDeep(place) ? 0 : 1);
  const most = Math.min(numberOf(schema, 'maxItems') ?? MAX_ITEMS, MAX_ITEMS);
  const more = Math.max(0, Math.min(least, most) - fixed.length);
  const items = field(schema, 'items');
  return [
    ...fixed,
    ...Array.from({ length: items === false ? 0 : more }, () => sample(items ?? { type: 'string' }, place)),
  ];
}

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-01',
  'date-time': '2026-01-01T00:00:00Z',
  time: '12:00:00Z',
  duration: 'PT1M',
  email: 'someone@example.com',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '00000000-0000-4000-8000-000000000000',
};

function sampleString(schema: object, name: string): string {
  const format = field(schema, 'format');
  const known = typeof format === 'string' ? FORMATS[format] : undefined;
  if (known !== undefined) return known;
  const least = Math.min(numberOf(schema, 'minLength') ?? 0, 10_000);
  return name.padEnd(least, '.').slice(0, numberOf(schema, 'maxLength') ?? 10_000);
}

function sampleNumber(schema: object, whole: boolean): number {
  const step = numberOf(schema, 'multipleOf') ?? (whole ? 1 : undefined);
  const above = numberOf(schema, 'exclusiveMinimum');
  const below = numberOf(schema, 'exclusiveMaximum');
  const low = above === undefined ? numberOf(schema, 'minimum') : above + (step ?? 0.5);
  const high = below === undefined ? numberOf(schema, 'maximum') : below - (step ?? 0.5);
  const wanted = low ?? (high === undefined ? 1 : Math.min(1, high));
  if (step === undefined) return wanted;
  const up = Math.ceil(wanted / step) * step;
  return high !== undefined && up > high ? Math.floor(wanted / step) * step : up;
}

function numberOf(schema: object, key: string): number | undefined {
  const value = field(schema, key);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** `null` as one of several options means "may be left out": the other one says more. */
function plainest(options: readonly unknown[]): unknown {
  return options.find((option) => field(option, 'type') !== 'null') ?? options[0];
}

function deref(root: unknown, schema: unknown): unknown {
  const reference = field(schema, '$ref');
  return typeof reference === 'string' ? resolve(root, reference) : schema;
}

/** Only references within the document: `#/$defs/Name`. */
function resolve(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  return reference
    .slice(1)
    .split('/')
    .filter((step) => step !== '')
    .reduce<unknown>((value, step) => field(value, step.replaceAll('~1', '/').replaceAll('~0', '~')), root);
}
