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

function childOf(value: CatalogValue | undefined, key: string): CatalogValue | undefined {
  if (isCatalogMap(value)) return Object.hasOwn(value, key) ? value[key] : undefined;
  return isModelList(value) ? value.find(({ model }) => model === key) : undefined;
}

/** The catalog with another value at the path; `undefined` removes what is there. */
export function withValue(
  catalog: CatalogMap,
  path: CatalogPath,
  wanted: CatalogValue | undefined,
): CatalogMap {
  const [section = '', ...rest] = path;
  return withoutMissing({ ...catalog, [section]: changed(childOf(catalog, section), rest, wanted, true) });
}

/** Maps on the way are made where they are missing, and removed where nothing is left in them; sections stay. */
function changed(
  value: CatalogValue | undefined,
  path: CatalogPath,
  wanted: CatalogValue | undefined,
  isSection = false,
): CatalogValue | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return wanted;
  const child = changed(childOf(value, key), rest, wanted);
  if (isModelList(value)) return withModel(value, key, child);
  if (value !== undefined && !isCatalogMap(value))
    throw new ImportError(`${path.join('.')} is in a form that cannot be changed here; edit it.`);
  const map = withoutMissing({ ...value, [key]: child });
  return Object.keys(map).length === 0 && !isSection ? undefined : map;
}

function withModel(
  models: readonly ModelMap[],
  id: string,
  model: CatalogValue | undefined,
): readonly CatalogValue[] {
  const kept = model === undefined ? [] : [model];
  if (!models.some((known) => known.model === id)) return [...models, ...kept];
  return models.flatMap((known) => (known.model === id ? kept : [known]));
}

/** What is to be set in a model of a list; null removes what is there. */
export interface ModelValues {
  readonly list: string;
  readonly model: string;
  readonly set: CatalogMap;
}

/** The catalog with other values of models, of thousands at once: each list is gone through a single time. */
export function withModelValues(catalog: CatalogMap, values: readonly ModelValues[]): CatalogMap {
  const left = new Map<string, CatalogMap>();
  for (const { list, model, set } of values) {
    const key = `${list}\n${model}`;
    left.set(key, joined(left.get(key) ?? {}, set));
  }
  const lists = Object.entries(left.size > 0 && isCatalogMap(catalog['lists']) ? catalog['lists'] : {});
  const changed = lists.map(([list, models]): [string, CatalogValue] => {
    if (!isModelList(models)) return [list, models];
    const set = (model: ModelMap): CatalogMap => {
      const key = `${list}\n${model.model}`;
      const wanted = left.get(key);
      left.delete(key);
      // A model keeps its name.
      return wanted ? { ...withoutNulls(joined(model, wanted)), model: model.model } : model;
    };
    return [list, models.map(set)];
  });
  const [missing] = left.keys();
  if (missing !== undefined)
    throw new ImportError(
      `lists.${missing.replace('\n', ' has no model ')} that can be changed here; edit it.`,
    );
  return changed.length === 0 ? catalog : { ...catalog, lists: Object.fromEntries(changed) };
}

/** Maps in maps are joined too: what one backend takes leaves what others take as it is. */
function joined(map: CatalogMap, set: CatalogMap): CatalogMap {
  const entries = Object.entries(set).map(([key, value]): [string, CatalogValue] => {
    const known = map[key];
    return [key, isCatalogMap(known) && isCatalogMap(value) ? joined(known, value) : value];
  });
  return { ...map, ...Object.fromEntries(entries) };
}

/** Without what is null, and without maps that have nothing else. */
function withoutNulls(map: CatalogMap): CatalogMap {
  const entries = Object.entries(map).map(([key, value]): [string, CatalogValue | undefined] => {
    const kept = isCatalogMap(value) ? withoutNulls(value) : value;
    const isGone = kept === null || (isCatalogMap(kept) && Object.keys(kept).length === 0);
    return [key, isGone ? undefined : kept];
  });
  return withoutMissing(Object.fromEntries(entries));
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
