import type { Catalog, Endpoint, Model, ModelPrice } from '../../catalog/catalog.ts';
import { amountsAt } from '../../catalog/import/price-check.ts';
import { listedProvider, openPriceList, type PriceList } from '../../catalog/import/price-list.ts';
import { isPriced } from '../../catalog/import/plan.ts';
import { usd } from '../amounts.ts';
import type { Usd } from '../contract.ts';
import type { RouteParts } from '../parts.ts';
import { route } from '../route.ts';

/** Everything that is sold, with what it costs; what is changed in it is an edit of the draft. */
export const priceRoutes = [
  route('GET /api/console/admin/prices', {
    who: 'operator',
    may: 'see_business',
    summary: 'List prices, published and drafted',
    compressed: true,
    async handle(parts, { operator }) {
      const current = await pricesOf(parts.catalog.current());
      const drafted = await draftedCatalog(parts, operator.id);
      return drafted ? withDraft(current, await pricesOf(drafted)) : current;
    },
  }),
];

interface Prices {
  items: PriceRow[];
  /** The public price list and its version. */
  list: string;
}

interface PriceRow extends ModelValues {
  list: string;
  model: string;
  type: Endpoint['type'];
  /** That offer it; none of them can be called where all say why not. */
  endpoints: { code: string; unavailable: boolean }[];
  backends: PriceBackend[];
  free: boolean;
  /** It has prices that the table has no column for: tiers, sizes, sound. */
  hasMore: boolean;
  /** What is published, where the draft says something else; null: the same. */
  published: ModelValues | null;
  /** It is only in the draft. */
  isNew: boolean;
  /** The draft no longer has it. */
  isRemoved: boolean;
}

/** Amounts are for a million tokens, or for an image. */
interface ModelValues {
  name: string;
  input: Usd | null;
  /** Null: the same as `input`. */
  cachedInput: Usd | null;
  output: Usd | null;
  /** Null: it is not sold by the image, or has prices by size. */
  image: Usd | null;
  /** Null: not known. */
  context: number | null;
  maxOutput: number | null;
  vision: boolean;
  tools: boolean;
  reasoning: boolean;
  files: boolean;
  /** By backend; null: not known. */
  costs: Record<string, Cost | null>;
}

type Cost = { input: Usd; output: Usd } | { image: Usd };

interface PriceBackend {
  name: string;
  paused: boolean;
  /** Part of Tollgate: it takes nothing. */
  isBuiltIn: boolean;
  /** What the public list says; null: it does not know the model. */
  listed: { input: Usd; output: Usd; context: number | null } | null;
  /** The cost is known, and not what the list says. */
  differs: boolean;
}

type Priced = Pick<Catalog, 'endpoints' | 'upstreams'>;

const known = new WeakMap<Priced, Prices>();

async function pricesOf(catalog: Priced): Promise<Prices> {
  const before = known.get(catalog);
  if (before) return before;
  const list = await openPriceList();
  const prices = { items: rowsOf(catalog, list), list: list.version };
  known.set(catalog, prices);
  return prices;
}

/** What the draft would be, as far as it can be read. */
export async function draftedCatalog(
  { catalogEditor }: RouteParts,
  owner: string,
): Promise<Priced | undefined> {
  const draft = await catalogEditor?.draft(owner);
  return draft && catalogEditor?.inspect(draft.text).built?.catalog;
}

function withDraft(current: Prices, drafted: Prices): Prices {
  const sold = new Map(current.items.map((row) => [keyOf(row), row]));
  const items = drafted.items.map((row) => {
    const before = sold.get(keyOf(row));
    if (!before) return { ...row, isNew: true };
    const published = valuesOf(before);
    return Bun.deepEquals(published, valuesOf(row)) ? row : { ...row, published };
  });
  const kept = new Set(drafted.items.map(keyOf));
  const removed = current.items.filter((row) => !kept.has(keyOf(row)));
  return { ...drafted, items: [...items, ...removed.map((row) => ({ ...row, isRemoved: true }))] };
}

