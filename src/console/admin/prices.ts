import type { Catalog, Endpoint, Model, ModelPrice } from '../../catalog/catalog.ts';
import { amountsAt } from '../../catalog/import/price-check.ts';
import { listedProvider, openPriceList, type PriceList } from '../../catalog/import/price-list.ts';
import { isPriced } from '../../catalog/import/plan.ts';
import { matchesAny } from '../../std/model-patterns.ts';
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
      return shownPrices(current, drafted ? await pricesOf(drafted) : current, parts);
    },
  }),
];

/** What a catalog sells. */
interface Prices {
  readonly models: readonly PricedModel[];
  /** The price groups, in the order of the catalog. */
  readonly groups: readonly string[];
  /** The public price list and its version. */
  readonly list: string;
}

interface PricedModel {
  readonly about: AboutModel;
  readonly values: ModelValues;
}

interface PriceRow extends AboutModel, ModelValues {
  /** What is published, where the draft says something else; null: the same. */
  published: ModelValues | null;
  /** It is only in the draft. */
  isNew: boolean;
  /** The draft no longer has it. */
  isRemoved: boolean;
}

interface AboutModel {
  list: string;
  model: string;
  type: Endpoint['type'];
  /** The endpoints that offer it; `unavailable`: it cannot be called there. */
  endpoints: { code: string; unavailable: boolean }[];
  backends: PriceBackend[];
  free: boolean;
  /** It has prices that the table has no column for: tiers, sizes, sound. */
  hasMore: boolean;
  /** Of images that are sold by size or quality, the cheapest and the dearest; null: one price, or by the pixel. */
  imageRange: { from: Usd; to: Usd } | null;
  /** What each price group pays at the first endpoint; null: by size. */
  groupPrices: Record<string, Cost | 'hidden' | null>;
}

/** What can be edited. Amounts are for a million tokens, or for an image. */
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
  /** The prices that groups name themselves, at the first endpoint; null: it follows from the list price. */
  groups: Record<string, { input: Usd | null; output: Usd | null }>;
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

type Priced = Pick<Catalog, 'endpoints' | 'upstreams' | 'groups'>;

const known = new WeakMap<Priced, Prices>();

async function pricesOf(catalog: Priced): Promise<Prices> {
  const before = known.get(catalog);
  if (before) return before;
  const list = await openPriceList();
  const groups = [...(catalog.groups?.keys() ?? [])];
  const prices = { models: modelsOf(catalog, list), groups, list: list.version };
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

interface AdminPrices extends Pick<Prices, 'groups' | 'list'> {
  items: ShownRow[];
  /** False: the catalog is the operator's file. */
  editable: boolean;
}

const shown = new WeakMap<Prices, { readonly current: Prices; readonly answer: AdminPrices }>();

/** The same object as before for the same catalogs: then it need not be serialised again. */
function shownPrices(
  current: Prices,
  drafted: Prices,
  { catalogEditor }: Pick<RouteParts, 'catalogEditor'>,
): AdminPrices {
  const before = shown.get(drafted);
  if (before?.current === current) return before.answer;
  const { groups, list } = drafted;
  const editable = catalogEditor !== undefined;
  const answer = { groups, list, items: priceRows(current, drafted).map(shownRow), editable };
  shown.set(drafted, { current, answer });
  return answer;
}

function priceRows(current: Prices, drafted: Prices): PriceRow[] {
  const sold = new Map(current.models.map((one) => [keyOf(one), one.values]));
  const kept = new Set(drafted.models.map(keyOf));
  const removed = current.models.filter((one) => !kept.has(keyOf(one)));
  const items = drafted.models.map((one): PriceRow => {
    const published = sold.get(keyOf(one));
    const isSame = !published || Bun.deepEquals(published, one.values);
    return { ...rowOf(one), isNew: !published, published: isSame ? null : published };
  });
  return [...items, ...removed.map((one) => ({ ...rowOf(one), isRemoved: true }))];
}

function rowOf({ about, values }: PricedModel): PriceRow {
  return { ...about, ...values, published: null, isNew: false, isRemoved: false };
}

/**
 * What is null, false or empty is left out: most models have hardly anything else, and the answer for thousands of them
 * is half as long without it.
 */
type Brief<Values> = {
  [Key in keyof Values as Values[Key] extends string | unknown[] ? Key : never]: Values[Key];
} & {
  [Key in keyof Values as Values[Key] extends string | unknown[] ? never : Key]?: Exclude<Values[Key], null>;
};

type ShownValues = Brief<
  Omit<ModelValues, 'costs' | 'groups'> & {
    costs: Record<string, Cost>;
    groups: Record<string, { input?: Usd; output?: Usd }>;
  }
>;

type ShownRow = ShownValues &
  Brief<
    Omit<AboutModel, 'endpoints' | 'backends' | 'groupPrices'> &
      Pick<PriceRow, 'isNew' | 'isRemoved'> & {
        endpoints: Brief<AboutModel['endpoints'][number]>[];
        backends: Brief<PriceBackend>[];
        groupPrices: Record<string, Cost | 'hidden'>;
        published: ShownValues | null;
      }
  >;

function shownRow(row: PriceRow): ShownRow {
  return brief({
    ...row,
    ...named(row),
    endpoints: row.endpoints.map(brief),
    backends: row.backends.map(brief),
    groupPrices: brief(row.groupPrices),
    published: row.published && brief({ ...row.published, ...named(row.published) }),
  }) as ShownRow;
}

function named({ costs, groups }: ModelValues) {
  const own = Object.entries(groups).map(([name, amounts]) => [name, brief(amounts)]);
  return { costs: brief(costs), groups: brief(Object.fromEntries(own)) };
}

function brief<Values extends object>(values: Values): Brief<Values> {
  const said = Object.entries(values).filter(
    ([, value]) => value !== null && value !== false && !isEmpty(value),
  );
  return Object.fromEntries(said) as Brief<Values>;
}

/** A list is said, even if there is nothing in it. */
function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && !Array.isArray(value) && Object.keys(value ?? {}).length === 0;
}

