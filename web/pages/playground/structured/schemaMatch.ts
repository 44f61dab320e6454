import { innerSchemas, isRecord, patternOf, referenced } from './schemaCheck.ts';

export interface Mismatch {
  readonly kind:
    | 'type'
    | 'value'
    | 'missing'
    | 'unknown'
    | 'tooFew'
    | 'tooMany'
    | 'tooShort'
    | 'tooLong'
    | 'tooSmall'
    | 'tooLarge'
    | 'above'
    | 'below'
    | 'step'
    | 'pattern'
    | 'duplicate'
    | 'noneOf'
    | 'severalOf'
    | 'forbidden'
    | 'tooComplex';
  /** Such as `items[0].name`; empty for the whole value. */
  readonly path: string;
  readonly expected: string;
}

const MAX_SHOWN = 20;
const MAX_DEPTH = 100;
/** Options within options multiply the work, so it is limited. */
const MAX_STEPS = 50_000;

/** The places where a value does not match its schema; empty if it matches. The schema was checked before. */
export function mismatchesOf(schema: unknown, value: unknown): readonly Mismatch[] {
  const place: Place = { root: schema, path: '', depth: 0, steps: { left: MAX_STEPS } };
  const found = mismatches(schema, value, place);
  const all = place.steps.left < 0 ? [mismatch('tooComplex', place)] : found;
  return all.slice(0, MAX_SHOWN);
}

/** Keywords that affect what matches, but are not checked here. */
const UNCHECKED = ['format', 'unevaluatedItems', 'unevaluatedProperties', '$dynamicRef', 'dependencies'];

export function uncheckedKeywords(schema: unknown): readonly string[] {
  if (!isRecord(schema)) return [];
  const own = UNCHECKED.filter((keyword) => Object.hasOwn(schema, keyword));
  return [...new Set([...own, ...innerSchemas(schema).flatMap(({ inner }) => uncheckedKeywords(inner))])];
}

interface Place {
  readonly root: unknown;
  readonly path: string;
  readonly depth: number;
  readonly steps: { left: number };
}

type Schema = Readonly<Record<string, unknown>>;

function mismatches(schema: unknown, value: unknown, place: Place): Mismatch[] {
  place.steps.left -= 1;
  if (place.steps.left < 0) return [];
  if (place.depth > MAX_DEPTH) return [mismatch('tooComplex', place)];
  if (schema === false) return [mismatch('forbidden', place)];
  if (!isRecord(schema)) return [];
  const here = { ...place, depth: place.depth + 1 };
  const wrongType = typeMismatch(schema, value, here);
  if (wrongType) return [wrongType];
  return [
    ...valueMismatches(schema, value, here),
    ...combined(schema, value, here),
    ...(typeof value === 'string' ? stringMismatches(schema, value, here) : []),
    ...(typeof value === 'number' ? numberMismatches(schema, value, here) : []),
    ...(Array.isArray(value) ? arrayMismatches(schema, value, here) : []),
    ...(isRecord(value) ? objectMismatches(schema, value, here) : []),
  ];
}

function mismatch(kind: Mismatch['kind'], { path }: Place, expected: unknown = ''): Mismatch {
  return { kind, path, expected: typeof expected === 'string' ? expected : JSON.stringify(expected) };
}

function typeMismatch({ type }: Schema, value: unknown, place: Place): Mismatch | undefined {
  if (type === undefined) return undefined;
  const names: readonly unknown[] = Array.isArray(type) ? type : [type];
  return names.some((name) => isOfType(name, value))
    ? undefined
    : mismatch('type', place, names.map(String).join(', '));
}

function isOfType(name: unknown, value: unknown): boolean {
  if (name === 'integer') return Number.isInteger(value);
  if (name === 'null') return value === null;
  if (name === 'array') return Array.isArray(value);
  return name === 'object' ? isRecord(value) : typeof value === name;
}

function valueMismatches(schema: Schema, value: unknown, place: Place): Mismatch[] {
  const allowed = Array.isArray(schema['enum']) ? schema['enum'] : undefined;
  const found: Mismatch[] = [];
  if (allowed && !allowed.some((one) => isEqual(one, value)))
    found.push(mismatch('value', place, allowed.map((one) => JSON.stringify(one)).join(', ')));
  if (Object.hasOwn(schema, 'const') && !isEqual(schema['const'], value))
    found.push(mismatch('value', place, JSON.stringify(schema['const'])));
  return found;
}

function combined(schema: Schema, value: unknown, place: Place): Mismatch[] {
  const matches = (inner: unknown): boolean => mismatches(inner, value, place).length === 0;
  const listed = (key: string): readonly unknown[] => (Array.isArray(schema[key]) ? schema[key] : []);
  const found = listed('allOf').flatMap((inner) => mismatches(inner, value, place));
  if (typeof schema['$ref'] === 'string')
    found.push(...mismatches(referenced(place.root, schema['$ref']), value, place));
  if (listed('anyOf').length > 0 && !listed('anyOf').some(matches)) found.push(mismatch('noneOf', place));
  const fitting = listed('oneOf').filter(matches).length;
  if (listed('oneOf').length > 0 && fitting !== 1)
    found.push(mismatch(fitting === 0 ? 'noneOf' : 'severalOf', place));
  if (schema['not'] !== undefined && matches(schema['not'])) found.push(mismatch('forbidden', place));
  if (schema['if'] === undefined) return found;
  const then = matches(schema['if']) ? schema['then'] : schema['else'];
  return then === undefined ? found : [...found, ...mismatches(then, value, place)];
}

