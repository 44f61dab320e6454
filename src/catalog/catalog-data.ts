import { ImportError, type Path } from './mistakes.ts';
import { PRICE_KEYS } from './price-schema.ts';

/** A value of a catalog as JSON has it. Amounts are decimals as texts, or whole numbers. */
export type CatalogValue = string | number | boolean | null | CatalogMap | readonly CatalogValue[];
export interface CatalogMap {
  readonly [key: string]: CatalogValue;
}

/** As it is stored. JSON is YAML too, so that an older node beside this one reads it as well. */
export function storedText(catalog: CatalogMap): string {
  return JSON.stringify(catalog);
}

/** `undefined`: it was not written by {@link storedText}, but is YAML that an older node has stored or somebody typed. */
export function storedData(text: string): CatalogMap | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const data: unknown = JSON.parse(text);
    // Something else may be JSON as well; that has keys twice, or numbers that a float cannot hold.
    return JSON.stringify(data) === text ? (data as CatalogMap) : undefined;
  } catch {
    return undefined;
  }
}

/** What a number stands for where it is in a catalog; `text`: it is not meant as a number at all. */
type NumberPlace = 'amount' | 'whole' | 'number' | 'text';

const MODEL_AMOUNTS: ReadonlySet<unknown> = new Set([...Object.keys(PRICE_KEYS), 'reasoning', 'cost']);
const MODEL_TEXTS: ReadonlySet<unknown> = new Set(['model', 'display_name', 'upstream_models']);
const UPSTREAM_AMOUNTS: ReadonlySet<unknown> = new Set(['markup', 'daily_cost_limit_usd']);

export function numberPlace([section, , third, fourth]: Path): NumberPlace {
  if (section === 'lists') {
    if (MODEL_AMOUNTS.has(fourth)) return 'amount';
    return MODEL_TEXTS.has(fourth) ? 'text' : 'whole';
  }
  if (section === 'upstreams') {
    if (UPSTREAM_AMOUNTS.has(third)) return 'amount';
    return third === 'timeouts' ? 'whole' : 'text';
  }
  if (section === 'groups') return third === 'hide' ? 'text' : 'amount';
  if (section === 'endpoints') return third === 'upstreams' ? 'whole' : 'text';
  if (section === 'aliases') return 'text';
  return section === 'log' ? 'number' : 'whole';
}

/** `2.50` → `2.5`, `2.00` → 2: one way to write each amount. What is no amount stays as it is, to be refused. */
export function amountOf(text: string): string | number {
  const [, whole, fraction = ''] = /^0*(\d{1,15})(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  if (whole === undefined) return text;
  const digits = fraction.replace(/0+$/, '');
  return digits === '' ? Number(whole) : `${whole}.${digits}`;
}

/** Keys of maps from the top; a model of a list goes by its id. */
export type CatalogPath = readonly string[];

export function isCatalogMap(value: unknown): value is CatalogMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isCatalogList(value: unknown): value is readonly CatalogValue[] {
  return Array.isArray(value);
}

type ModelMap = CatalogMap & { readonly model: string };

/** A list of models. */
export function isModelList(value: unknown): value is readonly ModelMap[] {
  return (
    isCatalogList(value) && value.every((item) => isCatalogMap(item) && typeof item['model'] === 'string')
  );
}

/** One value as a change for {@link withChanges}; null removes what is there. */
export function changeAt(path: CatalogPath, value: CatalogValue): CatalogMap {
  return path.reduceRight<CatalogValue>((inner, key) => ({ [key]: inner }), value) as CatalogMap;
}

/** What changes of one model of a list. */
export interface ModelChange {
  readonly list: string;
  readonly model: string;
  readonly change: CatalogMap;
}

/** Changes of models for {@link withChanges}, which makes thousands of them in one pass. */
export function inLists(models: readonly ModelChange[]): CatalogMap {
  const lists = [...Map.groupBy(models, ({ list }) => list)].map(
    ([list, own]) => [list, Object.fromEntries(own.map(({ model, change }) => [model, change]))] as const,
  );
  return { lists: Object.fromEntries(lists) };
}

/**
 * The catalog with changes: maps in maps are joined, null removes, and anything else takes the place of what was there.
 * Models of a list go by their ids; new ones come last. A map in which nothing is left goes too.
 */
export function withChanges(catalog: CatalogMap, changes: CatalogMap): CatalogMap {
  const after = changed(catalog, changes, []);
  return isCatalogMap(after) ? after : {};
}

function changed(
  value: CatalogValue | undefined,
  change: CatalogValue,
  path: CatalogPath,
): CatalogValue | undefined {
  if (change === null) return undefined;
  if (!isCatalogMap(change)) return change;
  if (path.length === 2 && path[0] === 'lists') return changedList(value, change, path);
  const known = isCatalogMap(value) ? value : {};
  const entries = Object.entries(change).map(([key, inner]) => {
    const before = Object.hasOwn(known, key) ? known[key] : undefined;
    return [key, changed(before, inner, [...path, key])] as const;
  });
  const left = withoutMissing({ ...known, ...Object.fromEntries(entries) });
  if (Object.keys(left).length > 0) return left;
  if (Object.keys(known).length === 0) return value;
  return path.length === SECTION ? {} : undefined;
}

/** The path of a section has one key; sections stay. */
const SECTION = 1;

function changedList(
  models: CatalogValue = [],
  changes: CatalogMap,
  path: CatalogPath,
): readonly CatalogValue[] {
  if (!isModelList(models)) throw unchangeable(path);
  const left = new Map(Object.entries(changes));
  const apply = (model: CatalogMap | undefined, id: string): CatalogValue[] => {
    const change = left.get(id);
    left.delete(id);
    const after = change === undefined ? model : changed(model, change, [...path, id]);
    return after === undefined ? [] : [after];
  };
  const kept = models.flatMap((model) => apply(model, model.model));
  return [...kept, ...[...left.keys()].flatMap((id) => apply(undefined, id))];
}

export function unchangeable(path: Path): ImportError {
  return new ImportError(`${path.join('.')} is in a form that cannot be changed here; edit it.`);
}

export function withoutMissing(entries: Readonly<Record<string, CatalogValue | undefined>>): CatalogMap {
  return Object.fromEntries(Object.entries(entries).filter(isPresent));
}

function isPresent(entry: [string, CatalogValue | undefined]): entry is [string, CatalogValue] {
  return entry[1] !== undefined;
}

/** How a server that speaks OpenAI's API takes requests for images, where that is not OpenAI's way. */
export interface ImageDialect {
  /** `dimensions`: as `width` and `height`; `aspect_ratio`: the nearest of its list. */
  readonly size: 'dimensions' | 'aspect_ratio';
  readonly ratios?: readonly `${number}:${number}`[];
  /** The value of `response_format` that asks for an answer without links. */
  readonly inline: string;
  /** How pictures to start from are sent: as objects to `/images/edits`, or as addresses to `/images/generations`. */
  readonly edits: 'objects' | 'addresses';
  /** The values of `output_format` that it has; what it has not is made from what it sends. */
  readonly outputFormats: readonly string[];
  /** Further fields of a client's request that it takes; others are refused. */
  readonly fields: readonly string[];
}