function keyOf({ about: { list, model } }: PricedModel): string {
  return `${list}\n${model}`;
}

/** Each model of each list once, however many endpoints offer the list. */
function modelsOf(catalog: Priced, list: PriceList): PricedModel[] {
  const models = new Map<string, PricedModel>();
  for (const endpoint of catalog.endpoints.values())
    for (const model of endpoint.models) {
      const key = `${model.list}\n${model.id}`;
      const priced = models.get(key) ?? pricedModel(catalog, endpoint, model);
      models.set(key, priced);
      priced.about.endpoints.push({ code: endpoint.code, unavailable: endpoint.unavailable !== undefined });
      for (const { upstream } of endpoint.places.flat())
        addBackend(priced, { catalog, list, model, upstream });
    }
  return [...models.values()];
}

interface BackendOfModel {
  readonly catalog: Priced;
  readonly list: PriceList;
  readonly model: Model;
  readonly upstream: string;
}

function addBackend(
  { about, values }: PricedModel,
  { catalog, list, model, upstream: name }: BackendOfModel,
): void {
  const upstream = catalog.upstreams.get(name);
  if (!upstream || about.backends.some((one) => one.name === name)) return;
  const cost = model.costs.get(name);
  const provider = listedProvider(upstream);
  const offered = model.upstreamModels.get(name) ?? model.id;
  const amounts = provider === undefined ? undefined : amountsAt(list, provider, offered);
  const context = provider === undefined ? undefined : list.find(provider, offered)?.contextTokens;
  values.costs[name] = cost ? plainPrice(cost) : null;
  about.backends.push({
    name,
    paused: upstream.paused === true,
    isBuiltIn: upstream.kind === 'house',
    listed: amounts
      ? { input: usd(amounts.input), output: usd(amounts.output), context: context ?? null }
      : null,
    differs: amounts !== undefined && cost?.kind === 'tokens' && !isPriced(cost, amounts),
  });
}

function plainPrice(price: ModelPrice): Cost | null {
  if (price.kind === 'tokens') return { input: usd(price.input), output: usd(price.output) };
  return price.otherwise === undefined ? null : { image: usd(price.otherwise) };
}

function pricedModel({ groups }: Priced, endpoint: Endpoint, model: Model): PricedModel {
  const { code, type } = endpoint;
  const { price, free } = model;
  const tokens = price.kind === 'tokens' ? price : undefined;
  const isPlainImage = price.kind === 'images' && price.bySize.size === 0 && !price.qualities;
  const image = isPlainImage && !price.extra?.megapixel ? price.otherwise : undefined;
  const named = [...(groups ?? [])];
  const isSimple = tokens !== undefined || image !== undefined;
  const groupPrices = named.map(([name, group]) => {
    const isHidden = matchesAny(group.hide, { endpoint: code, model: model.id });
    const own = isSimple ? plainPrice(group.priceOf(code, model)) : null;
    return [name, isHidden ? ('hidden' as const) : own] as const;
  });
  const own = named.map(([name, group]) => {
    const { input, output } = group.own.get(`${code}/${model.id}`) ?? {};
    return [name, { input: usdOrNull(input), output: usdOrNull(output) }] as const;
  });
  const hasMore = price.extra !== undefined || (price.kind === 'images' && image === undefined);
  return {
    about: {
      list: model.list,
      model: model.id,
      type,
      endpoints: [],
      backends: [],
      free,
      hasMore,
      imageRange: image === undefined ? rangeOf(price) : null,
      groupPrices: Object.fromEntries(groupPrices),
    },
    values: {
      name: model.displayName,
      input: usdOrNull(tokens?.input),
      cachedInput: tokens && tokens.cachedInput !== tokens.input ? usd(tokens.cachedInput) : null,
      output: usdOrNull(tokens?.output),
      image: usdOrNull(image),
      context: model.isContextUnknown ? null : model.contextTokens,
      maxOutput: model.isMaxOutputUnknown ? null : model.maxOutput,
      vision: model.vision,
      tools: model.tools,
      reasoning: model.reasoning,
      files: model.inputs?.file !== undefined,
      costs: {},
      groups: Object.fromEntries(own),
    },
  };
}

function rangeOf(price: ModelPrice): PricedModel['about']['imageRange'] {
  if (price.kind !== 'images' || price.extra?.megapixel) return null;
  const byQuality = [...(price.qualities?.values() ?? [])].flatMap((amounts) => Object.values(amounts));
  const amounts = [...price.bySize.values(), ...byQuality];
  if (price.otherwise !== undefined) amounts.push(price.otherwise);
  if (amounts.length === 0) return null;
  return { from: usd(Math.min(...amounts)), to: usd(Math.max(...amounts)) };
}

function usdOrNull(amount: number | undefined): Usd | null {
  return amount === undefined ? null : usd(amount);
}
