import { UpstreamFailure } from '../upstream/port.ts';
import { fieldOf } from './conversation.ts';

/**
 * A value that a JSON schema accepts, always the same one: examples, defaults and enums first, then the plainest value
 * of the type. `$ref`, `anyOf`, `oneOf` and `allOf` are followed; `pattern` is not solved. A schema whose optional parts
 * do not fit into the budget gets what it requires; one that requires more is refused with a {@link SampleTooLarge}.
 */
export function schemaSample(schema: unknown): unknown {
  try {
    return sampleWithin(schema, false);
  } catch (error) {
    if (!(error instanceof SampleTooLarge)) throw error;
    return sampleWithin(schema, true);
  }
}

function sampleWithin(root: unknown, onlyRequired: boolean): unknown {
  return sample(root, { root, name: 'value', depth: 0, onlyRequired, budget: new SampleBudget() });
}

interface Place {
  readonly root: unknown;
  /** The property's name: a string is filled with it, so that a reader sees where it went. */
  readonly name: string;
  readonly depth: number;
  readonly onlyRequired: boolean;
  readonly budget: SampleBudget;
}

/** A schema that refers to itself ends here. */
const MAX_DEPTH = 12;

function sample(schema: unknown, place: Place): unknown {
  const { root, budget } = place;
  budget.spendSteps(1);
  if (place.depth > MAX_DEPTH || schema === true || typeof schema !== 'object' || schema === null)
    return plain(budget, null);
  const inner: Place = { ...place, depth: place.depth + 1 };
  const proposed = proposalOf(schema);
  if (proposed) {
    budget.spendCopy(proposed.value);
    return proposed.value;
  }
  const reference = fieldOf(schema, '$ref');
  if (typeof reference === 'string') return sample(resolve(root, reference, budget), inner);
  for (const key of ['anyOf', 'oneOf'] as const) {
    const options = fieldOf(schema, key);
    if (Array.isArray(options) && options.length > 0) return sample(plainest(options, budget), inner);
  }
  const all = fieldOf(schema, 'allOf');
  if (Array.isArray(all)) return sample(merged(schema, all, place), inner);
  return sampleOfType(schema, inner);
}

/** What the schema itself names as a value. */
function proposalOf(schema: object): { readonly value: unknown } | undefined {
  for (const key of ['const', 'default'] as const) if (key in schema) return { value: fieldOf(schema, key) };
  for (const key of ['examples', 'enum'] as const) {
    const values = fieldOf(schema, key);
    if (Array.isArray(values) && values.length > 0) return { value: values[0] };
  }
  return undefined;
}

function merged(schema: object, parts: readonly unknown[], { root, budget }: Place): object {
  const whole: Record<string, unknown> = { ...schema, allOf: undefined };
  for (const part of parts) {
    budget.spendSteps(1);
    const found = deref(root, part, budget);
    if (typeof found !== 'object' || found === null) continue;
    budget.spendSteps(Object.keys(found).length);
    Object.assign(whole, found);
  }
  return whole;
}

function plain<Value extends null | boolean | number>(budget: SampleBudget, value: Value): Value {
  budget.spendValue();
  return value;
}

function sampleOfType(schema: object, place: Place): unknown {
  const { budget } = place;
  switch (typeOf(schema, budget)) {
    case 'object':
      return sampleObject(schema, place);
    case 'array':
      return sampleArray(schema, place);
    case 'string':
      return sampleString(schema, place);
    case 'integer':
      return plain(budget, sampleNumber(schema, true));
    case 'number':
      return plain(budget, sampleNumber(schema, false));
    case 'boolean':
      return plain(budget, true);
    default:
      return plain(budget, null);
  }
}

function typeOf(schema: object, budget: SampleBudget): unknown {
  const declared = fieldOf(schema, 'type');
  if (!Array.isArray(declared)) return declared ?? impliedType(schema);
  budget.spendSteps(declared.length);
  return declared.find((option) => option !== 'null') ?? 'null';
}

/** From here on only what is required is filled, so that a schema that refers to itself comes to an end. */
function isDeep(place: Place): boolean {
  return place.onlyRequired || place.depth > MAX_DEPTH / 2;
}

function impliedType(schema: object): string | undefined {
  if ('properties' in schema || 'required' in schema) return 'object';
  return 'items' in schema ? 'array' : undefined;
}

