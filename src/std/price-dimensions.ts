import type { NanoUsd } from './money.ts';

/** Prices per million tokens that few models have, in nano-USD. What is absent follows from `input` and `output`. */
export interface RareTokenPrices {
  readonly cacheWrite?: number | undefined;
  readonly cacheWrite1h?: number | undefined;
  readonly reasoning?: number | undefined;
  readonly audioInput?: number | undefined;
  readonly audioOutput?: number | undefined;
  readonly imageInput?: number | undefined;
  readonly imageOutput?: number | undefined;
}

/** Prices of all tokens of a request whose input has more than `above` tokens. What is absent stays as it is below. */
export interface LongInputPrices extends RareTokenPrices {
  readonly above: number;
  readonly input?: number | undefined;
  readonly cachedInput?: number | undefined;
  readonly output?: number | undefined;
}

export interface ExtraTokenPrices extends RareTokenPrices {
  readonly request?: NanoUsd | undefined;
  /** Of one call. */
  readonly webSearch?: NanoUsd | undefined;
  /** In ascending order. */
  readonly above?: readonly LongInputPrices[] | undefined;
  /** Factors of the token prices in millionths, by the tier's name. */
  readonly serviceTiers?: Readonly<Record<string, number>> | undefined;
}

export interface ExtraImagePrices {
  readonly request?: NanoUsd | undefined;
  /** Nano-USD per million pixels; then an image has no price of its own. */
  readonly megapixel?: number | undefined;
  /** Of each picture that a request starts from. */
  readonly inputImage?: NanoUsd | undefined;
  /** Of each picture that is shown before the image is finished. */
  readonly partialImage?: NanoUsd | undefined;
  /** The price of one image by the quality that the backend reports; only where the request asked for none. */
  readonly qualities?: Readonly<Record<string, NanoUsd>> | undefined;
}

/** A factor of 1. */
export const FACTOR_ONE = 1_000_000;

/** The lines of a bill, and the keys of a price. */
export const PRICED_ITEMS = [
  'input',
  'cached_input',
  'cache_write',
  'cache_write_1h',
  'audio_input',
  'image_input',
  'output',
  'reasoning',
  'audio_output',
  'image_output',
  'image',
  'megapixel',
  'input_image',
  'partial_image',
  'web_search',
  'request',
] as const;

export type PricedItem = (typeof PRICED_ITEMS)[number];
