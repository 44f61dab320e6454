import { BESIDE_ROWS, MILLION, TOKEN_ROWS, type LongInputPrices } from '../std/price-dimensions.ts';
import type { Model, ModelPrice } from './catalog.ts';

/** One line of a price list, in nano-USD. */
export interface PriceRow {
  /** The key in the catalog, such as `cache_write`; of an image its size. */
  readonly item: string;
  readonly amount: number;
  /** How many of it the amount is for. */
  readonly per: 1 | typeof MILLION;
  /** Only where the input has more tokens than this. */
  readonly above?: number | undefined;
  readonly quality?: string | undefined;
}

/** Every price of a model that the catalog names, in the order of a bill. */
export function priceRows({ price, sizes }: Pick<Model, 'price' | 'sizes'>): PriceRow[] {
  return price.kind === 'tokens' ? tokenRows(price) : imageRows(price, sizes);
}

function tokenRows({ extra = {}, ...always }: ModelPrice & { kind: 'tokens' }): PriceRow[] {
  return [
    ...namedRows({ ...extra, ...always }),
    ...besideRows(extra),
    ...(extra.above ?? []).flatMap((tier) => namedRows(tier).map((row) => ({ ...row, above: tier.above }))),
  ];
}

function namedRows(prices: Omit<LongInputPrices, 'above'>): PriceRow[] {
  return TOKEN_ROWS.flatMap(({ item, price }) => {
    const amount = prices[price];
    return amount === undefined ? [] : [{ item, amount, per: MILLION }];
  });
}

function besideRows(prices: object): PriceRow[] {
  const amounts = prices as Readonly<Record<string, number | undefined>>;
  return BESIDE_ROWS.flatMap(({ item, price }) => each(item, amounts[price]));
}

function imageRows(price: ModelPrice & { kind: 'images' }, sizes: readonly string[]): PriceRow[] {
  const { bySize, otherwise, qualities, extra = {} } = price;
  const { megapixel } = extra;
  const images = sizes.flatMap((size): PriceRow[] => {
    const named = qualities?.get(size) ?? (bySize.has(size) ? undefined : qualities?.get('default'));
    if (named)
      return Object.entries(named).map(([quality, amount]) => ({ item: size, amount, per: 1, quality }));
    return each(size, bySize.get(size) ?? otherwise);
  });
  return [...(megapixel === undefined ? images : each('megapixel', megapixel)), ...besideRows(extra)];
}

function each(item: string, amount: number | undefined): PriceRow[] {
  return amount === undefined ? [] : [{ item, amount, per: 1 }];
}

/** Factors of the token prices by service tier, in millionths. */
export function serviceTiers({ price }: Pick<Model, 'price'>): [tier: string, factor: number][] {
  return price.kind === 'tokens' ? Object.entries(price.extra?.serviceTiers ?? {}) : [];
}