function keyOf({ list, model }: Pick<PriceRow, 'list' | 'model'>): string {
  return `${list}\n${model}`;
}

function valuesOf(row: PriceRow): ModelValues {
  const {
    name,
    input,
    cachedInput,
    output,
    image,
    context,
    maxOutput,
    vision,
    tools,
    reasoning,
    files,
    costs,
  } = row;
  return {
    name,
    input,
    cachedInput,
    output,
    image,
    context,
    maxOutput,
    vision,
    tools,
    reasoning,
    files,
    costs,
  };
}

/** Each model of each list once, however many endpoints offer the list. */
function rowsOf(catalog: Priced, list: PriceList): PriceRow[] {
  const rows = new Map<string, PriceRow>();
  for (const endpoint of catalog.endpoints.values())
    for (const model of endpoint.models) {
      const key = `${model.list}\n${model.id}`;
      const row = rows.get(key) ?? emptyRow(endpoint, model);
      rows.set(key, row);
      row.endpoints.push({ code: endpoint.code, unavailable: endpoint.unavailable !== undefined });
      for (const { upstream } of endpoint.places.flat()) addBackend(row, { catalog, list, model, upstream });
    }
  return [...rows.values()];
}

interface BackendOfModel {
  readonly catalog: Priced;
  readonly list: PriceList;
  readonly model: Model;
  readonly upstream: string;
}

function addBackend(row: PriceRow, { catalog, list, model, upstream: name }: BackendOfModel): void {
  const upstream = catalog.upstreams.get(name);
  if (!upstream || row.backends.some((one) => one.name === name)) return;
  const cost = model.costs.get(name);
  const provider = listedProvider(upstream);
  const offered = model.upstreamModels.get(name) ?? model.id;
  const amounts = provider === undefined ? undefined : amountsAt(list, provider, offered);
  const context = provider === undefined ? undefined : list.find(provider, offered)?.contextTokens;
  row.costs[name] = cost ? costOf(cost) : null;
  row.backends.push({
    name,
    paused: upstream.paused === true,
    isBuiltIn: upstream.kind === 'house',
    listed: amounts
      ? { input: usd(amounts.input), output: usd(amounts.output), context: context ?? null }
      : null,
    differs: amounts !== undefined && cost?.kind === 'tokens' && !isPriced(cost, amounts),
  });
}

function costOf(cost: ModelPrice): Cost | null {
  if (cost.kind === 'tokens') return { input: usd(cost.input), output: usd(cost.output) };
  return cost.otherwise === undefined ? null : { image: usd(cost.otherwise) };
}

function emptyRow({ type }: Endpoint, model: Model): PriceRow {
  const { price, free } = model;
  const tokens = price.kind === 'tokens' ? price : undefined;
  const isPlainImage = price.kind === 'images' && price.bySize.size === 0 && !price.qualities;
  const image = isPlainImage && !price.extra?.megapixel ? price.otherwise : undefined;
  return {
    list: model.list,
    model: model.id,
    type,
    endpoints: [],
    backends: [],
    free,
    hasMore: price.extra !== undefined || (price.kind === 'images' && image === undefined),
    published: null,
    isNew: false,
    isRemoved: false,
    name: model.displayName,
    input: tokens ? usd(tokens.input) : null,
    cachedInput: tokens && tokens.cachedInput !== tokens.input ? usd(tokens.cachedInput) : null,
    output: tokens ? usd(tokens.output) : null,
    image: image === undefined ? null : usd(image),
    context: model.isContextUnknown ? null : model.contextTokens,
    maxOutput: model.isMaxOutputUnknown ? null : model.maxOutput,
    vision: model.vision,
    tools: model.tools,
    reasoning: model.reasoning,
    files: model.inputs?.file !== undefined,
    costs: {},
  };
}
