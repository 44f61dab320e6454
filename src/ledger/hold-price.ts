import { nanoUsd, type NanoUsd } from '../std/money.ts';
import { FACTOR_ONE } from '../std/price-dimensions.ts';
import { costOf, pricesAt, serviceFactor, type AllTokenPrices } from './cost.ts';
import type { Ceiling, ExtraCeiling } from './port.ts';
import { MAX_COST, MAX_COUNT, NO_USAGE, type Price, type TokenPrice } from './price.ts';

/** What is held per million tokens of either side, and whatever the tokens are. */
export interface HoldPrices {
  readonly input: number;
  readonly output: number;
  readonly fixed: NanoUsd;
}

/** The dearest price that a token of either side can have in this request. */
export function holdPrices(
  price: TokenPrice,
  { input, extra }: Pick<Ceiling, 'input' | 'extra'>,
): HoldPrices {
  if (price.extra === undefined && extra === undefined)
    return { input: Math.max(price.input, price.cachedInput), output: price.output, fixed: NOTHING };
  const reachable = [0, ...(price.extra?.above ?? []).map(({ above }) => above + 1)].filter(
    (tokens) => tokens <= (input ?? 0),
  );
  const prices = reachable.map((tokens) => pricesAt(price, tokens));
  const factor = serviceFactor(price, extra?.serviceTier);
  const { request = 0, webSearch = 0 } = price.extra ?? {};
  return {
    input: scaled(Math.max(...prices.map((one) => dearestInput(one, extra))), factor),
    output: scaled(Math.max(...prices.map((one) => dearestOutput(one, price, extra))), factor),
    fixed: nanoUsd(request + webSearch * (extra?.webSearches ?? 0)),
  };
}

const NOTHING = nanoUsd(0);

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

/** A model may think and, if it is priced, make an image without being asked. */
function dearestOutput(prices: AllTokenPrices, price: TokenPrice, extra: ExtraCeiling = {}): number {
  const makesImages = price.extra?.imageOutput !== undefined;
  return Math.max(
    prices.output,
    prices.reasoning ?? 0,
    makesImages ? prices.imageOutput : 0,
    extra.audioOutput ? prices.audioOutput : 0,
  );
}

function scaled(price: number, factor: number): number {
  return factor === FACTOR_ONE
    ? price
    : Number((BigInt(price) * BigInt(factor) + BigInt(FACTOR_ONE) - 1n) / BigInt(FACTOR_ONE));
}

/** The worst case of a request with so many output tokens for each choice. */
export function worstCase(price: Price, ceiling: Ceiling, output: number): NanoUsd {
  if (price.kind === 'images') return imagesWorstCase(price, ceiling);
  const prices = holdPrices(price, ceiling);
  const tokens = {
    ...NO_USAGE,
    input: ceiling.input ?? 0,
    output: ceiling.kind === 'tokens' ? output * ceiling.choices : (ceiling.output ?? 0),
  };
  const cost = costOf(
    { kind: 'tokens', input: prices.input, cachedInput: prices.input, output: prices.output },
    tokens,
  );
  return nanoUsd(Math.min(cost + prices.fixed, MAX_COST));
}

function imagesWorstCase(price: Price & { kind: 'images' }, ceiling: Ceiling): NanoUsd {
  if (ceiling.kind !== 'images') return NOTHING;
  const qualities = price.extra?.qualities;
  const dearest = qualities ? Math.max(price.image, ...Object.values(qualities)) : price.image;
  const extra = ceiling.pixels === undefined ? undefined : { pixels: ceiling.pixels };
  return costOf({ ...price, image: nanoUsd(dearest) }, { ...NO_USAGE, images: ceiling.images, extra });
}

/** The most output tokens, of all choices together, that `available` can pay after everything else. */
export function affordableOutput(price: Price, ceiling: Ceiling, available: NanoUsd): number {
  if (price.kind !== 'tokens') return 0;
  const { input, output, fixed } = holdPrices(price, ceiling);
  const left = (BigInt(available) - BigInt(fixed)) * 1_000_000n - BigInt(ceiling.input ?? 0) * BigInt(input);
  if (left < 0n) return 0;
  if (output === 0) return MAX_COUNT;
  const tokens = left / BigInt(output);
  return tokens > BigInt(MAX_COUNT) ? MAX_COUNT : Number(tokens);
}
