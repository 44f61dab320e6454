import type { Catalog, Model, TokenModelPrice } from '../../catalog/catalog.ts';
import { usd } from '../amounts.ts';
import type { Usd } from '../contract.ts';
import type { RouteParts } from '../parts.ts';
import { route } from '../route.ts';

/** Prices as a table; what is changed in it is an edit of the draft. */
export const priceRoutes = [
  route('GET /api/console/admin/prices', {
    who: 'operator',
    may: 'see_business',
    summary: 'List prices, published and drafted',
    compressed: true,
    async handle(parts, { operator }) {
      const current = parts.catalog.current();
      const drafted = await draftedCatalog(parts, operator.id);
      return drafted ? { items: withDraft(rowsOf(current), rowsOf(drafted)) } : publishedPrices(current);
    },
  }),
];

/** A model that is sold by the token; amounts are for a million of them. */
interface PriceRow {
  list: string;
  model: string;
  name: string;
  input: Usd;
  output: Usd;
  /** What the draft says instead; null: the same. */
  draft: { input: Usd; output: Usd } | null;
  /** What the most expensive of its backends charges; null: not known. */
  cost: { input: Usd; output: Usd } | null;
}

const published = new WeakMap<Catalog, { items: PriceRow[] }>();

function publishedPrices(catalog: Catalog) {
  const known = published.get(catalog);
  if (known) return known;
  const prices = { items: [...rowsOf(catalog).values()] };
  published.set(catalog, prices);
  return prices;
}

/** What the draft would be, as far as it can be read. */
async function draftedCatalog(
  { catalogEditor }: RouteParts,
  owner: string,
): Promise<Pick<Catalog, 'endpoints'> | undefined> {
  const draft = await catalogEditor?.draft(owner);
  return draft && catalogEditor?.inspect(draft.text).built?.catalog;
}

/** Of models that are in both; one that is only in the draft is sold for what that says. */
function withDraft(sold: ReadonlyMap<string, PriceRow>, drafted: ReadonlyMap<string, PriceRow>): PriceRow[] {
  return [...drafted].map(([key, row]) => {
    const before = sold.get(key);
    if (!before || (before.input === row.input && before.output === row.output)) return row;
    const { input, output } = row;
    return { ...row, input: before.input, output: before.output, draft: { input, output } };
  });
}

/** Each model of each list once, however many endpoints offer the list. */
function rowsOf({ endpoints }: Pick<Catalog, 'endpoints'>): Map<string, PriceRow> {
  const rows = new Map<string, PriceRow>();
  for (const { models } of endpoints.values())
    for (const model of models) {
      const key = `${model.list}\n${model.id}`;
      if (model.price.kind === 'tokens' && !model.free && !rows.has(key))
        rows.set(key, rowOf(model, model.price));
    }
  return rows;
}

function rowOf({ list, id, displayName, costs }: Model, price: TokenModelPrice): PriceRow {
  const known = [...costs.values()].filter((cost) => cost.kind === 'tokens');
  const dearest = (of: 'input' | 'output'): string => usd(Math.max(...known.map((cost) => cost[of])));
  return {
    list,
    model: id,
    name: displayName,
    input: usd(price.input),
    output: usd(price.output),
    draft: null,
    cost: known.length === 0 ? null : { input: dearest('input'), output: dearest('output') },
  };
}
