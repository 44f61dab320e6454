import { nanoUsd, type NanoUsd } from '../std/money.ts';
import { FACTOR_ONE, type LongInputPrices, type RareTokenPrices } from '../std/price-dimensions.ts';
import { MAX_COST, type Price, type TokenPrice, type Usage } from './price.ts';

const TOKENS_PER_PRICE = 1_000_000;

/** Price × usage in exact integers, rounded up once at the very end. */
export function costOf(price: Price, usage: Usage): NanoUsd {
  if (price.extra !== undefined || usage.extra !== undefined) return partsCost(pricedParts(price, usage));
  return price.kind === 'images'
    ? capped(BigInt(price.image) * BigInt(usage.images))
    : tokenCost(price, usage);
}

function tokenCost(price: TokenPrice, { input, cached, output }: Usage): NanoUsd {
  const quick = (input - cached) * price.input + cached * price.cachedInput + output * price.output;
  // Below 2^53 every term and the sum are exact; remainder and division of exact integers are, too.
  if (quick <= Number.MAX_SAFE_INTEGER && cached <= input) {
    const rest = quick % TOKENS_PER_PRICE;
    return nanoUsd((quick - rest) / TOKENS_PER_PRICE + (rest > 0 ? 1 : 0));
  }
  const exact =
    BigInt(input - cached) * BigInt(price.input) +
    BigInt(cached) * BigInt(price.cachedInput) +
    BigInt(output) * BigInt(price.output);
  return capped((exact + BigInt(TOKENS_PER_PRICE) - 1n) / BigInt(TOKENS_PER_PRICE));
}

/** One line of a bill: `quantity` × `unitPrice` ÷ `per` × `factor`. */
export interface PricedPart {
  readonly item: PricedItem;
  readonly quantity: number;
  /** Nano-USD per `per` units. */
  readonly unitPrice: number;
  readonly per: number;
  /** In millionths: of the service tier. */
  readonly factor: number;
}

export type PricedItem =
  | 'input'
  | 'cached_input'
  | 'cache_write'
  | 'cache_write_1h'
  | 'audio_input'
  | 'image_input'
  | 'output'
  | 'reasoning'
  | 'audio_output'
  | 'image_output'
  | 'image'
  | 'megapixel'
  | 'web_search'
  | 'request';

/** Every part of the bill that is not nothing; `input` and `output`, or `image`, are always there. */
export function pricedParts(price: Price, usage: Usage): PricedPart[] {
  return price.kind === 'images' ? imageParts(price, usage) : tokenParts(price, usage);
}

function imageParts(price: Price & { kind: 'images' }, { images, extra }: Usage): PricedPart[] {
  const { request = 0, megapixel, qualities } = price.extra ?? {};
  const quality = extra?.quality;
  const image =
    quality !== undefined && qualities && Object.hasOwn(qualities, quality) ? qualities[quality] : undefined;
  return [
    megapixel === undefined
      ? part('image', images, image ?? price.image)
      : part('megapixel', extra?.pixels ?? 0, megapixel, TOKENS_PER_PRICE),
    ...unlessNone(part('request', request > 0 ? 1 : 0, request)),
  ];
}

function tokenParts(price: TokenPrice, usage: Usage): PricedPart[] {
  const { input, cached, output, reasoning, extra = {} } = usage;
  const { cacheWrite = 0, cacheWrite1h = 0, audioInput = 0, imageInput = 0 } = extra;
  const { audioOutput = 0, imageOutput = 0, webSearches = 0 } = extra;
  const prices = pricesAt(price, input);
  const { request = 0, webSearch = 0 } = price.extra ?? {};
  const factor = serviceFactor(price, extra.serviceTier);
  const tokens = (item: PricedItem, quantity: number, unitPrice: number): PricedPart =>
    part(item, quantity, unitPrice, TOKENS_PER_PRICE, factor);
  const others = output - audioOutput - imageOutput;
  const thought = prices.reasoning === undefined ? 0 : Math.min(reasoning, others);
  return [
    tokens('input', input - cached - cacheWrite - cacheWrite1h - audioInput - imageInput, prices.input),
    ...unlessNone(tokens('cached_input', cached, prices.cachedInput)),
    ...unlessNone(tokens('cache_write', cacheWrite, prices.cacheWrite)),
    ...unlessNone(tokens('cache_write_1h', cacheWrite1h, prices.cacheWrite1h)),
    ...unlessNone(tokens('audio_input', audioInput, prices.audioInput)),
    ...unlessNone(tokens('image_input', imageInput, prices.imageInput)),
    tokens('output', others - thought, prices.output),
    ...unlessNone(tokens('reasoning', thought, prices.reasoning ?? prices.output)),
    ...unlessNone(tokens('audio_output', audioOutput, prices.audioOutput)),
    ...unlessNone(tokens('image_output', imageOutput, prices.imageOutput)),
    ...unlessNone(part('web_search', webSearches, webSearch)),
    ...unlessNone(part('request', request > 0 ? 1 : 0, request)),
  ];
}

