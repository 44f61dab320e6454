import { formatUsd, nanoUsd } from '../../std/money.ts';
import type { Catalog, Endpoint, EndpointType } from '../catalog.ts';
import {
  amountOf,
  isCatalogMap,
  withModelValues,
  withoutMissing,
  type CatalogMap,
  type CatalogValue,
  type ModelValues,
} from '../catalog-data.ts';
import { ImportError } from '../mistakes.ts';
import { catalogYaml, flowText } from '../yaml-text.ts';
import type { AddedModel, ChangedModel, ImportPlan, ModelAmounts } from './plan.ts';

export interface CatalogEdit {
  readonly upstreams: CatalogMap;
  /** Appended to lists, which are made where they are missing. */
  readonly models: Readonly<Record<string, readonly CatalogMap[]>>;
  readonly endpoints: CatalogMap;
  readonly updates: readonly ModelValues[];
}

/** The catalog with these changes. */
export function editCatalog(catalog: CatalogMap, edit: CatalogEdit): CatalogMap {
  const lists = Object.entries(edit.models).map(([list, added]): [string, CatalogValue] => {
    const models = sectionOf(catalog, 'lists')[list] ?? [];
    if (!Array.isArray(models)) throw new ImportError(`lists.${list} is no list.`);
    return [list, [...models, ...added]];
  });
  const added = {
    upstreams: edit.upstreams,
    lists: Object.fromEntries(lists),
    endpoints: edit.endpoints,
  };
  const filled = Object.entries(added).filter(([, entries]) => Object.keys(entries).length > 0);
  const sections = filled.map(([key, entries]): [string, CatalogMap] => [
    key,
    { ...sectionOf(catalog, key), ...entries },
  ]);
  return withModelValues({ ...catalog, ...Object.fromEntries(sections) }, edit.updates);
}

function sectionOf(catalog: CatalogMap, key: string): CatalogMap {
  const section = catalog[key] ?? {};
  if (!isCatalogMap(section)) throw new ImportError(`The catalog's ${key} is no map.`);
  return section;
}

/** The same changes as lines to paste. */
export function pasteText(edit: CatalogEdit): string {
  const added = editCatalog({}, { ...edit, updates: [] });
  const updated = edit.updates.map(
    ({ list, model, set }) => `# lists.${list}, ${model}: ${flowText(set, ['lists', list, 0])}`,
  );
  return [...(Object.keys(added).length === 0 ? [] : [catalogYaml(added).trimEnd()]), ...updated].join('\n');
}

/** How a plan is written into a catalog. `undefined`: there is nothing to write. */
export function editOf(
  { added, changed }: ImportPlan,
  catalog: Catalog,
  upstream: { readonly name: string; readonly title: string },
): CatalogEdit | undefined {
  if (added.length + changed.length === 0) return undefined;
  const models: Record<string, CatalogMap[]> = {};
  const endpoints: Record<string, CatalogMap> = {};
  for (const type of ['chat_completion', 'embedding', 'image_generation'] as const) {
    const ofType = added.filter((model) => model.type === type);
    if (ofType.length === 0) continue;
    const home = ownList(catalog, upstream.name, type);
    const list = home ?? freeName(listsOf(catalog), `${upstream.name}_${SUFFIX[type].list}`);
    models[list] = ofType.map((model) => entryOf(model, upstream.name));
    if (home !== undefined) continue;
    const code = freeName(new Set(catalog.endpoints.keys()), `${upstream.name}${SUFFIX[type].code}`);
    const name = `${upstream.title}${SUFFIX[type].name}`;
    endpoints[code] = { name, type, lists: [list], upstreams: [upstream.name] };
  }
  const updates = changed.map((model) => ({
    list: model.list,
    model: model.id,
    set: changedKeys(model, upstream.name),
  }));
  return { upstreams: {}, models, endpoints, updates };
}