function stringMismatches(schema: Schema, value: string, place: Place): Mismatch[] {
  // Counts characters, not UTF-16 units, as the standard says.
  const found = bounds(schema, Array.from(value).length, place, {
    least: ['minLength', 'tooShort'],
    most: ['maxLength', 'tooLong'],
  });
  const { pattern } = schema;
  if (typeof pattern === 'string' && !patternOf(pattern)?.test(value))
    found.push(mismatch('pattern', place, pattern));
  return found;
}

function numberMismatches(schema: Schema, value: number, place: Place): Mismatch[] {
  const found = bounds(schema, value, place, {
    least: ['minimum', 'tooSmall'],
    most: ['maximum', 'tooLarge'],
  });
  const { exclusiveMinimum: above, exclusiveMaximum: below, multipleOf: step } = schema;
  if (typeof above === 'number' && value <= above) found.push(mismatch('above', place, above));
  if (typeof below === 'number' && value >= below) found.push(mismatch('below', place, below));
  if (typeof step === 'number' && !isMultiple(value, step)) found.push(mismatch('step', place, step));
  return found;
}

/** 0.3 is a multiple of 0.1, although not in floating-point arithmetic. */
function isMultiple(value: number, step: number): boolean {
  const times = value / step;
  return Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times));
}

interface Bounds {
  readonly least: readonly [keyword: string, kind: Mismatch['kind']];
  readonly most: readonly [keyword: string, kind: Mismatch['kind']];
}

function bounds(schema: Schema, size: number, place: Place, { least, most }: Bounds): Mismatch[] {
  const [low, high] = [schema[least[0]], schema[most[0]]];
  return [
    ...(typeof low === 'number' && size < low ? [mismatch(least[1], place, low)] : []),
    ...(typeof high === 'number' && size > high ? [mismatch(most[1], place, high)] : []),
  ];
}

function arrayMismatches(schema: Schema, value: readonly unknown[], place: Place): Mismatch[] {
  const found = bounds(schema, value.length, place, {
    least: ['minItems', 'tooFew'],
    most: ['maxItems', 'tooMany'],
  });
  if (schema['uniqueItems'] === true && new Set(value.map(canonical)).size < value.length)
    found.push(mismatch('duplicate', place));
  const { first, rest } = itemSchemas(schema);
  value.forEach((item, index) => {
    const inner = { ...place, path: `${place.path}[${index}]` };
    found.push(...mismatches(index < first.length ? first[index] : rest, item, inner));
  });
  return [...found, ...containsMismatches(schema, value, place)];
}

/** Before the 2020 draft, a tuple was written in `items`, and what follows it in `additionalItems`. */
function itemSchemas({ prefixItems, items, additionalItems }: Schema): {
  first: readonly unknown[];
  rest: unknown;
} {
  if (Array.isArray(items)) return { first: items, rest: additionalItems };
  return { first: Array.isArray(prefixItems) ? prefixItems : [], rest: items };
}

function containsMismatches(schema: Schema, value: readonly unknown[], place: Place): Mismatch[] {
  const { contains, minContains = 1, maxContains } = schema;
  if (contains === undefined) return [];
  const fitting = value.filter((item) => mismatches(contains, item, place).length === 0).length;
  return bounds({ minContains, maxContains }, fitting, place, {
    least: ['minContains', 'tooFew'],
    most: ['maxContains', 'tooMany'],
  });
}

function objectMismatches(schema: Schema, value: Record<string, unknown>, place: Place): Mismatch[] {
  const names = Object.keys(value);
  const found = bounds(schema, names.length, place, {
    least: ['minProperties', 'tooFew'],
    most: ['maxProperties', 'tooMany'],
  });
  for (const name of requiredNames(schema, value))
    if (!Object.hasOwn(value, name)) found.push(mismatch('missing', { ...place, path: inside(place, name) }));
  for (const name of names) {
    if (schema['propertyNames'] !== undefined)
      found.push(...mismatches(schema['propertyNames'], name, { ...place, path: inside(place, name) }));
    found.push(...propertyMismatches(schema, name, value[name], place));
  }
  const dependent = isRecord(schema['dependentSchemas']) ? schema['dependentSchemas'] : {};
  for (const [name, inner] of Object.entries(dependent))
    if (Object.hasOwn(value, name)) found.push(...mismatches(inner, value, place));
  return found;
}

function requiredNames({ required, dependentRequired }: Schema, value: object): readonly string[] {
  const dependent = isRecord(dependentRequired) ? Object.entries(dependentRequired) : [];
  const named = [
    required,
    ...dependent.flatMap(([name, more]) => (Object.hasOwn(value, name) ? [more] : [])),
  ];
  return named
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .filter((name) => typeof name === 'string');
}

function propertyMismatches(schema: Schema, name: string, value: unknown, place: Place): Mismatch[] {
  const inner = { ...place, path: inside(place, name) };
  const own = isRecord(schema['properties']) ? schema['properties'] : {};
  const patterns = isRecord(schema['patternProperties']) ? Object.entries(schema['patternProperties']) : [];
  const fitting = patterns.filter(([pattern]) => patternOf(pattern)?.test(name)).map(([, one]) => one);
  const named = Object.hasOwn(own, name) ? [own[name], ...fitting] : fitting;
  if (named.length > 0) return named.flatMap((one) => mismatches(one, value, inner));
  const others = schema['additionalProperties'];
  if (others === false) return [mismatch('unknown', inner)];
  return others === undefined ? [] : mismatches(others, value, inner);
}

function inside({ path }: Place, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function isEqual(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

/** The same text for equal values, however their fields are ordered. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isRecord(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
