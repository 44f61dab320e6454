import { z } from 'zod';
import { abilitiesView } from '../catalog/abilities-view.ts';
import type { Catalog, Endpoint, Model, ModelPrice } from '../catalog/catalog.ts';
import { catalogFor } from '../catalog/groups.ts';
import { priceChanges, type PriceChange } from '../catalog/plans.ts';
import { priceRows, serviceTiers } from '../catalog/price-rows.ts';
import { priceGroupOf } from '../activity/accounts.ts';
import type { Visitor } from '../identity/sign-in/session.ts';
import { FACTOR_ONE } from '../std/price-dimensions.ts';
import { usd } from './amounts.ts';
import type { Millis, Usd } from './contract.ts';
import type { BackendHealth, RouteParts } from './parts.ts';
import { route } from './route.ts';
import { WALLETS } from './wallet.ts';

/** The endpoints and models that are sold; public. */
export const modelRoutes = [
  route('GET /api/console/models', {
    who: 'public',
    compressed: true,
    /** Whose prices: of the own balance, or of the team's, which is also meant where nothing is said. */
    query: z.strictObject({ wallet: z.enum(WALLETS).optional() }),
    handle: async (parts, { user, query }) =>
      modelList(await catalogSeenBy(parts, user, query.wallet), parts.backends),
  }),
];

/** With the prices that the visitor's requests would have, and without the models that are hidden from them. */
export async function catalogSeenBy(
  parts: Pick<RouteParts, 'catalog' | 'store'>,
  user: Pick<Visitor, 'accountId'> | undefined,
  wallet?: (typeof WALLETS)[number],
): Promise<Catalog> {
  const catalog = await parts.catalog.inForce();
  if (!user || catalog.groups === undefined || catalog.groups.size === 0) return catalog;
  return catalogFor(catalog, await priceGroupOf(parts.store, user.accountId, wallet));
}

type BackendStates = ReadonlyMap<string, ReturnType<BackendHealth['list']>[number]['state']>;

interface ModelList {
  endpoints: EndpointItem[];
  models: ModelItem[];
}

const listOf = new WeakMap<Catalog, ModelList>();

/** The same object as before, unless the state of an endpoint has changed: then it need not be serialised again. */
function modelList(catalog: Catalog, backends: Pick<BackendHealth, 'list'>): ModelList {
  const endpoints = endpointItems(catalog, backends);
  const known = listOf.get(catalog);
  if (known?.endpoints.every(({ status }, index) => status === endpoints[index]?.status)) return known;
  const list = { endpoints, models: modelItems(catalog) };
  listOf.set(catalog, list);
  return list;
}

/** Thousands of models are described once, not for every visitor. */
const itemsOf = new WeakMap<Catalog, ModelItem[]>();

export function modelItems(catalog: Catalog): ModelItem[] {
  const known = itemsOf.get(catalog);
  if (known) return known;
  const { next } = catalog;
  const changes = new Map(
    (next ? priceChanges(catalog, next.catalog) : []).map((one) => [`${one.endpoint}/${one.model}`, one]),
  );
  const items = shownEndpoints(catalog).flatMap(({ endpoint, isDemo }) =>
    endpoint.models.map((model) => ({
      ...modelItem(endpoint, model),
      isDemo,
      next: nextPrice(catalog, changes.get(`${endpoint.code}/${model.id}`)),
    })),
  );
  itemsOf.set(catalog, items);
  return items;
}

/**
 * In the order of the catalog, but once a real backend serves something, what only the built-in one serves comes last:
 * it shows how things work, and is not what people come for.
 */
function shownEndpoints({ endpoints, upstreams }: Catalog): { endpoint: Endpoint; isDemo: boolean }[] {
  const isReal = ({ places, unavailable }: Endpoint): boolean =>
    unavailable === undefined &&
    places.flat().some(({ upstream }) => upstreams.get(upstream)?.kind !== 'house');
  const all = [...endpoints.values()];
  const hasReal = all.some(isReal);
  return all
    .map((endpoint) => ({
      endpoint,
      isDemo: hasReal && endpoint.unavailable === undefined && !isReal(endpoint),
    }))
    .toSorted((one, other) => Number(one.isDemo) - Number(other.isDemo));
}

/** The endpoints, and whether they work right now. */
export function endpointItems(catalog: Catalog, backends: Pick<BackendHealth, 'list'>): EndpointItem[] {
  const states = new Map(backends.list().map(({ name, state }) => [name, state]));
  return shownEndpoints(catalog).map(({ endpoint }) => endpointItem(endpoint, states));
}

export type EndpointItem = ReturnType<typeof endpointItem>;

function endpointItem(endpoint: Endpoint, states: BackendStates) {
  return {
    endpoint: endpoint.code,
    name: endpoint.name,
    type: endpoint.type,
    unavailable: endpoint.unavailable ?? null,
    status: statusOf(endpoint, states),
  };
}

