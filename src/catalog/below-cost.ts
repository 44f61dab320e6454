import { placesFor, type Catalog, type Endpoint, type Model } from './catalog.ts';
import { catalogFor } from './groups.ts';
import { priceRows, type PriceRow } from './price-rows.ts';

/** A price that brings less than a backend takes for the same. Amounts are nano-USD. */
export interface PriceBelowCost {
  /** `undefined`: it is a list price. */
  readonly group: string | undefined;
  readonly endpoint: string;
  readonly model: string;
  /** What is priced, as a receipt names it; of an image its size. */
  readonly item: string;
  readonly price: number;
  readonly cost: number;
  readonly backend: string;
}

/** Of the list and of every group, where the catalog says what a backend takes; free models are sold so on purpose. */
export function pricesBelowCost(catalog: Catalog): PriceBelowCost[] {
  const groups = [undefined, ...(catalog.groups?.keys() ?? [])];
  return groups.flatMap((group) =>
    [...catalogFor(catalog, group).endpoints.values()].flatMap((endpoint) =>
      endpoint.models
        .filter(({ free, costs }) => !free && costs.size > 0)
        .flatMap((model) => losingPrices(endpoint, model).map((found) => ({ group, ...found }))),
    ),
  );
}

function losingPrices(endpoint: Endpoint, model: Model): Omit<PriceBelowCost, 'group'>[] {
  const backends = new Set(
    placesFor({ endpoint, model }).flatMap((place) => place.map(({ upstream }) => upstream)),
  );
  const prices = new Map(priceRows(model).map((row) => [rowKey(row), row.amount]));
  return [...model.costs]
    .filter(([backend]) => backends.has(backend))
    .flatMap(([backend, cost]) =>
      priceRows({ price: cost, sizes: model.sizes }).flatMap((row) => {
        const price = prices.get(rowKey(row));
        if (price === undefined || price >= row.amount) return [];
        const { item, amount } = row;
        return [{ endpoint: endpoint.code, model: model.id, item, price, cost: amount, backend }];
      }),
    );
}

function rowKey({ item, above, quality }: PriceRow): string {
  return `${item} ${above ?? ''} ${quality ?? ''}`;
}
