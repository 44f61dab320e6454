/**
 * Which top-level fields of a dialect may reach a backend. A field that is in none of the groups is dropped, and the
 * answer's `x-tollgate-dropped` names it.
 */
interface FieldTable {
  /** Whatever their value, they raise neither what a request may use nor its price. Several names to a line. */
  readonly harmless: readonly string[];
  /** They concern the answer as Tollgate makes it, or nobody: no backend gets them, and they are not named. */
  readonly handledHere?: readonly string[];
  /** Only models that reason have a use for them; others get the request without them. */
  readonly reasoning?: Readonly<Record<string, ReasoningOptionsOf>>;
  /** They cost extra, so they pass where the model has a price for it, or the operator lets an upstream pass them. */
  readonly costly?: Readonly<Record<string, CostOf>>;
  /** Other names of a field that the hold is computed from, with that field. No backend ever gets them. */
  readonly synonyms?: Readonly<Record<string, string>>;
}

/** The name of the price that a value needs, or why there can be none; `undefined`: this value costs nothing. */
export type CostOf = (value: unknown) => FieldCost | undefined;

/** The paths of what a value says about reasoning, such as `output_config.effort`; none where it says nothing. */
type ReasoningOptionsOf = (value: unknown) => readonly string[];

type FieldCost =
  /** `isOptional`: the answer is what was asked for without it too, so it is left out where it has no price. */
  { readonly price: string; readonly isOptional?: true } | { readonly refusal: string };

/** A cost that no price of the catalog covers. */
export function refusedBecause(refusal: string): CostOf {
  return () => ({ refusal });
}

export function refusedUnless(free: readonly unknown[], refusal: string): CostOf {
  return (value) => (free.includes(value) ? undefined : { refusal });
}

/** A value that costs extra, unless it is one of these. */
export function pricedUnless(free: readonly unknown[], priceOf: (value: string) => string): CostOf {
  return (value) => (free.includes(value) ? undefined : { price: priceOf(String(value)) });
}

/** The same for what a client can do without. */
export function leftOutUnlessPriced(free: readonly unknown[], price: string): CostOf {
  return (value) => (free.includes(value) ? undefined : { price, isOptional: true });
}

type FieldRule =
  | { readonly kind: 'harmless' }
  | { readonly kind: 'handled_here' }
  | { readonly kind: 'reasoning'; readonly optionsOf: ReasoningOptionsOf }
  | { readonly kind: 'costly'; readonly costOf: CostOf }
  | { readonly kind: 'synonym'; readonly of: string };

/** A table as it is used: one look-up for each field of a request. */
export type FieldRules = ReadonlyMap<string, FieldRule>;

/** For a quick comparison: nearly every field is harmless. */
export const HARMLESS: FieldRule = { kind: 'harmless' };

export function fieldRules({
  harmless,
  handledHere = [],
  reasoning = {},
  costly = {},
  synonyms = {},
}: FieldTable): FieldRules {
  return new Map<string, FieldRule>([
    ...[...wordsOf(harmless)].map((field) => [field, HARMLESS] as const),
    ...[...wordsOf(handledHere)].map((field) => [field, { kind: 'handled_here' }] as const),
    ...Object.entries(reasoning).map(
      ([field, optionsOf]) => [field, { kind: 'reasoning', optionsOf }] as const,
    ),
    ...Object.entries(costly).map(([field, costOf]) => [field, { kind: 'costly', costOf }] as const),
    ...Object.entries(synonyms).map(([field, of]) => [field, { kind: 'synonym', of }] as const),
  ]);
}

/** A member of what a client sent for a field, which may be anything. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

export function wordsOf(lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(' ')));
}

/** The fields of a request that need a decision. Most requests have none. */
export interface Knobs {
  /** Unknown fields, which are not in the request: a backend gets those that its upstream's `pass_fields` names. */
  readonly unknown: ReadonlyMap<string, unknown>;
  /** Fields of the request that cost extra. */
  readonly costly: readonly CostlyField[];
  /** Paths in the client's own dialect of what only a model that reasons gets. */
  readonly reasoning: readonly string[];
  /** What else was left out of the request: tools that a provider would run, beta features. */
  readonly leftOut: readonly string[];
}

export interface CostlyField {
  readonly field: string;
  readonly cost: FieldCost;
  /** Only a backend that gets the request in the client's own dialect sees it; for others it is left out by this name. */
  readonly nativeName?: string | undefined;
}

export interface SelectedFields {
  /** Without unknown and null fields. */
  readonly body: Record<string, unknown>;
  readonly knobs: Knobs | undefined;
}

/** `undefined` where there is nothing to decide. */
export function knobsOf(found: { [K in keyof Knobs]?: Knobs[K] | undefined }): Knobs | undefined {
  const { unknown = NO_FIELDS, costly = [], reasoning = [], leftOut = [] } = found;
  const count = unknown.size + costly.length + reasoning.length + leftOut.length;
  return count > 0 ? { unknown, costly, reasoning, leftOut } : undefined;
}

export function joinKnobs(
  knobs: Knobs | undefined,
  more: { readonly costly?: readonly CostlyField[]; readonly leftOut?: readonly string[] },
): Knobs | undefined {
  const { unknown, costly = [], reasoning, leftOut = [] } = knobs ?? {};
  return knobsOf({
    unknown,
    reasoning,
    costly: [...costly, ...(more.costly ?? [])],
    leftOut: [...leftOut, ...(more.leftOut ?? [])],
  });
}

const NO_FIELDS: ReadonlyMap<string, unknown> = new Map();

/** The object without its null and undefined fields: on the wire, `null` means absent. */
export function withoutAbsent<T extends Record<string, unknown>>(fields: T): Present<T> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) if (!isAbsent(value)) kept[key] = value;
  // The loop above proves it; the compiler cannot follow.
  return kept as Present<T>;
}

export function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

type Present<T> = { [K in keyof T]?: NonNullable<T[K]> };
