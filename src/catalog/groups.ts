import { Fault } from '../std/fault.ts';
import { FACTOR_ONE } from '../std/price-dimensions.ts';
import { matchesAny } from '../std/model-patterns.ts';
import { remembered } from '../std/remembered.ts';
import { buildPrice, freePrice } from './build-price.ts';
import type { Catalog, Endpoint, Model, PriceGroup } from './catalog.ts';
import type { CatalogFile, GroupEntry, ModelFileEntry } from './file-schema.ts';
import { namedSizes } from './image-abilities-schema.ts';
import { checkModel } from './model-check.ts';
import type { Path } from './mistakes.ts';
import { PRICE_KEYS, type PriceEntry } from './price-schema.ts';

/**
 * The catalog as a wallet of this group sees it: its prices, without what is hidden from it. A name that the catalog does
 * not have stands for its list prices: the group has just been removed, or this node has not read it yet.
 */
export function catalogFor(catalog: Catalog, group: string | undefined): Catalog {
  if (group === undefined) return catalog;
  let views = viewsOf.get(catalog);
  if (!views) viewsOf.set(catalog, (views = remembered((name) => viewOf(catalog, name), MAX_VIEWS)));
  return views(group);
}

/** Throws where the catalog has no such group. */
export function requireGroup({ groups }: Catalog, group: string): void {
  if (groups?.has(group)) return;
  const known = [...(groups?.keys() ?? [])].join(', ') || 'none';
  throw new Fault('invalid_field', `The catalog has no price group '${group}'; known: ${known}.`, {
    param: 'group',
  });
}

/** Made on first use: a catalog never changes. */
const viewsOf = new WeakMap<Catalog, (group: string) => Catalog>();
const MAX_VIEWS = 100;

function viewOf(catalog: Catalog, name: string): Catalog {
  const { next } = catalog;
  const view: Catalog = {
    ...catalog,
    viewOf: name,
    next: next && { ...next, catalog: catalogFor(next.catalog, name) },
    version: `${catalog.version} ${name}`,
  };
  const group = catalog.groups?.get(name);
  // Its wallets pay the list prices, so their receipts name no group.
  if (!group) return view;
  const endpoints = new Map(
    [...catalog.endpoints].map(([code, endpoint]) => [code, endpointFor(endpoint, name, group)]),
  );
  const isSeen = ({ endpoint, model }: { readonly endpoint: string; readonly model: string }): boolean =>
    !matchesAny(group.hide, { endpoint, model });
  return {
    ...view,
    endpoints,
    aliases: new Map([...catalog.aliases].filter(([, target]) => isSeen(target))),
  };
}

function endpointFor(endpoint: Endpoint, name: string, group: PriceGroup): Endpoint {
  const { code } = endpoint;
  const models = endpoint.models
    .filter(({ id }) => !matchesAny(group.hide, { endpoint: code, model: id }))
    .map((model) => ({ ...model, price: { ...group.priceOf(code, model), group: name } }));
  return { ...endpoint, models };
}

type Refuse = (path: Path, message: string) => void;

interface GroupParts {
  readonly lists: CatalogFile['lists'];
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  /** What the file says of a model. */
  readonly entryOf: (model: Model) => ModelFileEntry | undefined;
  readonly refuse: Refuse;
}

export function buildGroups(
  { groups, lists }: CatalogFile,
  endpoints: GroupParts['endpoints'],
  refuse: Refuse,
): ReadonlyMap<string, PriceGroup> {
  const named = Object.entries(groups);
  const entries = new Map(
    Object.entries(named.length === 0 ? {} : lists).map(([list, models]) => [
      list,
      new Map(models.map((entry) => [entry.model, entry])),
    ]),
  );
  const entryOf = ({ list, id }: Model): ModelFileEntry | undefined => entries.get(list)?.get(id);
  const parts = { lists, endpoints, entryOf, refuse };
  return new Map(named.map(([name, entry]) => [name, buildGroup(['groups', name], entry, parts)]));
}

function buildGroup(path: Path, entry: GroupEntry, parts: GroupParts): PriceGroup {
  for (const target of Object.keys(entry.prices))
    checkOwnPrice([...path, 'prices', target], { entry, target }, parts);
  if (entry.factor > FACTOR_ONE) checkFactor([...path, 'factor'], entry.factor, parts);
  return {
    factor: entry.factor,
    hide: entry.hide,
    own: new Map(Object.entries(entry.prices)),
    priceOf(endpoint, model) {
      const listed = parts.entryOf(model);
      if (!listed) return model.price;
      if (listed.free) return freePrice(namedSizes(listed.sizes));
      return buildPrice({ ...priceAt(listed, entry.factor), ...ownPrice(entry, `${endpoint}/${model.id}`) });
    },
  };
}

function ownPrice({ prices }: GroupEntry, target: string): PriceEntry {
  return (Object.hasOwn(prices, target) ? prices[target] : undefined) ?? {};
}

/** A price of the group's own has to be one that the model could have in its list. */
function checkOwnPrice(
  path: Path,
  { entry, target }: { readonly entry: GroupEntry; readonly target: string },
  { endpoints, entryOf, refuse }: GroupParts,
): void {
  const slash = target.indexOf('/');
  const code = slash < 0 ? target : target.slice(0, slash);
  const model = endpoints.get(code)?.models.find(({ id }) => id === target.slice(slash + 1));
  const listed = model && entryOf(model);
  if (slash < 0 || !listed)
    return refuse(path, 'must be a model that is sold, as code/model, such as svc_chat/house-guide');
  if (listed.free) return refuse(path, 'is free for everybody; remove its price here, or free there');
  const own = ownPrice(entry, target);
  const reasoning = own.reasoning ?? listed.reasoning;
  checkModel(
    { ...listed, ...own, reasoning },
    { addIssue: ({ path: inner, message }) => refuse([...path, ...inner], message) },
  );
}

/** The ledger accepts no price above this. */
const MAX_PRICE = 10_000_000_000_000;

function checkFactor(path: Path, factor: number, { lists, refuse }: GroupParts): void {
  for (const [list, models] of Object.entries(lists))
    for (const listed of models) {
      const highest = amountsIn(priceAt(listed, factor)).reduce((one, other) => Math.max(one, other), 0);
      if (highest > MAX_PRICE)
        return refuse(path, `makes a price of ${list}/${listed.model} higher than 10,000 USD`);
    }
}

/** Each price that the entry names, times the factor, rounded up once. What follows from others is no part of it. */
function priceAt(listed: ModelFileEntry, factor: number): PriceEntry {
  const reasoning = typeof listed.reasoning === 'number' ? listed.reasoning : undefined;
  const named: PriceEntry = { ...listed, reasoning };
  const prices = PRICE_NAMES.map((key) => [
    key,
    key === 'service_tiers' ? named[key] : scaled(named[key], factor),
  ]);
  // The same keys with values of the same shapes.
  return Object.fromEntries(prices.filter(([, value]) => value !== undefined)) as PriceEntry;
}

const PRICE_NAMES: readonly (keyof PriceEntry)[] = [
  ...(Object.keys(PRICE_KEYS) as (keyof PriceEntry)[]),
  'reasoning',
];

/** A price, or a map of prices by size, quality, tier or tool. */
function scaled(value: unknown, factor: number): unknown {
  if (typeof value === 'number') return scaledAmount(value, factor);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, scaled(inner, factor)]));
}

function scaledAmount(amount: number, factor: number): number {
  const one = BigInt(FACTOR_ONE);
  return Number((BigInt(amount) * BigInt(factor) + one - 1n) / one);
}

function amountsIn(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(amountsIn) : [];
}