function unlessNone(one: PricedPart): PricedPart[] {
  return one.quantity === 0 ? [] : [one];
}

// oxlint-disable-next-line max-params -- a row of a table
function part(
  item: PricedItem,
  quantity: number,
  unitPrice: number,
  per = 1,
  factor = FACTOR_ONE,
): PricedPart {
  return { item, quantity, unitPrice, per, factor };
}

/** The price of every kind of token. `reasoning` is absent where it is not priced apart from other output. */
export interface AllTokenPrices extends Record<TokenKind, number> {
  readonly reasoning: number | undefined;
}

type TokenKind = Exclude<keyof LongInputPrices, 'above' | 'reasoning'>;

/** The prices of a request with so many input tokens. */
export function pricesAt(price: TokenPrice, inputTokens: number): AllTokenPrices {
  const tiers = (price.extra?.above ?? []).filter(({ above }) => inputTokens > above).toReversed();
  const named = (kind: keyof RareTokenPrices): number | undefined =>
    tiers.find((tier) => tier[kind] !== undefined)?.[kind] ?? price.extra?.[kind];
  const always = (kind: 'input' | 'cachedInput' | 'output'): number =>
    tiers.find((tier) => tier[kind] !== undefined)?.[kind] ?? price[kind];
  const [input, output] = [always('input'), always('output')];
  return {
    input,
    cachedInput: always('cachedInput'),
    output,
    reasoning: named('reasoning'),
    // A quarter more than fresh input, and twice as much: what Anthropic, which has such prices, asks for.
    cacheWrite: named('cacheWrite') ?? input + Math.ceil(input / 4),
    cacheWrite1h: named('cacheWrite1h') ?? 2 * input,
    audioInput: named('audioInput') ?? input,
    imageInput: named('imageInput') ?? input,
    audioOutput: named('audioOutput') ?? output,
    imageOutput: named('imageOutput') ?? output,
  };
}

/** In millionths. A tier without a price costs what the ordinary one does. */
export function serviceFactor(price: TokenPrice, tier: string | undefined): number {
  const factors = price.extra?.serviceTiers;
  return factors && tier !== undefined && Object.hasOwn(factors, tier)
    ? (factors[tier] ?? FACTOR_ONE)
    : FACTOR_ONE;
}

/** What was used and has no price of its own, by its name in the catalog: the operator should give it one. */
export function unpricedKinds(price: Price, { extra }: Usage): string[] {
  if (!extra || price.kind === 'images') return [];
  const priced: Record<string, unknown> = { ...price.extra };
  const kinds = UNPRICED.filter(([used, name]) => (extra[used] ?? 0) > 0 && priced[name] === undefined);
  const names: string[] = kinds.map(([, , key]) => key);
  const { serviceTier } = extra;
  if (serviceTier !== undefined && !Object.hasOwn(price.extra?.serviceTiers ?? {}, serviceTier))
    names.push(`service_tiers.${serviceTier}`);
  return names;
}

const UNPRICED = [
  ['audioInput', 'audioInput', 'audio_input'],
  ['imageInput', 'imageInput', 'image_input'],
  ['audioOutput', 'audioOutput', 'audio_output'],
  ['imageOutput', 'imageOutput', 'image_output'],
  ['webSearches', 'webSearch', 'tool_calls.web_search'],
] as const;

const MILLIONTHS = BigInt(FACTOR_ONE) * BigInt(TOKENS_PER_PRICE);

function partsCost(parts: readonly PricedPart[]): NanoUsd {
  let exact = 0n;
  for (const { quantity, unitPrice, per, factor } of parts)
    exact += BigInt(quantity) * BigInt(unitPrice) * BigInt(factor) * BigInt(TOKENS_PER_PRICE / per);
  return capped((exact + MILLIONTHS - 1n) / MILLIONTHS);
}

function capped(amount: bigint): NanoUsd {
  return amount > BigInt(MAX_COST) ? MAX_COST : nanoUsd(Number(amount));
}