const SUFFIX = {
  chat_completion: { list: 'models', code: '', name: '' },
  embedding: { list: 'embeddings', code: '_embeddings', name: ' embeddings' },
  image_generation: { list: 'images', code: '_images', name: ' images' },
} as const;

/**
 * A list to append to: one that only endpoints of this upstream alone offer, because every upstream of an endpoint must
 * serve every model of it.
 */
function ownList({ endpoints }: Catalog, upstream: string, type: EndpointType): string | undefined {
  const all = [...endpoints.values()];
  const isOwn = (endpoint: Endpoint): boolean =>
    endpoint.type === type && endpoint.places.flat().every((place) => place.upstream === upstream);
  const offering = (list: string): Endpoint[] =>
    all.filter(({ models }) => models.some((model) => model.list === list));
  return all
    .filter((endpoint) => isOwn(endpoint) && endpoint.places.length > 0)
    .flatMap(({ models }) => models.map(({ list }) => list))
    .find((list) => offering(list).every(isOwn));
}

function listsOf({ endpoints }: Catalog): Set<string> {
  return new Set([...endpoints.values()].flatMap(({ models }) => models.map(({ list }) => list)));
}

function freeName(taken: ReadonlySet<string>, wanted: string): string {
  const base = wanted.slice(0, 60);
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}_${number}`;
    if (!taken.has(name)) return name;
  }
}

function entryOf(
  { id, name, cost, price, contextTokens, abilities }: AddedModel,
  upstream: string,
): CatalogMap {
  if ('image' in price) return imageEntry({ id, name, price, cost }, upstream);
  const { vision, tools, reasoning, maxOutput, tokenizer } = abilities;
  const isFree = price.input === 0 && price.output === 0;
  const { reasoning: thinking, ...plain }: CatalogMap = isFree ? { free: true } : priceEntry(price);
  return withoutMissing({
    model: id,
    display_name: shownName({ id, name }),
    ...plain,
    context: contextTokens,
    max_output: maxOutput,
    vision: vision || undefined,
    tools: tools || undefined,
    reasoning: thinking ?? (reasoning === false ? undefined : reasoning),
    // A price instead of `hidden` must not change what happens when a client leaves.
    on_disconnect: thinking !== undefined && reasoning === 'hidden' ? 'finish' : undefined,
    tokenizer,
    cost: cost && { [upstream]: priceEntry(cost) },
  });
}

function imageEntry(
  { id, name, price, cost }: Pick<AddedModel, 'id' | 'name' | 'price' | 'cost'>,
  upstream: string,
): CatalogMap {
  return withoutMissing({
    model: id,
    display_name: shownName({ id, name }),
    ...priceEntry(price),
    sizes: ['1024x1024'],
    cost: cost && { [upstream]: priceEntry(cost) },
  });
}

function shownName({ id, name }: Pick<AddedModel, 'id' | 'name'>): string | undefined {
  return name === id || name.trim() === '' ? undefined : name.trim().slice(0, 500);
}

function changedKeys({ price, cost, hadCost }: ChangedModel, upstream: string): CatalogMap {
  return { ...priceEntry(price), ...(hadCost && { cost: { [upstream]: priceEntry(cost) } }) };
}

function priceEntry(given: ModelAmounts): CatalogMap {
  if ('image' in given) return amounts(given);
  const { above, ...plain } = given;
  const tiers = Object.entries(above ?? {}).map(([tokens, tier]) => [tokens, amounts(tier)] as const);
  return { ...amounts(plain), ...(above && { above: Object.fromEntries(tiers) }) };
}

function amounts(given: object): CatalogMap {
  return withoutMissing(
    Object.fromEntries(
      Object.entries(given as Readonly<Record<string, number | undefined>>).map(([key, nano]) => [
        key,
        nano === undefined ? undefined : amountOf(formatUsd(nanoUsd(nano))),
      ]),
    ),
  );
}
