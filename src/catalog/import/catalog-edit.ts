import { formatUsd, nanoUsd } from '../../std/money.ts';
import type { Catalog, Endpoint, EndpointType } from '../catalog.ts';
import {
  amountOf,
  inLists,
  withChanges,
  withoutMissing,
  type CatalogMap,
  type CatalogValue,
  type ModelChange,
} from '../catalog-data.ts';
import { catalogYaml, flowText } from '../yaml-text.ts';
import type { AddedModel, ImportPlan } from './plan.ts';

/** Changes of a catalog: what is new, and the models that are there. */
export interface CatalogEdit {
  readonly added: CatalogMap;
  readonly updated: readonly ModelChange[];
}

/** The catalog with these changes. */
export function editCatalog(catalog: CatalogMap, { added, updated }: CatalogEdit): CatalogMap {
  return withChanges(withChanges(catalog, added), inLists(updated));
}

/** The same changes as lines to paste. */
export function pasteText({ added, updated }: CatalogEdit): string {
  const whole = withChanges({}, added);
  const lines = updated.map(
    ({ list, model, change }) => `# lists.${list}, ${model}: ${flowText(change, ['lists', list, 0])}`,
  );
  return [...(Object.keys(whole).length === 0 ? [] : [catalogYaml(whole).trimEnd()]), ...lines].join('\n');
}

/** How a plan is written into a catalog. `undefined`: there is nothing to write. */
export function editOf(
  { added, changed }: ImportPlan,
  catalog: Catalog,
  upstream: { readonly name: string; readonly title: string },
): CatalogEdit | undefined {
  if (added.length + changed.length === 0) return undefined;
  const models: ModelChange[] = [];
  const endpoints: Record<string, CatalogMap> = {};
  for (const type of ['chat_completion', 'embedding', 'image_generation'] as const) {
    const ofType = added.filter((model) => model.type === type);
    if (ofType.length === 0) continue;
    const home = ownList(catalog, upstream.name, type);
    const list = home ?? freeName(listsOf(catalog), `${upstream.name}_${SUFFIX[type].list}`);
    models.push(...ofType.map((model) => ({ list, model: model.id, change: entryOf(model, upstream.name) })));
    if (home !== undefined) continue;
    const code = freeName(new Set(catalog.endpoints.keys()), `${upstream.name}${SUFFIX[type].code}`);
    const name = `${upstream.title}${SUFFIX[type].name}`;
    endpoints[code] = { name, type, lists: [list], upstreams: [upstream.name] };
  }
  const updated = changed.map(({ list, id, price, cost, hadCost }) => ({
    list,
    model: id,
    change: { ...priceEntry(price), ...(hadCost && { cost: { [upstream.name]: priceEntry(cost) } }) },
  }));
  return { added: { ...inLists(models), endpoints }, updated };
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
  const title = name === id ? '' : name.trim().slice(0, 500);
  const named = { model: id, display_name: title === '' ? undefined : title };
  const costs = cost && { [upstream]: priceEntry(cost) };
  if ('image' in price)
    return withoutMissing({ ...named, ...priceEntry(price), sizes: ['1024x1024'], cost: costs });
  const { vision, tools, reasoning, maxOutput, tokenizer } = abilities;
  const isFree = price.input === 0 && price.output === 0;
  const { reasoning: thinking, ...plain }: CatalogMap = isFree ? { free: true } : priceEntry(price);
  return withoutMissing({
    ...named,
    ...plain,
    context: contextTokens,
    max_output: maxOutput,
    vision: vision || undefined,
    tools: tools || undefined,
    reasoning: thinking ?? (reasoning === false ? undefined : reasoning),
    // A price instead of `hidden` must not change what happens when a client leaves.
    on_disconnect: thinking !== undefined && reasoning === 'hidden' ? 'finish' : undefined,
    tokenizer,
    cost: costs,
  });
}

/** Amounts in nano-USD; those of tiers are by their tier. */
interface Amounts {
  readonly [key: string]: number | Amounts | undefined;
}

function priceEntry(given: Amounts): CatalogMap {
  const entries = Object.entries(given).flatMap(([key, value]): [string, CatalogValue][] => {
    if (value === undefined) return [];
    return [[key, typeof value === 'number' ? amountOf(formatUsd(nanoUsd(value))) : priceEntry(value)]];
  });
  return Object.fromEntries(entries);
}
