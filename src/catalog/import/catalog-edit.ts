import { formatUsd, nanoUsd } from '../../std/money.ts';
import type { Catalog, Endpoint, EndpointType } from '../catalog.ts';
import { Amount, type CatalogEdit, type YamlEntry } from './edit-yaml.ts';
import type { AddedModel, ChangedModel, ImportPlan } from './plan.ts';
import type { LongInputAmounts, TokenAmounts } from './price-list.ts';

/** How a plan is written into a catalog. `undefined`: there is nothing to write. */
export function editOf(
  { added, changed }: ImportPlan,
  catalog: Catalog,
  upstream: { readonly name: string; readonly title: string },
): CatalogEdit | undefined {
  if (added.length + changed.length === 0) return undefined;
  const models: Record<string, YamlEntry[]> = {};
  const endpoints: Record<string, YamlEntry> = {};
  for (const type of ['chat_completion', 'embedding'] as const) {
    const ofType = added.filter((model) => model.type === type);
    if (ofType.length === 0) continue;
    const home = ownList(catalog, upstream.name, type);
    const list = home ?? freeName(listsOf(catalog), `${upstream.name}_${SUFFIX[type].list}`);
    models[list] = ofType.map((model) => entryOf(model, upstream.name));
    if (home !== undefined) continue;
    const code = freeName(new Set(catalog.endpoints.keys()), `${upstream.name}${SUFFIX[type].code}`);
    const name = `${upstream.title}${type === 'embedding' ? ' embeddings' : ''}`;
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
  chat_completion: { list: 'models', code: '' },
  embedding: { list: 'embeddings', code: '_embeddings' },
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
): YamlEntry {
  const { vision, tools, reasoning, maxOutput, tokenizer } = abilities;
  const isFree = price.input === 0 && price.output === 0;
  const { reasoning: thinking, ...plain } = isFree ? { free: true, reasoning: undefined } : priceEntry(price);
  return {
    model: id,
    display_name: name === id || name.trim() === '' ? undefined : name.trim().slice(0, 500),
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
  };
}

function changedKeys({ price, cost, hadCost }: ChangedModel, upstream: string): YamlEntry {
  return { ...priceEntry(price), cost: hadCost ? { [upstream]: priceEntry(cost) } : undefined };
}

function priceEntry({ above, ...plain }: TokenAmounts): YamlEntry {
  return { ...amounts(plain), above: above && Object.fromEntries(Object.entries(above).map(tierEntry)) };
}

function tierEntry([tokens, tier]: [string, LongInputAmounts]): [string, YamlEntry] {
  return [tokens, amounts(tier)];
}

function amounts(given: object): YamlEntry {
  const entries = Object.entries(given as Record<string, number | undefined>);
  return Object.fromEntries(
    entries.map(([key, nano]) => [
      key,
      nano === undefined ? undefined : new Amount(formatUsd(nanoUsd(nano))),
    ]),
  );
}
