import { Fault } from '../std/fault.ts';
import { nanoUsd, type NanoUsd } from '../std/money.ts';
import { EXTRA_USAGE_ROWS, MILLION } from '../std/price-dimensions.ts';
import { remembered } from '../std/remembered.ts';
import {
  capped,
  extraHoldPrices,
  MAX_COST,
  partsCost,
  pricedParts,
  type CountedUsage,
  type ExtraCeiling,
  type ExtraUsage,
  type HoldPrices,
  type ImagePrice,
  type TokenPrice,
} from './priced-parts.ts';

/**
 * What a request will be charged by, copied into its hold at admission: later price changes never touch it, and any
 * past bill can be computed again from its receipt. Token prices are nano-USD per million tokens, so that the cheapest
 * published price (fractions of a cent per million) is still a whole number. `extra` is absent from an ordinary price:
 * SQL computes with those, and the program with all.
 */
export type Price = TokenPrice | ImagePrice;

export type Usage = CountedUsage;

export const NO_USAGE: Usage = { input: 0, cached: 0, output: 0, reasoning: 0, images: 0 };

/**
 * No count that is multiplied by a price may exceed this; larger ones from a client are refused, from a backend
 * ignored.
 */
export const MAX_COUNT = 100_000_000;
/** Ten images of the largest size that a catalog can name. */
const MAX_PIXELS = 1_000_000_000;

/** `output` is per choice, `choices` is the client's `n`. */
export interface TokenCeiling {
  readonly kind: 'tokens';
  readonly input: number;
  readonly output: number;
  readonly choices: number;
  readonly extra?: ExtraCeiling | undefined;
}

/** The tokens are of all images together, for models that are priced by the token. */
export interface ImageCeiling {
  readonly kind: 'images';
  readonly images: number;
  readonly pixels?: number | undefined;
  readonly inputImages?: number | undefined;
  readonly partialImages?: number | undefined;
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly extra?: ExtraCeiling | undefined;
}

/** Price × usage in exact integers, rounded up once at the very end. */
export function costOf(price: Price, usage: Usage): NanoUsd {
  if (price.extra !== undefined || usage.extra !== undefined) return partsCost(pricedParts(price, usage));
  return price.kind === 'images'
    ? capped(BigInt(price.image) * BigInt(usage.images))
    : tokenCost(price, usage);
}

function tokenCost(price: TokenPrice, { input, cached, output }: Usage): NanoUsd {
  const quick = (input - cached) * price.input + cached * price.cachedInput + output * price.output;
  // Below 2^53 every term and the sum are exact.
  if (quick <= Number.MAX_SAFE_INTEGER && cached <= input) return perMillion(quick);
  const exact =
    BigInt(input - cached) * BigInt(price.input) +
    BigInt(cached) * BigInt(price.cachedInput) +
    BigInt(output) * BigInt(price.output);
  return capped((exact + BigInt(MILLION) - 1n) / BigInt(MILLION));
}

type AnyCeiling = TokenCeiling | ImageCeiling;

/** The dearest price that a token of either side can have in this request. */
export function holdPrices(
  price: TokenPrice,
  { input, extra }: Pick<AnyCeiling, 'input' | 'extra'>,
): HoldPrices {
  if (price.extra === undefined && extra === undefined)
    return { input: Math.max(price.input, price.cachedInput), output: price.output, fixed: NOTHING };
  return extraHoldPrices(price, input ?? 0, extra);
}

const NOTHING = nanoUsd(0);

/** The worst case of a request with this many output tokens for each choice. */
export function worstCase(price: Price, ceiling: AnyCeiling, output: number): NanoUsd {
  if (price.kind === 'images') return imagesWorstCase(price, ceiling);
  const prices = holdPrices(price, ceiling);
  const outputs = ceiling.kind === 'tokens' ? output * ceiling.choices : (ceiling.output ?? 0);
  const cost = tokensAt(ceiling.input ?? 0, prices.input, outputs, prices.output);
  return nanoUsd(Math.min(cost + prices.fixed, MAX_COST));
}

// oxlint-disable-next-line max-params -- two quantities, each with its price
function tokensAt(input: number, inputPrice: number, output: number, outputPrice: number): NanoUsd {
  const quick = input * inputPrice + output * outputPrice;
  if (quick <= Number.MAX_SAFE_INTEGER) return perMillion(quick);
  const exact = BigInt(input) * BigInt(inputPrice) + BigInt(output) * BigInt(outputPrice);
  return capped((exact + BigInt(MILLION) - 1n) / BigInt(MILLION));
}

/** Rounded up. Remainder and division of exact integers are exact. */
function perMillion(product: number): NanoUsd {
  const rest = product % MILLION;
  return nanoUsd((product - rest) / MILLION + (rest > 0 ? 1 : 0));
}

function imagesWorstCase(price: ImagePrice, ceiling: AnyCeiling): NanoUsd {
  if (ceiling.kind !== 'images') return NOTHING;
  const qualities = price.extra?.qualities;
  const dearest = qualities ? Math.max(price.image, ...Object.values(qualities)) : price.image;
  const { pixels, inputImages, partialImages } = ceiling;
  const isPlain = pixels === undefined && inputImages === undefined && partialImages === undefined;
  const extra = isPlain ? undefined : { pixels, inputImages, partialImages };
  return costOf({ ...price, image: nanoUsd(dearest) }, { ...NO_USAGE, images: ceiling.images, extra });
}

