import { nanoUsd, ZERO, type NanoUsd } from '../std/money.ts';
import {
  TOKEN_ROWS,
  type ExtraImagePrices,
  type ExtraTokenPrices,
  type LongInputPrices,
} from '../std/price-dimensions.ts';
import type { ModelPrice } from './catalog.ts';
import type { PriceEntry } from './price-schema.ts';

/** The schema ensures that a price is of one kind. */
export function buildPrice(entry: PriceEntry): ModelPrice {
  return entry.image === undefined ? tokenPrice(entry) : imagePrice(entry, entry.image);
}

/** A free model with sizes makes images. */
export function freePrice(sizes: readonly string[] | undefined): ModelPrice {
  if (sizes !== undefined) return { kind: 'images', bySize: new Map(), otherwise: ZERO };
  return { kind: 'tokens', input: 0, cachedInput: 0, output: 0 };
}

function tokenPrice(entry: PriceEntry): ModelPrice {
  const { input = 0, cachedInput = input, output = 0, ...rare } = namedPrices(entry);
  const extra = orNothing<ExtraTokenPrices>({
    ...rare,
    request: entry.request,
    webSearch: entry.tool_calls?.web_search,
    above: entry.above && tiersOf(entry.above),
    serviceTiers: entry.service_tiers,
  });
  return {
    kind: 'tokens',
    input,
    cachedInput,
    output,
    ...(extra && { extra }),
  };
}

/** From the keys of the file to the names in a price. */
function namedPrices(entry: Omit<PriceEntry, 'above'>): Omit<LongInputPrices, 'above'> {
  return Object.fromEntries(TOKEN_ROWS.map(({ key, price }) => [price, entry[key]]));
}

function tiersOf(tiers: NonNullable<PriceEntry['above']>): LongInputPrices[] {
  return Object.entries(tiers)
    .map(([above, entry]) => ({
      above: Number(above),
      ...orNothing(namedPrices(entry)),
    }))
    .toSorted((one, other) => one.above - other.above);
}

function imagePrice(entry: PriceEntry, image: NonNullable<PriceEntry['image']>): ModelPrice {
  const beside: ExtraImagePrices = {
    request: entry.request,
    inputImage: entry.input_image,
    partialImage: entry.partial_image,
  };
  if (typeof image === 'number') {
    const extra = orNothing(beside);
    return { kind: 'images', bySize: new Map(), otherwise: nanoUsd(image), ...(extra && { extra }) };
  }
  if ('per_megapixel' in image && typeof image.per_megapixel === 'number') {
    const extra = { ...beside, megapixel: image.per_megapixel };
    return { kind: 'images', bySize: new Map(), otherwise: ZERO, extra: orNothing(extra) ?? extra };
  }
  // A union of maps: without `per_megapixel` it is the one by size.
  const sizes = Object.entries(image as Record<string, NanoUsd | Readonly<Record<string, NanoUsd>>>);
  const amounts = new Map(sizes.map(([size, price]) => [size, ordinaryAmount(price)]));
  const otherwise = amounts.get('default');
  amounts.delete('default');
  const qualities = sizes.flatMap(([size, price]) =>
    typeof price === 'number' ? [] : [[size, price] as const],
  );
  const extra = orNothing(beside);
  return {
    kind: 'images',
    bySize: amounts,
    otherwise,
    ...(qualities.length > 0 && { qualities: new Map(qualities) }),
    ...(extra && { extra }),
  };
}

/** The price of an image without a named quality. */
function ordinaryAmount(price: NanoUsd | Readonly<Record<string, NanoUsd>>): NanoUsd {
  if (typeof price === 'number') return price;
  return price['auto'] ?? nanoUsd(Math.max(0, ...Object.values(price)));
}

/** Without what is absent, so that a price has one text; `undefined` when nothing is left. */
function orNothing<T extends object>(all: T): T | undefined {
  const given = Object.entries(all).filter(([, value]) => value !== undefined);
  // The same fields, less those that were undefined.
  return given.length === 0 ? undefined : (Object.fromEntries(given) as T);
}
