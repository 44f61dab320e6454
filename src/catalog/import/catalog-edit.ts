import { formatUsd, nanoUsd } from '../../std/money.ts';
import type { Catalog, Endpoint, EndpointType } from '../catalog.ts';
import {
  amountOf,
  isCatalogMap,
  withChanges,
  withoutMissing,
  type CatalogMap,
  type CatalogValue,
} from '../catalog-data.ts';
import { catalogYaml, flowText } from '../yaml-text.ts';
import type { AddedModel, ChangedModel, ImportPlan, ModelAmounts } from './plan.ts';

/** Changes of a catalog, as {@link withChanges} takes them. */
export interface CatalogEdit {
  readonly added: CatalogMap;
  /** Of models that are there. */
  readonly updates: CatalogMap;
}

/** The catalog with these changes. */
export function editCatalog(catalog: CatalogMap, { added, updates }: CatalogEdit): CatalogMap {
  return withChanges(withChanges(catalog, added), updates);
}

/** The same changes as lines to paste. */
export function pasteText({ added, updates: { lists = {} } }: CatalogEdit): string {
  const whole = withChanges({}, added);
  const updated = entriesOf(lists).flatMap(([list, models]) =>
    entriesOf(models).map(
      ([model, set]) => `# lists.${list}, ${model}: ${flowText(set, ['lists', list, 0])}`,
    ),
  );
  return [...(Object.keys(whole).length === 0 ? [] : [catalogYaml(whole).trimEnd()]), ...updated].join('\n');
}

function entriesOf(value: CatalogValue): [string, CatalogValue][] {
  return isCatalogMap(value) ? Object.entries(value) : [];
}

/** How a plan is written into a catalog. `undefined`: there is nothing to write. */
export function editOf(
  { added, changed }: ImportPlan,
  catalog: Catalog,
  upstream: { readonly name: string; readonly title: string },
): CatalogEdit | undefined {
  if (added.length + changed.length === 0) return undefined;
  const lists: Record<string, CatalogMap> = {};
  const endpoints: Record<string, CatalogMap> = {};
  for (const type of ['chat_completion', 'embedding', 'image_generation'] as const) {
    const ofType = added.filter((model) => model.type === type);
    if (ofType.length === 0) continue;
    const home = ownList(catalog, upstream.name, type);
    const list = home ?? freeName(listsOf(catalog), `${upstream.name}_${SUFFIX[type].list}`);
    lists[list] = Object.fromEntries(ofType.map((model) => [model.id, entryOf(model, upstream.name)]));
    if (home !== undefined) continue;
    const code = freeName(new Set(catalog.endpoints.keys()), `${upstream.name}${SUFFIX[type].code}`);
    const name = `${upstream.title}${SUFFIX[type].name}`;
    endpoints[code] = { name, type, lists: [list], upstreams: [upstream.name] };
  }
  const updated = Object.entries(Object.groupBy(changed, ({ list }) => list)).map(
    ([list, models = []]) =>
      [
        list,
        Object.fromEntries(models.map((model) => [model.id, changedKeys(model, upstream.name)])),
      ] as const,
  );
  return { added: { lists, endpoints }, updates: { lists: Object.fromEntries(updated) } };
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