/** The most output tokens, of all choices together, that `available` can pay after everything else. */
export function affordableOutput(price: Price, ceiling: AnyCeiling, available: NanoUsd): number {
  if (price.kind !== 'tokens') return 0;
  const { input, output, fixed } = holdPrices(price, ceiling);
  const left = (BigInt(available) - BigInt(fixed)) * 1_000_000n - BigInt(ceiling.input ?? 0) * BigInt(input);
  if (left < 0n) return 0;
  if (output === 0) return MAX_COUNT;
  const tokens = left / BigInt(output);
  return tokens > BigInt(MAX_COUNT) ? MAX_COUNT : Number(tokens);
}

/**
 * The last check before a number is multiplied by a price. Callers clean up what backends report; a bad number here is
 * a bug of ours.
 */
export function checkedUsage(usage: Usage): Usage {
  if (!isUsage(usage)) {
    throw new Fault('internal_error', 'Something went wrong on our side. Try again later.', {
      detail: `not a usage: ${JSON.stringify(usage)}`,
    });
  }
  return usage;
}

export function isUsage(usage: Usage): boolean {
  const { input, cached, output, reasoning, images, extra } = usage;
  return (
    isCount(input) &&
    isCount(cached) &&
    isCount(output) &&
    isCount(reasoning) &&
    isCount(images) &&
    cached <= input &&
    (extra === undefined || isExtraUsage(usage, extra))
  );
}

function isExtraUsage(usage: Usage, extra: ExtraUsage): boolean {
  const isInRange = EXTRA_USAGE_ROWS.every(({ used, unit }) => {
    const count = extra[used] ?? 0;
    return unit === 'pixel'
      ? Number.isSafeInteger(count) && count >= 0 && count <= MAX_PIXELS
      : isCount(count);
  });
  const parts = (side: 'input' | 'output'): number =>
    EXTRA_USAGE_ROWS.reduce((sum, row) => sum + (row.side === side ? (extra[row.used] ?? 0) : 0), 0);
  return isInRange && usage.cached + parts('input') <= usage.input && parts('output') <= usage.output;
}

/** Nothing was used: everything else in an extra usage is part of these, or comes with them. */
export function isEmpty({ input, cached, output, reasoning, images, extra = {} }: Usage): boolean {
  const others = DELIVERED_NAMES.reduce((sum, name) => sum + (extra[name] ?? 0), 0);
  return input + cached + output + reasoning + images + others === 0;
}

const DELIVERED_NAMES = EXTRA_USAGE_ROWS.filter((row) => 'countsAsDelivered' in row).map(({ used }) => used);

/** The same in SQL, for the columns of a hold. */
export function isDeliveredSql(hold: string): string {
  const columns = ['input_tokens', 'cached_tokens', 'output_tokens', 'reasoning_tokens', 'images'];
  const extra = DELIVERED_NAMES.map((name) => `coalesce(${hold}.extra, '') LIKE '%"${name}":%'`);
  return [`${columns.map((column) => `${hold}.${column}`).join(' + ')} > 0`, ...extra].join(' OR ');
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= MAX_COUNT;
}

/** The usage that has no columns of its own, for a hold or a receipt. */
export function extraUsageText({ extra }: Usage): string | null {
  return extra === undefined ? null : JSON.stringify(extra);
}

/** The text was written by {@link extraUsageText}. */
export function extraUsageOf(text: string | null | undefined): Pick<Usage, 'extra'> {
  return text === null || text === undefined ? {} : { extra: JSON.parse(text) as ExtraUsage };
}

/** Prices come from the catalog and few are in use; each is turned into text, and back, once. */
const texts = new WeakMap<Price, string>();
const MAX_PRICES = 1_000;

export function priceToText(price: Price): string {
  const known = texts.get(price);
  if (known !== undefined) return known;
  const text = JSON.stringify(price);
  texts.set(price, text);
  return text;
}

/** The text was written by {@link priceToText}. */
export const priceFromText = remembered((text) => JSON.parse(text) as Price, MAX_PRICES);

/** Columns or expressions that say what was used. */
interface UsageSql {
  readonly input: string;
  readonly cached: string;
  readonly output: string;
  readonly images: string;
}

/**
 * Price × usage at the row `p` of `price`, rounded up once, as `costOf` computes it, in SQL that both databases understand.
 * A product may have more than 64 bits, so prices are cut into whole millionths and the rest: every part fits, and their
 * sum is exact.
 */
export function costSql({ input, cached, output, images }: UsageSql): string {
  const sum = (part: string): string =>
    `(${input} - ${cached}) * (p.input ${part}) + ${cached} * (p.cached_input ${part}) + ${output} * (p.output ${part})`;
  return `(${sum('/ 1000000')} + (${sum('% 1000000')} + 999999) / 1000000
    + CASE WHEN ${images} = 0 THEN 0 WHEN p.image > ${MAX_COST} / ${images} THEN ${MAX_COST} ELSE p.image * ${images} END)`;
}
