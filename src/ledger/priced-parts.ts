import { MAX_BALANCE, nanoUsd, type NanoUsd } from '../std/money.ts';
import {
  FACTOR_ONE,
  type ExtraImagePrices,
  type ExtraTokenPrices,
  type LongInputPrices,
  type PricedItem,
  type RareTokenPrices,
} from '../std/price-dimensions.ts';

/** A price and a usage in all their parts. An ordinary request is computed by price.ts alone, which is faster. */

export interface TokenPrice {
  readonly kind: 'tokens';
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
  readonly extra?: ExtraTokenPrices | undefined;
}

export interface ImagePrice {
  readonly kind: 'images';
  readonly image: NanoUsd;
  readonly extra?: ExtraImagePrices | undefined;
}

/** What was used. `input` includes `cached`; `output` includes `reasoning`. All are whole and not negative. */
export interface CountedUsage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
  readonly images: number;
  /** Absent from an ordinary usage. */
  readonly extra?: ExtraUsage | undefined;
}

/**
 * Usage that few requests have; absent means none. `input` includes the cache writes and the audio and image input,
 * none of which is also `cached`; `output` includes the audio and image output.
 */
export interface ExtraUsage {
  readonly cacheWrite?: number | undefined;
  readonly cacheWrite1h?: number | undefined;
  readonly audioInput?: number | undefined;
  readonly imageInput?: number | undefined;
  readonly audioOutput?: number | undefined;
  readonly imageOutput?: number | undefined;
  readonly webSearches?: number | undefined;
  /** Of all images together. */
  readonly pixels?: number | undefined;
  /** Pictures that the request started from. */
  readonly inputImages?: number | undefined;
  /** Pictures that were shown before an image was finished. */
  readonly partialImages?: number | undefined;
  /** The service tier that answered, unless it is the ordinary one. */
  readonly serviceTier?: string | undefined;
  /** Of the images, as the backend reports it. */
  readonly quality?: string | undefined;
}

/** What a request asks for that may cost more than plain input and output. */
export interface ExtraCeiling {
  /** The longest life of a cache entry that it asks for. */
  readonly cacheWrite?: '5m' | '1h' | undefined;
  readonly serviceTier?: string | undefined;
  /** The most calls of the tool. */
  readonly webSearches?: number | undefined;
  readonly audioInput?: boolean | undefined;
  readonly imageInput?: boolean | undefined;
  readonly audioOutput?: boolean | undefined;
}

const TOKENS_PER_PRICE = 1_000_000;

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

/** Every part of the bill that is not zero; `input` and `output`, or `image`, are always there. */
export function pricedParts(price: TokenPrice | ImagePrice, usage: CountedUsage): PricedPart[] {
  return price.kind === 'images' ? imageParts(price, usage) : tokenParts(price, usage);
}

function imageParts(price: ImagePrice, { images, extra }: CountedUsage): PricedPart[] {
  const { request = 0, megapixel, qualities, inputImage, partialImage } = price.extra ?? {};
  const quality = extra?.quality;
  const image =
    quality !== undefined && qualities && Object.hasOwn(qualities, quality) ? qualities[quality] : undefined;
  return [
    megapixel === undefined
      ? part('image', images, image ?? price.image)
      : part('megapixel', extra?.pixels ?? 0, megapixel, TOKENS_PER_PRICE),
    ...ifPriced('input_image', extra?.inputImages, inputImage),
    ...ifPriced('partial_image', extra?.partialImages, partialImage),
    ...unlessNone(part('request', request > 0 ? 1 : 0, request)),
  ];
}

