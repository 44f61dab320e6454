import { nanoUsd, MAX_BALANCE, type NanoUsd } from '../std/money.ts';
import type { ExtraImagePrices, ExtraTokenPrices } from '../std/price-dimensions.ts';
import { remembered } from '../std/remembered.ts';

/**
 * What a request will be charged by, copied into its hold at admission: later price changes never touch it, and any
 * past bill can be computed again from its receipt. Token prices are nano-USD per million tokens, so that the cheapest
 * published price (fractions of a cent per million) is still a whole number. `extra` is absent from an ordinary price:
 * SQL computes with those, and the program with all.
 */
export type Price = TokenPrice | ImagePrice;

export interface TokenPrice {
  readonly kind: 'tokens';
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
  readonly extra?: ExtraTokenPrices | undefined;
}

interface ImagePrice {
  readonly kind: 'images';
  readonly image: NanoUsd;
  readonly extra?: ExtraImagePrices | undefined;
}

/** What was used. `input` includes `cached`; `output` includes `reasoning`. All are whole and not negative. */
export interface Usage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
  readonly images: number;
  /** Absent from an ordinary usage. */
  readonly extra?: ExtraUsage | undefined;
}

/**
 * What few requests use; absent means none. `input` includes the cache writes and the audio and image input, of which none
 * is also `cached`; `output` includes the audio and image output.
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
  /** The service tier that answered, unless it is the ordinary one. */
  readonly serviceTier?: string | undefined;
  /** Of the images, as the backend reports it. */
  readonly quality?: string | undefined;
}

export const NO_USAGE: Usage = { input: 0, cached: 0, output: 0, reasoning: 0, images: 0 };

/** No count that meets a price may exceed this; larger ones from a client are refused, from a backend ignored. */
export const MAX_COUNT = 100_000_000;
/** Ten images of the largest size that a catalog can name. */
export const MAX_PIXELS = 1_000_000_000;
/** 10,000 USD per million tokens. */
export const MAX_TOKEN_PRICE = 10_000_000_000_000;

/** A worst case beyond any balance is as unaffordable as one just above it. */
export const MAX_COST = nanoUsd(MAX_BALANCE * 8);

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