function sampleObject(schema: object, place: Place): Record<string, unknown> {
  const { budget } = place;
  budget.spendValue();
  const properties = fieldOf(schema, 'properties');
  const required = fieldOf(schema, 'required');
  const must = Array.isArray(required) ? required : [];
  const all = typeof properties === 'object' && properties !== null && !isDeep(place);
  const wanted = new Set(all ? Object.keys(properties) : []);
  budget.spendSteps(wanted.size + must.length);
  for (const name of must) if (typeof name === 'string') wanted.add(name);
  const entries: [string, unknown][] = [];
  for (const name of wanted) {
    budget.spendCharacters(name.length);
    entries.push([name, sample(fieldOf(properties, name) ?? { type: 'string' }, { ...place, name })]);
  }
  return Object.fromEntries(entries);
}

function sampleArray(schema: object, place: Place): unknown[] {
  place.budget.spendValue();
  const prefix = fieldOf(schema, 'prefixItems');
  const made = Array.isArray(prefix) ? prefix.map((item) => sample(item, place)) : [];
  const least = numberOf(schema, 'minItems') ?? (made.length > 0 || isDeep(place) ? 0 : 1);
  const wanted = Math.min(least, numberOf(schema, 'maxItems') ?? least);
  const items = fieldOf(schema, 'items');
  if (items === false) return made;
  while (made.length < wanted) made.push(sample(items ?? { type: 'string' }, place));
  return made;
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

function sampleString(schema: object, { name, budget }: Place): string {
  budget.spendValue();
  const format = fieldOf(schema, 'format');
  const known = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  if (known !== undefined) {
    budget.spendCharacters(known.length);
    return known;
  }
  const least = numberOf(schema, 'minLength') ?? 0;
  const length = Math.max(
    0,
    Math.min(Math.max(name.length, least), numberOf(schema, 'maxLength') ?? Infinity),
  );
  // Counted before it is made: a minLength of a billion is two gigabytes.
  budget.spendCharacters(length);
  return name.padEnd(length, '.').slice(0, length);
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
  const value = fieldOf(schema, key);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** `null` as one of several options means "may be left out": the other one says more. */
function plainest(options: readonly unknown[], budget: SampleBudget): unknown {
  budget.spendSteps(options.length);
  return options.find((option) => fieldOf(option, 'type') !== 'null') ?? options[0];
}

function deref(root: unknown, schema: unknown, budget: SampleBudget): unknown {
  const reference = fieldOf(schema, '$ref');
  return typeof reference === 'string' ? resolve(root, reference, budget) : schema;
}

/** Only references within the document: `#/$defs/Name`. */
function resolve(root: unknown, reference: string, budget: SampleBudget): unknown {
  budget.spendSteps(reference.length);
  if (!reference.startsWith('#')) return undefined;
  return reference
    .slice(1)
    .split('/')
    .filter((step) => step !== '')
    .reduce<unknown>((value, step) => fieldOf(value, step.replaceAll('~1', '/').replaceAll('~0', '~')), root);
}

const MAX_VALUES = 1_000;
const MAX_CHARACTERS = 100_000;
/** Keys looked at and characters of references read: what a schema can cost without adding to the sample. */
const MAX_STEPS = 200_000;

/** What one sample may still use. A few hundred bytes of schema can ask for more values than there is memory. */
class SampleBudget {
  #values = MAX_VALUES;
  #characters = MAX_CHARACTERS;
  #steps = MAX_STEPS;

  spendValue(): void {
    if (--this.#values < 0) throw new SampleTooLarge(`more than ${counted(MAX_VALUES)} values`);
  }

  spendCharacters(count: number): void {
    this.#characters -= count;
    if (this.#characters < 0) throw new SampleTooLarge(`more than ${counted(MAX_CHARACTERS)} characters`);
  }

  spendSteps(count: number): void {
    this.#steps -= count;
    if (this.#steps < 0) throw new SampleTooLarge('too much to work through');
  }

  /** A value that the schema itself proposes; it may be proposed again for every item of a list. */
  spendCopy(value: unknown): void {
    const left: unknown[] = [value];
    while (left.length > 0) {
      const next = left.pop();
      this.spendValue();
      if (typeof next === 'string') this.spendCharacters(next.length);
      if (typeof next !== 'object' || next === null) continue;
      const entries = Object.entries(next);
      this.spendSteps(entries.length);
      for (const [key, item] of entries) {
        if (!Array.isArray(next)) this.spendCharacters(key.length);
        left.push(item);
      }
    }
  }
}

/** The client's schema is the reason, so the client is told. */
class SampleTooLarge extends UpstreamFailure {
  constructor(what: string) {
    super('rejected', `the schema asks for ${what}`, {
      status: 400,
      publicMessage: `The schema asks for ${what}; house-echo makes samples of up to ${counted(MAX_VALUES)} values and ${counted(MAX_CHARACTERS)} characters.`,
    });
    this.name = 'SampleTooLarge';
  }
}

function counted(amount: number): string {
  return amount.toLocaleString('en-US');
}