function tokenParts(price: TokenPrice, usage: CountedUsage): PricedPart[] {
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

function ifPriced(item: PricedItem, quantity = 0, unitPrice: number | undefined): PricedPart[] {
  return unitPrice === undefined ? [] : unlessNone(part(item, quantity, unitPrice));
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
interface AllTokenPrices extends Record<TokenKind, number> {
  readonly reasoning: number | undefined;
}

type TokenKind = Exclude<keyof LongInputPrices, 'above' | 'reasoning'>;

/** The prices of a request with this many input tokens. */
function pricesAt(price: TokenPrice, inputTokens: number): AllTokenPrices {
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
    // A quarter more than fresh input, and twice as much: Anthropic's own ratios.
    cacheWrite: named('cacheWrite') ?? input + Math.ceil(input / 4),
    cacheWrite1h: named('cacheWrite1h') ?? 2 * input,
    audioInput: named('audioInput') ?? input,
    imageInput: named('imageInput') ?? input,
    audioOutput: named('audioOutput') ?? output,
    imageOutput: named('imageOutput') ?? output,
  };
}

/** In millionths. A tier without a price costs what the ordinary one does. */
function serviceFactor(price: TokenPrice, tier: string | undefined): number {
  const factors = price.extra?.serviceTiers;
  return factors && tier !== undefined && Object.hasOwn(factors, tier)
    ? (factors[tier] ?? FACTOR_ONE)
    : FACTOR_ONE;
}

/** What was used without a price of its own, by its name in the catalog: the operator should give it one. */
export function unpricedKinds(price: TokenPrice | ImagePrice, { extra }: CountedUsage): string[] {
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

export function partsCost(parts: readonly PricedPart[]): NanoUsd {
  let exact = 0n;
  for (const { quantity, unitPrice, per, factor } of parts)
    exact += BigInt(quantity) * BigInt(unitPrice) * BigInt(factor) * BigInt(TOKENS_PER_PRICE / per);
  return capped((exact + MILLIONTHS - 1n) / MILLIONTHS);
}

/** What is held per million tokens of input and of output, whatever kind they are. */
export interface HoldPrices {
  readonly input: number;
  readonly output: number;
  readonly fixed: NanoUsd;
}

/** The same where the price or the request has an `extra`. */
export function extraHoldPrices(
  price: TokenPrice,
  input: number,
  extra: ExtraCeiling | undefined,
): HoldPrices {
  const reachable = [0, ...(price.extra?.above ?? []).map(({ above }) => above + 1)].filter(
    (tokens) => tokens <= input,
  );
  const prices = reachable.map((tokens) => pricesAt(price, tokens));
  const factor = serviceFactor(price, extra?.serviceTier);
  const { request = 0, webSearch = 0 } = price.extra ?? {};
  return {
    input: scaled(Math.max(...prices.map((one) => dearestInput(one, extra))), factor),
    output: scaled(Math.max(...prices.map((one) => dearestOutput(one, extra))), factor),
    fixed: nanoUsd(request + webSearch * (extra?.webSearches ?? 0)),
  };
}

function dearestInput(prices: AllTokenPrices, extra: ExtraCeiling = {}): number {
  return Math.max(
    prices.input,
    prices.cachedInput,
    extra.cacheWrite === undefined ? 0 : prices.cacheWrite,
    extra.cacheWrite === '1h' ? prices.cacheWrite1h : 0,
    extra.audioInput ? prices.audioInput : 0,
    extra.imageInput ? prices.imageInput : 0,
  );
}

/** A model may think, and make an image, without being asked. */
function dearestOutput(prices: AllTokenPrices, extra: ExtraCeiling = {}): number {
  return Math.max(
    prices.output,
    prices.reasoning ?? 0,
    prices.imageOutput,
    extra.audioOutput ? prices.audioOutput : 0,
  );
}

function scaled(price: number, factor: number): number {
  return factor === FACTOR_ONE
    ? price
    : Number((BigInt(price) * BigInt(factor) + BigInt(FACTOR_ONE) - 1n) / BigInt(FACTOR_ONE));
}

/** A worst case beyond any balance is as unaffordable as one just above it. */
export const MAX_COST = nanoUsd(MAX_BALANCE * 8);

export function capped(amount: bigint): NanoUsd {
  return amount > BigInt(MAX_COST) ? MAX_COST : nanoUsd(Number(amount));
}