/** Down when no backend can serve it, degraded when some of its backends cannot. */
function statusOf(endpoint: Endpoint, states: BackendStates): 'up' | 'degraded' | 'down' {
  const used = endpoint.places.flat().map(({ upstream }) => states.get(upstream) ?? 'ok');
  if (endpoint.unavailable !== undefined || used.every((state) => state === 'resting')) return 'down';
  return used.every((state) => state === 'ok') ? 'up' : 'degraded';
}

export type ModelItem = ReturnType<typeof modelItem> & {
  /** It only shows how things work: the built-in backend serves it, beside real ones. */
  isDemo: boolean;
  /** An announced change of its price; null: none is known. */
  next: {
    from: Millis;
    free: boolean;
    /** Null: it is not sold any more. */ price: ListedPrice | null;
  } | null;
};

function nextPrice({ next }: Catalog, change: PriceChange | undefined): ModelItem['next'] {
  if (!next || !change) return null;
  const { after } = change;
  return { from: next.from, free: after?.free === true, price: after ? priceOf(after) : null };
}

function modelItem(endpoint: Endpoint, model: Model) {
  return {
    endpoint: endpoint.code,
    endpointName: endpoint.name,
    type: endpoint.type,
    model: model.id,
    displayName: model.displayName,
    /** The catalog's list: `source_table` of the public API. */
    list: model.list,
    price: priceOf(model),
    free: model.free,
    /** 0: not known. */
    contextTokens: model.isContextUnknown ? 0 : model.contextTokens,
    maxOutput: model.maxOutput,
    /** Image models; the first is the default. */
    sizes: [...model.sizes],
    /** Image models only: what a request may ask for. */
    abilities: endpoint.type === 'image_generation' ? (abilitiesView(model) ?? null) : null,
    vision: model.vision,
    /** It accepts files such as PDF. */
    files: model.inputs?.file !== undefined,
    tools: model.tools,
    reasoning: model.reasoning,
    /** Why it cannot be used now; null when it can. */
    unavailable: endpoint.unavailable ?? null,
  };
}

/** Tokens: dollars per million. Images: dollars each. */
type ListedPrice =
  | {
      kind: 'tokens';
      inputUsd: Usd;
      cachedInputUsd: Usd;
      outputUsd: Usd;
      others: OtherPrice[];
      /** The factor of the token prices in each service tier. */
      tiers: { tier: string; factor: number }[];
    }
  | { kind: 'images'; bySize: { size: string; imageUsd: Usd }[]; others: OtherPrice[] };

/** A price beside the ordinary ones. */
export interface OtherPrice {
  /** The key in the catalog; of an image its size. */
  item: string;
  usd: Usd;
  /** How many of it the price is for. */
  per: number;
  /** Only where the input has more tokens than this. */
  above: number | null;
  quality: string | null;
}

function priceOf(model: Model): ListedPrice {
  const { price, sizes } = model;
  const others = priceRows(model)
    .filter(
      ({ item, above, quality }) => !isOrdinary(model, item) || above !== undefined || quality !== undefined,
    )
    .map(({ item, amount, per, above, quality }) => ({
      item,
      usd: usd(amount),
      per,
      above: above ?? null,
      quality: quality ?? null,
    }));
  if (price.kind === 'tokens') {
    return {
      kind: 'tokens',
      inputUsd: usd(price.input),
      cachedInputUsd: usd(price.cachedInput),
      outputUsd: usd(price.output),
      others,
      tiers: serviceTiers(model).map(([tier, factor]) => ({ tier, factor: factor / FACTOR_ONE })),
    };
  }
  const priced = sizes.map((size) => ({ size, amount: price.bySize.get(size) ?? price.otherwise }));
  return {
    kind: 'images',
    bySize: priced.flatMap(({ size, amount }) =>
      amount === undefined ? [] : [{ size, imageUsd: usd(imageAmount(price, size, amount)) }],
    ),
    others,
  };
}

function isOrdinary({ sizes }: Model, item: string): boolean {
  return ['input', 'cached_input', 'output', ...sizes].includes(item);
}

/** The amount for one image; where pixels are priced, it follows from the size. */
function imageAmount({ extra }: ModelPrice & { kind: 'images' }, size: string, amount: number): number {
  if (extra?.megapixel === undefined) return amount;
  const [width = 0, height = 0] = size.split('x').map(Number);
  return Math.ceil((extra.megapixel * width * height) / 1_000_000);
}

/** The first model of a kind that works right now, for examples. */
export function modelSample(
  catalog: Catalog,
  type: Endpoint['type'],
): { endpoint: string; model: string } | null {
  for (const endpoint of catalog.endpoints.values()) {
    const model = endpoint.models[0];
    if (endpoint.type === type && endpoint.unavailable === undefined && model) {
      return { endpoint: endpoint.code, model: model.id };
    }
  }
  return null;
}
