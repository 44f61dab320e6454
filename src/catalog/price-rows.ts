import type { LongInputPrices } from '../std/price-dimensions.ts';
import type { Model, ModelPrice } from './catalog.ts';

/** One line of a price list, in nano-USD. */
export interface PriceRow {
  /** The key in the catalog, such as `cache_write`; of an image its size. */
  readonly item: string;
  readonly amount: number;
  /** How many of it the amount is for. */
  readonly per: 1 | 1_000_000;
  /** Only where the input has more tokens than this. */
  readonly above?: number | undefined;
  readonly quality?: string | undefined;
}

const NAMES = {
  input: 'input',
  cachedInput: 'cached_input',
  cacheWrite: 'cache_write',
  cacheWrite1h: 'cache_write_1h',
  audioInput: 'audio_input',
  imageInput: 'image_input',
  output: 'output',
  reasoning: 'reasoning',
  audioOutput: 'audio_output',
  imageOutput: 'image_output',
} as const;

/** Every price of a model that the catalog names, in the order of a bill. */
export function priceRows({ price, sizes }: Pick<Model, 'price' | 'sizes'>): PriceRow[] {
  return price.kind === 'tokens' ? tokenRows(price) : imageRows(price, sizes);
}

function tokenRows(price: ModelPrice & { kind: 'tokens' }): PriceRow[] {
  const { extra = {} } = price;
  return [
    ...namedRows({ ...extra, ...price }),
    ...each('web_search', extra.webSearch),
    ...each('request', extra.request),
    ...(extra.above ?? []).flatMap((tier) => namedRows(tier).map((row) => ({ ...row, above: tier.above }))),
  ];
}

function namedRows(prices: Omit<LongInputPrices, 'above'>): PriceRow[] {
  // The keys of a literal.
  const keys = Object.keys(NAMES) as (keyof typeof NAMES)[];
  return keys.flatMap((key) => {
    const amount = prices[key];
    return amount === undefined ? [] : [{ item: NAMES[key], amount, per: 1_000_000 as const }];
  });
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
  return [
    ...(megapixel === undefined ? images : each('megapixel', megapixel)),
    ...each('input_image', extra.inputImage),
    ...each('partial_image', extra.partialImage),
    ...each('request', extra.request),
  ];
}

function each(item: string, amount: number | undefined): PriceRow[] {
  return amount === undefined ? [] : [{ item, amount, per: 1 }];
}

/** Factors of the token prices by service tier, in millionths. */
export function serviceTiers({ price }: Pick<Model, 'price'>): [tier: string, factor: number][] {
  return price.kind === 'tokens' ? Object.entries(price.extra?.serviceTiers ?? {}) : [];
}
